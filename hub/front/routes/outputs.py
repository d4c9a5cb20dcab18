"""Whole outputs of tools, on demand: the log keeps their beginnings only."""

from __future__ import annotations

from typing import Any, Final

from hub.errors import NotFound
from hub.events import Digest, ToolFinished, ToolStarted, decode, line_of
from hub.front import views
from hub.front.operations import Answer, Call, Operation, Reply, operation
from hub.front.params import JSON, preferred, session_id
from hub.front.problems import OutputGone
from hub.store.store import Store

_TEXT: Final = "text/plain"
_PLAIN: Final = "text/plain; charset=utf-8"
_TOOLS: Final = frozenset({"tool_started", "tool_finished"})


@operation(
    "GET",
    "/v1/sessions/{id}/tools/{tool_id}/output",
    Reply(200, views.ToolOutput),
    Reply(200, str, _PLAIN),
    scope="read",
    query=views.ToolOutputQuery,
    takes=["Accept"],
    errors=["not_found", "output_gone"],
)
async def tool_output(call: Call[Any, views.ToolOutputQuery]) -> Answer:
    """What a tool gave back, in full, as JSON or (`Accept: text/plain`) as it is. Long outputs are kept for a
    while only (`runner.output_keep_s`); then 410, and the log has the beginning, size and hash."""
    store, name, tool_id = call.services.store, session_id(call.path["id"]), call.path["tool_id"]
    turn_id, digest = await _finished(store, name, tool_id, call.query.turn)
    text = digest.text
    if digest.truncated:
        kept = await store.output(name, turn_id, tool_id)
        if kept is None:
            raise OutputGone(
                f"The whole output of this tool ({digest.bytes} bytes) is not kept any more, or never was. The "
                "session shows its beginning.",
                bytes=digest.bytes,
                sha256=digest.sha256,
            )
        text = kept
    if preferred(call.headers, (JSON, _TEXT)) == _TEXT:
        return Answer(200, text.encode("utf-8", "replace"), media=_PLAIN)
    whole = len(text.encode("utf-8", "replace")) >= digest.bytes
    found = views.ToolOutput(
        tool_id=tool_id,
        turn_id=turn_id,
        text=text,
        bytes=digest.bytes,
        sha256=digest.sha256,
        truncated=not whole,
    )
    return Answer(200, found)


async def _finished(store: Store, name: str, tool_id: str, turn: str | None) -> tuple[str, Digest]:
    """The turn and the digest of the newest call of that id. Raises NotFound, which says why there is none."""
    await store.session(name)
    for entry in reversed(await store.whole_log(name)):
        if entry.type not in _TOOLS or turn not in {None, entry.turn_id}:
            continue
        event = decode(line_of(entry.frame))
        if isinstance(event, ToolFinished) and event.tool_id == tool_id:
            if event.digest is None:
                raise NotFound(f"Tool {tool_id[:80]!r} ended ({event.status}) without an output.")
            return entry.turn_id, event.digest
        if isinstance(event, ToolStarted) and event.tool_id == tool_id:
            raise NotFound(f"Tool {tool_id[:80]!r} has not finished yet: it has no output.")
    where = f"turn {turn[:80]!r} of this session" if turn else "this session"
    raise NotFound(f"There is no tool {tool_id[:80]!r} in {where}.")


OPERATIONS: Final[tuple[Operation, ...]] = (tool_output,)
