"""The command that shows what is kept of a session's turns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from hub.cli.common import DONE, Caller, hub_command

if TYPE_CHECKING:
    from hub.client import Client


@click.command()
@click.argument("session")
@hub_command
def memory(caller: Caller, session: str) -> None:
    """Show what is kept of SESSION's turns, newest last: by which route it was made, and what failed."""

    async def work(client: Client) -> int:
        found = await client.memory(session)
        if caller.out.json:
            caller.out.document(found)
            return DONE
        for entry in found["memory"]:
            for line in lines(entry):
                caller.out.line(line)
        if waiting := len(found["pending"]):
            caller.out.talk(f"{waiting} more {'turn waits' if waiting == 1 else 'turns wait'} to be distilled.")
        return DONE

    caller.run(work)


def lines(entry: dict[str, Any]) -> Iterator[str]:
    """Pure: what is kept of one turn, for a person."""
    by = entry["route"] or "nobody"
    model = f" ({entry['model']})" if entry["model"] else ""
    yield f"{entry['turn_id']}  {entry['at']}  by {by}{model}"
    if failure := entry["failure"]:
        yield f"  failed: {failure['code']}: {failure['message']}"
    if distillate := entry["distillate"]:
        yield from (f"  {line}" for line in distillate["summary"].splitlines())
        yield from (f"  changed: {path}" for path in distillate["files_changed"])
        yield from (f"  trouble: {one.get('what', '')}: {one.get('why', '')}" for one in distillate["failures"])
        yield from (f"  found: {finding}" for finding in distillate["key_findings"])
