"""One pane: what it shows at one instant, and keys that are pressed only if that holds still."""

from __future__ import annotations

import secrets
import socket
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from turnhub_tmux.panes import names, process
from turnhub_tmux.panes.server import Answer, Server, off_the_loop

_FIELDS: Final = (
    "pid",
    "pane_id",
    "pane_pid",
    "pane_dead",
    "pane_dead_status",
    "pane_in_mode",
    "alternate_on",
    "cursor_x",
    "cursor_y",
    "pane_width",
    "pane_height",
    "session_attached",
    "session_name",
    "pane_current_command",
)
_FORMAT: Final = "\t".join(f"#{{{name}}}" for name in _FIELDS)
_DONE: Final = "turnhub-done"

Holder: TypeAlias = Literal["agent", "shell", "nothing", "unknown"]


class PaneRef(Struct, frozen=True, kw_only=True):
    """A pane for good: its id lives as long as its server, so the server's process is part of it. ``started``:
    when the pane's process began, in the kernel's ticks; None where nobody tells."""

    pane_id: str
    server_pid: int
    pane_pid: int
    started: int | None = None


class Look(Struct, frozen=True, kw_only=True):
    """The pane at one instant. ``attached``: how many people's terminals show its ``session``."""

    ref: PaneRef
    dead: bool
    status: int | None
    scrolled: bool
    alternate: bool
    cursor: tuple[int, int]
    size: tuple[int, int]
    attached: int
    command: str
    holder: Holder
    capture: bytes
    session: str = ""


class Gone(Struct, frozen=True):
    """The pane is not there any more, and why that is known."""

    why: str


class Unknown(Struct, frozen=True):
    """Whether the pane is there could not be found out, and why. Nothing may be concluded from it."""

    why: str


