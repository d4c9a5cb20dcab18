"""Hypothesis strategies: session logs as the hub writes them, with everything that may happen in a turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from hub.events import (
    AnyEvent,
    Ask,
    AskDelivered,
    AskOpened,
    AskSettled,
    AskWithdrawn,
    By,
    Digest,
    Distillate,
    DistillFailed,
    Event,
    MessageDelivered,
    MessageQueued,
    MessageUnqueued,
    Question,
    QuestionOption,
    Reasoning,
    ReasoningDelta,
    SessionCreated,
    Status,
    Text,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnDistilled,
    TurnEvent,
    TurnStarted,
    Usage,
    UserMessage,
    is_durable,
    stamp,
    type_of,
)
from hub.turn import Completed, Ending, Failed, Interrupted, TurnTally, judge, terminal_event

Draw = Callable[[SearchStrategy[Any]], Any]

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
json_objects: SearchStrategy[dict[str, Any]] = st.dictionaries(
    words,
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**80), 2**80)
        | st.floats(allow_nan=False, allow_infinity=False)
        | words,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
        max_leaves=5,
    ),
    max_size=3,
)
questions = st.builds(
    Question,
    question=words,
    header=words,
    options=st.lists(st.builds(QuestionOption, label=words, description=words), max_size=3).map(tuple),
    multi_select=st.booleans(),
)
usages = st.none() | st.builds(Usage, input_tokens=st.none() | st.integers(0, 10**6))
endings: SearchStrategy[Ending] = st.one_of(
    st.builds(Completed, usage=usages, cost_usd=st.none() | st.floats(0, 10)),
    st.builds(Failed, code=st.sampled_from(["agent_error", "incomplete", "owner_lost"]), usage=usages),
    st.builds(Interrupted, by=words),
)
signs = st.none() | st.builds(Failed, code=st.sampled_from(["agent_dead", "token_cap", "stalled"]))

_ACTIONS = [
    "text_delta", "text_delta", "text_delta", "reasoning_delta", "reasoning_delta", "written", "written", "text",
    "status", "retrying", "tool", "tool", "tool_end", "tool_again", "ask", "settle", "deliver_ask", "withdraw",
    "recover", "delivered", "steer", "queue", "unqueue", "distilled",
]  # fmt: skip


class SessionWriter:
    """Writes a session's log as the hub does: numbered, stamped, turns one after the other."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.events: list[AnyEvent] = []
        self.finished: list[str] = []
        self.messages = 0

    def write(self, event: AnyEvent, turn_id: str | None = None) -> AnyEvent:
        """Append ``event`` with the next number."""
        seq = len(self.events) + 1
        stamped: AnyEvent = stamp(event, "ses_1", turn_id, at=f"2026-01-01T00:00:{seq % 60:02}Z")
        numbered: AnyEvent = type(stamped)(**{**_fields(stamped), "seq": seq})
        self.events.append(numbered)
        return numbered

    def distil(self) -> None:
        """Something is remembered, or not, about a turn that is over."""
        if self.finished:
            turn = self.draw(st.sampled_from(self.finished))
            memory = TurnDistilled(distillate=Distillate(summary=self.draw(words)), route="r", model=None)
            self.write(self.draw(st.sampled_from([memory, DistillFailed(code="timeout", message="late")])), turn)

    def turn(self, *, ended: bool) -> None:
        """A whole turn, or one that runs still."""
        TurnWriter(self, f"trn_{len(self.finished)}").run(ended=ended)


