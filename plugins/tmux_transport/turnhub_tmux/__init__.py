"""The transport ``tmux``: agents that live in terminal panes.

Importing this is cheap: everything heavy is loaded when it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from hub import AskRequest, Evidence, SessionInfo, Transport, Verdict, hookimpl
from turnhub_tmux.transport import TmuxTransport

if TYPE_CHECKING:
    import click

__all__ = ["TmuxTransport", "register_commands", "register_transports", "source_questions", "verify_delivery"]


@hookimpl
def register_transports(register: Callable[[Transport], None]) -> None:
    """Offer the transport ``tmux``."""
    register(TmuxTransport())


@hookimpl
def verify_delivery(evidence: Evidence) -> Verdict | None:
    """Hook, transcript and pane, in that order, for sessions of this transport."""
    from turnhub_tmux.verify import verify  # noqa: PLC0415 - keeps the start of every command quick

    return verify(evidence)


@hookimpl
def source_questions(session: SessionInfo, seen: Mapping[str, Any]) -> list[AskRequest] | None:
    """Hook, transcript and pane, in that order, for sessions of this transport."""
    from turnhub_tmux.questions import waiting  # noqa: PLC0415 - keeps the start of every command quick

    return waiting(session, seen)


@hookimpl
def register_commands(group: click.Group) -> None:
    """Offer ``turnhub screen`` and ``turnhub hooks``."""
    from turnhub_tmux.commands import screen  # noqa: PLC0415 - keeps the start of every other command quick
    from turnhub_tmux.commands_hooks import hooks  # noqa: PLC0415

    group.add_command(screen)
    group.add_command(hooks)
