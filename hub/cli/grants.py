"""The command that lists and takes back what a session may without asking."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hub.cli.common import DONE, Caller, hub_command

if TYPE_CHECKING:
    from hub.client import Client


@click.command()
@click.argument("session")
@click.option("--revoke", metavar="GRANT", help="Take this grant back; its call is asked for again.")
@hub_command
def grants(caller: Caller, session: str, revoke: str | None) -> None:
    """List what SESSION may without asking, and who gave it when; or take one of it back."""

    async def work(client: Client) -> int:
        if revoke is not None:
            await client.revoke_grant(session, revoke)
            caller.out.talk("Taken back. What it allowed is asked for again.")
            return DONE
        found = await client.grants(session)
        if caller.out.json:
            caller.out.document(found)
            return DONE
        rows = [{**one, "by": one["by"]["name"], "about": _about(one["subject"])} for one in found]
        caller.out.table(("id", "tool", "about", "by", "ask_id", "at"), rows)
        return DONE

    caller.run(work)


def _about(subject: str | None) -> str:
    return "whatever it is about" if subject is None else subject
