"""The chat itself: the hub's events to the screen, and what a person does to the hub."""

from __future__ import annotations

import asyncio
import math
import signal
import time
from collections.abc import Coroutine
from contextlib import suppress
from functools import lru_cache
from typing import Any, Final, Literal

import msgspec

from hub.cli.chat import render
from hub.cli.chat.answering import Answering
from hub.cli.chat.commands import (
    HELP,
    Command,
    Edit,
    Help,
    Interrupt,
    Mistake,
    Next,
    Queue,
    Quit,
    Remove,
    Retry,
    Send,
    Steer,
    parse,
)
from hub.cli.chat.screen import Screen
from hub.cli.chat.story import Instant, Piece, Story, Words
from hub.cli.clean import one_line
from hub.cli.common import DONE
from hub.cli.replies import Reply, Unclear
from hub.client import Client, ClientError, HubNotReachable, Patience, ProblemError
from hub.client.http import OnBusy
from hub.ids import request_id

INTERRUPTED: Final = 130
"""The exit code of who leaves by Ctrl-C."""
_DRAWN_EVERY_S: Final = 0.05
_ARMED_AFTER_S: Final = 0.5
"""So long an ask waits before it takes the input: who is about to type a message does not answer by accident."""
_BUSY: Final = (
    "A turn is running. What you have typed is still there: Ctrl-Q (or /queue before it) lets it wait for the "
    "turn's end, /steer before it gives it to the turn, /interrupt stops the turn."
)


async def chat(client: Client, session_id: str) -> int:
    """Chat at this terminal until the person leaves; the exit code. Raises ClientError where the hub cannot be
    reached at first, or refuses."""
    try:
        instant = msgspec.convert(await client.session(session_id), Instant)
    except msgspec.ValidationError as error:
        raise ClientError(
            f"The hub told the session in an unknown way ({error}); is it of another version?"
        ) from None
    async with asyncio.TaskGroup() as group:
        return await Chat(client, instant, group).run()


