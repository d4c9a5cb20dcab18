"""A session's pane, for somebody who looks at it from elsewhere."""

from __future__ import annotations

import shlex
from pathlib import Path

from hub import AgentUnavailable, SessionInfo
from hub import Screen as Shown
from turnhub_tmux.options import Options
from turnhub_tmux.panes import names
from turnhub_tmux.panes.pane import Gone, Look, Unknown
from turnhub_tmux.screen.manifest import Manifest
from turnhub_tmux.screen.reader import read
from turnhub_tmux.screen.types import Screen
from turnhub_tmux.seat import Seats


async def shown(session: SessionInfo, options: Options, manifest: Manifest) -> Shown:
    """What the session's pane shows, what is read from it, and how to attach to it. Raises AgentUnavailable where
    there is none."""
    seats = Seats(session, options, None, Path())
    found = await seats.pane(session.memory)
    look = None if found is None else await found.look()
    if isinstance(look, Gone | Unknown):
        raise AgentUnavailable(f"The agent's terminal cannot be seen: {look.why}.")
    if look is None:
        raise AgentUnavailable("The agent has no terminal now. It gets one with the next message.")
    seen = read(look.capture, manifest)
    rows = tuple("".join(c if c.isprintable() else "\ufffd" for c in row.rstrip()) for row in seen.rows)
    return Shown(rows=rows, columns=look.size[0], seen=_told(look, seen), attach=_attach(options, look))


def _told(look: Look, seen: Screen) -> str:
    if look.holder != "agent":
        return f"what runs there: {look.holder}"
    parts: list[str] = [seen.state]
    if seen.dialog is not None:
        parts.append(f"a dialog: {seen.dialog.title or seen.dialog.kind}")
    if seen.composer.state == "draft":
        parts.append("a draft stands in its composer")
    return ", ".join(parts)


def _attach(options: Options, look: Look) -> str:
    """A person's session may have any name: then the pane's own id finds it."""
    name = f"={look.session}" if names.plain_command(look.session) else look.ref.pane_id
    socket = options.socket
    where = () if socket is None else ("-S", socket) if socket.startswith("/") else ("-L", socket)
    return shlex.join(["tmux", *where, "attach", "-t", options.target or name])
