"""``turnhub screen``: what the reader sees on a pane. Heavy imports stay inside the command."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from turnhub_tmux.screen.types import Readback, Screen

_WRONG: Final = 2
_PATH: Final = click.Path(path_type=Path, dir_okay=False, allow_dash=True)


class _UsedWrongly(click.ClickException):
    """One line on stderr, and exit code 2."""

    exit_code = _WRONG

    def show(self, file: Any = None) -> None:
        click.echo(f"turnhub: {self.format_message()}", file=file, err=file is None)


@click.command("screen")
@click.argument("session", required=False)
@click.option("--file", "file", type=_PATH, help="A saved screen (capture-pane -e -p); - for stdin.")
@click.option("--socket", help="For a live pane: the tmux socket, as the agent's configuration has it.")
@click.option("--kind", default="claude-code", show_default=True, help="A screen manifest: its name, or its file.")
@click.option("--needle", help="A text that was typed: say whether it is submitted, queued or staged.")
@click.option("--baseline", type=_PATH, help="The screen as it was before the text was typed.")
@click.option("--json", "as_json", is_flag=True, help="For machines: JSON on stdout.")
def screen(  # noqa: PLR0917 - click gives them by name
    session: str | None,
    file: Path | None,
    socket: str | None,
    kind: str,
    needle: str | None,
    baseline: Path | None,
    as_json: bool,
) -> None:
    """Read a screen: its state and why, what stands in the composer, the dialog that holds the keyboard.

    SESSION: a session of the hub, or a pane as tmux names it (work:1.0), which is read as it stands now and shown
    beside what is read; or --file for a saved one.
    """
    from hub import ConfigError
    from turnhub_tmux.screen.manifest import load
    from turnhub_tmux.screen.places import folders
    from turnhub_tmux.screen.readback import readback
    from turnhub_tmux.screen.reader import read

    try:
        manifest = load(kind, folders())
    except ConfigError as error:
        raise _UsedWrongly(error.detail) from None
    if baseline is not None and needle is None:
        raise _UsedWrongly("--baseline makes sense with --needle only.")
    if (session is None) == (file is None):
        raise _UsedWrongly("Name a session (or a tmux pane), or give --file; one of them.")
    after = _live(session, socket) if session is not None else _bytes(file or Path("-"))
    before = None if baseline is None else _bytes(baseline)
    seen = read(after, manifest)
    found = None if needle is None else readback(needle, before, after, manifest)
    if as_json:
        click.echo(_json(seen, found))
        return
    told = _told(seen, found)
    if session is not None:
        told = _beside([f"{n:4} | {_harmless(row)}" for n, row in enumerate(seen.rows, 1)], told.splitlines())
    click.echo(told)


def _live(session: str, socket: str | None) -> bytes:
    """The pane of a session as it stands now."""
    import asyncio

    from hub import AgentUnavailable, ConfigError
    from turnhub_tmux.panes.pane import Look, Pane
    from turnhub_tmux.panes.panes import find
    from turnhub_tmux.panes.server import Server

    async def look() -> bytes:
        name = f"turnhub-{session}" if session.startswith("ses_") else session
        found = await find(Server(socket), name)
        seen = await found.look() if isinstance(found, Pane) else found
        if not isinstance(seen, Look):
            raise _UsedWrongly(f"There is nothing to be read: {seen.why}.")
        if seen.holder != "agent":
            click.echo(f"turnhub: what runs in this pane: {seen.holder}", err=True)
        return seen.capture

    try:
        return asyncio.run(look())
    except (AgentUnavailable, ConfigError) as error:
        raise _UsedWrongly(error.detail) from None


def _bytes(path: Path) -> bytes:
    try:
        return sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except OSError as error:
        raise _UsedWrongly(f"{path} cannot be read: {error.strerror}.") from None


def _json(seen: Screen, found: Readback | None) -> str:
    import msgspec

    from turnhub_tmux.screen.view import as_dict

    shown = as_dict(seen)
    if found is not None:
        shown |= msgspec.to_builtins(found)
    return msgspec.json.encode(shown).decode()


def _told(seen: Screen, found: Readback | None) -> str:
    lines = [
        f"state     {seen.state}: {'; '.join(seen.why)}",
        f"composer  {seen.composer.state} {seen.composer.text!r}",
    ]
    if seen.dialog is not None:
        lines.append(f"dialog    {seen.dialog.kind}: {seen.dialog.title} [{seen.dialog.fingerprint}]")
        lines += [f"          {o.key or '-'}  {o.label}  ({o.means})" for o in seen.dialog.options]
    if found is not None:
        lines.append(f"text      submitted {found.submitted}, queued {found.queued}, staged {found.staged}")
    return "\n".join(_harmless(line) for line in lines)


def _beside(pane: list[str], told: list[str]) -> str:
    """The raw pane with what is read beside it; below, where the terminal is too narrow for both."""
    import shutil

    from turnhub_tmux.screen.cells import width

    widest = max(map(width, pane), default=0)
    if widest + 3 + max(map(width, told)) > shutil.get_terminal_size().columns:
        return "\n".join([*told, "", *pane])
    rows = max(len(pane), len(told))
    left, right = pane + [""] * (rows - len(pane)), told + [""] * (rows - len(told))
    pairs = zip(left, right, strict=True)
    return "\n".join(f"{one}{' ' * (widest - width(one))} | {other}".rstrip() for one, other in pairs)


def _harmless(line: str) -> str:
    """Without what a terminal would act on: the screen of an agent is not to be trusted."""
    return "".join(character if character.isprintable() else "\ufffd" for character in line)
