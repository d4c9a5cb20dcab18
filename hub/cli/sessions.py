"""Commands about one session: open it, show it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hub.cli.common import DONE, Caller, hub_command

if TYPE_CHECKING:
    from hub.cli.output import Output
    from hub.client import Client


@click.command()
@click.argument("agent")
@click.option("--title", help="What it is about.")
@click.option(
    "--cwd",
    help="The agent's working directory, where it runs, relative to its own. It is looked for when a turn begins.",
)
@click.option("--policy", help="The policy bundle, if not the agent's own.")
@click.option("--sensitive", is_flag=True, help="Let no model elsewhere make memories of its turns.")
@hub_command
def new(caller: Caller, agent: str, **given: Any) -> None:
    """Open a session with AGENT and print its id."""

    async def work(client: Client) -> int:
        session = await client.new_session(agent, **given)
        if caller.out.json:
            caller.out.document(session)
        else:
            caller.out.line(str(session["id"]))
        return DONE

    caller.run(work)


@click.command()
@click.argument("session")
@click.option("--tool", metavar="TOOL_ID", help="Show what this tool gave back, in full while it is kept.")
@click.option("--turn", metavar="TURN_ID", help="The turn of that tool; default: the newest that has it.")
@hub_command
def show(caller: Caller, session: str, tool: str | None, turn: str | None) -> None:
    """Show the conversation of SESSION, as it stands; or what one of its tools gave back."""

    async def work(client: Client) -> int:
        if tool is not None:
            _output(caller.out, await client.tool_output(session, tool, turn))
            return DONE
        snapshot = await client.session(session)
        if caller.out.json:
            caller.out.document(snapshot)
        else:
            for item in snapshot["items"]:
                _item(caller.out, item)
            _now(caller.out, snapshot)
        return DONE

    caller.run(work)


def _output(out: Output, found: dict[str, Any]) -> None:
    if out.json:
        out.document(found)
        return
    out.line(found["text"])
    if found["truncated"]:
        out.talk(f"The beginning of {found['bytes']} bytes; the rest was too much to be kept.", "yellow")


def _item(out: Output, item: dict[str, Any]) -> None:
    match item["kind"]:
        case "user":
            for line in str(item["text"]).splitlines() or [""]:
                out.line(f"> {line}")
        case "assistant":
            for block in item["blocks"]:
                _block(out, block)
            _ending(out, item)
        case "notice":
            out.line(f"! {item.get('message', '')}")
    out.line("")


def _block(out: Output, block: dict[str, Any]) -> None:
    from hub.cli.clean import one_line
    from hub.cli.lines import tool_line

    match block["kind"]:
        case "text":
            out.line(block["text"] + (" (cut off here)" if block.get("partial") else ""))
        case "reasoning":
            out.line(f"· {one_line(block['text'])}")
        case "tool":
            digest = block.get("digest") or {}
            told = one_line(digest.get("text", ""), 120)
            more = f" (all of it: --tool {one_line(block['tool_id'])})" if digest.get("truncated") else ""
            out.line(f"▸ {tool_line(block['name'], block['input'])} [{block['status']}] {told}{more}")


def _ending(out: Output, item: dict[str, Any]) -> None:
    ending = item.get("ending") or {}
    match item["status"]:
        case "failed":
            out.line(f"✗ failed ({ending.get('code')}): {ending.get('message')}")
        case "interrupted":
            out.line(f"■ interrupted by {ending.get('by')}")
        case "running":
            out.line("… running")


def _now(out: Output, snapshot: dict[str, Any]) -> None:
    """What goes on at this moment, on stderr."""
    if turn := snapshot.get("turn"):
        out.talk(
            f"Turn {turn['id']} is {turn['state']}. Watch it with: turnhub attach {snapshot['session']['id']}"
        )
    for record in snapshot.get("asks") or ():
        if record.get("state") == "open":
            out.talk(f"It waits for an answer: turnhub answer {record['id']}", "yellow")
    for message in snapshot.get("queue") or ():
        out.talk(f"Waiting: {message.get('text', '')}", "dim")
