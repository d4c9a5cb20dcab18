"""The terminal of the chat: what is shown for good goes up into its scrollback, and below it stand the words that
are still being written, a line about what goes on, and the input. What is typed stays whatever is shown."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any, Final, Protocol, cast

from prompt_toolkit import ANSI, Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.data_structures import Size
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition, has_focus
from prompt_toolkit.formatted_text import AnyFormattedText, FormattedText, StyleAndTextTuples
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import create_input
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.key_binding.key_processor import KeyPressEvent
from prompt_toolkit.layout import (
    BufferControl,
    ConditionalContainer,
    Dimension,
    FormattedTextControl,
    HSplit,
    Layout,
    VerticalAlign,
    Window,
)
from prompt_toolkit.layout.processors import BeforeInput, Processor, Transformation, TransformationInput
from prompt_toolkit.output.vt100 import Vt100_Output

_MOST_INPUT_LINES: Final = 8


_REORDERING: Final = dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)), "\ufffd")


class _Visible(Processor):
    """What turns text around is shown as a mark, a column each: what was pasted is sent as it is, and is seen in
    the order in which it is sent."""

    def apply_transformation(self, transformation_input: TransformationInput) -> Transformation:
        """The line as it is shown."""
        shown = [(part[0], part[1].translate(_REORDERING), *part[2:]) for part in transformation_input.fragments]
        return Transformation(cast(StyleAndTextTuples, shown))


class Person(Protocol):
    """What the person at the terminal does."""

    def typing(self) -> None:
        """The message that is being typed has changed."""

    def entered(self, typed: str) -> None:
        """A message, or a command, was entered. It stays in the input until :meth:`Screen.sent`."""

    def answered(self, typed: str) -> None:
        """An answer was entered. It stays in the input until :meth:`Screen.answer_taken`."""

    def queued(self, typed: str) -> None:
        """What is typed is to wait for the turn's end. It stays in the input until :meth:`Screen.sent`."""

    def stopped(self) -> None:
        """Ctrl-C."""

    def left(self) -> None:
        """Ctrl-D, or the terminal is gone."""


