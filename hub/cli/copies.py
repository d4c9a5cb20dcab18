"""Commands about copies of sessions: fork, export, import."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from hub.cli.common import DONE, WRONG, Caller, Failure, hub_command

if TYPE_CHECKING:
    from hub.client import Client

_FILE = click.Path(path_type=Path, dir_okay=False, allow_dash=True)


@click.command()
@click.argument("session")
@click.option("--after", help="An event's number or a turn's id; default: the end, without a turn that runs.")
@click.option("--title", help="What the new session is about.")
@click.option("--agent", help="Another agent than the session's own.")
@hub_command
def fork(caller: Caller, session: str, after: str | None, title: str | None, agent: str | None) -> None:
    """Open a new session that goes on from SESSION, and print its id."""

    async def work(client: Client) -> int:
        point = int(after) if after is not None and after.isascii() and after.isdigit() else after
        made = await client.fork(session, after=point, title=title, agent=agent)
        if caller.out.json:
            caller.out.document(made)
        else:
            caller.out.line(str(made["id"]))
        return DONE

    caller.run(work)


@click.command()
@click.argument("session")
@click.option(
    "--format", "form", type=click.Choice(["jsonl", "markdown"]), default="jsonl", help="For hubs, or for people."
)
@click.option("--output", type=_FILE, help="The file to write; default: stdout.")
@click.option("--no-mask", is_flag=True, help="Leave tokens, keys and passwords in it.")
@hub_command
def export(
    caller: Caller, session: str, form: Literal["jsonl", "markdown"], output: Path | None, no_mask: bool
) -> None:
    """Write SESSION to a file: lines of JSON, which `turnhub import` reads, or Markdown. Secrets are masked, as
    far as they can be told from other words: look it through before you give it away."""

    async def work(client: Client) -> int:
        content = await client.export(session, form, mask=not no_mask)
        if output is None or str(output) == "-":
            sys.stdout.flush()
            sys.stdout.buffer.write(content)
            sys.stdout.buffer.flush()
            return DONE
        _write(output, content)
        caller.out.talk(f"Written to {output}.{'' if no_mask else ' Secrets are masked; look it through.'}")
        return DONE

    caller.run(work)


@click.command("import")
@click.argument("file", type=_FILE)
@hub_command
def import_session(caller: Caller, file: Path) -> None:
    """Read a FILE of `turnhub export` into a new, archived session, and print its id. `-`: stdin."""
    content = _read(file)

    async def work(client: Client) -> int:
        made = await client.import_session(content)
        if caller.out.json:
            caller.out.document(made)
        else:
            caller.out.line(str(made["id"]))
        return DONE

    caller.run(work)


def _read(file: Path) -> bytes:
    if str(file) == "-":
        return sys.stdin.buffer.read()
    try:
        return file.read_bytes()
    except OSError as error:
        raise Failure(f"{file} cannot be read ({error.strerror}).", WRONG) from None


def _write(file: Path, content: bytes) -> None:
    """Write a file for its owner alone: a conversation is nobody else's business."""
    try:
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as stream:
            stream.write(content)
    except OSError as error:
        raise Failure(f"{file} cannot be written ({error.strerror}).", WRONG) from None
