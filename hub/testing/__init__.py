"""What plugin authors use in their tests. Names are loaded when they are first asked for: importing this
package costs nothing, and pytest is only needed by those who ask for the contract."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from hub.testing.asgi import AsgiTransport, asgi_client
    from hub.testing.contract import Scenarios, TransportContract
    from hub.testing.hub import TestHub, hub_config, running_hub
    from hub.testing.idle import FakeIdle
    from hub.testing.model import ScriptedModel
    from hub.testing.model_agent import claude_environment
    from hub.testing.model_script import (
        Cut,
        Drop,
        Exchange,
        Fail,
        Hold,
        Pause,
        Reply,
        Rule,
        Rules,
        Say,
        Silence,
        Stall,
        Think,
        Use,
        ask_user,
        reply,
    )
    from hub.testing.model_wire import (
        ModelRequest,
    )
    from hub.testing.openai_model import Completion, ScriptedOpenAI
    from hub.testing.process import HubProcess, hub_process
    from hub.testing.rehearsal import (
        RehearsalModel,
    )
    from hub.testing.rules import EventRules
    from hub.testing.scripted import ScriptedTransport
    from hub.testing.stores import wait_for
    from hub.testing.turns import (
        FakeAsk,
        FakeCancellation,
        FakeTurn,
        allow,
        answer,
        deny,
        make_session,
        respond,
        withdraw,
    )

__all__ = [
    "AsgiTransport",
    "Completion",
    "Cut",
    "Drop",
    "EventRules",
    "Exchange",
    "Fail",
    "FakeAsk",
    "FakeCancellation",
    "FakeIdle",
    "FakeTurn",
    "Hold",
    "HubProcess",
    "ModelRequest",
    "Pause",
    "RehearsalModel",
    "Reply",
    "Rule",
    "Rules",
    "Say",
    "Scenarios",
    "ScriptedModel",
    "ScriptedOpenAI",
    "ScriptedTransport",
    "Silence",
    "Stall",
    "TestHub",
    "Think",
    "TransportContract",
    "Use",
    "allow",
    "answer",
    "asgi_client",
    "ask_user",
    "claude_environment",
    "deny",
    "hub_config",
    "hub_process",
    "make_session",
    "reply",
    "respond",
    "running_hub",
    "wait_for",
    "withdraw",
]

_HOME: Final[dict[str, str]] = {
    "TestHub": "hub",
    "hub_config": "hub",
    "running_hub": "hub",
    "wait_for": "stores",
    "AsgiTransport": "asgi",
    "asgi_client": "asgi",
    "HubProcess": "process",
    "hub_process": "process",
    "RehearsalModel": "rehearsal",
    "ModelRequest": "model_wire",
    "reply": "model_script",
    "ask_user": "model_script",
    "Use": "model_script",
    "Think": "model_script",
    "Stall": "model_script",
    "Silence": "model_script",
    "Say": "model_script",
    "Rules": "model_script",
    "Rule": "model_script",
    "Reply": "model_script",
    "Pause": "model_script",
    "Fail": "model_script",
    "Hold": "model_script",
    "Exchange": "model_script",
    "Drop": "model_script",
    "Cut": "model_script",
    "claude_environment": "model_agent",
    "ScriptedModel": "model",
    "Completion": "openai_model",
    "ScriptedOpenAI": "openai_model",
    "EventRules": "rules",
    "Scenarios": "contract",
    "ScriptedTransport": "scripted",
    "TransportContract": "contract",
    "FakeAsk": "turns",
    "FakeCancellation": "turns",
    "FakeIdle": "idle",
    "FakeTurn": "turns",
    "allow": "turns",
    "answer": "turns",
    "deny": "turns",
    "respond": "turns",
    "make_session": "turns",
    "withdraw": "turns",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
