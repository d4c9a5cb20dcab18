"""A small simulated terminal with an agent in it, and a typist for it; time is its own.

Whatever is to go wrong is scheduled by step: every call of the typist is one. The terminal knows the truth: what
the agent took, what a shell was given, which dialogs were confirmed.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final

from hub.runner.delivery import Verify
from hub.transport import Message, Verdict
from hub.typist import CannotConvey, Cleared, Conveyed, Pace, Sight

STEP_S: Final = 0.02
LONG: Final = 60  # longer pastes collapse
PROBE: Final = "x"


class Terminal:
    """The pane, and the agent in it."""

    def __init__(self, draft: str = "", *, chips: bool = False) -> None:
        self.now = 0.0
        self.holder = "agent"
        self.text = draft
        self.hidden = ""  # what a collapsed paste stands for
        self.dialog: str | None = None
        self.scrolled = False
        self.took: list[str] = []
        self.shell_input: list[str] = []
        self.confirmed: list[str] = []
        self.pty: deque[tuple[str, str]] = deque()
        self.coming: list[str] = []
        self.hung_until = 0.0
        self.starting_until = 0.0
        self.blind_until = 0.0
        self.sticky = False
        self.swallow: list[str] = []
        self.keys = 0
        self._chips = chips
        self._shown: dict[str, Any] = {}
        self.tick()

    # What the typist does to it

    def key(self, kind: str, value: str = "") -> None:
        """Bytes go to whatever runs there."""
        self.keys += 1
        if self.scrolled:
            if kind == "paste":
                self.pty.append((kind, value))
            return
        self.pty.append((kind, value))

    def tick(self, seconds: float = 0.0) -> None:
        """Time goes by."""
        self.now += seconds
        if self.now < self.hung_until:
            return
        while self.pty:
            self._process(*self.pty.popleft())
        if self.coming and self.holder == "agent":  # what the model sends is read after the keyboard
            self.dialog = self.dialog or self.coming[0]
        self.coming.clear()
        self._shown = {"text": self.text, "dialog": self.dialog, "took": len(self.took)}

    def shown(self) -> tuple[Any, ...]:
        """What the terminal itself can compare: the holder and the screen."""
        return (self.holder, self.scrolled, *self._shown.values())

    def look(self) -> Sight:
        """The screen."""
        if self.now < self.blind_until:
            return Sight(holder="unknown")
        text, dialog = self._shown["text"], self._shown["dialog"]
        return Sight(
            holder=self.holder,  # type: ignore[arg-type]
            composer="absent" if dialog or self.holder != "agent" else "draft" if text else "empty",
            draft="" if dialog else text,
            draft_whole="[Pasted" not in text,
            dialog=dialog,
            scrolled=self.scrolled,
            starting=self.now < self.starting_until,
            seen={"shown": self.shown(), "took": self._shown["took"]},
        )

    # What goes on in it

    def _process(self, kind: str, value: str) -> None:
        if kind in self.swallow:
            self.swallow.remove(kind)
            return
        if self.holder != "agent":
            self.shell_input.append(value or kind)
        elif self.dialog is not None:
            if kind == "enter":
                self.confirmed.append(self.dialog)
                self.dialog = None
        elif kind == "paste":
            self._paste(value)
        elif kind == "enter":
            self._enter()
        elif kind == "back" and not self.sticky:
            self._back()

    def _paste(self, value: str) -> None:
        if "part" in self.swallow:
            self.swallow.remove("part")
            value = value[: len(value) // 2]
        if self._chips and len(value) > LONG:
            self.hidden = value
            self.text += chip(value)
        else:
            self.text += value

    def _enter(self) -> None:
        if self.text:
            self.took.append(self.text.replace(chip(self.hidden), self.hidden))
        self.text = self.hidden = ""

    def _back(self) -> None:
        if self.text.endswith("]") and self.hidden:
            self.text, self.hidden = self.text.removesuffix(chip(self.hidden)), ""
        else:
            self.text = self.text[:-1]


def chip(text: str) -> str:
    """What a collapsed paste looks like."""
    return f"[Pasted text +{len(text)} characters]"


Fault = Callable[[Terminal], None]


def scroll(terminal: Terminal) -> None:
    """Somebody scrolls back."""
    terminal.scrolled = True


def dialog(terminal: Terminal) -> None:
    """A permission dialog takes the keyboard."""
    terminal.coming.append("Run rm -rf build?")


def survey(terminal: Terminal) -> None:
    """A survey takes the keyboard."""
    terminal.coming.append("survey")


def answered(terminal: Terminal) -> None:
    """A person answers the dialog."""
    terminal.dialog = None


def to_shell(terminal: Terminal) -> None:
    """The agent dies and leaves a shell. What it had not read yet, nobody can call back: it is not counted."""
    terminal.pty.clear()
    terminal.holder, terminal.text, terminal.dialog = "shell", "", None


def to_nothing(terminal: Terminal) -> None:
    """The agent dies, its pane with it."""
    terminal.pty.clear()
    terminal.holder, terminal.text, terminal.dialog = "nothing", "", None


def blind(terminal: Terminal) -> None:
    """For two seconds tmux does not answer."""
    terminal.blind_until = terminal.now + 2


def hang(terminal: Terminal) -> None:
    """For a while the agent does not look at its keyboard."""
    terminal.hung_until = terminal.now + 0.8


def hang_long(terminal: Terminal) -> None:
    """For longer than anybody waits for proof the agent does not look at its keyboard."""
    terminal.hung_until = terminal.now + 15


def person_types(terminal: Terminal) -> None:
    """A person types at the same time."""
    terminal.pty.append(("paste", "hm "))


def person_enters(terminal: Terminal) -> None:
    """A person presses Enter."""
    terminal.pty.append(("enter", ""))


def sticky(terminal: Terminal) -> None:
    """Nothing clears the composer any more."""
    terminal.sticky = True


def swallow(kind: str) -> Fault:
    """The next key of this kind is lost ("part": half of the next paste)."""

    def lose(terminal: Terminal) -> None:
        terminal.swallow.append(kind)

    return lose


class FakeTypist:
    """Types into a terminal. ``faults``: what happens before which of its steps."""

    def __init__(
        self,
        terminal: Terminal,
        faults: Sequence[tuple[int, Fault]] = (),
        *,
        pace: Pace | None = None,
        refuses: str | None = None,
    ) -> None:
        self.terminal = terminal
        self.steps: list[str] = []
        self.pace = pace or Pace()
        self.place = "fake:0"
        self._faults = sorted(faults, key=lambda fault: fault[0])
        self._refuses = refuses

    def count(self, step: str) -> int:
        """How often a step was made."""
        return self.steps.count(step)

    async def _step(self, name: str, seconds: float = STEP_S) -> None:
        self.steps.append(name)
        self.terminal.tick()  # what was pressed before is older than what now happens
        while self._faults and self._faults[0][0] < len(self.steps):
            self._faults.pop(0)[1](self.terminal)
            self.terminal.tick()  # an agent shows at once what it does
        self.terminal.tick(seconds)
        await asyncio.sleep(0)  # others get their turn

    def convey(self, message: Message) -> Conveyed:
        """As it is."""
        if self._refuses:
            raise CannotConvey(self._refuses)
        text = message.text.rstrip()
        return Conveyed(text=text, changes=("whitespace at its end",) if text != message.text else ())

    async def look(self) -> Sight:
        """Look."""
        await self._step("look")
        return self.terminal.look()

    async def change(self, within_s: float) -> None:
        """Let time go by."""
        await self._step("change", within_s)

    async def unscroll(self) -> None:
        """Leave the scrolling."""
        await self._step("unscroll")
        self.terminal.scrolled = False

    async def dismiss(self, sight: Sight) -> bool:
        """Put a survey away."""
        await self._step("dismiss")
        if sight.dialog != "survey" or self.terminal.dialog != "survey":
            return False
        self.terminal.dialog = None
        self.terminal.tick()
        return True

    async def paste(self, sight: Sight, text: str) -> bool:
        """Paste if nothing has changed."""
        await self._step("paste")
        return self._press(sight, "paste", text)

    async def submit(self, sight: Sight) -> bool:
        """Press Enter if nothing has changed."""
        await self._step("submit")
        return self._press(sight, "enter")

    def _press(self, sight: Sight, kind: str, value: str = "") -> bool:
        if self.terminal.shown() != sight.seen.get("shown"):
            return False
        self.terminal.key(kind, value)
        return True

    async def clear(self, sight: Sight) -> Cleared:
        """A key at a time, each after a look; a letter first, so that the keyboard is known to be heard."""
        alive = False
        if len(sight.draft) <= 1 or not sight.draft_whole:
            if not await self._tried(sight, "paste", PROBE):
                return "kept"
            now = await self.look()
            alive = now.draft == sight.draft + PROBE
            if not alive and now.draft == PROBE:
                await self._tried(now, "back")
                return "gone"
            sight = now
        for _ in range(len(sight.draft) + 1):
            if sight.holder != "agent" or sight.dialog is not None or sight.scrolled:
                return "kept"
            if not sight.draft:
                return "cleared" if alive else "gone"
            if not await self._tried(sight, "back"):
                return "kept"
            now = await self.look()
            alive = alive or (bool(now.draft) and len(now.draft) < len(sight.draft))
            if now.draft == sight.draft:
                return "kept"
            sight = now
        return "kept"

    async def _tried(self, sight: Sight, kind: str, value: str = "") -> bool:
        await self._step("clear")
        done = self._press(sight, kind, value)
        self.terminal.tick(STEP_S)
        return done

    def staged(self, before: Sight, now: Sight, text: str) -> bool:
        """Whether the text, or the chip for it, is all that stands in the composer."""
        return now.composer == "draft" and now.draft in (text, chip(text))


def by_hook(terminal: Terminal) -> Verify:
    """The agent itself tells what it took, after the fact; what is staged, the screen."""

    async def verify(before: Sight, now: Sight, conveyed: Conveyed) -> Verdict | None:
        known = before.seen.get("took", 0)
        if conveyed.text in terminal.took[known:]:
            return Verdict(verdict="submitted", proof="hook")
        return _staged(now, conveyed)

    return verify


def by_pane(terminal: Terminal) -> Verify:
    """Only the screen tells: by how much it shows above the composer that it did not show before."""

    async def verify(before: Sight, now: Sight, conveyed: Conveyed) -> Verdict | None:
        if "took" not in before.seen or "took" not in now.seen:
            return None
        new = terminal.took[before.seen["took"] : now.seen["took"]]
        if conveyed.text in new:
            return Verdict(verdict="submitted", proof="pane")
        return _staged(now, conveyed)

    return verify


def _staged(now: Sight, conveyed: Conveyed) -> Verdict | None:
    if now.composer == "draft" and now.draft in (conveyed.text, chip(conveyed.text)):
        return Verdict(verdict="staged", proof="pane", detail="It sits unsent.")
    return None


async def by_nobody(before: Sight, now: Sight, conveyed: Conveyed) -> Verdict | None:
    """Nobody can tell."""
    return None
