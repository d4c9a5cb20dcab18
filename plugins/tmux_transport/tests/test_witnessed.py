"""One record for all messages of a connection: what tells late of one is no proof of the next."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from turnhub_tmux.bridge.facts import PromptSubmitted
from turnhub_tmux.history import Place
from turnhub_tmux.panes.pane import Look, Pane, PaneRef
from turnhub_tmux.screen.manifest import Manifest
from turnhub_tmux.senses import Senses
from turnhub_tmux.transcript.watch import Watcher
from turnhub_tmux.verify import TRACES, verify
from turnhub_tmux.witnessed import Record, WitnessedTypist

from hub import Evidence, Message, Sight
from hub.testing import make_session

pytestmark = pytest.mark.anyio


class StillPane:
    """A pane that always shows the same, and takes keys as it is told to."""

    place = "%1"

    def __init__(self, capture: bytes) -> None:
        self.takes = True
        self._capture = capture

    async def look(self) -> Look:
        """The same as ever."""
        return Look(
            ref=PaneRef(pane_id="%1", server_pid=1, pane_pid=2),
            dead=False,
            status=None,
            scrolled=False,
            alternate=False,
            cursor=(0, 0),
            size=(80, 40),
            attached=0,
            command="claude",
            holder="agent",
            capture=self._capture,
        )

    async def paste(self, text: str, look: Look) -> bool:
        """Whether it was taken."""
        return self.takes

    async def press(self, *keys: str, look: Look, times: int = 1) -> bool:
        """Whether it was taken."""
        return self.takes


class Rig:
    """A typist of a pane that shows an idle agent, and the record it keeps."""

    def __init__(self, manifest: Manifest, capture: bytes) -> None:
        self.record = Record()
        self.pane = StillPane(capture)
        self.typist = WitnessedTypist(cast("Pane", self.pane), manifest, self.record)

    async def send(self, text: str) -> Sight:
        """Paste and press the key; the look from before."""
        before = await self.typist.look()
        await self.typist.paste(before, text)
        await self.typist.submit(before)
        return before

    async def verdict(self, text: str, before: Sight) -> Any:
        """What hooks and transcript say now."""
        after = await self.typist.look()
        told: list[dict[str, Any]] = [{TRACES: sight.seen[TRACES]} for sight in (before, after)]
        found = verify(
            Evidence(
                session=make_session("tmux"),
                message=Message(id="m", text=text),
                text=text,
                before=told[0],
                after=told[1],
            )
        )
        return None if found is None else (found.verdict, found.proof)


@pytest.fixture
def rig(claude: Manifest, pane: Callable[[str], bytes]) -> Rig:
    """An idle agent."""
    return Rig(claude, pane("claude-2.1.332-w80-idle"))


async def test_a_late_post_about_a_message_does_not_prove_the_same_message_sent_again(rig: Rig) -> None:
    """The first was proven by the screen; its post comes when the second has been typed. The second's own post is
    its proof."""
    await rig.send("continue")
    before = await rig.send("continue")
    rig.record.note(PromptSubmitted(prompt="continue"))
    assert await rig.verdict("continue", before) is None
    rig.record.note(PromptSubmitted(prompt="continue"))
    assert await rig.verdict("continue", before) == ("submitted", "hook")


async def test_a_key_that_the_terminal_refused_counts_for_nothing(rig: Rig) -> None:
    """It is pressed again, and then the first post is the proof."""
    before = await rig.typist.look()
    await rig.typist.paste(before, "continue")
    rig.pane.takes = False
    assert not await rig.typist.submit(before)
    rig.pane.takes = True
    again = await rig.send("continue")
    rig.record.note(PromptSubmitted(prompt="continue"))
    assert await rig.verdict("continue", again) == ("submitted", "hook")


def row(text: str, uuid: str) -> bytes:
    """A prompt in a transcript."""
    said = {"type": "user", "uuid": uuid, "promptSource": "typed", "message": {"content": text}}
    return msgspec.json.encode(said) + b"\n"


async def test_a_row_that_was_written_between_two_turns_is_on_record_and_in_neither(
    rig: Rig, tmp_path: Path
) -> None:
    """The next turn does not hear of it; its own row is the second one, and its proof."""
    path = tmp_path / "t.jsonl"
    path.write_bytes(row("earlier", "0"))
    unread = Place(str(path), path.stat().st_size)
    await rig.send("continue")
    with path.open("ab") as file:
        file.write(row("continue", "1"))
    async with asyncio.timeout(10), Watcher(tmp_path) as watcher:
        senses = Senses(rig.record, watcher, None, lambda: path, unread=unread)
        await senses.locate()
        assert senses.items.empty()
        before = await rig.send("continue")
        assert await rig.verdict("continue", before) is None
        with path.open("ab") as file:
            file.write(row("continue", "2"))
        await senses.catch_up()
        assert senses.items.qsize() == 1
        assert await rig.verdict("continue", before) == ("submitted", "transcript")
