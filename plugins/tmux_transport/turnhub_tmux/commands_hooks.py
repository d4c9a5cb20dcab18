"""``turnhub hooks``: let a Claude Code that one starts oneself tell the hub what it does. Heavy imports stay
inside the commands."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from turnhub_tmux.bridge.access import Access

USER: Final = "user"
"""The name under which agents post that a person has started: each post says which session it is about."""
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
_agent = click.option(
    "--agent", help="The agent of the configuration that they post for; the only one by default."
)


@click.group("hooks")
def hooks() -> None:
    """Let a Claude Code that you start yourself tell the hub what it does, and take answers from it.

    Agents that the hub starts need none of this.
    """


@hooks.command("print")
@_state
@_agent
def print_hooks(state: Path, agent: str | None) -> None:
    """Print the settings that `install` would add, without changing anything."""
    import msgspec

    from turnhub_tmux.bridge import settings
    from turnhub_tmux.bridge.access import Access, url_of

    shown = Access(url=url_of(_listener(state, agent)[1], USER), token="<secret>")  # noqa: S106 - stands for one
    click.echo(msgspec.json.format(msgspec.json.encode({"hooks": settings.hooks(shown)}), indent=2).decode())


@hooks.command("install")
@_config_dir
@_state
@_agent
def install(config_dir: Path, state: Path, agent: str | None) -> None:
    """Add the hooks to your own settings.json. The file of before is kept beside it."""
    from turnhub_tmux.bridge import installed

    path, text = _settings_file(config_dir)
    _checked(path, text)
    changed = installed.installed(text, _new_access(*_listener(state, agent)))
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


def hooks_folders(state: Path) -> list[Path]:
    """Where the listeners of a hub keep their ports and secrets: one folder an agent."""
    state = state.expanduser()
    return [folder for folder in (state / "hooks", *sorted(state.glob("agents/*/hooks"))) if folder.is_dir()]


def _listener(state: Path, agent: str | None) -> tuple[Path, int]:
    """The folder and the port to post to."""
    from turnhub_tmux.bridge.state import ports

    found = {folder: there[0] for folder in hooks_folders(state) if (there := ports(folder))}
    if agent is not None:
        found = {folder: port for folder, port in found.items() if folder.parent.name == agent}
    if not found:
        who = "that agent" if agent else "an agent of transport tmux"
        raise _UsedWrongly(
            f"No hub has listened for {who} on {state} yet, so there is no port to post to. Start the hub and "
            "open a session with it, or name the hub's state directory with --state."
        )
    if len(found) > 1:
        names = ", ".join(folder.parent.name for folder in found)
        raise _UsedWrongly(f"Several agents listen: {names}. Say with --agent which of them the hooks post for.")
    return next(iter(found.items()))


def _new_access(folder: Path, port: int) -> Access:
    import asyncio

    from turnhub_tmux.bridge.access import Access, url_of
    from turnhub_tmux.bridge.state import Secrets

    try:
        token = asyncio.run(Secrets(folder).new(USER))
    except OSError as error:
        raise _UsedWrongly(f"{folder} cannot be written: {error.strerror}.") from None
    return Access(url=url_of(port, USER), token=token)


def _forget(state: Path) -> None:
    import asyncio

    from turnhub_tmux.bridge.state import Secrets

    for folder in hooks_folders(state):
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
