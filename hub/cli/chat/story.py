"""Pure: a session as the chat shows it. Events go in; what is to be shown for good comes out, and what is shown as
long as it lasts can be asked for: the words that are still being written, and what goes on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final, TypeAlias

from msgspec import Struct, field

from hub.asks import AskRecord
from hub.cli.chat.blocks import BlockSplitter, shown_end
from hub.cli.clean import Cleaner, clean, one_line
from hub.cli.lines import Line, ask_lines, ending_line, status_line, told, tool_end, tool_line
from hub.cli.overview import age
from hub.events import (
    AnyEvent,
    Ask,
    AskOpened,
    AskSettled,
    AskWithdrawn,
    MessageQueued,
    MessageUnqueued,
    Status,
    Text,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnCompleted,
    TurnFailed,
    TurnInterrupted,
    TurnStarted,
    Unknown,
    UserMessage,
)
from hub.items import AssistantItem, Item, NoticeItem, ReasoningBlock, TextBlock, ToolBlock, UserItem

RETRY: Final = "/retry"
EXCHANGES: Final = 2
"""How many of the last exchanges are shown when the chat begins."""
_ORIGINS: Final = {"keyboard": " (typed at the agent's own keyboard)", "queue": " (it waited in the queue)"}
_DOES: Final = {"starting": "starting", "thinking": "thinking", "retrying": "trying again", "stalled": "stalled"}


class Words(Struct, frozen=True):
    """Finished Markdown of the agent."""

    text: str


Piece: TypeAlias = Words | Line


class TurnFacts(Struct):
    """The running turn, as the hub shows it."""

    id: str
    started_at: str = ""


class AboutSession(Struct):
    """What the chat says of a session."""

    id: str
    agent: str
    title: str | None = None


class Waiting(Struct):
    """A message that waits for the turn's end."""

    message_id: str
    text: str


class Instant(Struct):
    """A session at one instant, as ``GET /v1/sessions/{id}`` gives it."""

    session: AboutSession
    items: tuple[Item, ...]
    cursor: int
    turn: TurnFacts | None = None
    asks: tuple[AskRecord, ...] = ()
    queue: tuple[Waiting, ...] = ()


class Turn(Struct):
    """A turn that runs: since when (as events say it), by which message, with which tools so far."""

    id: str
    started_at: str = ""
    message_id: str | None = None
    does: str = ""
    tools: list[str] = field(default_factory=list)
    running: dict[str, tuple[str, str]] = field(default_factory=dict)  # tool_id: name, and its line


class _Block:
    """One text block that is being written."""

    def __init__(self) -> None:
        self.came = ""
        self.shown = False
        self._cleaner = Cleaner()
        self.splitter = BlockSplitter()

    def feed(self, text: str) -> list[Piece]:
        self.came += text
        found: list[Piece] = [Words(one) for one in self.splitter.feed(self._cleaner.feed(text))]
        self.shown = self.shown or bool(found)
        return found

    def finish(self) -> list[Piece]:
        rest = self.splitter.finish()
        return [Words(rest)] if rest.strip() else []


