"""``turnhub hooks``: let a Claude Code that one starts oneself tell the hub what it does. Heavy imports stay
inside the commands."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from turnhub_tmux.bridge.access import Access

_WRONG: Final = 2
_DIRECTORY: Final = click.Path(path_type=Path, file_okay=False)


class _UsedWrongly(click.ClickException):
    """One line on stderr, and exit code 2."""

    exit_code = _WRONG

    def show(self, file: Any = None) -> None:
        click.echo(f"turnhub: {self.format_message()}", file=file, err=file is None)


_config_dir = click.option(
    "--config-dir",
    type=_DIRECTORY,
    envvar="CLAUDE_CONFIG_DIR",
    default=Path("~/.claude"),
    show_default=True,
    help="Where Claude Code keeps its settings.",
)
_state = click.option(
    "--state",
    type=_DIRECTORY,
    envvar="TURNHUB_STORE__STATE",
    default=Path("~/.local/state/turnhub"),
    show_default=True,
    help="The hub's state directory.",
)


@click.group("hooks")
def hooks() -> None:
    """Let a Claude Code that you start yourself tell the hub what it does, and take answers from it.

    Agents that the hub starts need none of this.
    """


@hooks.command("print")
@_state
def print_hooks(state: Path) -> None:
    """Print the settings that `install` would add, without changing anything."""
    import msgspec

    from turnhub_tmux.bridge import settings
    from turnhub_tmux.bridge.access import USER, Access, url_of

    shown = Access(url=url_of(_listener(state)[1], USER), token="<secret>")  # noqa: S106 - stands for one
    click.echo(msgspec.json.format(msgspec.json.encode({"hooks": settings.hooks(shown)}), indent=2).decode())


@hooks.command("install")
@_config_dir
@_state
def install(config_dir: Path, state: Path) -> None:
    """Add the hooks to your own settings.json. The file of before is kept beside it."""
    from turnhub_tmux.bridge import installed

    path, text = _settings_file(config_dir)
    _checked(path, text)
    changed = installed.installed(text, _new_access(*_listener(state)))
    backup = _write(path, text, changed)
    click.echo(f"Added to {path}: sessions of Claude Code that you start from now on tell the hub what they do.")
    if backup:
        click.echo(f"As it was: {backup}")
    click.echo(
        "It holds a secret now, so only you may read it. `turnhub hooks remove` takes everything out again.",
        err=True,
    )


@hooks.command("remove")
@_config_dir
@_state
def remove(config_dir: Path, state: Path) -> None:
    """Take the hooks out of your settings.json again; everything else in it stays."""
    from turnhub_tmux.bridge import installed

    path, text = _settings_file(config_dir)
    _checked(path, text)
    if not text.strip() or not installed.ours(text):
        click.echo(f"There are no hooks of turnhub in {path}.")
    else:
        _write(path, text, installed.removed(text))
        click.echo(f"Taken out of {path}. Sessions that are running keep them until they end.")
    _forget(state)


def hooks_folder(state: Path) -> Path:
    """Where a hub's listener keeps its port and its secrets."""
    return state.expanduser() / "transports" / "tmux" / "hooks"


def _listener(state: Path) -> tuple[Path, int]:
    """The folder and the port to post to."""
    from turnhub_tmux.bridge.state import ports

    folder = hooks_folder(state)
    found = ports(folder)
    if not found:
        raise _UsedWrongly(
            f"No hub has listened for agents in terminals on {state} yet, so there is no port to post to. Start "
            "the hub and open a session with an agent of transport tmux, or name the hub's state directory with "
            "--state."
        )
    return folder, found[0]


def _new_access(folder: Path, port: int) -> Access:
    import asyncio

    from turnhub_tmux.bridge.access import USER, Access, url_of
    from turnhub_tmux.bridge.state import Secrets

    try:
        token = asyncio.run(Secrets(folder).new(USER))
    except OSError as error:
        raise _UsedWrongly(f"{folder} cannot be written: {error.strerror}.") from None
    return Access(url=url_of(port, USER), token=token)


def _forget(state: Path) -> None:
    import asyncio

    from turnhub_tmux.bridge.access import USER
    from turnhub_tmux.bridge.state import Secrets

    folder = hooks_folder(state)
    if not folder.is_dir():
        return
    try:
        asyncio.run(Secrets(folder).forget(USER))
    except OSError as error:
        raise _UsedWrongly(f"{folder} cannot be written: {error.strerror}.") from None


def _settings_file(config_dir: Path) -> tuple[Path, str]:
    """The file (behind links, which stay) and its text; empty where there is none."""
    path = Path(os.path.realpath(config_dir.expanduser() / "settings.json"))
    try:
        return path, path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return path, ""
    except UnicodeDecodeError:
        raise _UsedWrongly(f"{path} is not UTF-8. Nothing was changed.") from None
    except OSError as error:
        raise _UsedWrongly(f"{path} cannot be read: {error.strerror}.") from None


def _checked(path: Path, text: str) -> None:
    from turnhub_tmux.bridge import installed

    try:
        if text.strip():
            installed.ours(text)
    except installed.NotSettings as error:
        raise _UsedWrongly(f"{path} cannot be edited: {error} Mend it first; nothing was changed.") from None


def _write(path: Path, before: str, after: str) -> Path | None:
    """Write the settings, for their owner only, and keep those of before beside them: where."""
    from turnhub_tmux.bridge.state import write_private

    backup = path.with_name(f"{path.name}.before-turnhub")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if before:
            write_private(backup, before.encode())
        write_private(path, after.encode())
    except OSError as error:
        raise _UsedWrongly(f"{path} cannot be written: {error.strerror}.") from None
    return backup if before else None
