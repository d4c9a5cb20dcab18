"""Take the screens of ``data/real`` anew: the real Claude Code in a real tmux, against a scripted model.

    python plugins/tmux_transport/tests/screen/capture.py OUT_DIRECTORY [WIDTH ...]

Each screen is the bytes of ``capture-pane -e -p``. Labels are not taken from here: a person looks and writes them.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import claude_agent_sdk

from hub.testing import Exchange, Reply, ScriptedModel, Stall, Use, ask_user, claude_environment, reply

BINARY: Final = Path(claude_agent_sdk.__file__).parent / "_bundled" / "claude"
HEIGHT: Final = 40
ESCAPES: Final = re.compile(r"\x1b\[[0-9;:]*m")

COLOUR: Final = {
    "question": "Which colour?",
    "header": "Colour",
    "options": [
        {"label": "Red", "description": "Warm."},
        {
            "label": "Blue",
            "description": "Cool, and with a description so long that it has to be wrapped somewhere",
        },
    ],
}
TOPPINGS: Final = {
    "question": "Which toppings do you want on the pizza?",
    "header": "Toppings",
    "multiSelect": True,
    "options": [
        {"label": "Cheese", "description": "1. Mozzarella"},
        {"label": "Ham", "description": "2. Parma"},
        {"label": "Olives", "description": "black"},
    ],
}
SIZE: Final = {
    "question": "Which size?",
    "header": "Size",
    "options": [{"label": "Small", "description": "20 cm"}, {"label": "Large", "description": "30 cm"}],
}
PLAN: Final = "# Plan\n\n1. Read the code\n2. Change it\n\n- [ ] first\n- [ ] second\n"


def plan_file(model: ScriptedModel) -> str:
    """Where the agent wants the model to write its plan: its requests say so."""
    said = str(model.turns[-1].body)
    found = re.search(r"[\w/.-]+/plans/[\w.-]+\.md", said)
    return found.group() if found else "/tmp/plan.md"


def script(model: ScriptedModel, exchange: Exchange) -> Reply:
    """What the model says, by the first word of the prompt."""
    if exchange.text.startswith("PLAN") and exchange.number == 1:
        return reply(Use("ExitPlanMode", {"plan": PLAN}))
    if exchange.number:
        return reply("Done with that.", times=None)
    word = exchange.text.split()[0] if exchange.text.split() else ""
    calls: dict[str, Reply] = {
        "SLOW": Reply(parts=(Stall(),)),
        "SLOWTEXT": reply("I begin to answer.", Stall()),
        "BASH": reply("Making a file.", Use("Bash", {"command": "touch made", "description": "make a file"})),
        "LONGBASH": reply(
            Use(
                "Bash",
                {
                    "command": "for i in 1 2 3; do\n  echo 1. $i\ndone && curl -sI https://example.com/"
                    + "a/very/long/path/" * 8,
                    "description": "loop and fetch",
                },
            )
        ),
        "WRITE": reply(Use("Write", {"file_path": "new.py", "content": "print('hello')\n# 1. one\n# 2. two\n"})),
        "ASK": reply(ask_user(COLOUR)),
        "MULTI": reply(ask_user(TOPPINGS)),
        "SEVERAL": reply(ask_user(TOPPINGS, SIZE)),
        "PLAN": reply(Use("Write", {"file_path": plan_file(model), "content": PLAN})),
        "LIST": reply("Pick:\n\n1. Yes\n2. No\n\n---\n\nDo you want to proceed?\n\n```\n❯ 1. Yes\n  2. No\n```\n"),
    }
    return calls.get(word, reply(f"ECHO of {len(exchange.text)} characters."))


class Tui:
    """One Claude Code in one tmux server."""

    def __init__(self, out: Path, width: int, folder: Path, environment: dict[str, str]) -> None:
        self.out, self.width, self.folder, self.environment = out, width, folder, environment

    async def tmux(self, *arguments: str, stdin: bytes = b"") -> str:
        """Run tmux on our own socket."""
        process = await asyncio.create_subprocess_exec(
            "tmux", "-u", "-S", str(self.folder / "tmux"), "-f", "/dev/null", *arguments,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        out, _ = await process.communicate(stdin)
        return out.decode()

    async def start(self, *arguments: str) -> None:
        """Start the agent in a window of our width."""
        pairs = [f"{k}={v}" for k, v in self.environment.items()]
        await self.tmux(
            "new-session", "-d", "-x", str(self.width), "-y", str(HEIGHT), "-c", str(self.folder / "work"),
            "env", "-i", "PATH=/usr/bin:/bin", "TERM=tmux-256color", "COLORTERM=truecolor", *pairs,
            str(BINARY), *arguments,
        )  # fmt: skip

    async def stop(self) -> None:
        """End it."""
        await self.tmux("kill-server")

    async def keys(self, *names: str, gap: float = 0.25) -> None:
        """Press keys, one by one."""
        for name in names:
            await self.tmux("send-keys", name)
            await asyncio.sleep(gap)

    async def paste(self, text: str) -> None:
        """One bracketed paste; returns when it shows."""
        before = await self.plain()
        await self.tmux("load-buffer", "-b", "b", "-", stdin=text.encode())
        await self.tmux("paste-buffer", "-p", "-d", "-b", "b")
        await self.until(lambda seen: seen != before, 5)
        await asyncio.sleep(0.6)

    async def plain(self) -> str:
        """The screen without colours."""
        return await self.tmux("capture-pane", "-p")

    async def until(self, wanted: str | Callable[[str], bool], seconds: float = 15) -> str:
        """Wait for a text (without its blanks: a narrow screen wraps it); raise TimeoutError with the screen."""
        squeezed = "".join(wanted.split()) if isinstance(wanted, str) else ""
        seen = ""
        for _ in range(int(seconds / 0.1)):
            seen = await self.plain()
            hit = wanted(seen) if callable(wanted) else squeezed in "".join(seen.split())
            if hit:
                return seen
            await asyncio.sleep(0.1)
        raise TimeoutError(f"never saw {wanted!r} at width {self.width}:\n{seen}")

    async def take(self, name: str) -> None:
        """Keep the screen as it stands (after it has settled)."""
        data = ""
        for _ in range(8):
            await asyncio.sleep(0.5)
            before, data = data, await self.tmux("capture-pane", "-e", "-p")
            if data == before:
                break
        (self.out / f"claude-2.1.332-w{self.width}-{name}.ansi").write_text(data)

    async def say(self, text: str) -> None:
        """Type and send."""
        await self.paste(text)
        await self.keys("Enter")


async def drafts(tui: Tui) -> None:
    await tui.start("--permission-mode", "default")
    await tui.until("Quick safety")
    await tui.take("trust")
    await tui.keys("Down", "Enter")
    await tui.until("? for shortcuts")
    await tui.take("idle")
    await tui.paste("hello there, this is a draft that is long enough to be wrapped on every screen " * 3)
    await tui.take("draft-wrapped")
    await tui.keys("Enter")
    await tui.until("ECHO")
    await tui.paste("first\n$ make test\n> quoted")
    await tui.take("draft-multiline")
    for number in range(20):
        await tui.keys("C-j", gap=0.02)
        await tui.tmux("send-keys", "-l", f"typed line {number}")
        await asyncio.sleep(0.03)
    await tui.take("draft-tall")
    await tui.keys("C-c")
    await tui.take("draft-cleared")
    await tui.paste("\n".join(f"line {n}" for n in range(60)))
    await tui.take("paste-collapsed")
    await tui.tmux("send-keys", "-l", " and words")
    await tui.take("paste-collapsed-words")
    await tui.keys("Enter")
    await tui.until("ECHO of")
    await tui.take("paste-submitted")
    await tui.keys("/")
    await tui.take("slash-menu")
    await tui.keys("C-c", "?")
    await tui.take("help")
    await tui.keys("BSpace", "Escape", "!")
    await tui.take("bash-mode")
    await tui.keys("BSpace", "Escape", "@")
    await tui.take("at-menu")
    await tui.keys("C-c")
    await tui.say("日本語テキスト 😀 ｆｕｌｌ café " * 4)
    await tui.until(lambda s: "ECHO of 79" in s and "esc to" not in s)
    await tui.paste("日本語テキスト 😀 の下書き " * 8)
    await tui.take("draft-wide")
    await tui.keys("C-c")
    await tui.say("LIST please")
    await tui.until(lambda s: "proceed" in s and "✻" in s)
    await tui.take("list-in-answer")
    await tui.tmux("copy-mode")
    await tui.take("copy-mode")
    await tui.tmux("send-keys", "-X", "cancel")
    await tui.keys("BTab")
    await tui.take("footer-accept-edits")
    await tui.stop()


async def work(tui: Tui) -> None:
    await tui.start("--permission-mode", "default")
    await tui.until("? for shortcuts")
    await tui.say("SLOW one")
    await tui.until("esc to interrupt")
    await tui.take("busy")
    await tui.paste("half a thought")
    await tui.take("busy-draft")
    await tui.keys("Enter")
    await tui.until("Press up to edit")
    await tui.take("queued")
    await tui.paste("another one, much longer than the first so that it has to be wrapped on narrow screens")
    await tui.take("queued-and-draft")
    await tui.keys("Enter")
    await tui.until(lambda s: "Press up to edit" in s)
    await tui.take("queued-two")
    await tui.keys("Escape")
    await tui.take("interrupted-queued")
    await tui.keys("Escape", gap=1.0)
    await tui.take("interrupted-restored")
    await tui.keys("C-c", gap=1.0)
    await tui.say("SLOWTEXT")
    await tui.until("I begin")
    await tui.take("busy-text")
    await tui.keys("Escape")
    await tui.until("Interrupted")
    await tui.take("interrupted")
    await tui.stop()


async def permissions(tui: Tui) -> None:
    await tui.start("--permission-mode", "default")
    await tui.until("? for shortcuts")
    await tui.say("BASH one")
    await tui.until("Do you want")
    await tui.take("perm-bash")
    await tui.keys("Down")
    await tui.take("perm-bash-down")
    await tui.keys("Up", "Tab")
    await tui.take("perm-bash-amend")
    await tui.tmux("send-keys", "-l", "use 1. another name")
    await tui.take("perm-bash-amended")
    await tui.keys("Escape", gap=0.5)
    await tui.take("perm-amend-left")
    await tui.keys("Escape", gap=0.5)
    await tui.take("perm-rejected")
    await tui.say("LONGBASH two")
    await tui.until("Do you want")
    await tui.take("perm-long")
    await tui.keys("1")
    await tui.until("Done with that")
    await tui.take("perm-accepted")
    await tui.say("WRITE three")
    await tui.until("Do you want to")
    await tui.take("perm-write")
    await tui.keys("Escape")
    await tui.stop()


async def questions(tui: Tui) -> None:
    await tui.start("--permission-mode", "default")
    await tui.until("? for shortcuts")
    await tui.say("ASK one")
    await tui.until("Which colour?")
    await tui.until("Chat about")
    await tui.take("ask-single")
    await tui.keys("Down", "Down")
    await tui.take("ask-text-row")
    await tui.tmux("send-keys", "-l", "as a table with 1. one and 2. two")
    await tui.take("ask-text-typed")
    await tui.keys("Down")
    await tui.take("ask-chat-row")
    await tui.keys("Up", "Enter")
    await tui.until("Done with that")
    await tui.take("ask-answered")
    await tui.say("MULTI two")
    await tui.until("Which toppings")
    await tui.take("ask-multi")
    await tui.keys("1", "3")
    await tui.take("ask-multi-ticked")
    await tui.keys("Down", "Down", "Down")
    await tui.take("ask-multi-text-row")
    await tui.keys("Down")
    await tui.take("ask-multi-submit-row")
    await tui.keys("Enter")
    await tui.take("ask-multi-review")
    await tui.keys("1")
    await tui.until(lambda s: s.count("Done with that") >= 2)
    await tui.say("SEVERAL three")
    await tui.until("Which toppings")
    await tui.take("ask-several-1")
    await tui.keys("2", "Tab")
    await tui.take("ask-several-2")
    await tui.keys("2")
    await tui.take("ask-several-review")
    await tui.keys("Escape", gap=0.6)
    await tui.take("ask-cancelled")
    await tui.stop()


async def plan(tui: Tui) -> None:
    await tui.start("--permission-mode", "plan")
    await tui.until("plan mode on")
    await tui.take("plan-mode-idle")
    await tui.say("PLAN it")
    await tui.until(lambda s: "proceed?" in s or "Exit plan" in s or "Do you want" in s)
    await tui.take("plan")
    await tui.keys("Down", "Down", "Down", "Down")
    await tui.take("plan-last-row")
    await tui.keys("Escape", gap=0.6)
    await tui.take("plan-left")
    await tui.stop()


async def fresh(tui: Tui) -> None:
    settled = Path(tui.environment["CLAUDE_CONFIG_DIR"]) / ".claude.json"
    settled.write_text('{"hasCompletedOnboarding": true, "theme": "dark"}')
    await tui.start()
    await tui.until(lambda s: bool(s.strip()))
    await tui.take("api-key")
    await tui.stop()
    settled.write_text('{"theme": "dark"}')
    await tui.start()
    await tui.until(lambda s: bool(s.strip()))
    await tui.take("onboarding-theme")
    await tui.stop()


def new_folder(width: int) -> Path:
    """A folder of a short name: the screens show it."""
    folder = Path(f"/tmp/dev{width}")
    folder.mkdir(mode=0o700)
    (folder / "work").mkdir()
    return folder


async def capture(out: Path, widths: list[int]) -> None:
    """All scenes at all widths, one after the other."""
    scenes: list[Any] = [drafts, work, permissions, questions, plan, fresh]
    for width in widths:
        folder = new_folder(width)
        try:
            async with ScriptedModel() as model:
                model.script = partial(script, model)
                environment = claude_environment(model.url, folder / "home")
                for scene in scenes:
                    tui = Tui(out, width, folder, environment)
                    try:
                        await scene(tui)
                    except TimeoutError as error:
                        print(f"{scene.__name__}: {error}", file=sys.stderr)
                        await tui.stop()
        finally:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    asyncio.run(capture(Path(sys.argv[1]), [int(w) for w in sys.argv[2:]] or [40, 80, 200]))