class Story:
    """The session ``instant`` and what has happened since. ``turn``: the running one; ``asks``: the open ones, by
    their ids, oldest first; ``queue``: what waits, by message id, in order."""

    def __init__(self, instant: Instant) -> None:
        self.turn: Turn | None = None
        self.asks: dict[str, Ask] = {}
        self.queue = {one.message_id: one.text for one in instant.queue}
        self.settled: dict[str, str] = {}
        self.retryable = False
        self._messages: dict[str, str] = {}  # by turn
        self._blocks: dict[int, _Block] = {}
        self._newest = 0
        self._instant = instant

    def begin(self) -> list[Piece]:
        """What is shown first: the last exchanges, and what is open."""
        instant = self._instant
        about = f"{one_line(instant.session.title, 80)} · " if instant.session.title else ""
        first = _last_exchanges(instant.items)
        more = f" What was said before: turnhub show {instant.session.id}" if first else ""
        pieces: list[Piece] = [
            Line(f"{about}{one_line(instant.session.agent)} · {instant.session.id}.{more}", "dim")
        ]
        running = instant.turn.id if instant.turn is not None else None
        if instant.turn is not None:
            self.turn = Turn(instant.turn.id, instant.turn.started_at)
        for item in instant.items[first:]:
            pieces += self._item(item, running)
        for record in instant.asks:
            if record.state == "open":
                pieces += self._asked(record.ask)
        if self.turn is None and self.queue:
            pieces.append(Line(f"{len(self.queue)} waiting in the queue: /queue lists them, /next goes on", "dim"))
        return pieces

    def see(self, event: AnyEvent | Unknown) -> list[Piece]:
        """Take the next event in; what it adds to what is shown."""
        pieces: list[Piece] = []
        match event:
            case TextDelta(block=block, text=text):
                self._does("")
                pieces = self._delta(block, text)
            case Text():
                self._does("")
                pieces = self._text(event)
            case Status():
                pieces = self._status(event)
            case UserMessage():
                pieces = self._message(event)
            case TurnStarted(turn_id=turn_id, at=at):
                self._blocks.clear()
                if self.turn is None or self.turn.id != turn_id:  # not one that another runner took over
                    self.turn = Turn(turn_id, at, self._messages.get(turn_id))
            case ToolStarted() | ToolFinished():
                pieces = self._tool(event)
            case AskOpened() | AskSettled() | AskWithdrawn():
                pieces = self._on_ask(event)
            case MessageQueued() | MessageUnqueued():
                pieces = self._on_queue(event)
            case TurnCompleted() | TurnFailed() | TurnInterrupted():
                pieces = self._end(event)
            case _:
                self._does("")
                pieces = _pieces(told(event, RETRY))
        return pieces

    @property
    def said(self) -> list[str]:
        """What people have said so far, oldest first, harmless for a terminal."""
        return [clean(item.text) for item in self._instant.items if isinstance(item, UserItem)]

    @property
    def last_message_id(self) -> str | None:
        """The message that the running turn was begun with; None where it is a retry, or was not seen."""
        return self.turn.message_id if self.turn is not None else None

    def tail(self, most_lines: int) -> str:
        """The words that are still being written, as Markdown: at most about ``most_lines`` of their end."""
        block = self._blocks.get(self._newest)
        return "" if block is None else shown_end(block.splitter.tail, block.splitter.fence, most_lines)

    def activity(self, now_s: float) -> str:
        """What goes on, in one line; "" where nothing does. ``now_s``: Unix seconds."""
        waiting = f"{len(self.queue)} waiting" if self.queue else ""
        if self.turn is None:
            return ""
        parts = [self._now(), age(self.turn.started_at, now_s), _tools(self.turn.tools), waiting]
        return "● " + " · ".join(part for part in parts if part)

    def _now(self) -> str:
        turn = self.turn
        if self.asks:
            return "waits for your answer"
        if turn is not None and turn.running:
            return list(turn.running.values())[-1][1]
        if turn is not None and turn.does:
            return turn.does
        return "writing" if self._blocks else "working"

    def _does(self, what: str) -> None:
        if self.turn is not None:
            self.turn.does = what

    def _delta(self, number: int, text: str) -> list[Piece]:
        self._newest = number
        return self._blocks.setdefault(number, _Block()).feed(text)

    def _text(self, event: Text) -> list[Piece]:
        """The block's text is known: show what is missing of it."""
        block = self._blocks.pop(event.block, None) or _Block()
        pieces: list[Piece] = []
        if not event.text.startswith(block.came):
            if block.shown:
                pieces.append(Line("(what was written of this does not count; it says:)", "dim"))
            block = _Block()
        pieces += [*block.feed(event.text[len(block.came) :]), *block.finish()]
        return [*pieces, Line("(cut off here)", "dim")] if event.partial else pieces

    def _status(self, event: Status) -> list[Piece]:
        self._does(_DOES.get(event.state, "") + (f": {one_line(event.detail, 80)}" if event.detail else ""))
        lost = event.state == "retrying" and any(block.shown for block in self._blocks.values())
        if event.state == "retrying":
            self._blocks.clear()
        return _pieces(status_line(event, lost=lost))

    def _message(self, event: UserMessage) -> list[Piece]:
        self.queue.pop(event.message_id, None)
        self._messages.setdefault(event.turn_id, event.message_id)
        if self.turn is not None and self.turn.id == event.turn_id and self.turn.message_id is None:
            self.turn.message_id = event.message_id
        return [_said(event.text, event.origin)]

    def _on_queue(self, event: MessageQueued | MessageUnqueued) -> list[Piece]:
        text = one_line(event.text, 80)
        if isinstance(event, MessageUnqueued):
            known = self.queue.pop(event.message_id, None) is not None
            return [Line(f"  waits no longer: {text}", "dim")] if known else []
        changed = event.message_id in self.queue
        self.queue[event.message_id] = event.text
        return [Line(f"  waits{', changed' if changed else ''}: {text}", "dim")]

    def _tool(self, event: ToolStarted | ToolFinished) -> list[Piece]:
        self._does("")
        running = self.turn.running if self.turn is not None else {}
        if isinstance(event, ToolFinished):
            name, _ = running.pop(event.tool_id, ("", ""))
            return [tool_end(event, name if running else "")]
        if self.turn is not None:
            if event.tool_id in running:
                return []  # announced again, by a runner that took the turn over
            self.turn.tools.append(event.name)
            running[event.tool_id] = (event.name, tool_line(event.name, event.input))
        return _pieces(told(event, RETRY))

    def _on_ask(self, event: AskOpened | AskSettled | AskWithdrawn) -> list[Piece]:
        if isinstance(event, AskOpened):
            return self._asked(event.ask)
        line = told(event, RETRY)
        if self.asks.pop(event.ask_id, None) is not None and line is not None:
            self.settled[event.ask_id] = line.text.strip()
        return _pieces(line)

    def _asked(self, ask: Ask) -> list[Piece]:
        if ask.id in self.asks:
            return []
        self.asks[ask.id] = ask
        return [Line(ask_lines(ask, how=False), "bold yellow")]

    def _end(self, event: TurnCompleted | TurnFailed | TurnInterrupted) -> list[Piece]:
        if self.turn is not None and self.turn.id != event.turn_id:
            return []
        self.turn = None
        self.retryable = isinstance(event, TurnFailed) and event.retryable
        self._messages.clear()
        self._blocks.clear()
        for ask_id in self.asks:
            self.settled[ask_id] = "the turn has ended"
        self.asks.clear()
        pieces = _pieces(ending_line(event, RETRY))
        if self.queue and isinstance(event, TurnFailed):
            pieces.append(Line(f"{len(self.queue)} waiting in the queue: /queue lists them, /next goes on", "dim"))
        return pieces

    def _item(self, item: Item, running: str | None) -> Iterator[Piece]:
        match item:
            case UserItem():
                self._messages[item.turn_id] = item.message_id
                yield _said(item.text, item.origin)
            case NoticeItem(message=message):
                yield Line(f"! {message}", "dim")
            case AssistantItem():
                if item.turn_id == running and self.turn is not None:
                    self.turn.message_id = self._messages.get(item.turn_id)
                yield from self._turn_item(item)

    def _turn_item(self, item: AssistantItem) -> Iterator[Piece]:
        for block in item.blocks:
            match block:
                case TextBlock(open=True):
                    yield from self._delta(block.block, block.text)
                case TextBlock():
                    yield from self._text(Text(block=block.block, text=block.text, partial=block.partial))
                case ReasoningBlock(open=False):
                    yield Line(f"· {one_line(block.text)}", "dim italic")
                case ToolBlock():
                    yield from self._tool_item(block)
        if item.ending is not None:
            self.retryable = isinstance(item.ending, TurnFailed) and item.ending.retryable
            yield ending_line(item.ending, RETRY)

    def _tool_item(self, block: ToolBlock) -> Iterator[Piece]:
        yield from self._tool(ToolStarted(tool_id=block.tool_id, name=block.name, input=block.input))
        if block.status != "running":
            yield from self._tool(
                ToolFinished(
                    tool_id=block.tool_id,
                    status=block.status,
                    digest=block.digest,
                    duration_ms=block.duration_ms,
                )
            )


def _last_exchanges(items: tuple[Item, ...]) -> int:
    """Where the last exchanges begin."""
    said = [index for index, item in enumerate(items) if isinstance(item, UserItem)]
    return said[-EXCHANGES] if len(said) > EXCHANGES else 0


def _said(text: str, origin: str) -> Line:
    first, *more = text.split("\n")
    return Line("\n".join([f"> {first}", *(f"  {line}" for line in more)]) + _ORIGINS.get(origin, ""), "bold")


def _pieces(line: Line | None) -> list[Piece]:
    return [] if line is None else [line]


def _tools(names: list[str]) -> str:
    if not names:
        return ""
    each = [one_line(name, 30) + (f" ×{times}" if times > 1 else "") for name, times in Counter(names).items()]
    few = ", ".join(each[:4]) + ("…" if len(each) > 4 else "")
    return f"{len(names)} tool{'s' if len(names) > 1 else ''}: {few}"
