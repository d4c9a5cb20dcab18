"""The real Claude Code in a real tmux, against a scripted model: for the tests of this plugin."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, Self

from hub.testing import ScriptedModel, claude_environment

_LOOK_S: Final = 0.1


def bundled_claude() -> Path | None:
    """The Claude Code that the SDK brings along; None where it is not installed."""
    spec = importlib.util.find_spec("claude_agent_sdk")
    found = None if spec is None or spec.origin is None else Path(spec.origin).parent / "_bundled" / "claude"
    return found if found is not None and found.is_file() else None


def trust(config: Path, cwd: Path) -> None:
    """Let the agent whose configuration folder is ``config`` trust its folder ``cwd`` already."""
    path = config / ".claude.json"
    settled = json.loads(path.read_text())
    settled["projects"] = {str(cwd.resolve()): {"hasTrustDialogAccepted": True}}
    path.write_text(json.dumps(settled))


class ClaudeTui:
    """A Claude Code in a tmux of its own, whose model follows ``script``. An asynchronous context manager.

    ``folder`` holds everything: ``project``, where the agent works (trusted already), and its home.
    """

    def __init__(self, script: Any, folder: Path, *, width: int = 100, height: int = 40) -> None:
        self.model = ScriptedModel(script)
        self.cwd = folder / "project"
        self.home = folder / "home"
        self._tmux = Path(tempfile.mkdtemp(prefix="th-"))  # the path of a socket has to be short
        self._size = (width, height)

    @property
    def socket(self) -> Path:
        """Where the tmux server listens (``tmux -S``)."""
        return self._tmux / "s"

    @property
    def config(self) -> Path:
        """The agent's configuration folder."""
        return self.home / ".claude"

    async def __aenter__(self) -> Self:
        await self.model.start()
        self.cwd.mkdir(parents=True, exist_ok=True)
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            await self.stop()
        finally:
            await self.model.close()
            shutil.rmtree(self._tmux, ignore_errors=True)

    async def start(self, *arguments: str, settings: Path | None = None) -> None:
        """Start the agent and wait until it is ready."""
        claude, env = bundled_claude(), shutil.which("env")
        if claude is None or env is None:
            raise RuntimeError("Claude Code is not installed: `pip install claude-agent-sdk` brings it along.")
        environment = claude_environment(self.model.url, self.home)
        trust(self.config, self.cwd)
        given = ["--permission-mode", "default", *arguments]
        if settings is not None:
            given += ["--settings", str(settings)]
        width, height = self._size
        await self.tmux(
            "new-session", "-d", "-x", str(width), "-y", str(height), "-c", str(self.cwd),
            env, "-i", "PATH=/usr/bin:/bin", "TERM=tmux-256color",
            *[f"{name}={value}" for name, value in environment.items()],
            str(claude), *given,
        )  # fmt: skip
        await self.until("? for shortcuts", 60)

    async def stop(self) -> None:
        """End the agent and its tmux, whatever state they are in."""
        await self.tmux("kill-server", check=False)

    async def tmux(self, *arguments: str, stdin: str | None = None, check: bool = True) -> str:
        """Run a tmux command; what it printed. Raises RuntimeError with its words where it fails."""
        command: Sequence[str] = ("tmux", "-u", "-f", "/dev/null", "-S", str(self.socket), *arguments)
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, errors = await process.communicate(None if stdin is None else stdin.encode())
        if process.returncode and check:
            raise RuntimeError(f"tmux {arguments[0]}: {errors.decode(errors='replace')}")
        return out.decode(errors="replace")

    async def screen(self) -> str:
        """What stands on the screen, without colours."""
        return await self.tmux("capture-pane", "-p")

    async def until(self, wanted: str | Callable[[str], bool], seconds: float = 30) -> str:
        """Wait until the screen shows a text (blanks aside), or is as wanted. Raises TimeoutError with it."""
        squeezed = "".join(wanted.split()) if isinstance(wanted, str) else ""
        seen = ""
        for _ in range(int(seconds / _LOOK_S)):
            seen = await self.screen()
            if wanted(seen) if callable(wanted) else squeezed in "".join(seen.split()):
                return seen
            await asyncio.sleep(_LOOK_S)
        raise TimeoutError(f"never saw {wanted!r} in\n{seen}")

    async def paste(self, text: str) -> None:
        """One bracketed paste; returns when it shows."""
        before = await self.screen()
        await self.tmux("load-buffer", "-b", "text", "-", stdin=text)
        await self.tmux("paste-buffer", "-p", "-d", "-b", "text")
        await self.until(lambda seen: seen != before)

    async def say(self, text: str) -> None:
        """Paste and press Enter, until the composer has let go of it."""
        await self.paste(text)
        await asyncio.sleep(2 * _LOOK_S)
        await self.keys("Enter")

    async def keys(self, *names: str) -> None:
        """Press keys."""
        await self.tmux("send-keys", *names)
