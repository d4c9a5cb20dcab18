"""Pure: the answer to an ask, as it is typed step by step."""

from __future__ import annotations

from hub.cli import replies
from hub.cli.clean import one_line
from hub.cli.replies import Reply
from hub.events import Ask, Question


class Answering:
    """One ask's answer. ``over``: why nobody waits for it any more, None while somebody does."""

    def __init__(self, ask: Ask) -> None:
        self.ask = ask
        self.over: str | None = None
        self._answers: dict[str, str | list[str]] = {}

    @property
    def hint(self) -> str:
        """What is to be typed next."""
        if self.over is not None:
            return f"No longer asked: {self.over}. Enter goes on"
        if self.ask.kind == "permission":
            return replies.PERMISSION_HINT
        left = self._left()
        if not left:
            return "your answer"
        about = f"{one_line(left[0].question, 60)} " if len(self.ask.questions) > 1 else ""
        several = " (several: 1,3)" if left[0].multi_select else ""
        return about + ("number, or your own words" if left[0].options else "your answer") + several

    def take(self, typed: str) -> Reply | None:
        """The whole reply, once ``typed`` completes it. Raises Unclear, which says what would be an answer."""
        if self.ask.kind == "permission":
            return replies.permission(typed)
        left = self._left()
        if not left:
            return {"response": typed}
        self._answers[left[0].question] = replies.choice(left[0], typed)
        return None if self._left() else {"answers": dict(self._answers)}

    def _left(self) -> list[Question]:
        return [one for one in self.ask.questions if one.question not in self._answers]

    def again(self) -> None:
        """The reply was refused: begin anew."""
        self._answers.clear()
