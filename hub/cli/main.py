"""``turnhub``: the group of all commands. A command's module is imported when the command is used.

Commands of plugins are looked for when a command is none of ours: finding them means to import the plugins.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any, Final

import click

import hub
from hub.cli.common import FAILED, WRONG, Failure, read_config

# name: (module, attribute, what --help says of it)
_COMMANDS: Final[Mapping[str, tuple[str, str, str]]] = {
    "serve": ("serve", "serve", "Start the hub."),
    "demo": ("serve", "demo", "Start a hub to try things out: no account, its own data."),
    "doctor": ("doctor", "doctor", "Say what is missing or wrong, and what mends it."),
    "agents": ("lists", "agents", "List the agents and whether they can run."),
    "plugins": ("lists", "plugins", "List the plugins and why some are not there."),
    "sessions": ("lists", "sessions", "List the sessions, newest change first."),
    "top": ("top", "top", "Show what all sessions are at, as it changes."),
    "new": ("sessions", "new", "Open a session with an agent."),
    "send": ("talk", "send", "Send a message and watch its turn."),
    "attach": ("talk", "attach", "Chat in a session; or watch its running turn."),
    "retry": ("talk", "retry", "Try the last message again and watch."),
    "interrupt": ("talk", "interrupt", "Stop the running turn of a session."),
    "show": ("sessions", "show", "Show a session's conversation."),
    "fork": ("copies", "fork", "Open a session that goes on from another."),
    "export": ("copies", "export", "Write a session to a file, for people or for hubs."),
    "import": ("copies", "import_session", "Read such a file into a new session."),
    "asks": ("lists", "asks", "List what agents wait for."),
    "answer": ("answer", "answer", "Answer a permission or a question."),
    "memory": ("memory", "memory", "Show what is kept of a session's turns."),
    "queue": ("queue", "queue", "List what waits in a session; change it, take it back, let it go on."),
    "grants": ("grants", "grants", "List what a session may without asking; take it back."),
    "token": ("token", "token", "Show the token; make, list and revoke others."),
}


class Commands(click.Group):
    """The commands of :data:`_COMMANDS`, then those of plugins."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Our own names, in the order in which a newcomer needs them."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, imported now; None when nobody has it."""
        if cmd_name in _COMMANDS:
            module, attribute, _ = _COMMANDS[cmd_name]
            command: click.Command = getattr(import_module(f"hub.cli.{module}"), attribute)
            return command
        return None if ctx.resilient_parsing else _of_plugins(cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list in --help, without importing the commands."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, _, text) in _COMMANDS.items()])


def _of_plugins(name: str) -> click.Command | None:
    """A plugin's command. A plugin that fails to add its own is named, if the command is not found without it.
    Raises Failure where the plugins cannot be loaded."""
    from hub import plugins
    from hub.errors import PluginError

    found = click.Group()
    failed: list[str] = []
    try:
        manager = plugins.load(read_config(None, {})).manager
    except PluginError as error:
        raise Failure(error.detail, WRONG) from None
    for impl in manager.hook.register_commands.get_hookimpls():
        try:
            impl.function(*[found for _ in impl.argnames])
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything; the others' commands are still there
            failed.append(
                f"plugin {impl.plugin_name!r} could not add its commands: {type(error).__name__}: {error}"
            )
    if name not in found.commands:
        for line in failed:
            click.echo(f"turnhub: {line}", err=True)
    return found.commands.get(name)


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Plugins may add commands of their own: see `turnhub plugins`. Exit codes: 0 done, 1 the turn failed, "
    "2 used wrongly, 3 hub not reachable, 4 busy.",
)
@click.version_option(hub.__version__, prog_name="turnhub", message="%(prog)s %(version)s")
def turnhub() -> None:
    """One honest door to all coding agents."""


def main(args: list[str] | None = None, **extra: Any) -> Any:
    """The entry point. Exits the process."""
    for stream in (sys.stdout, sys.stderr):
        # Agents write all of Unicode; a terminal that cannot show it gets a replacement, no traceback.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        return turnhub.main(args, prog_name="turnhub", **extra)
    except OSError as error:  # the output's disk is full, the folder is gone, a file is not ours
        with suppress(OSError):
            where = f" {error.filename}" if error.filename else ""
            click.echo(f"turnhub: the system refused{where}: {error.strerror or error}.", err=True)
        os._exit(FAILED)  # what is left in the buffers cannot be written either
