"""What waits for an answer: the agent's hooks, its transcript and its screen are asked, each a source of its own.

What they judge is what the transport puts into ``seen``: the requests that the hooks hold open, the calls without
a result, and the pane (:class:`~turnhub_tmux.typist.Seen`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from hub import ELICITATION, AskRequest, SessionInfo
from turnhub_tmux.bridge.facts import PermissionAsked
from turnhub_tmux.requests import is_about, of_dialog, refusals, request_of
from turnhub_tmux.screen.types import Dialog
from turnhub_tmux.transcript.facts import Used
from turnhub_tmux.typist import SEEN, Seen
from turnhub_tmux.verify import TRANSPORT

ASKED: Final = "asked"
"""Where the hooks' requests stand that are held open: :class:`~turnhub_tmux.bridge.facts.PermissionAsked`."""
CALLS: Final = "calls"
"""Where the calls stand that have no result: :class:`~turnhub_tmux.transcript.facts.Used`, oldest first."""


def waiting(session: SessionInfo, seen: Mapping[str, Any]) -> list[AskRequest] | None:
    """What all sources see; None for sessions of other transports."""
    if session.agent.transport != TRANSPORT:
        return None
    return [request for source in SOURCES for request in source(seen)]


def by_hook(seen: Mapping[str, Any]) -> list[AskRequest]:
    """What the agent's hooks ask."""
    asked: Iterable[PermissionAsked] = seen.get(ASKED, ())
    return [request_of(one.tool, one.input, source="hook", tool_id=one.tool_use_id) for one in asked]


def by_transcript(seen: Mapping[str, Any]) -> list[AskRequest]:
    """The call in the agent's transcript that the screen asks about: the first one whose words it shows. Without a
    dialog a call that has no result may as well be running."""
    dialog = _dialog(seen)
    calls: Iterable[Used] = seen.get(CALLS, ())
    found = None if dialog is None else call_of(dialog, calls)
    return [] if dialog is None or found is None else [replace(found, refuses=refusals(dialog))]


def call_of(dialog: Dialog, calls: Iterable[Used]) -> AskRequest | None:
    """The first call whose words a dialog shows."""
    made = (request_of(one.name, one.input, source="transcript", tool_id=one.tool_use_id) for one in calls)
    return next((request for request in made if is_about(dialog, request)), None)


def by_pane(seen: Mapping[str, Any]) -> list[AskRequest]:
    """The dialog on the screen: under the name of the request that it shows, where somebody else knows that."""
    dialog = _dialog(seen)
    if dialog is None:
        return _form(seen)
    known = next((one for one in (*by_hook(seen), *by_transcript(seen)) if is_about(dialog, one)), None)
    if known is None:
        return [of_dialog(dialog)]
    return [replace(known, source="pane", refuses=refusals(dialog))]


def _form(seen: Mapping[str, Any]) -> list[AskRequest]:
    """The form of an MCP server, which keys do not fill in: it is to be answered in the terminal."""
    found = seen.get(SEEN)
    rows = found.screen.rows if isinstance(found, Seen) and found.screen.state == "unknown" else ()
    server = next((match[1] for row in rows if (match := _ASKS.fullmatch(row.strip()))), None)
    if server is None:
        return []
    told = f"The MCP server {server!r} wants a form filled in, in the agent's own terminal."
    return [
        AskRequest(
            kind="question", tool=ELICITATION, subject=server, rationale=told, source="pane", refuses=("answer",)
        )
    ]


_ASKS: Final = re.compile(r"MCP server [“\"](.+)[”\"] requests your input")
SOURCES: Final[tuple[Callable[[Mapping[str, Any]], list[AskRequest]], ...]] = (by_hook, by_transcript, by_pane)
"""In order of how far they can be trusted."""


def _dialog(seen: Mapping[str, Any]) -> Dialog | None:
    """The dialog that the pane shows; a survey wants nothing answered."""
    found = seen.get(SEEN)
    dialog = found.screen.dialog if isinstance(found, Seen) else None
    return None if dialog is None or dialog.kind == "survey" else dialog
