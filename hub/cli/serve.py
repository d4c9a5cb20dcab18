"""Commands that start a hub."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Awaitable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from hub.cli.common import FAILED, WRONG, Failure, config_option, innermost, read_config, state_option

if TYPE_CHECKING:
    from hub.config import Config
    from hub.log import Level, LogFormat
    from hub.serve import ServeInfo

Role = Literal["all", "front", "runner"]
_FILE = click.Path(path_type=Path, dir_okay=False, resolve_path=True)
_LOGGING = (
    click.option(
        "--log-format",
        type=click.Choice(["people", "json"]),
        default="people",
        envvar="TURNHUB_LOG_FORMAT",
        show_default=True,
        help="How log lines on stderr look.",
    ),
    click.option(
        "--log-level",
        type=click.Choice(["debug", "info", "warning", "error"]),
        default="info",
        envvar="TURNHUB_LOG_LEVEL",
        show_default=True,
        help="What is logged. What is said to agents appears at debug only.",
    ),
)


def _with_logging(function: Any) -> Any:
    for option in reversed(_LOGGING):
        function = option(function)
    return function


@click.command()
@config_option
@click.option("--host", help="The address to listen on.")
@click.option("--port", type=int, help="The port to listen on; 0 takes any free one.")
@click.option("--tls-cert", type=_FILE, help="A certificate (PEM): serve https.")
@click.option("--tls-key", type=_FILE, help="Its key (PEM), where it is not in the same file.")
@click.option("--insecure-bind", is_flag=True, default=None, help="Listen beyond this machine even without TLS.")
@click.option("--store", help="`embedded`, or the URL of a Redis or Valkey.")
@state_option
@click.option(
    "--role",
    type=click.Choice(["all", "front", "runner"]),
    default="all",
    show_default=True,
    help="Serve HTTP, run agents, or both.",
)
@_with_logging
def serve(config: Path | None, role: Role, log_format: LogFormat, log_level: Level, **given: Any) -> None:
    """Start the hub and serve until SIGTERM or Ctrl-C."""
    keys = {
        "host": "server.host",
        "port": "server.port",
        "tls_cert": "server.tls_cert",
        "tls_key": "server.tls_key",
        "insecure_bind": "server.insecure_bind",
        "store": "store.url",
        "state": "store.state",
    }
    options = {
        f"--{name.replace('_', '-')}": (key, str(given[name]) if isinstance(given[name], Path) else given[name])
        for name, key in keys.items()
        if given[name] is not None
    }
    _run(read_config(config, options), role, log_format, log_level)


@click.command()
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=8420, show_default=True, help="0 takes any free one."
)
@state_option
@_with_logging
def demo(port: int, state: Path | None, log_format: LogFormat, log_level: Level) -> None:
    """Start a hub with the rehearsal agent only: the real Claude Code with a scripted model.

    No account is needed. Its data is apart from that of `turnhub serve`.
    """
    options: dict[str, tuple[str, Any]] = {
        "--port": ("server.port", port),
        "--state": ("store.state", str(state or "~/.local/state/turnhub/demo")),
    }
    _run(_demo_config(options), "all", log_format, log_level)


def _demo_config(options: dict[str, tuple[str, Any]]) -> Config:
    """The defaults and ``options``: no file and no environment can make the demo something else."""
    from hub.configload import load

    home = {name: value for name, value in os.environ.items() if name == "HOME"}
    agents = {"rehearsal": {"transport": "sdk", "rehearsal": True, "cwd": str(Path.cwd())}}
    return load(None, home, Path("/nonexistent"), {**options, "demo": ("agents", agents)})


def _run(config: Config, role: Role, log_format: LogFormat, log_level: Level) -> None:
    import asyncio

    from hub import log
    from hub.errors import ConfigError, HubError
    from hub.serve import new_loop
    from hub.serve import serve as serving

    log.setup(log_format, log_level)

    def announce(info: ServeInfo) -> None:
        if log_format == "json":  # for machines, and those keep their logs: no token there
            log.logger("hub").info("ready", url=info.url, version=info.version, agents=list(info.agents))
        else:
            click.echo(welcome(info, config.store.state), err=True)

    try:
        try:
            with asyncio.Runner(loop_factory=new_loop) as loop:
                loop.run(_to_the_end(serving(config, role=role, announce=announce)))
        except BaseExceptionGroup as group:
            raise innermost(group) from None
    except HubError as error:
        raise Failure(error.detail, WRONG if isinstance(error, ConfigError) else FAILED) from None


async def _to_the_end(serving: Awaitable[None], *, within_s: float = 2.0) -> None:
    """Serve, and leave. A plugin's task that ignores its cancellation would keep the process for ever, since
    asyncio waits for all of them: everything is written by then, so the process goes without it."""
    import asyncio

    from hub import log

    await serving
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    if not left:
        return
    _, stubborn = await asyncio.wait(left, timeout=within_s)
    if stubborn:
        log.logger("hub").error("tasks of plugins do not end; leaving without them", tasks=len(stubborn))
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def _command() -> str:
    """How this very command is typed: by its name where that is found, else by its file."""
    beside = Path(sys.executable).with_name("turnhub")
    if shutil.which("turnhub") or not beside.exists():
        return "turnhub"
    here = Path.cwd()
    return shlex.quote(str(beside.relative_to(here) if beside.is_relative_to(here) else beside))


def welcome(info: ServeInfo, state: Path) -> str:
    """What a person reads when the hub is ready."""
    lines = [f"turnhub {info.version} is ready.", ""]
    if info.url:
        lines.append(f"  open    {info.url}/?token={info.token}")
    lines.append(f"  agents  {', '.join(info.agents) or 'none: name one in turnhub.toml'}")
    lines.append(f"  state   {state}")
    if info.url and info.agents:
        where = (
            "" if state == Path("~/.local/state/turnhub").expanduser() else f" --state {shlex.quote(str(state))}"
        )
        agent = "rehearsal" if "rehearsal" in info.agents else info.agents[0]  # which needs no account
        lines.append(f"  try     {_command()} new {agent}{where}")
    return "\n".join([*lines, "", "Ctrl-C stops it."])
