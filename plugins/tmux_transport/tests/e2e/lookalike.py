"""A program that looks like Codex 0.171 in its terminal, drawn after screens of the real one, for machines
without it.

It speaks to the same endpoint (``LOOKALIKE_URL``), so that what the model is asked judges both. Like the real one
it takes Enter right after a burst of characters for a new line, and shows long pastes as a block.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import termios
import time
import tty
import urllib.request
from threading import Thread
from typing import Any

BURST_S = 0.12
COLLAPSES = 1000
BAR = "\x1b[38;5;255m\x1b[48;5;238m"
OPTIONS = (
    "1. Yes, proceed (y)",
    "2. Yes, and don't ask again for commands that start with `{}` (p)",
    "3. No, and tell Codex what to do differently (esc)",
)


class Lookalike:
    """State, screen and keys."""

    def __init__(self) -> None:
        self.history: list[str] = []
        self.said: list[dict[str, Any]] = []
        self.draft = ""
        self.pasted: dict[str, str] = {}
        self.asks: dict[str, Any] | None = None
        self.busy = 0.0
        self.turn = 0
        self.typed_at = 0.0

    def rows(self) -> list[str]:
        """The screen from its top."""
        rows = ["  \x1b[38;5;75m>_ \x1b[0;1mOpenAI Codex\x1b[0;2m (v0.171.0)\x1b[0m", *self.history, ""]
        if self.asks is not None:
            command = self.asks["command"]
            first, second, third = (option.format(command) for option in OPTIONS)
            rows += [
                f"• \x1b[1mRunning\x1b[0m {command}",
                "",
                "  \x1b[1mWould you like to run the following command?\x1b[0m",
            ]
            rows += ["", "  Environment: \x1b[1mlocal\x1b[0m", "", f"  $ {command}", ""]
            rows += [f"\x1b[1;7m› {first}\x1b[0m", f"  {second}", f"  {third}", ""]
            return [
                *rows,
                "  \x1b[2mPress \x1b[0;1menter\x1b[0;2m to confirm or \x1b[0;1mesc\x1b[0;2m to cancel\x1b[0m",
            ]
        if self.busy:
            seconds = int(time.monotonic() - self.busy)
            rows += [
                f"\x1b[2m•\x1b[0m \x1b[2mWorking ({seconds}s • \x1b[0;1mesc\x1b[0;2m to interrupt)\x1b[0m",
                "",
            ]
        lines = self.draft.split("\n") if self.draft else ["\x1b[2mAsk Codex to do anything\x1b[0m"]
        rows += [f"\x1b[1m›\x1b[0m {lines[0]}", *(f"  {line}" for line in lines[1:]), ""]
        return [
            *rows,
            "  \x1b[38;5;223mgpt-5 default\x1b[39m · \x1b[38;5;151m/work\x1b[39m",
            "  \x1b[1m?\x1b[0m for shortcuts",
        ]

    def draw(self) -> None:
        """All of it anew, the cursor behind the draft."""
        rows = self.rows()[-os.get_terminal_size().lines :]
        up = 3 if self.asks is None else 1
        column = 3 + len(self.draft.rpartition("\n")[2])
        sys.stdout.write("\x1b[2J\x1b[H" + "\r\n".join(rows) + f"\x1b[{up - 1 or 1}A\x1b[{column}G")
        sys.stdout.flush()

    def submit(self) -> None:
        """What stands in the composer goes to the model."""
        text, self.draft = self.draft.strip(), ""
        for mark, words in self.pasted.items():
            text = text.replace(mark, words)
        self.pasted.clear()
        if text:
            self.history += [
                "",
                f"{BAR} \x1b[39;49m",
                *(f"{BAR}› {text}\x1b[39;49m".split("\n")),
                f"{BAR} \x1b[39;49m",
            ]
            self.say({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})

    def say(self, item: dict[str, Any]) -> None:
        """Ask the model, beside the screen."""
        self.said.append(item)
        self.busy, self.turn = time.monotonic(), self.turn + 1
        Thread(target=self._ask, args=(self.turn,), daemon=True).start()

    def _ask(self, turn: int) -> None:
        body = json.dumps({"input": self.said, "tools": [{"name": "exec_command"}]}).encode()
        request = urllib.request.Request(f"{os.environ['LOOKALIKE_URL']}/responses", body)
        with urllib.request.urlopen(request) as answer:
            events = [
                json.loads(line[5:]) for line in answer.read().decode().splitlines() if line.startswith("data:")
            ]
        if turn == self.turn:
            self.answered(next(event["item"] for event in events if event["type"] == "response.output_item.done"))

    def answered(self, item: dict[str, Any]) -> None:
        """Words, or a command that somebody has to allow."""
        self.said.append(item)
        self.busy = 0.0
        if item["type"] == "message":
            text = item["content"][0]["text"].replace("\n", "\n  ")
            self.history += [
                "",
                *f"\x1b[2m•\x1b[0m {text}".split("\n"),
                "",
                "\x1b[2m  Worked for 1s • 01:23\x1b[0m",
            ]
        else:
            self.asks = {"command": json.loads(item["arguments"])["cmd"], "call": item["call_id"]}
        self.draw()

    def decide(self, allowed: bool) -> None:
        """Run the command, or end the turn."""
        asks, self.asks = self.asks or {}, None
        command = asks["command"]
        if not allowed:
            self.history += ["", f"✗ You canceled the request to run {command}", "", "■ Conversation interrupted"]
            return
        subprocess.run(command, shell=True, check=False)
        self.history += ["", f"✔ You approved codex to run {command} this time", "", f"• Ran {command}"]
        self.say({"type": "function_call_output", "call_id": asks["call"], "output": "done"})

    def key(self, key: str) -> None:
        """One key, or a whole paste."""
        now = time.monotonic()
        if self.asks is not None:
            if key in ("y", "p", "1", "2", "\r"):
                self.decide(True)
            elif key in ("\x1b", "3"):
                self.decide(False)
            return
        if key == "\r" and now - self.typed_at >= BURST_S:
            self.submit()
        elif key == "\r":
            self.draft += "\n"
        elif key == "\x1b" and self.busy:
            self.busy, self.turn = 0.0, self.turn + 1
            self.history += ["", "■ Conversation interrupted - tell the model what to do differently."]
        elif key == "\x7f":
            self.draft = self.draft[:-1]
        elif key == "\x15":
            self.draft = self.draft.rpartition("\n")[0]
        elif len(key) > COLLAPSES:
            mark = f"[Pasted Content {len(key)} chars]"
            self.pasted[mark], self.draft, self.typed_at = key, self.draft + mark, now
        elif key.isprintable() or "\n" in key:
            self.draft, self.typed_at = self.draft + key, now


def keys(data: str) -> list[str]:
    """Keys and pastes in what was read."""
    found = []
    while data:
        if data.startswith("\x1b[200~"):
            paste, _, data = data[6:].partition("\x1b[201~")
            found.append(paste.replace("\r", "\n"))
        else:
            found.append(data[0])
            data = data[1:]
    return found


def main() -> None:
    """Until the terminal goes."""
    agent, data = Lookalike(), b""
    tty.setraw(0)
    sys.stdout.write("\x1b[?2004h")
    while True:
        agent.draw()
        if not select.select([0], [], [], 0.2)[0]:
            continue
        data += os.read(0, 65536)
        while data.count(b"\x1b[200~") > data.count(b"\x1b[201~"):
            data += os.read(0, 65536)
        for key in keys(data.decode()):
            agent.key(key)
        data = b""


if __name__ == "__main__":
    settings = termios.tcgetattr(0)
    try:
        main()
    finally:
        termios.tcsetattr(0, termios.TCSANOW, settings)
