"""What plugin authors use in their tests. Names are loaded when they are first asked for: importing this
package costs nothing, and pytest is only needed by those who ask for the contract."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from hub.testing.rules import EventRules
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
    "EventRules",
    "FakeAsk",
    "FakeCancellation",
    "FakeTurn",
    "allow",
    "answer",
    "deny",
    "make_session",
    "respond",
    "withdraw",
]

_HOME: Final[dict[str, str]] = {
    "EventRules": "rules",
    "FakeAsk": "turns",
    "FakeCancellation": "turns",
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