class Chat:
    """One session at one terminal. What it does at the hub runs in ``group``."""

    def __init__(self, client: Client, instant: Instant, group: asyncio.TaskGroup) -> None:
        self._client = client
        self._session = instant.session.id
        self._cursor = instant.cursor
        self._story = Story(instant)
        self._group = group
        self._tasks: set[asyncio.Task[None]] = set()
        self._screen = Screen(self, self._tail, self._status, self._story.said)
        self._drawn = asyncio.Event()
        self._typed = asyncio.Event()
        self._words = lru_cache(maxsize=4)(render.words)
        self._keys: dict[tuple[str, str, bool], str] = {}
        self._numbered: list[str] = []  # what waited when it was listed last
        self._mine: set[str] = set()  # turns, and messages that begin them
        self._sending: asyncio.Task[None] | None = None
        self._answering: Answering | None = None
        self._replying: Answering | None = None
        self._answered: set[str] = set()
        self._stopping = False
        self._away = False
        self._code = DONE

    async def run(self) -> int:
        """Chat until the person leaves; the exit code."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.left)
        try:
            with self._screen.held():
                self._show(self._story.begin())
                self._say("/help says what there is, Ctrl-C interrupts a turn of yours, Ctrl-D leaves.", "dim")
                self._follow_asks()
                self._do(self._follow())
                self._do(self._draw())
                await self._screen.run()
        except asyncio.CancelledError:  # refused, the session was deleted, say
            with suppress(OSError):
                self._say_what_is_left()
            raise
        finally:
            for number in (signal.SIGTERM, signal.SIGHUP):
                loop.remove_signal_handler(number)
            for task in self._tasks:
                task.cancel()
        with suppress(OSError):  # the terminal may be gone
            self._goodbye()
        return self._code

    # What the person does

    def typing(self) -> None:
        """A message is being typed."""
        self._typed.set()

    def entered(self, typed: str) -> None:
        """Do what was entered, if it can be done."""
        if self._sending is not None:
            return
        try:
            command = parse(typed)
        except Mistake as mistake:
            self._say(str(mistake), "yellow")
            return
        if command is None:
            return
        if isinstance(command, Send) and self._story.turn is not None and not self._may_be_there(command):
            self._say(_BUSY, "yellow")
            return
        if not isinstance(command, Send | Queue | Steer | Edit) or command == Queue():
            self._screen.sent(typed)
        self._command(command, typed)

    def queued(self, typed: str) -> None:
        """Let what is typed wait."""
        try:
            command = parse(typed)
        except Mistake as mistake:
            self._say(str(mistake), "yellow")
            return
        if isinstance(command, Send) and self._sending is None:
            self._command(command if self._may_be_there(command) else Queue(command), typed)

    def answered(self, typed: str) -> None:
        """Answer with what is typed, if it is an answer."""
        answering = self._answering
        if answering is None or self._replying is not None:
            return
        if answering.over is not None:
            if typed:
                self._say(f"Not sent: {typed}", "dim")
            self._next_ask()
            return
        try:
            reply = answering.take(typed)
        except Unclear as unclear:
            beside = " Commands go where messages are typed: Tab goes there." if typed.startswith("/") else ""
            self._say(f"{unclear}{beside}", "yellow")
            return
        if reply is None:
            self._screen.answer_taken()
            self._screen.ask(answering.hint)
        else:
            self._replying = answering
            self._screen.answered()  # what is typed while the answer is on its way is a message again
            self._do(self._answer(answering, reply, typed))

    def stopped(self) -> None:
        """Ctrl-C: stop a turn that was begun here; else, and the second time, leave."""
        turn = self._story.turn
        mine = self._sending is not None or (turn is not None and bool({turn.id, turn.message_id} & self._mine))
        if mine and not self._stopping:
            self._stopping = True
            self._say("Interrupting. Ctrl-C again leaves, and the turn goes on.", "yellow")
            self._do(self._interrupt())
        else:
            self._code = INTERRUPTED
            self._screen.close()

    def left(self) -> None:
        """Leave."""
        self._screen.close()

    # What is done at the hub

    def _command(self, command: Command, typed: str) -> None:
        match command:
            case Send():
                self._begin(self._send(command, "reject", typed))
            case Queue(message=Send() as message):
                self._begin(self._send(message, "queue", typed))
            case Queue():
                self._say(self._waiting(), "dim")
            case Steer(message=message):
                self._begin(self._send(message, "steer", typed))
            case Edit(number=number, message=message):
                self._begin(self._change(number, message, typed))
            case Remove(number=number):
                self._begin(self._change(number, None, typed))
            case Next():
                self._begin(self._go_on())
            case Retry(mode=mode):
                self._begin(self._retry(mode))
            case Interrupt():
                self._do(self._interrupt())
            case Help():
                self._say(render.wrapped(HELP, self._screen.columns))
            case Quit():
                self.left()

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        self._sending = self._do(work)

    def _may_be_there(self, message: Send) -> bool:
        """Whether it was sent and nobody knows if it arrived: sent again it is the same message, and known."""
        return (message.text, "reject", message.literal) in self._keys

    async def _send(self, message: Send, on_busy: OnBusy, typed: str) -> None:
        said = (message.text, on_busy, message.literal)
        key = self._keys.setdefault(said, request_id())
        try:
            taken = await self._client.post(
                self._session, message.text, on_busy=on_busy, literal=message.literal, key=key
            )
        except ProblemError as problem:
            if problem.status < 500:
                self._keys.pop(said)
            self._say(_BUSY if problem.code == "turn_in_flight" else f"Not sent: {problem.detail}", "yellow")
        except ClientError as error:
            self._say(f"Not known to be sent: {error.detail}. It is still there; Enter sends it, once.", "red")
        else:
            self._keys.pop(said)
            if on_busy == "steer":
                self._mine.add(taken["message_id"])  # the turn that it was given to is still whose it was
            else:
                self._own(taken)
            self._screen.sent(typed)
        finally:
            self._sending = None

    async def _retry(self, mode: Literal["rerun", "resume"]) -> None:
        try:
            self._own(await self._client.try_again(self._session, mode, key=request_id()))
        except ClientError as error:
            self._say(error.detail, "yellow")
        finally:
            self._sending = None

    async def _go_on(self) -> None:
        try:
            self._own(await self._client.resume_queue(self._session))
        except ClientError as error:
            self._say(error.detail, "yellow")
        finally:
            self._sending = None

    async def _change(self, number: int, message: Send | None, typed: str) -> None:
        """Give the waiting message with a number other words; None: take it back. What waits no longer is left
        alone, whatever has its number by now."""
        numbered = self._numbered or list(self._story.queue)
        waiting = numbered[number - 1] if 0 < number <= len(numbered) else None
        try:
            if waiting is None or waiting not in self._story.queue:
                self._say(f"Message {number} does not wait (any more). /queue lists what does.", "yellow")
            elif message is None:
                await self._client.unqueue(self._session, waiting)
            else:
                await self._client.edit_queued(self._session, waiting, message.text, literal=message.literal)
                self._screen.sent(typed)
        except ClientError as error:
            self._say(f"Not changed: {error.detail}", "yellow")
        finally:
            self._sending = None

    def _own(self, taken: dict[str, Any]) -> None:
        self._mine.add(taken["turn"]["id"] if taken.get("turn") else taken["message_id"])

    async def _interrupt(self) -> None:
        if self._sending is not None:
            await asyncio.wait({self._sending})  # there is nothing to interrupt before it has begun
        try:
            await self._client.interrupt(self._session)
        except ClientError as error:  # it has ended just now, or the hub is away
            self._stopping = False
            self._say(error.detail, "yellow")

    async def _answer(self, answering: Answering, reply: Reply, typed: str) -> None:
        refused = None
        try:
            await self._client.answer(answering.ask.id, reply)
        except HubNotReachable as error:
            refused = f"Not known to be answered: {error.detail}."
        except ClientError as error:
            refused = error.detail
        self._replying = None
        if refused is None:
            self._answered.add(answering.ask.id)
        else:
            self._say(refused, "yellow")
            answering.again()
        if refused is not None and answering.ask.id in self._story.asks:
            self._put(answering, typed)
        else:
            self._next_ask()

    # What the hub says

    async def _follow(self) -> None:
        patience = Patience(total_s=math.inf, lost=self._lost, back=self._back)
        try:
            async with self._client.follow(self._session, self._cursor, patience) as stream:
                async for received in stream:
                    self._show(self._story.see(received.event))
                    self._stopping = self._stopping and (self._story.turn is not None or self._sending is not None)
                    self._follow_asks()
                    self._drawn.set()
        finally:
            self._screen.close()  # refused, the session was deleted, say: the error tells

    def _lost(self, reason: str) -> None:
        self._away = True
        self._say(f"… the hub is away ({reason}). Trying again; what you type stays.", "yellow")

    def _back(self) -> None:
        self._away = False
        self._say("… the hub is back.", "dim")

    def _follow_asks(self) -> None:
        """Have the input ask for what is asked."""
        now = self._answering
        if now is None:
            self._next_ask()
        elif now is self._replying or now.over is not None or self._is_open(now.ask.id):
            return  # what becomes of it is known when the hub has answered, or the person has seen it
        elif self._screen.half_answer:
            # What is being typed was meant for it, and for nothing else.
            now.over = one_line(self._story.settled.get(now.ask.id, "it is over"), 80)
            self._screen.ask(now.hint)
        else:
            self._next_ask()

    def _is_open(self, ask_id: str) -> bool:
        return ask_id in self._story.asks and ask_id not in self._answered

    def _next_ask(self) -> None:
        ask = next((one for one in self._story.asks.values() if self._is_open(one.id)), None)
        if ask is not None:
            self._screen.answered()
            self._put(Answering(ask))
        elif self._answering is not None:
            self._answering = None
            self._screen.answered()

    def _put(self, answering: Answering, typed: str = "") -> None:
        self._answering = answering
        self._screen.ask(answering.hint, typed)
        self._do(self._arm(answering))

    async def _arm(self, answering: Answering) -> None:
        """Turn to the answer once nobody is typing a message."""
        while self._answering is answering:
            self._typed.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(_ARMED_AFTER_S):
                    await self._typed.wait()
                    continue
            if not self._screen.draft:
                self._screen.turn_to_answer()
                return
            await self._typed.wait()

    # What is shown

    def _show(self, pieces: list[Piece]) -> None:
        columns = self._screen.columns
        for piece in pieces:
            if isinstance(piece, Words):
                self._screen.show(render.words(piece.text, columns) + "\n")
            else:
                self._screen.show(render.plain(piece.text, piece.style))

    def _say(self, text: str, style: str = "") -> None:
        self._screen.show(render.plain(text, style))

    def _tail(self, columns: int, lines: int) -> str:
        tail = self._story.tail(lines)
        drawn = self._words(tail, columns).split("\n") if tail.strip() else []
        return "\n".join(drawn[-lines:])

    def _status(self, columns: int) -> str:
        parts = [self._story.activity(time.time()), "the hub is away" if self._away else ""]
        shown = one_line(" · ".join(part for part in parts if part), max(10, columns - 1))
        return render.plain(shown, "bold cyan") if shown else ""

    async def _draw(self) -> None:
        """Draw what changes, as often as an eye can follow; how long a turn takes is news once a second."""
        while True:
            try:
                async with asyncio.timeout(1):
                    await self._drawn.wait()
            except TimeoutError:
                if self._story.turn is None:
                    continue
            self._drawn.clear()
            self._screen.refresh()
            await asyncio.sleep(_DRAWN_EVERY_S)

    def _waiting(self) -> str:
        waiting = self._story.queue
        self._numbered = list(waiting)
        if not waiting:
            return "Nothing waits. /queue TEXT lets TEXT wait for the turn's end."
        lines = [f"  {number}. {one_line(text, 120)}" for number, text in enumerate(waiting.values(), 1)]
        still = [] if self._story.turn else ["It stands still. /next begins what waits first."]
        return "\n".join([*lines, *still, "/edit N TEXT changes one, /remove N takes one back."])

    def _say_what_is_left(self) -> None:
        if self._screen.draft.strip():
            self._say(f"Not sent: {self._screen.draft}", "yellow")

    def _goodbye(self) -> None:
        goes_on = "The turn goes on; come back" if self._story.turn is not None else "Left. Come back"
        self._say_what_is_left()
        self._say(f"{goes_on} with: turnhub attach {self._session}", "dim")

    def _do(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self._group.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
