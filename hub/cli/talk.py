"""Commands that watch a turn: send, attach, retry; and interrupt."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import sys
from typing import TYPE_CHECKING, Literal, cast

import click

from hub.cli.common import DONE, FAILED, Caller, hub_command, stream_command
from hub.cli.view import View
from hub.client import Client, ClientError, ProblemError, TurnStream
from hub.client.http import OnBusy
from hub.events import TERMINAL, TurnCompleted, type_of

if TYPE_CHECKING:
    from hub.cli.prompt import Prompter

_LEFT = 130  # as a shell says it of a command that ended by Ctrl-C


@click.command()
@click.argument("session")
@click.argument("text")
@click.option(
    "--on-busy",
    type=click.Choice(["reject", "attach", "queue", "steer", "interrupt"]),
    default="reject",
    show_default=True,
    help="What to do when a turn is running: refuse; watch that turn instead; wait in the queue; give the words "
    "to the running turn; or end it and begin.",
)
@click.option(
    "--command", "as_command", is_flag=True, help="Let the agent act on a leading / ! # @, as at its keyboard."
)
@stream_command
def send(caller: Caller, session: str, text: str, on_busy: str, as_command: bool) -> None:
    """Send TEXT to SESSION and watch its turn. TEXT `-` is read from stdin.

    The agent's words go to stdout, everything about them to stderr. Ctrl-C interrupts the turn.
    """
    message = sys.stdin.read() if text == "-" else text

    async def work(client: Client) -> int:
        # Attaching is done here, not by the hub: then it is known whether the message was sent.
        wanted = cast(OnBusy, "reject" if on_busy == "attach" else on_busy)
        try:
            async with client.send(session, message, on_busy=wanted, literal=not as_command) as stream:
                return await watch(caller, client, session, stream, mine=True)
        except ProblemError as problem:
            if on_busy != "attach" or problem.code != "turn_in_flight":
                raise
            return await _join(caller, client, session, problem)

    caller.run(work)


@click.command()
@click.argument("session")
@click.option("--plain", is_flag=True, help="At a terminal, too: watch the running turn to its end, and no more.")
@stream_command
def attach(caller: Caller, session: str, plain: bool) -> None:
    """Chat in SESSION, at a terminal: see what is said, by whomever, and talk.

    With --plain or --json, or where input or output is no terminal: watch its running turn, from its beginning to
    its end, and no further: exits with how it ended, at once where none runs. Leaving never stops the turn.
    """

    async def work(client: Client) -> int:
        if not (plain or caller.out.json) and _can_chat():
            from hub.cli.chat.chat import chat

            return await chat(client, session)
        async with client.attach(session) as stream:
            if stream.accepted is not None:
                caller.out.talk(f"No turn is running. See what was said with: turnhub show {session}", "dim")
                return DONE
            return await watch(caller, client, session, stream, mine=False)

    caller.run(work)


@click.command()
@click.argument("session")
@click.option(
    "--mode",
    type=click.Choice(["rerun", "resume"]),
    default="rerun",
    show_default=True,
    help="From the start, or from where it stopped.",
)
@stream_command
def retry(caller: Caller, session: str, mode: Literal["rerun", "resume"]) -> None:
    """Try the last message of SESSION again and watch."""

    async def work(client: Client) -> int:
        async with client.retry(session, mode) as stream:
            return await watch(caller, client, session, stream, mine=True)

    caller.run(work)


@click.command()
@click.argument("session")
@hub_command
def interrupt(caller: Caller, session: str) -> None:
    """Ask for the end of SESSION's running turn. Returns at once; the turn says when it has ended."""

    async def work(client: Client) -> int:
        answer = await client.interrupt(session)
        if caller.out.json:
            caller.out.document(answer)
        else:
            caller.out.talk("The turn is being interrupted.")
        return DONE

    caller.run(work)


def _can_chat() -> bool:
    """Whether a person sits at a terminal that can show a chat."""
    able = os.environ.get("TERM", "dumb") not in {"", "dumb", "unknown"}
    return able and sys.stdin.isatty() and sys.stdout.isatty()


async def watch(caller: Caller, client: Client, session: str, stream: TurnStream, *, mine: bool) -> int:
    """Show a turn to its end; the exit code that its end means. ``mine``: the first Ctrl-C interrupts it; a
    second one, or the first on a turn of others, stops the watching only."""
    if stream.accepted is not None:
        return _accepted(caller, stream.accepted)
    from hub.cli.prompt import prompter_for

    presses = itertools.count(1)
    async with asyncio.TaskGroup() as group:
        prompter = prompter_for(client, caller.out, group)
        watching = group.create_task(_follow(View(caller.out, own_message=mine), stream, prompter))

        def pressed() -> None:
            if mine and next(presses) == 1:
                caller.out.talk("Interrupting. Ctrl-C again leaves, and the turn goes on.", "yellow")
                group.create_task(_interrupt(caller, client, session))
            else:
                watching.cancel()

        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, pressed)
        try:
            await asyncio.wait({watching})
        finally:
            loop.remove_signal_handler(signal.SIGINT)
            if prompter is not None:
                prompter.close()
    if watching.cancelled():
        caller.out.talk(f"Left. The turn goes on; watch it with: turnhub attach {session}", "dim")
        return _LEFT
    return watching.result()


async def _follow(view: View, stream: TurnStream, prompter: Prompter | None) -> int:
    async for received in stream:
        view.show(received)
        if prompter is not None:
            prompter.see(received.event)
        if type_of(received.event) in TERMINAL:
            return DONE if isinstance(received.event, TurnCompleted) else FAILED
    return FAILED


async def _interrupt(caller: Caller, client: Client, session: str) -> None:
    try:
        await client.interrupt(session)
    except ClientError as error:  # it has ended just now, or the hub is away: the stream tells which
        caller.out.talk(error.detail, "yellow")


def _accepted(caller: Caller, answer: dict[str, object]) -> int:
    if caller.out.json:
        caller.out.document(answer)
    elif answer.get("verdict"):
        caller.out.talk(f"Given to the running turn: {answer['verdict']}.")
    else:
        caller.out.talk(f"Message {answer.get('message_id')} waits; it begins by itself when the turn ends.")
    return DONE


async def _join(caller: Caller, client: Client, session: str, problem: ProblemError) -> int:
    turn = str(problem.facts.get("turn_id"))
    since = f"is {problem.facts.get('state')} since {problem.facts.get('started_at')}"
    caller.out.talk(f"Your message was not sent: turn {turn} {since}. Watching that one.", "yellow")
    async with client.attach(session, 0, turn) as stream:
        return await watch(caller, client, session, stream, mine=False)
