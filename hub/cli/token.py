"""The command about tokens. It works on the state directory itself and needs no running hub."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hub.cli.common import FAILED, WRONG, Failure, Where, config_option, json_option, state_option

if TYPE_CHECKING:
    from hub.cli.output import Output
    from hub.tokens import Tokens


class _Desk:
    """The tokens of a state directory, and where to write."""

    def __init__(self, state: Path | None, config: Path | None, as_json: bool) -> None:
        from hub.cli.output import Output
        from hub.tokens import Tokens

        self.out: Output = Output(json=as_json)
        self.tokens: Tokens = Tokens(Where(None, None, state, config).config().store.state)


@click.group(invoke_without_command=True)
@state_option
@config_option
@json_option
@click.pass_context
def token(ctx: click.Context, state: Path | None, config: Path | None, as_json: bool) -> None:
    """Show the primary token; make, list and revoke others."""
    ctx.obj = _Desk(state, config, as_json)
    if ctx.invoked_subcommand is None:
        ctx.invoke(show)


@token.command()
@click.pass_obj
def show(desk: _Desk) -> None:
    """Print the primary token, which may do everything."""
    from hub.tokens import BadTokens

    try:
        secret = desk.tokens.primary()
    except BadTokens as error:
        raise Failure(error.detail, FAILED) from None
    if desk.out.json:
        desk.out.document({"token": secret, "path": str(desk.tokens.primary_path)})
    else:
        desk.out.line(secret)
        desk.out.talk(f"It stands in {desk.tokens.primary_path}, unless TURNHUB_TOKEN is set.", "dim")


@token.command()
@click.option("--scope", "scopes", multiple=True, required=True, help="read, send, approve or admin; repeatable.")
@click.option("--name", required=True, help="What the hub calls whoever has it.")
@click.pass_obj
def new(desk: _Desk, scopes: tuple[str, ...], name: str) -> None:
    """Make a token and print it. It is shown this once and kept nowhere."""
    secret = _changed(desk.tokens.new, scopes, name)
    if desk.out.json:
        desk.out.document({"name": name, "scopes": sorted(set(scopes)), "token": secret})
    else:
        desk.out.line(secret)
        desk.out.talk("Keep it now: it is not shown again.", "yellow")


@token.command(name="list")
@click.pass_obj
def list_tokens(desk: _Desk) -> None:
    """List the tokens that were made, without their secrets."""
    stored = _changed(desk.tokens.list)
    rows = [{"name": one.name, "scopes": list(one.scopes), "created_at": one.created_at} for one in stored]
    desk.out.table(("name", "scopes", "created_at"), rows)


@token.command()
@click.argument("name")
@click.pass_obj
def revoke(desk: _Desk, name: str) -> None:
    """Make the token NAME worthless, at once."""
    _changed(desk.tokens.revoke, name)
    desk.out.talk(f"Token {name} is revoked.")


def _changed(change: Any, *arguments: Any) -> Any:
    """Do ``change``; its errors are a line and a code."""
    from hub.errors import HubError
    from hub.tokens import BadTokens

    try:
        return change(*arguments)
    except BadTokens as error:
        raise Failure(error.detail, FAILED) from None
    except HubError as error:
        raise Failure(error.detail, WRONG) from None
    except OSError as error:
        raise Failure(f"the tokens cannot be written: {error}", FAILED) from None