class Pane:
    """A pane of a server."""

    def __init__(self, server: Server, ref: PaneRef) -> None:
        self.server = server
        self.ref = ref
        names.pane_id(ref.pane_id)

    @property
    def place(self) -> str:
        """The same for everybody who types into this pane."""
        return f"tmux:{socket.gethostname()}:{self.ref.server_pid}:{self.ref.pane_id}"

    async def look(self) -> Look | Gone | Unknown:
        """What it shows: all of it from one instant."""
        at = ("-t", self.ref.pane_id)
        answer = await self.server.run("display-message", "-p", *at, _FORMAT, ";", "capture-pane", "-e", "-p", *at)
        return await off_the_loop(lambda: self._seen(answer))

    def _seen(self, answer: Answer) -> Look | Gone | Unknown:
        if answer.outcome == "no_server":
            return self._without_server(answer.why)
        if answer.outcome != "done":
            return Gone(answer.why) if answer.outcome == "gone" else Unknown(answer.why)
        head, _, capture = answer.out.partition(b"\n")
        fields = dict(zip(_FIELDS, head.decode("utf-8", "replace").split("\t", len(_FIELDS) - 1), strict=False))
        if fields.get("pid") not in (None, str(self.ref.server_pid)):
            return self._without_server("another tmux server answers on its socket")
        if fields.get("pane_id") != self.ref.pane_id:
            return Gone("tmux knows no such pane any more")
        return self._read(fields, capture)

    def _read(self, fields: dict[str, str], capture: bytes) -> Look:
        number = {name: int(value) if value.isdigit() else 0 for name, value in fields.items()}
        command, dead = fields["pane_current_command"], fields["pane_dead"] == "1"
        return Look(
            ref=self.ref,
            dead=dead,
            status=number["pane_dead_status"] if dead and fields["pane_dead_status"] else None,
            scrolled=number["pane_in_mode"] > 0,
            alternate=fields["alternate_on"] == "1",
            cursor=(number["cursor_x"], number["cursor_y"]),
            size=(number["pane_width"], number["pane_height"]),
            attached=number["session_attached"],
            command=command,
            holder="nothing" if dead else _holder(command, number["pane_pid"]),
            capture=capture,
            session=fields["session_name"],
        )

    def _without_server(self, why: str) -> Gone | Unknown:
        """A socket that nobody listens on is no proof: its file may have been swept away under a living server."""
        if process.lives(self.ref.pane_pid, self.ref.started) is False:
            return Gone(why)
        return Unknown(f"{why}, but its process lives")

    # Typing. Each is done by the server in one step: look once more, then press, or not.

    async def paste(self, text: str, look: Look) -> bool:
        """Paste, in one piece and bracketed; whether it was done. Raises TerminalFailed."""
        pane, buffer = self.ref.pane_id, f"turnhub-{secrets.token_hex(8)}"
        paste = f"paste-buffer -p -d -b {buffer} -t {pane} ; display-message -p {_DONE}"
        given = text.encode("utf-8", "replace")
        answer = await self.server.must(
            "load-buffer", "-b", buffer, "-", ";",
            "if-shell", "-F", "-t", pane, condition(look), paste, f"delete-buffer -b {buffer}",
            given=given,
        )  # fmt: skip
        return _DONE in answer.lines

    async def press(self, *keys: str, look: Look, times: int = 1) -> bool:
        """Press keys, the whole row of them ``times`` times; whether it was done. Raises TerminalFailed, and
        ValueError for keys that may not be pressed."""
        row = " ".join(names.key(name) for name in keys)
        return await self._send(f"send-keys -N {int(times)} -t {self.ref.pane_id} {row}", look)

    async def unscroll(self, look: Look) -> bool:
        """Leave tmux's own modes: in them keys do not reach the program. Raises TerminalFailed."""
        leave = f"send-keys -t {self.ref.pane_id} -X cancel"
        return await self._send(leave, look, scrolled=True)

    async def _send(self, command: str, look: Look, *, scrolled: bool = False) -> bool:
        words = f"{command} ; display-message -p {_DONE}"
        when = condition(look, scrolled=scrolled)
        answer = await self.server.must("if-shell", "-F", "-t", self.ref.pane_id, when, words)
        return _DONE in answer.lines

    async def kill(self) -> None:
        """End the pane, with what runs in it: for panes that were started here only. Others beside it are a
        person's, and so may be the session that it was moved to."""
        words = f"kill-pane -t {self.ref.pane_id}"
        ours = _all(_same_pane(self.ref))
        await self.server.run("if-shell", "-F", "-t", self.ref.pane_id, ours, words)


def condition(look: Look, *, scrolled: bool = False) -> str:
    """tmux's format for: it is as it was. Made of numbers and of names that cannot mean anything else."""
    tests = [*_same_pane(look.ref), _equal("pane_dead", 0)]
    if scrolled:
        return _all([*tests, "#{!=:#{pane_in_mode},0}"])
    tests += [
        _equal("pane_in_mode", 0),
        _equal("cursor_x", look.cursor[0]),
        _equal("cursor_y", look.cursor[1]),
        _equal("pane_width", look.size[0]),
        _equal("pane_height", look.size[1]),
    ]
    if names.plain_command(look.command):
        tests.append(_equal("pane_current_command", look.command))
    return _all(tests)


def _same_pane(ref: PaneRef) -> list[str]:
    return [
        _equal("pane_id", names.pane_id(ref.pane_id)),
        _equal("pid", ref.server_pid),
        _equal("pane_pid", ref.pane_pid),
    ]


def _equal(name: str, value: Any) -> str:
    return f"#{{==:#{{{name}}},{value}}}"


def _all(tests: list[str]) -> str:
    joined = tests[-1]
    for test in reversed(tests[:-1]):
        joined = f"#{{&&:{test},{joined}}}"
    return joined


def _holder(command: str, pane_pid: int) -> Holder:
    if not command.strip() or process.is_carrier(command):
        return "unknown"
    return "shell" if process.only_shells(command, pane_pid) else "agent"
