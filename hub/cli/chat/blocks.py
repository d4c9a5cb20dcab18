"""Pure: Markdown that is still being written, in blocks that are finished and a tail that is not.

A finished block looks the same whatever follows it, so it can be shown for good. Where that is in doubt (lists,
indented text) it is the tail that grows. Where the stream is cut makes no difference, and nothing is ever lost:
the finished blocks and the tail, joined, are what came in.
"""

from __future__ import annotations

import re
from typing import Final

_FENCE: Final = re.compile(r"(?P<lead>[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)(?P<fence>`{3,}(?=[^`]*$)|~{3,})")
_ITEM: Final = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
_HEADING: Final = re.compile(r"#{1,6}(?:[ \t]|$)")


class BlockSplitter:
    """Feed it pieces of text, get blocks."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._rest: list[str] = []  # pieces of the line that is being written
        self._fence = ""
        self._fence_inside = False  # of a list, which may end it
        self._after_blank = False
        self._complete = False
        self._in_list = False

    @property
    def tail(self) -> str:
        """What is not finished yet."""
        return "".join((*self._lines, *self._rest))

    @property
    def fence(self) -> str:
        """The line that opens the code that the tail is in the middle of; "" where it is not."""
        return next((line for line in self._lines if self._fence in line), "") if self._fence else ""

    def feed(self, text: str) -> list[str]:
        """The blocks that ``text`` finishes, in their order."""
        head, *more = text.split("\n")
        self._rest.append(head)
        finished: list[str] = []
        for part in more:
            line = "".join(self._rest)
            self._rest = [part]
            if self._lines and self._begins(line):
                finished.append("".join(self._lines))
                self._new()
            self._take(line)
        return finished

    def finish(self) -> str:
        """The end of the text: the rest is finished as it stands."""
        rest = self.tail
        self._rest = []
        self._new()
        return rest

    def _new(self) -> None:
        self._lines = []
        self._fence = ""
        self._fence_inside = self._after_blank = self._complete = self._in_list = False

    def _begins(self, line: str) -> bool:
        """Whether ``line`` is the first of another block."""
        if not line.strip() or line[0] in " \t":
            return self._complete and bool(line.strip())
        if self._fence:
            return self._fence_inside
        fence = _FENCE.match(line)
        if self._complete or _HEADING.match(line) or (fence and not fence["lead"]):
            return True
        return self._after_blank and not (self._in_list and _ITEM.match(line))

    def _take(self, line: str) -> None:
        first = not self._lines
        self._lines.append(f"{line}\n")
        self._after_blank = not line.strip()
        if self._fence:
            self._end_fence(line)
            return
        if first:
            self._in_list = bool(_ITEM.match(line.lstrip()))
            self._complete = bool(_HEADING.match(line))
        opens = _FENCE.match(line)
        if opens and (self._in_list or opens["lead"].expandtabs(4) in {"", " ", "  ", "   "}):
            self._fence = opens["fence"]
            self._fence_inside = self._in_list

    def _end_fence(self, line: str) -> None:
        bare = line.strip()
        indented = len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())
        if len(bare) >= len(self._fence) and set(bare) == {self._fence[0]} and (self._in_list or indented <= 3):
            self._complete = not self._in_list
            self._fence = ""


def shown_end(tail: str, fence: str, most_lines: int) -> str:
    """The end of an unfinished ``tail``, at most about ``most_lines`` long: as code where ``fence`` opens it."""
    lines = tail.split("\n")
    if len(lines) <= most_lines:
        return tail
    end = "\n".join(lines[-most_lines:])
    return f"{fence.strip()}\n{end}" if fence else end
