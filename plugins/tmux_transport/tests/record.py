"""Take the posts and rows of ``recorded`` anew: the real Claude Code in a real
tmux against a scripted model, with the hooks posting to the real bridge.

    python plugins/tmux_transport/tests/record.py OUT_DIRECTORY

``sdk.rows.jsonl`` is the transcript of a session that the SDK drove. What names the machine is replaced, and what
is only long (the agent's own prompt) is cut.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

from turnhub_tmux.bridge import listener, posts
from turnhub_tmux.bridge.decisions import Allow, Deny, answered
from turnhub_tmux.bridge.facts import PermissionAsked, Stopped
from turnhub_tmux.bridge.listener import Bridge
from turnhub_tmux.bridge.settings import write_settings
from turnhub_tmux.bridge.subscription import Subscription
from turnhub_tmux.testing import ClaudeTui

from hub.testing import Exchange, Pause, Reply, Say, Think, Use, ask_user, reply

BULKY: Final = ("api-request", "api-request-shape", "api-request-blob", "file-history-snapshot")
COLOUR: Final = {"question": "Which colour?", "header": "Colour", "options": ["Red", "Blue"]}
BLOCK: Final = "\n".join(f"line {number}" for number in range(6))


def script(exchange: Exchange) -> Reply:
    """What the model says, by the first word of the prompt."""
    words = exchange.text.split()
    if exchange.number:
        return reply("Done with that.", times=None)
    touch = Use("Bash", {"command": "touch made", "description": "make a file"})
    fail = Use("Bash", {"command": "echo oh >&2; exit 3", "description": "fail"})
    calls: dict[str, Reply] = {
        "SLOW": reply("I begin.\n\nSecond line.\n", Say("a b c d e f g h i j k l m n", every_s=0.3)),
        "MIDWAY": reply("I begin.", Pause(3), Use("Bash", {"command": "echo hi", "description": "say hi"})),
        "BASH": reply(Think("Let me see."), "Making it.", touch),
        "FAIL": reply(fail),
        "ASK": reply(ask_user(COLOUR)),
    }
    return calls.get(words[0] if words else "", reply("First part.\n\nSecond part."))


class Scene:
    """One agent with its bridge; the posts as they came."""

    def __init__(self, tui: ClaudeTui, bridge: Bridge, facts: Subscription) -> None:
        self.tui = tui
        self.bridge = bridge
        self._facts = facts

    async def until(self, kind: type) -> Any:
        """The next fact of a kind."""
        async with asyncio.timeout(30):
            async for fact in self._facts:
                if isinstance(fact, kind):
                    return fact
        raise AssertionError("the bridge closed")

    async def answer(self, decide: Callable[[PermissionAsked], Any]) -> None:
        """Answer the next ask by its hook."""
        asked = await self.until(PermissionAsked)
        self.bridge.answer(asked.ask_id, decide(asked))

    async def settle(self) -> None:
        """Until the agent has stopped and written it down."""
        await self.until(Stopped)
        await asyncio.sleep(1.5)


async def plain(scene: Scene) -> None:
    await scene.tui.say("hello  there\nsecond line")
    await scene.settle()
    await scene.tui.say(BLOCK)
    await scene.settle()
    await scene.tui.say("word " * 200)
    await scene.settle()


async def queued(scene: Scene) -> None:
    await scene.tui.say("SLOW one")
    await scene.tui.until("I begin")
    await scene.tui.say("the same words")
    await scene.tui.until("Press up to edit")
    await asyncio.sleep(1)
    await scene.tui.say("the same words")
    await asyncio.sleep(1)
    await scene.tui.say(BLOCK)
    await scene.settle()
    await scene.settle()
    await scene.tui.say("MIDWAY one")
    await scene.tui.until("I begin")
    await scene.tui.say("into the running turn")
    await scene.settle()
    await scene.tui.say("SLOW two")
    await scene.tui.until(lambda seen: seen.count("I begin") >= 2)
    await scene.tui.say("taken back")
    await asyncio.sleep(1)
    await scene.tui.keys("Up")
    await asyncio.sleep(1)
    await scene.tui.keys("C-u")
    await scene.settle()


async def tools(scene: Scene) -> None:
    await scene.tui.say("BASH allowed")
    await scene.answer(lambda _: Allow())
    await scene.settle()
    await scene.tui.say("BASH denied")
    await scene.answer(lambda _: Deny(message="not today"))
    await scene.settle()
    await scene.tui.say("BASH changed")
    await scene.answer(lambda asked: Allow(input={**asked.input, "command": "echo changed"}))
    await scene.settle()
    await scene.tui.say("ASK by hook")
    await scene.answer(lambda asked: answered(asked, {"Which colour?": "Green,\nin my own words"}))
    await scene.settle()
    await scene.tui.say("FAIL allowed")
    await scene.answer(lambda _: Allow())
    await scene.settle()


async def keyboard(scene: Scene) -> None:
    await scene.tui.say("BASH yes")
    await scene.tui.until("Do you want")
    await asyncio.sleep(1)
    await scene.tui.keys("1")
    await scene.settle()
    await scene.tui.say("ASK at the keyboard")
    await scene.tui.until("Chat about")
    await asyncio.sleep(1)
    await scene.tui.keys("2")
    await scene.settle()
    await scene.tui.say("BASH no")
    await scene.tui.until("Do you want")
    await asyncio.sleep(1)
    await scene.tui.keys("Escape")
    await asyncio.sleep(2)
    await scene.tui.say("SLOW stopped")
    await scene.tui.until("I begin")
    await scene.tui.keys("Escape")
    await asyncio.sleep(2)
    await scene.tui.say("/clear")
    await asyncio.sleep(3)
    await scene.tui.say("anew")
    await scene.settle()


def cleaned(text: str, folder: Path) -> str:
    """Without what names this machine."""
    return text.replace(str(folder), "/home/dev").replace(str(folder).replace("/", "-"), "-home-dev")


def cut(row: dict[str, Any]) -> dict[str, Any] | None:
    """A row without what is only long."""
    if row.get("type") in BULKY:
        return None
    row.pop("rendered", None)
    if row.get("type") == "attachment":
        attached = row["attachment"]
        row["attachment"] = {
            name: value if len(json.dumps(value)) < 400 else "(cut)" for name, value in attached.items()
        }
    return row


async def record(out: Path, name: str, act: Callable[[Scene], Awaitable[None]]) -> None:
    """One scene."""
    taken: list[dict[str, Any]] = []
    read = posts.read

    def noted(body: bytes, post_id: str = "") -> Any:
        taken.append(json.loads(body))
        return read(body, post_id)

    listener.posts.read = noted  # type: ignore[attr-defined]
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        async with Bridge(folder / "hooks") as bridge, ClaudeTui(script, folder) as tui:
            access = await bridge.admit("recorded")
            await tui.start(settings=write_settings(folder / "settings", access))
            async with bridge.subscribe("recorded") as facts:
                await act(Scene(tui, bridge, facts))
            await tui.stop()
            files = sorted(tui.config.glob("projects/*/*.jsonl"), key=lambda path: path.stat().st_ctime)
            rows = [json.loads(line) for path in files for line in path.read_text().splitlines()]
        kept = [row for row in map(cut, rows) if row is not None]
        lines = "".join(json.dumps(post) + "\n" for post in taken)
        (out / f"{name}.posts.jsonl").write_text(cleaned(lines, folder))
        (out / f"{name}.rows.jsonl").write_text(cleaned("".join(json.dumps(row) + "\n" for row in kept), folder))
    listener.posts.read = read  # type: ignore[attr-defined]


async def main(out: Path) -> None:
    """All scenes."""
    for act in (plain, queued, tools, keyboard):
        await record(out, act.__name__, act)
        print(act.__name__, file=sys.stderr)


if __name__ == "__main__":
    Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    asyncio.run(main(Path(sys.argv[1])))
