"""What a session is, in plain Python: the model that the store is held against."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class ModelAsk:
    """An ask of the model."""

    id: str
    turn: str
    state: str = "open"


@dataclass
class ModelTurn:
    """The running turn of the model."""

    id: str
    message: str
    attempt: int
    state: str = "queued"
    runner: str = ""
    fence: str = ""
    batch: int = 0
    cancel: str | None = None
    overdue: bool = False


@dataclass
class ModelSession:
    """A session of the model. ``published``: (type, turn id) of everything, where the index + 1 is the seq."""

    published: list[tuple[str, str]] = field(default_factory=lambda: [("session_created", "")])
    log: list[int] = field(default_factory=lambda: [1])
    live: dict[str, list[int]] = field(default_factory=dict)
    turn: ModelTurn | None = None
    asks: dict[str, ModelAsk] = field(default_factory=dict)
    queue: list[str] = field(default_factory=list)
    keys: dict[str, tuple[str, str]] = field(default_factory=dict)  # key -> (text, turn)
    last: tuple[str, int, bool] | None = None  # message, attempt, completed
    fence: int = 0

    def emit(self, kind: str, turn: str = "", *, durable: bool = True) -> int:
        """One event; its seq."""
        self.published.append((kind, turn))
        seq = len(self.published)
        if durable:
            self.log.append(seq)
        if turn:
            self.live.setdefault(turn, []).append(seq)
        return seq

    def start(self, turn: str, message: str, attempt: int) -> int:
        """Begin a turn; the seq of its first event."""
        first = self.emit("user_message", turn) if attempt == 1 else 0
        started = self.emit("turn_started", turn)
        self.turn = ModelTurn(turn, message, attempt)
        self.last = (message, attempt, False)
        return first or started

    def owns(self, turn: str, fence: str) -> bool:
        """Whether a claim is good."""
        return self.turn is not None and (self.turn.id, self.turn.fence) == (turn, fence)

    def own_asks(self, turn: str, *states: str) -> list[ModelAsk]:
        """The asks of a turn in these states, oldest first."""
        return [ask for ask in self.asks.values() if ask.turn == turn and ask.state in states]

    def end(self, kind: str, next_turn: str, *, go_on: bool) -> tuple[int, str | None]:
        """End the turn: the terminal event's seq, and the next turn that began."""
        assert self.turn is not None
        turn = self.turn.id
        for ask in self.own_asks(turn, "open"):
            ask.state = "withdrawn"
            self.emit("ask_withdrawn", turn)
        for ask in self.own_asks(turn, "delivered"):
            ask.state = "closed"
        seq = self.emit(kind, turn)
        assert self.last is not None
        self.last = (*self.last[:2], kind == "turn_completed")
        self.turn = None
        if not go_on or not self.queue:
            return seq, None
        self.start(next_turn, self.queue.pop(0), 1)
        return seq, next_turn
