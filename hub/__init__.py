"""turnhub: one honest door to all coding agents. This module holds the public names, nothing else.

Plugins import from here, and from ``hub.testing`` in their tests; every other module is the hub's own.

The names are looked up when they are first used: ``turnhub --help`` imports this package too, and has to start
at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hub.asks import ELICITATION, Answer, Answered, AskRecord, AskRequest, Settlement, WithdrawnAsk
    from hub.cli.common import Caller, hub_command
    from hub.client import Client
    from hub.digests import digest_of
    from hub.elicitation import elicitation_answers, elicitation_result, elicited
    from hub.errors import AgentUnavailable, ConfigError, HubError, PluginError, SteerUnsupported
    from hub.events import (
        AnyEvent,
        Ask,
        AskDelivered,
        AskOpened,
        AskSettled,
        AskWithdrawn,
        By,
        Digest,
        Distillate,
        Gap,
        MessageDelivered,
        Proof,
        Question,
        QuestionOption,
        Reasoning,
        ReasoningDelta,
        Refusal,
        Status,
        Terminal,
        Text,
        TextDelta,
        ToolFinished,
        ToolStarted,
        TurnCompleted,
        TurnFailed,
        TurnInterrupted,
        Usage,
        UserMessage,
    )
    from hub.hookspecs import (
        Distilled,
        DistillerSettings,
        DistillFailure,
        Evidence,
        FinishedTurn,
        Policies,
        PolicyBundle,
        Resolution,
        hookimpl,
    )
    from hub.modeltext import context_text, with_context
    from hub.modelview import AgentText, Note, ToolCall, UserTurn, View, model_view
    from hub.policies import read_policies
    from hub.transport import (
        AgentInfo,
        Cancellation,
        Capability,
        Connection,
        Idle,
        Message,
        Prompted,
        Screen,
        SessionInfo,
        Transport,
        TurnContext,
        Verdict,
    )
    from hub.turn import Completed, Ending, Failed, Interrupted
    from hub.typist import (
        CannotConvey,
        Cleared,
        Conveyed,
        Hold,
        Pace,
        PlaceLost,
        PlaceTaken,
        Sight,
        TerminalFailed,
        Typist,
        is_part,
        undelivered,
    )

_HOMES = (
    "errors", "events", "turn", "asks", "transport", "typist", "hookspecs", "client", "cli.common", "policies",
    "digests", "modelview", "modeltext", "elicitation",
)  # fmt: skip

__version__ = "0.1.0"

__all__ = [
    "ELICITATION",
    "AgentInfo",
    "AgentText",
    "AgentUnavailable",
    "Answer",
    "Answered",
    "AnyEvent",
    "Ask",
    "AskDelivered",
    "AskOpened",
    "AskRecord",
    "AskRequest",
    "AskSettled",
    "AskWithdrawn",
    "By",
    "Caller",
    "Cancellation",
    "CannotConvey",
    "Capability",
    "Cleared",
    "Client",
    "Completed",
    "ConfigError",
    "Connection",
    "Conveyed",
    "Digest",
    "DistillFailure",
    "Distillate",
    "Distilled",
    "DistillerSettings",
    "Ending",
    "Evidence",
    "Failed",
    "FinishedTurn",
    "Gap",
    "Hold",
    "HubError",
    "Idle",
    "Interrupted",
    "Message",
    "MessageDelivered",
    "Note",
    "Pace",
    "PlaceLost",
    "PlaceTaken",
    "PluginError",
    "Policies",
    "PolicyBundle",
    "Prompted",
    "Proof",
    "Question",
    "QuestionOption",
    "Reasoning",
    "ReasoningDelta",
    "Refusal",
    "Resolution",
    "Screen",
    "SessionInfo",
    "Settlement",
    "Sight",
    "Status",
    "SteerUnsupported",
    "Terminal",
    "TerminalFailed",
    "Text",
    "TextDelta",
    "ToolCall",
    "ToolFinished",
    "ToolStarted",
    "Transport",
    "TurnCompleted",
    "TurnContext",
    "TurnFailed",
    "TurnInterrupted",
    "Typist",
    "Usage",
    "UserMessage",
    "UserTurn",
    "Verdict",
    "View",
    "WithdrawnAsk",
    "__version__",
    "context_text",
    "digest_of",
    "elicitation_answers",
    "elicitation_result",
    "elicited",
    "hookimpl",
    "hub_command",
    "is_part",
    "model_view",
    "read_policies",
    "undelivered",
    "with_context",
]


def __getattr__(name: str) -> Any:
    """The public name ``name``, from the module where it lives."""
    if name in __all__:
        for home in _HOMES:
            found = vars(import_module(f"hub.{home}")).get(name)
            if found is not None:
                globals()[name] = found
                return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
