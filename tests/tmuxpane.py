"""A command at a real terminal: a pane of tmux, which shows what a person would see."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from hub.testing.stores import wait_for

_WITHIN_S = 30.0


@dataclass
class Pane:
    """The one pane of a tmux server of its own. ``shown`` is all that it shows, its scrollback included, in
    lines that are not cut at its width."""

    server: str

    def tmux(self, *args: str) -> str:
        """What a command of tmux prints."""
        done = subprocess.run(
            ["tmux", "-L", self.server, *args], check=True, capture_output=True, text=True, timeout=20
        )
        return done.stdout

    @property
    def shown(self) -> str:
        """Everything from the beginning of the scrollback to the end of the screen."""
        return self.tmux("capture-pane", "-p", "-J", "-S", "-5000").rstrip()

    def type(self, text: str) -> None:
        """Type ``text`` as it is."""
        self.tmux("send-keys", "-l", "--", text)

    def press(self, *keys: str) -> None:
        """Press keys, by tmux's names for them."""
        self.tmux("send-keys", *keys)

    def enter(self, text: str) -> None:
        """Type a line and press Enter."""
        self.type(text)
        self.until(lambda shown: text[-20:] in shown, f"typed {text!r}")
        self.press("Enter")

    def see(self, *texts: str) -> str:
        """Wait until all ``texts`` are shown, one behind the other; what is shown then."""
        pattern = ".*?".join(map(re.escape, texts))
        return self.until(lambda shown: re.search(pattern, shown, re.DOTALL) is not None, " … ".join(texts))

    def until(self, true_of: Callable[[str], bool], what: str) -> str:
        """Wait until something is true of what is shown; what is shown then. Fails with what there is."""
        last = ""

        def ready() -> bool:
            nonlocal last
            last = self.shown
            return true_of(last)

        try:
            wait_for(ready, _WITHIN_S)
        except TimeoutError:
            raise AssertionError(f"not shown: {what}; there is:\n{last}") from None
        return last

    def bottom(self, *lines: str) -> None:
        """Wait until these are the last lines that are shown."""
        expected = "\n".join(lines)
        self.until(lambda shown: shown.endswith(expected), f"{expected!r} at the end")


@contextmanager
def pane(
    command: list[str], environ: Mapping[str, str], cwd: Path, *, width: int = 180, height: int = 40
) -> Iterator[Pane]:
    """``command`` in a pane that stays when it ends, and then says ``[exit CODE]``."""
    given = {name: value for name, value in os.environ.items() if not name.startswith(("TMUX", "TURNHUB_"))}
    given |= {"PYTHONPATH": os.pathsep.join(sys.path), "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **environ}
    one = Pane(f"turnhub-test-{uuid4().hex[:12]}")
    line = f'{shlex.join(command)}; printf "[exit %s]" $?; exec cat'
    start = ["new-session", "-d", "-x", str(width), "-y", str(height), "-c", str(cwd), line]
    subprocess.run(["tmux", "-L", one.server, "-f", "/dev/null", *start], check=True, env=given, timeout=20)
    try:
        yield one
    finally:
        subprocess.run(["tmux", "-L", one.server, "kill-server"], check=False, timeout=20)
