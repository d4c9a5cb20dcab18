"""Asks answered at the terminal, while the turn streams on. A prompt goes away when somebody else is faster."""

from __future__ import annotations

import asyncio
import os
import sys
import termios

from hub.cli import replies
from hub.cli.output import Output
from hub.cli.replies import Reply, Unclear
from hub.client import Client, ClientError, ProblemError
from hub.events import AnyEvent, Ask, AskOpened, AskSettled, AskWithdrawn, Unknown


class Closed(Exception):
    """The person ended the input (Ctrl-D): the ask stays open."""


class Terminal:
    """Lines typed at the terminal, without a thread: whoever waits for one can be cancelled."""

    def __init__(self, out: Output, fd: int) -> None:
        self._out = out
        self._fd = fd

    async def line(self, prompt: str) -> str:
        """The next line. What was typed before the prompt was there is thrown away: it answered something
        else. Raises Closed."""
        termios.tcflush(self._fd, termios.TCIFLUSH)
        self._out.end_line()
        sys.stderr.write(f"{prompt} ")
        sys.stderr.flush()
        loop = asyncio.get_running_loop()
        typed = asyncio.Event()
        loop.add_reader(self._fd, typed.set)
        try:
            await typed.wait()
        finally:
            loop.remove_reader(self._fd)
        data = os.read(self._fd, 65_536)
        if not data:
            raise Closed
        return data.decode("utf-8", "replace").rstrip("\n")


class Prompter:
    """Puts the asks of a turn to the person, one after the other."""

    def __init__(self, client: Client, out: Output, terminal: Terminal, group: asyncio.TaskGroup) -> None:
        self._client = client
        self._out = out
        self._terminal = terminal
        self._group = group
        self._one_at_a_time = asyncio.Lock()
        self._open: dict[str, asyncio.Task[None]] = {}

    def see(self, event: AnyEvent | Unknown) -> None:
        """Put a new ask; drop the prompt of one that is over."""
        if isinstance(event, AskOpened):
            self._open[event.ask.id] = self._group.create_task(self._put(event.ask))
        elif isinstance(event, AskSettled | AskWithdrawn) and (task := self._open.pop(event.ask_id, None)):
            task.cancel()

    def close(self) -> None:
        """Drop all prompts."""
        for task in self._open.values():
            task.cancel()
        self._open.clear()

    async def _put(self, ask: Ask) -> None:
        async with self._one_at_a_time:
            try:
                while not await self._sent(ask, await reply_to(ask, self._terminal, self._out)):
                    pass
            except Closed:
                self._out.talk(f"Left open. Answer it with: turnhub answer {ask.id}", "dim")

    async def _sent(self, ask: Ask, reply: Reply) -> bool:
        """Send the reply; False when it was refused for what it says, and can be typed again."""
        try:
            await self._client.answer(ask.id, reply)
        except ProblemError as problem:
            self._out.talk(problem.detail, "yellow")
            return problem.status != 422
        except ClientError as error:
            self._out.talk(f"Not sent: {error.detail}", "red")
            return False
        return True


async def reply_to(ask: Ask, terminal: Terminal, out: Output) -> Reply:
    """Ask the person until there is a reply. Raises Closed."""
    if ask.kind == "permission":
        while True:
            try:
                return replies.permission(await terminal.line(f"{replies.PERMISSION_HINT}:"))
            except Unclear as unclear:
                out.talk(str(unclear), "yellow")
    answers: dict[str, str | list[str]] = {}
    for question in ask.questions:
        while question.question not in answers:
            hint = "number, or your own words" if question.options else "your answer"
            more = " (several: 1,3)" if question.multi_select else ""
            try:
                answers[question.question] = replies.choice(question, await terminal.line(f"{hint}{more}:"))
            except Unclear as unclear:
                out.talk(str(unclear), "yellow")
    return {"answers": answers}


def prompter_for(client: Client, out: Output, group: asyncio.TaskGroup) -> Prompter | None:
    """A prompter whose prompts run in ``group``; None where nobody sits at a terminal."""
    if out.json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    return Prompter(client, out, Terminal(out, sys.stdin.fileno()), group)
