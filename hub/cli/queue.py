"""The command about messages that wait for a turn's end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hub.cli.common import DONE, Caller, hub_command

if TYPE_CHECKING:
    from hub.client import Client


@click.command()
@click.argument("session")
@click.option("--edit", nargs=2, metavar="MESSAGE TEXT", help="Change the words of a waiting message.")
@click.option("--remove", metavar="MESSAGE", help="Take a waiting message back.")
@click.option(
    "--resume", is_flag=True, help="Begin what waits first: after a turn that failed the queue stands still."
)
@hub_command
def queue(caller: Caller, session: str, edit: tuple[str, str] | None, remove: str | None, resume: bool) -> None:
    """List the messages that wait in SESSION, in order; change them, take them back, let them go on."""
    if sum((edit is not None, remove is not None, resume)) > 1:
        raise click.UsageError("One of --edit, --remove and --resume at a time.")

    async def work(client: Client) -> int:
        if edit is not None:
            await client.edit_queued(session, *edit)
            caller.out.talk("Changed. It keeps its place.")
        elif remove is not None:
            await client.unqueue(session, remove)
            caller.out.talk("Taken back.")
        elif resume:
            begun = await client.resume_queue(session)
            caller.out.talk(f"Begun: {begun['message_id']}. Watch it with: turnhub attach {session}")
        else:
            waiting = (await client.session(session))["queue"]
            caller.out.table(("message_id", "text"), waiting)
        return DONE

    caller.run(work)