class Screen:
    """A terminal. ``tail`` and ``status`` give what stands above the input, as text with colours, for a width and
    a height in columns and lines; they are asked whenever it is drawn. ``said``: what arrow up brings back, oldest
    first."""

    def __init__(
        self,
        person: Person,
        tail: Callable[[int, int], str],
        status: Callable[[int], str],
        said: Iterable[str] = (),
    ) -> None:
        self._person = person
        self._tail = tail
        self._status = status
        self._asking = ""
        self._history = InMemoryHistory(list(said))
        self._message = Buffer(multiline=True, history=self._history, on_text_changed=lambda _: person.typing())
        self._answer = Buffer(multiline=False)
        self._height = 0
        # No cursor position requests: an answer that comes late would be typed into whatever runs next.
        self._output = Vt100_Output(sys.stdout, _size, term=os.environ.get("TERM"), enable_cpr=False)
        self._app: Application[None] = Application(
            layout=self._layout(),
            key_bindings=self._keys(),
            input=create_input(sys.stdin),
            output=self._output,
            erase_when_done=True,
        )

    def held(self) -> AbstractContextManager[None]:
        """The terminal, from now on ours: what is typed is echoed by nobody else."""
        return self._app.input.raw_mode()

    async def run(self) -> None:
        """Be there until :meth:`close`."""
        try:
            await self._app.run_async()
        except EOFError:
            self._person.left()

    def close(self) -> None:
        """Give the terminal back."""
        if self._app.is_running and not self._app.is_done:
            self._app.exit()

    @property
    def columns(self) -> int:
        """How wide the terminal is now."""
        return self._output.get_size().columns

    @property
    def draft(self) -> str:
        """The message that is being typed."""
        return self._message.text

    @property
    def half_answer(self) -> str:
        """The answer that is being typed."""
        return self._answer.text

    def show(self, text: str) -> None:
        """Show lines with colours for good, above the input."""
        self._erase()
        self._output.write_raw(text.replace("\n", "\r\n") + "\r\n")
        self._output.flush()
        self._app.invalidate()

    def refresh(self) -> None:
        """Something that is shown as long as it lasts has changed."""
        height = len(self._shown())
        if height < self._height:
            self._erase()  # a region that is drawn over never shrinks
        self._height = height
        self._app.invalidate()

    def sent(self, typed: str) -> None:
        """What was entered is on its way: it goes out of the input, and arrow up brings it back; what was typed
        behind it stays."""
        rest = self._message.text
        if not rest.startswith(typed):
            return
        rest = rest[len(typed) :]
        self._history.append_string(typed)
        self._message.reset(Document(rest, len(rest)))  # what is brought back begins with the newest again
        self._person.typing()

    def ask(self, hint: str, typed: str = "") -> None:
        """Have an answer beside the message, with a hint what to type. It is turned to by :meth:`turn_to_answer`,
        or by the person. ``typed``: what stands there already."""
        self._asking = hint
        if typed:
            self._answer.text = typed
            self._answer.cursor_position = len(typed)
        self.refresh()

    def turn_to_answer(self) -> None:
        """What is typed from now on is the answer."""
        self._app.layout.focus(self._answer)
        self.refresh()

    def answer_taken(self) -> None:
        """The answer is on its way: it goes out of the input."""
        self._answer.reset()

    def answered(self) -> None:
        """Nothing is asked any more: what is typed is the message."""
        self._asking = ""
        self._answer.reset()
        self._app.layout.focus(self._message)
        self.refresh()

    @property
    def answering(self) -> bool:
        """Whether what is typed is an answer."""
        return self._app.layout.has_focus(self._answer)

    def _erase(self) -> None:
        if self._app.is_running and not self._app.is_done:
            self._app.renderer.erase()

    def _shown(self) -> list[str]:
        size = self._output.get_size()
        tail = self._tail(size.columns, max(3, size.rows - _MOST_INPUT_LINES - 4))
        parts = (tail, self._status(size.columns), self._asking)
        return [line for part in parts if part for line in part.split("\n")]

    def _above(self) -> AnyFormattedText:
        size = self._output.get_size()
        tail = self._tail(size.columns, max(3, size.rows - _MOST_INPUT_LINES - 4))
        return ANSI("\n".join(part for part in (tail, self._status(size.columns)) if part))

    def _layout(self) -> Layout:
        above = Window(FormattedTextControl(self._above), dont_extend_height=True)
        asking = Condition(lambda: bool(self._asking))

        def typed(buffer: Buffer, prompt: Callable[[], AnyFormattedText]) -> Window:
            control = BufferControl(buffer, input_processors=[_Visible(), BeforeInput(prompt)])
            height = Dimension(min=1, max=_MOST_INPUT_LINES)
            return Window(control, height=height, wrap_lines=True, dont_extend_height=True)

        def hint() -> FormattedText:
            other = "" if self.answering else " (Tab)"
            return FormattedText([("bold fg:ansiyellow", f"{self._asking}{other}: ")])

        message = typed(self._message, lambda: FormattedText([("bold", "> ")]))
        parts = [
            ConditionalContainer(above, Condition(lambda: bool(self._shown()))),
            ConditionalContainer(typed(self._answer, hint), asking),
            message,
        ]
        return Layout(HSplit(parts, align=VerticalAlign.TOP), focused_element=message)

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()
        at_message, at_answer = has_focus(self._message), has_focus(self._answer)
        asked = Condition(lambda: bool(self._asking))

        def on(*names: str, when: Any = True) -> Callable[[Callable[[], None]], None]:
            def bind(act: Callable[[], None]) -> None:
                def pressed(_: KeyPressEvent) -> None:
                    act()

                keys.add(*names, filter=when, eager=True)(pressed)

            return bind

        on("enter", when=at_message)(lambda: self._person.entered(self._message.text))
        on("enter", when=at_answer)(lambda: self._person.answered(self._answer.text))
        on("escape", "enter", when=at_message)(lambda: self._message.insert_text("\n"))
        on("c-j", when=at_message)(lambda: self._message.insert_text("\n"))
        on("c-q", when=at_message)(lambda: self._person.queued(self._message.text))
        on("tab", when=at_answer)(lambda: self._app.layout.focus(self._message))
        on("tab", when=at_message & asked)(self.turn_to_answer)
        on("c-d")(self._person.left)
        for name in ("c-c", "<sigint>"):
            on(name)(self._person.stopped)
        return keys


def _size() -> Size:
    columns, rows = os.get_terminal_size(sys.stdout.fileno())
    return Size(rows=rows or 24, columns=columns or 80)
