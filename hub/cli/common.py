"""What commands share: the options that find the hub, running async code, errors as one line and a code."""

from __future__ import annotations

import functools
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from hub.cli.output import Output
    from hub.client import Address, Client, ClientError
    from hub.config import Config

DONE: Final = 0
FAILED: Final = 1
WRONG: Final = 2
NOT_REACHABLE: Final = 3
BUSY: Final = 4

Work = Callable[["Client"], Awaitable[int]]


class Failure(click.ClickException):
    """One line on stderr, and an exit code."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        setattr(self, "exit_code", code)  # noqa: B010 - click declares it for the class, reads it from the error

    def show(self, file: Any = None) -> None:
        """Print the line."""
        from hub.cli.clean import clean

        click.echo(f"turnhub: {clean(self.format_message())}", file=file, err=file is None)


class Where:
    """Where the hub is, as the options say; looked up when a command needs it."""

    def __init__(self, url: str | None, token: str | None, state: Path | None, config: Path | None) -> None:
        self._url = url
        self._token = token
        self._state = state
        self._config = config

    def config(self) -> Config:
        """The configuration. Raises Failure for a mistake in it."""
        return read_config(
            self._config, {} if self._state is None else {"--state": ("store.state", str(self._state))}
        )

    def address(self) -> Address:
        """The hub to talk to. Raises Failure where the options make no sense."""
        from hub.client import ClientError, discover
        from hub.config import Config

        given = (self._url or os.environ.get("TURNHUB_URL")) and (self._token or os.environ.get("TURNHUB_TOKEN"))
        config = Config() if given else self.config()
        try:
            return discover(self._url, self._token, config.store.state, config.server, os.environ)
        except ClientError as error:
            raise Failure(error.detail, WRONG) from None


class Caller:
    """What a command is given: where the hub is, how to speak, and how to run its work."""

    def __init__(self, where: Where, out: Output) -> None:
        self.where = where
        self.out = out

    def run(self, work: Work) -> None:
        """Run ``work`` with a client and exit with the code it returns. Errors become a line and their code."""
        import asyncio

        from hub.client import ClientError

        address = self.where.address()

        try:
            try:
                code = asyncio.run(self._run(address, work))
            except BaseExceptionGroup as group:
                raise innermost(group) from None
        except ClientError as error:
            self.out.end_line()
            if self.out.json:
                self.out.document({"error": described(error)})
            raise Failure(*explained(error, address.url)) from None
        click.get_current_context().exit(code)

    async def _run(self, address: Address, work: Work) -> int:
        from hub.client import Client, Patience

        patience = Patience(
            lost=lambda why: self.out.talk(f"… the hub is away ({why}); trying to resume", "yellow")
        )
        async with Client(address, patience=patience) as client:
            return await work(client)


def described(error: ClientError) -> dict[str, Any]:
    """An error for machines."""
    from hub.client import ProblemError

    if isinstance(error, ProblemError):
        return {"code": error.code, "status": error.status, "detail": error.detail, **error.facts}
    return {"code": "not_reachable" if exit_code(error) == NOT_REACHABLE else "error", "detail": error.detail}


def exit_code(error: ClientError) -> int:
    """The exit code for an error of the client."""
    from hub.client import HubNotReachable, ProblemError

    if isinstance(error, HubNotReachable):
        return NOT_REACHABLE
    if not isinstance(error, ProblemError):
        return FAILED
    if error.code == "turn_in_flight" or error.status == 429:
        return BUSY
    return WRONG if error.status in {400, 401, 403, 404, 405, 413, 422} else FAILED


def explained(error: ClientError, url: str) -> tuple[str, int]:
    """The line for a person, and the exit code."""
    from hub.client import ProblemError

    code = exit_code(error)
    if code == NOT_REACHABLE:
        return (
            f"no hub answers at {url} ({error.detail}). Start one with `turnhub serve`, or see `turnhub doctor`.",
            code,
        )
    if isinstance(error, ProblemError) and error.code == "turn_in_flight":
        facts = error.facts
        what = f"turn {facts.get('turn_id')} is {facts.get('state')} since {facts.get('started_at')}"
        same = " with this very message" if facts.get("same_message") else ""
        return f"busy: {what}{same}. See --on-busy attach, queue, steer or interrupt.", code
    if isinstance(error, ProblemError) and error.code == "unauthorized":
        return (
            f"the hub at {url} does not know this token, or got none. `turnhub token` on its machine shows one "
            "that it does; give it with TURNHUB_TOKEN or --token.",
            code,
        )
    return error.detail, code


def read_config(path: Path | None, options: dict[str, tuple[str, Any]]) -> Config:
    """The configuration. Raises Failure for a mistake in it."""
    from hub.configload import load
    from hub.errors import ConfigError

    try:
        return load(path, options=options)
    except ConfigError as error:
        raise Failure(error.detail, WRONG) from None


def innermost(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The one error of a group that holds one; else the group."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


_PATH: Final = click.Path(path_type=Path)
config_option = click.option("--config", type=_PATH, help="The configuration file; default: ./turnhub.toml.")


def _typed_here(_: click.Context, __: click.Parameter, path: Path | None) -> Path | None:
    """What is typed is meant from this folder, wherever the configuration is; ``~`` is looked up later."""
    return path if path is None or str(path).startswith("~") else Path.cwd() / path


state_option = click.option("--state", type=_PATH, callback=_typed_here, help="The state directory.")
json_option = click.option("--json", "as_json", is_flag=True, help="For machines: JSON on stdout.")


def stream_command(function: Callable[..., None]) -> Callable[..., None]:
    """A :func:`hub_command` that prints events: with --json whatever it says on stdout is an object a line."""

    @functools.wraps(function)
    def streaming(caller: Caller, **rest: Any) -> None:
        caller.out.lines = True
        function(caller, **rest)

    return hub_command(streaming)


def hub_command(function: Callable[..., None]) -> Callable[..., None]:
    """A command that talks to a hub: adds --url, --token, --state, --config and --json, and passes a
    :class:`Caller` as the first argument."""

    @click.option("--url", help="The hub's address; default: TURNHUB_URL, else the hub of the state directory.")
    @click.option("--token", help="The token; default: TURNHUB_TOKEN, else that of the state directory.")
    @state_option
    @config_option
    @json_option
    @functools.wraps(function)
    def command(
        url: str | None, token: str | None, state: Path | None, config: Path | None, as_json: bool, **rest: Any
    ) -> None:
        from hub.cli.output import Output

        function(Caller(Where(url, token, state, config), Output(json=as_json)), **rest)

    return command
