"""Commands that list: agents, plugins, sessions, asks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hub.cli.common import DONE, FAILED, Caller, Failure, config_option, hub_command, json_option, read_config

if TYPE_CHECKING:
    from hub.client import Client


@click.command()
@hub_command
def agents(caller: Caller) -> None:
    """List the agents and whether they can run.

    Prints name, transport, policy, availability, and why an agent cannot run.
    """

    async def work(client: Client) -> int:
        rows = await client.agents()
        caller.out.table(("name", "transport", "policy", "available", "reason"), rows)
        return DONE

    caller.run(work)


@click.command()
@click.option("--limit", type=click.IntRange(1, 500), default=50, show_default=True, help="How many.")
@hub_command
def sessions(caller: Caller, limit: int) -> None:
    """List the sessions, newest change first."""

    async def work(client: Client) -> int:
        found = await client.sessions(limit)
        rows = found if caller.out.json else [{**one, "state": _state(one)} for one in found]
        caller.out.table(("id", "agent", "state", "title", "updated_at"), rows, "There is no session yet.")
        return DONE

    caller.run(work)


def _state(session: dict[str, Any]) -> str:
    if session.get("open_asks"):
        return "waits for you"
    if session.get("turn"):
        return str(session["turn"]["state"])
    return "failed" if session.get("ended") == "failed" else "idle"  # as `turnhub top` has it


@click.command()
@hub_command
def asks(caller: Caller) -> None:
    """List what agents wait for, oldest first, over all sessions."""

    async def work(client: Client) -> int:
        records = await client.asks()
        if caller.out.json:
            caller.out.document(records)
        else:
            rows = [{**one, "kind": one["ask"]["kind"], "about": about(one)} for one in records]
            columns = ("id", "kind", "about", "session_id", "opened_at")
            caller.out.table(columns, rows, "Nothing waits for you.")
        return DONE

    caller.run(work)


def about(record: dict[str, Any]) -> str:
    """What an ask is about, in a few words."""
    ask = record["ask"]
    if ask["kind"] == "question":
        return "; ".join(question["question"] for question in ask["questions"])
    return f"{ask['tool']} {ask['subject']}"


@click.command()
@config_option
@json_option
def plugins(config: Path | None, as_json: bool) -> None:
    """List the plugins and why some are not there.

    Needs no running hub. Exits with 1 when an enabled plugin is unavailable, broken, or has a misspelt hook.
    """
    import msgspec

    from hub import plugins as loading
    from hub.cli.output import Output
    from hub.errors import PluginError

    out = Output(json=as_json)
    try:
        found = loading.load(read_config(config, {})).found
    except PluginError as error:
        raise Failure(error.detail, FAILED) from None
    rows: list[dict[str, Any]] = msgspec.to_builtins(found)
    out.table(("name", "status", "version", "hooks", "reason"), rows)
    bad = [one for one in found if one.misspelt or one.status in {"unavailable", "broken"}]
    for one in bad:
        if one.misspelt:
            out.talk(f"{one.name}: there are no such hooks: {', '.join(one.misspelt)}", "yellow")
        if one.install:
            out.talk(f"{one.name}: mend it with: {one.install}", "yellow")
    click.get_current_context().exit(FAILED if bad else DONE)
