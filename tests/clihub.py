"""A hub as the tests of the command line see it: an address, and the command line pointed at it.

Which hub it is (a fake one, a real one with the agent ``echo``) the tests do not know.
"""

from __future__ import annotations

import asyncio
import json
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from click.testing import CliRunner, Result

from hub.cli.main import turnhub
from hub.client import Address, Client
from hub.events import AskOpened

# Takes the terminal as its own, so that Ctrl-C means it; then it is the command line.
_CHILD = "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); from hub.cli.main import main; main()"


@dataclass(frozen=True)
class CliHub:
    """``home`` is an empty home directory: nothing of the user's own is read."""

    url: str
    token: str
    home: Path

    @property
    def environ(self) -> dict[str, str | None]:
        return {"TURNHUB_URL": self.url, "TURNHUB_TOKEN": self.token, "HOME": str(self.home)}

    def run(self, *args: str, stdin: str | None = None, **environ: str | None) -> Result:
        """What the command line does with ``args``."""
        result = CliRunner().invoke(turnhub, args, input=stdin, env={**self.environ, **environ})
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    def new(self) -> str:
        """A new session with the agent that echoes."""
        return self.run("new", "echo").stdout.strip()

    def post(self, path: str, **body: Any) -> Any:
        """What the hub answers to a request, as somebody else would make it."""
        headers = {"Authorization": f"Bearer {self.token}"}
        answer = httpx.post(f"{self.url}/v1/{path}", json=body, headers=headers, trust_env=False)
        answer.raise_for_status()
        return answer.json()

    def start(self, session: str, *steps: Any) -> str:
        """Start a turn that nobody watches; its id."""
        return str(self.post(f"sessions/{session}/messages", text=script(*steps))["turn"]["id"])

    def asks(self, session: str) -> list[str]:
        """The asks that wait in ``session``."""
        return [one["id"] for one in json.loads(self.run("asks", "--json").stdout) if one["session_id"] == session]

    def asked(self, session: str) -> str:
        """Wait until the running turn asks something; the ask's id."""

        async def wait() -> str:
            async with Client(Address(url=self.url, token=self.token)) as client, client.attach(session) as stream:
                async for one in stream:
                    if isinstance(one.event, AskOpened):
                        return one.event.ask.id
            raise AssertionError("the turn has ended without asking")

        return asyncio.run(wait())

    @contextmanager
    def at_terminal(self, *args: str) -> Iterator[AtTerminal]:
        """The command line, run at a terminal of its own."""
        ours, theirs = pty.openpty()
        environ = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
        environ |= {name: value for name, value in self.environ.items() if value is not None}
        process = subprocess.Popen(
            [sys.executable, "-c", _CHILD, *args],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**environ, "TERM": "dumb", "PYTHONPATH": os.pathsep.join(sys.path)},
            start_new_session=True,
        )
        os.close(theirs)
        try:
            yield AtTerminal(process, ours)
        finally:
            process.kill()
            process.wait()
            os.close(ours)


@dataclass
class AtTerminal:
    """A command at a terminal: what it shows, what is typed."""

    process: subprocess.Popen[bytes]
    fd: int
    shown: str = ""
    _read: int = 0

    def until(self, text: str, within_s: float = 30) -> str:
        """Everything shown since the last call, up to ``text``. Fails when it does not come."""
        deadline = time.monotonic() + within_s
        while (at := self.shown.find(text, self._read)) < 0:
            if not self._more(deadline):
                raise AssertionError(f"{text!r} was not shown; there is: {self.shown!r}")
        new = self.shown[self._read : at + len(text)]
        self._read = at + len(text)
        return new

    def type(self, text: str) -> None:
        os.write(self.fd, text.encode())

    def end(self, within_s: float = 30) -> int:
        """Wait for the command's end; its exit code."""
        deadline = time.monotonic() + within_s
        while self._more(deadline):
            pass
        return self.process.wait(max(0.1, deadline - time.monotonic()))

    def _more(self, deadline: float) -> bool:
        if not select.select([self.fd], [], [], max(0, deadline - time.monotonic()))[0]:
            return False
        try:
            data = os.read(self.fd, 65_536)
        except OSError:  # the other side is closed
            return False
        self.shown += data.decode("utf-8", "replace").replace("\r\n", "\n")
        return bool(data)


def script(*steps: Any) -> str:
    """A message that the scripted agent plays."""
    return json.dumps({"steps": steps})


BASH = {"tool": "Bash", "input": {"command": "ls -la"}, "ask": True, "result": "two files"}
COLOUR = {
    "question": "Which colour?",
    "header": "Colour",
    "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": ""}],
    "multiSelect": False,
}
FAIL = {"fail": {"code": "agent_error", "message": "It broke.", "retryable": True}}
HANG = {"hang": True}
