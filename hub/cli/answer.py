"""The command that answers asks."""

from __future__ import annotations

import sys
from typing import Any

import click
import msgspec

from hub.cli import replies
from hub.cli.common import DONE, Caller, hub_command
from hub.cli.lines import ask_lines
from hub.cli.output import Output
from hub.client import Client
from hub.events import Ask


@click.command()
@click.argument("ask")
@click.option("--allow", "decision", flag_value="allow", help="Permission: let it run.")
@click.option("--deny", "decision", flag_value="deny", help="Permission: do not let it run.")
@click.option("--scope", type=click.Choice(["once", "session"]), help="With --allow: how long it holds.")
@click.option("--message", help="What the agent is told with it.")
@click.option("--input", "input_json", help="With --allow: what to run instead, as JSON.")
@click.option("--text", help="Question: the answer in your own words.")
@click.option(
    "--choose", multiple=True, help="Question: an option's number; with several questions NUMBER=CHOICE, for each."
)
@hub_command
def answer(caller: Caller, ask: str, **given: Any) -> None:
    """Answer ASK. Without options you are asked, if you sit at a terminal.

    The answer is recorded when this returns; that the agent took it is told in the turn.
    """

    async def work(client: Client) -> int:
        record = await client.ask(ask)
        asked = msgspec.convert(record["ask"], Ask)
        reply = await _typed(asked, caller.out) if not any(given.values()) else _given(asked, given)
        settled = await client.answer(ask, reply)
        if caller.out.json:
            caller.out.document(settled)
        else:
            caller.out.talk("Recorded. The turn says when the agent took it.")
        return DONE

    caller.run(work)


def _given(ask: Ask, given: dict[str, Any]) -> replies.Reply:
    try:
        return replies.from_options(ask, **given)
    except replies.Unclear as unclear:
        raise click.UsageError(str(unclear)) from None


async def _typed(ask: Ask, out: Output) -> replies.Reply:
    if out.json or not sys.stdin.isatty():
        kind = "--allow or --deny" if ask.kind == "permission" else "--choose or --text"
        raise click.UsageError(f"This ask is a {ask.kind}: answer it with {kind}.")
    from hub.cli.prompt import Closed, Terminal, reply_to

    out.talk(ask_lines(ask), "bold yellow")
    try:
        return await reply_to(ask, Terminal(out, sys.stdin.fileno()), out)
    except Closed:
        raise click.UsageError("Not answered: the ask stays open.") from None