class TurnWriter:
    """Writes one turn."""

    def __init__(self, log: SessionWriter, turn_id: str) -> None:
        self.log = log
        self.draw = log.draw
        self.turn_id = turn_id
        self.attempt = 1
        self.tally = TurnTally()
        self.open: dict[tuple[type[Text] | type[Reasoning], int], list[str]] = {}
        self.tools: dict[str, str] = {}
        self.asks: dict[str, str] = {}

    def emit(self, event: AnyEvent) -> None:
        """Write an event of this turn and count it."""
        self.tally.feed(self.log.write(event, self.turn_id))

    def run(self, *, ended: bool) -> None:
        """Begin, act, end."""
        self._begin()
        for action in self.draw(st.lists(st.sampled_from(_ACTIONS), max_size=25)):
            getattr(self, f"_{action}")()
        if ended:
            self._end()

    def _begin(self) -> None:
        retry = self.log.messages and self.draw(st.booleans())
        if not retry:
            self._message("api")
        self.attempt = 2 if retry else 1
        self.emit(TurnStarted(attempt=self.attempt, message_id=f"msg_{self.log.messages}"))

    def _message(self, origin: Any) -> None:
        self.log.messages += 1
        self.emit(UserMessage(message_id=f"msg_{self.log.messages}", text=self.draw(words), origin=origin))

    def _end(self) -> None:
        for event in self.tally.closing(self.draw(st.sampled_from(["unknown", "interrupted"]))):
            self.emit(event)
        for ask, state in self.asks.items():
            if state == "open" and self.draw(st.booleans()):
                self.emit(AskWithdrawn(ask_id=ask, reason="turn ended"))
        ending = judge(self.tally, self.draw(endings), self.draw(signs))
        self.emit(terminal_event(ending, duration_ms=self.draw(st.integers(0, 10**6)), tools=self.tally.tools))
        self.log.finished.append(self.turn_id)

    def _delta(self, whole: type[Text] | type[Reasoning], delta: type[TextDelta] | type[ReasoningDelta]) -> None:
        block, piece = self.draw(st.integers(0, 3)), self.draw(words)
        self.open.setdefault((whole, block), []).append(piece)
        self.emit(delta(block=block, text=piece))

    def _text_delta(self) -> None:
        self._delta(Text, TextDelta)

    def _reasoning_delta(self) -> None:
        self._delta(Reasoning, ReasoningDelta)

    def _written(self) -> None:
        if self.open:
            kind, block = self.draw(st.sampled_from(list(self.open)))
            self.emit(kind(block=block, text="".join(self.open.pop((kind, block)))))

    def _text(self) -> None:
        self.emit(Text(block=self.draw(st.integers(4, 6)), text=self.draw(words)))

    def _status(self) -> None:
        state = self.draw(st.sampled_from(["starting", "thinking", "stalled", "resumed"]))
        self.emit(Status(state=state, detail=self.draw(st.none() | words)))

    def _retrying(self) -> None:
        self.open.clear()
        self.emit(Status(state="retrying", detail="overloaded"))

    def _tool(self) -> None:
        parent = self.draw(st.sampled_from([None, *self.tools]))
        tool_id = f"tool_{len(self.tools)}"
        self.tools[tool_id] = "running"
        self.emit(ToolStarted(tool_id=tool_id, name="Bash", input=self.draw(json_objects), parent_id=parent))

    def _pick(self, states: dict[str, str], *wanted: str) -> str | None:
        found = [name for name, state in states.items() if state in wanted]
        return self.draw(st.sampled_from(found)) if found else None

    def _tool_end(self) -> None:
        if tool_id := self._pick(self.tools, "running"):
            self.tools[tool_id] = "done"
            digest = self.draw(st.none() | st.just(Digest(text="ok", bytes=2, sha256="0" * 64, runs=1)))
            status = self.draw(st.sampled_from(["ok", "error", "denied"]))
            self.emit(ToolFinished(tool_id=tool_id, status=status, digest=digest, duration_ms=3))

    def _tool_again(self) -> None:
        if tool_id := self._pick(self.tools, "running", "done"):
            self.tools[tool_id] = "running"
            self.emit(ToolStarted(tool_id=tool_id, name="Bash", input={}))

    def _ask(self) -> None:
        ask = Ask(
            id=f"ask_{self.turn_id}_{len(self.asks)}",
            kind=self.draw(st.sampled_from(["permission", "question"])),
            tool="Bash",
            subject=self.draw(words),
            input=self.draw(json_objects),
            questions=tuple(self.draw(st.lists(questions, max_size=2))),
        )
        self.asks[ask.id] = "open"
        self.emit(AskOpened(ask=ask))

    def _settle(self) -> None:
        if ask := self._pick(self.asks, "open"):
            self.asks[ask] = "settled"
            by = By(kind="person", name=self.draw(words))
            allowed = AskSettled(ask_id=ask, by=by, decision="allow", scope="once", input=self.draw(json_objects))
            self.emit(self.draw(st.sampled_from([allowed, AskSettled(ask_id=ask, by=by, answers={"Q": "A"})])))

    def _deliver_ask(self) -> None:
        if ask := self._pick(self.asks, "settled"):
            self.asks[ask] = "delivered"
            self.emit(AskDelivered(ask_id=ask))

    def _withdraw(self) -> None:
        if ask := self._pick(self.asks, "open", "settled"):
            self.asks[ask] = "withdrawn"
            self.emit(AskWithdrawn(ask_id=ask, reason="agent moved on"))

    def _recover(self) -> None:
        self.attempt += 1
        self.emit(TurnStarted(attempt=self.attempt))

    def _delivered(self) -> None:
        self.emit(MessageDelivered(verdict=self.draw(st.sampled_from(["submitted", "unverified"])), proof="hook"))

    def _steer(self) -> None:
        self._message("keyboard")

    def _queue(self) -> None:
        self.log.write(MessageQueued(message_id="msg_q", text="later"))

    def _unqueue(self) -> None:
        self.log.write(MessageUnqueued(message_id="msg_q", text="later"))

    def _distilled(self) -> None:
        self.log.distil()


@st.composite
def session_logs(draw: DrawFn, *, running: bool | None = None) -> list[AnyEvent]:
    """A session's whole stream, durable and transient. ``running``: whether the last turn runs still."""
    log = SessionWriter(draw)
    log.write(SessionCreated(agent="echo", transport="scripted"))
    last = draw(st.booleans()) if running is None else running
    for _ in range(draw(st.integers(0, 2))):
        log.turn(ended=True)
        log.distil()
    log.turn(ended=not last)
    return log.events


def durable(events: Iterable[AnyEvent]) -> list[AnyEvent]:
    """What the log holds of ``events``."""
    return [event for event in events if is_durable(type_of(event))]


def trimmed(events: list[AnyEvent]) -> list[AnyEvent]:
    """``events`` without the deltas of blocks whose durable text is among them, as a bounded stream has it."""
    written: dict[tuple[str, str, int], int] = {}
    for event in events:
        if isinstance(event, Text | Reasoning):
            written[event.turn_id, type_of(event), event.block] = event.seq
    kept = []
    for event in events:
        if isinstance(event, TextDelta | ReasoningDelta):
            key = (event.turn_id, type_of(event).removesuffix("_delta"), event.block)
            if event.seq < written.get(key, 0):
                continue
        kept.append(event)
    return kept


def without_finished_live_streams(events: list[AnyEvent]) -> list[AnyEvent]:
    """What a snapshot reads: the log, and the live stream of the turn that runs (if one does)."""
    over = {
        e.turn_id
        for e in events
        if isinstance(e, TurnEvent) and type_of(e).startswith("turn_") and hasattr(e, "tools")
    }
    return [e for e in events if is_durable(type_of(e)) or not isinstance(e, TurnEvent) or e.turn_id not in over]


def _fields(event: Event) -> dict[str, Any]:
    return {name: getattr(event, name) for name in event.__struct_fields__}
