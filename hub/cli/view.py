"""What a person sees of a turn: the agent's words on stdout, as they come; everything about them on stderr."""

from __future__ import annotations

from hub.cli.clean import Cleaner
from hub.cli.lines import Line, status_line, told
from hub.cli.output import Output
from hub.client import Received
from hub.events import AnyEvent, Event, Status, Text, TextDelta, Unknown, UserMessage


class View:
    """Shows events of one turn. With ``json`` every event is a line on stdout and nothing else is said."""

    def __init__(self, out: Output, *, own_message: bool = False) -> None:
        self._out = out
        self._own = own_message
        self._block: int | None = None
        self._cleaner = Cleaner()
        self._shown: dict[int, str] = {}

    def show(self, received: Received) -> None:
        """Show one event."""
        if self._out.json:
            self._out.json_lines(received.line)
        else:
            self._show(received.event)

    def _show(self, event: AnyEvent | Unknown) -> None:
        match event:
            case TextDelta(block=block, text=text):
                self._words(block, text)
            case Text(block=block, text=text, partial=partial):
                self._whole(block, text)
                if partial:
                    self._out.talk("(cut off here)", "dim")
            case Status():
                self._status(event)
            case UserMessage() if self._own:
                pass
            case _:
                self._say(told(event, _retry(event)))

    def _say(self, line: Line | None) -> None:
        if line is not None:
            self._block = None
            self._out.talk(line.text, line.style)

    def _words(self, block: int, text: str) -> None:
        if block != self._block:
            self._out.end_line()
            self._block, self._cleaner = block, Cleaner()
        self._shown[block] = self._shown.get(block, "") + text
        self._out.write(self._cleaner.feed(text))

    def _whole(self, block: int, text: str) -> None:
        """The block's text is known: show what is missing of it."""
        shown = self._shown.pop(block, "")
        if not text.startswith(shown):
            self._say(Line("(what was written of this does not count; it says:)", "dim"))
            shown = ""
        if rest := text[len(shown) :]:
            self._words(block, rest)
            self._shown.pop(block, None)
        self._out.end_line()
        self._block = None

    def _status(self, event: Status) -> None:
        lost = event.state == "retrying" and bool(self._shown)
        if event.state == "retrying":
            self._shown.clear()
        self._say(status_line(event, lost=lost))


def _retry(event: Event) -> str:
    return f"turnhub retry {event.session_id}"
