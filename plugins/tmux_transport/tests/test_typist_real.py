"""Messages typed into the real Claude Code in real tmux; what its model was asked is the judge."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import re
import signal
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from turnhub_tmux.panes.pane import Pane
from turnhub_tmux.panes.panes import Program, start
from turnhub_tmux.panes.server import Server
from turnhub_tmux.screen.manifest import load
from turnhub_tmux.screen.readback import readback
from turnhub_tmux.typist import PaneTypist, Seen, seen_in

from hub import CannotConvey, Evidence, Pace, Sight, Verdict, hookimpl
from hub.testing import (
    Exchange,
    FakeTurn,
    Pause,
    Reply,
    Say,
    ScriptedModel,
    Use,
    claude_environment,
    reply,
)

pytestmark = [pytest.mark.anyio, pytest.mark.real, pytest.mark.slow, pytest.mark.timeout(300)]

PATIENT = Pace(start_s=90, paste_s=15, proof_s=20)
BLOCK = re.compile(r'\n*<pasted_content id="(\w+)">\n(.*)\n</pasted_content id="\1">\n*', re.DOTALL)


class ByPane:
    """Only the screen tells."""

    @hookimpl
    def verify_delivery(self, evidence: Evidence) -> Verdict | None:
        """By position."""
        before, now = evidence.before.get("tmux"), evidence.after.get("tmux")
        if not isinstance(before, Seen) or not isinstance(now, Seen):
            return None
        found = readback(evidence.text, before.look.capture, now.look.capture, now.manifest)
        if found.queued:
            return Verdict(verdict="queued", proof="pane")
        if found.submitted and not found.staged:
            return Verdict(verdict="submitted", proof="pane")
        return Verdict(verdict="staged", proof="pane") if found.staged else None


def script(exchange: Exchange) -> Reply:
    """Runs what it is told to run, takes its time when told so, and says something otherwise."""
    if exchange.results:
        return reply("Done.")
    prompt = exchange.prompts[-1] if exchange.prompts else ""
    if found := re.search(r"please run `(.*)`", prompt):
        return Reply(parts=(Use("Bash", {"command": found.group(1), "description": "as told"}),))
    if "take your time" in prompt:
        return Reply(parts=(Say("Working", close=False), Pause(4), Say(" on. Done.")))
    return reply("Understood.")


class Rig:
    """One agent in one pane, and its model."""

    def __init__(self, model: ScriptedModel, pane: Pane, cwd: Path) -> None:
        self.model = model
        self.pane = pane
        self.cwd = cwd
        self.typist = PaneTypist(pane, load("claude-code"), pace=PATIENT)

    async def deliver(self, text: str, *, literal: bool = True, typist: PaneTypist | None = None) -> Verdict:
        """Deliver."""
        turn = FakeTurn(text, literal=literal, verifiers=[ByPane()])
        return await turn.deliver(typist or self.typist)

    async def until(self, reached: Callable[[Sight, Seen], bool], *, within_s: float = 60) -> Sight:
        """The first sight of which ``reached`` is true."""
        async with asyncio.timeout(within_s):
            while True:
                sight = await self.typist.look()
                seen = seen_in(sight)
                if seen is not None and reached(sight, seen):
                    return sight
                await asyncio.sleep(0.1)

    async def idle(self) -> Sight:
        """A sight of an agent that waits for a message."""
        return await self.until(lambda sight, seen: sight.composer != "absent" and seen.screen.state == "ready")

    async def asked(self, known: int) -> str:
        """The last message of the next request for a turn, after ``known`` of them."""
        async with asyncio.timeout(60):
            await self.model.received(lambda _: len(self.model.turns) > known)
        return unwrapped(self.model.turns[-1].prompts[-1])

    async def keys(self, *keys: str) -> None:
        """What a person presses."""
        await self.pane.server.run("send-keys", "-t", self.pane.ref.pane_id, *keys)


def unwrapped(prompt: str) -> str:
    """A prompt without the frame that the agent puts around long pastes."""
    return BLOCK.sub(lambda found: found.group(2), prompt)


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """One loop for all: one agent serves many tests."""
    return "asyncio"


@pytest.fixture(scope="module")
def claude_binary() -> Path:
    """The Claude Code that the SDK brings along."""
    spec = importlib.util.find_spec("claude_agent_sdk")
    binary = Path(str(spec.origin)).parent / "_bundled" / "claude" if spec else Path("none")
    if not binary.is_file():
        pytest.skip("Claude Code is not installed here")
    return binary


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder whose path is short enough for sockets."""
    with tempfile.TemporaryDirectory(prefix="th-", ignore_cleanup_errors=True) as name:
        yield Path(name).resolve()


def project(folder: Path) -> Path:
    """Where the agent works."""
    cwd = folder / "project"
    cwd.mkdir(parents=True)
    (cwd / "readme.md").write_text("PULLED-IN")
    return cwd


@asynccontextmanager
async def rigged(binary: Path, folder: Path, *shell: str) -> AsyncIterator[Rig]:
    """A rig. ``shell``: words before those of the agent."""
    cwd = project(folder)
    server = Server(str(folder / "s"), config="/dev/null")
    async with ScriptedModel(script) as model:
        env = {**claude_environment(model.url, folder / "home"), "PATH": os.environ["PATH"], "PS1": "shell$ "}
        settled = folder / "home" / ".claude" / ".claude.json"
        known = {**json.loads(settled.read_text()), "projects": {str(cwd): {"hasTrustDialogAccepted": True}}}
        settled.write_text(json.dumps(known))
        argv = [*shell, str(binary), "--permission-mode", "default"]
        program = Program(argv=argv, env=env, cwd=str(cwd), width=100, height=40)
        pane = await start(server, "agent", program, folder / "state")
        try:
            yield Rig(model, pane, cwd)
        finally:
            await server.run("kill-server")
            with suppress(ProcessLookupError):
                os.kill(pane.ref.pane_pid, signal.SIGKILL)


@pytest.fixture(scope="module")
async def shared(anyio_backend: str, claude_binary: Path, folder: Path) -> AsyncIterator[Rig]:
    """One agent for all tests that leave it as they found it."""
    async with rigged(claude_binary, folder / "shared") as rig:
        yield rig


@pytest.fixture
async def rig(shared: Rig) -> Rig:
    """That agent, waiting, with nothing in its composer."""
    sight = await shared.idle()
    assert sight.composer in ("empty", "ghost"), sight.draft
    return shared


MESSAGES = {
    "short": "hello there",
    "one letter": "k",
    "lines": "first line\nsecond line",
    "sixty lines": "\n".join(f"line {number} of the message" for number in range(60)),
    "three thousand characters": "abcdefghi " * 300,
    "seven hundred characters": "words and more words, " * 32,
    "wide": "漢字とかな交じり文 👍🏽 👩‍👩‍👧 é 한국어",
    "joined": "می‌خواهم 1️⃣ ❤️ \u1e93\u0351",
    "quotes": 'it\'s "quoted" `id` $(id) ${HOME} \\n #{pid} ; rm -rf * | & <b>',
    "a prompt inside": "❯ not a prompt\n● not an answer",
    "a rule inside": "────────────\n❯ \n────────────",
    "a menu inside": "Do you want to proceed?\n❯ 1. Yes\n2. No",
    "dashes": "--dangerously -t foo",
    "slash path": "/etc/hosts is a file",
    "hash": "# heading & more",
    "backslash": "ends with a backslash \\",
    "completion": "what is :smi",
    "blanks": "   three blanks in front",
}


# Of what the delivery matrix sends in each run, too, only `make full` sends it here as well.
IN_EACH_RUN = ("short", "sixty lines", "seven hundred characters", "wide", "slash path", "completion", "blanks")


def later(*values: Any) -> Any:
    """A variant for `make full`."""
    return pytest.param(*values, marks=pytest.mark.full)


@pytest.mark.parametrize("name", [name if name in IN_EACH_RUN else later(name) for name in MESSAGES])
async def test_the_model_receives_what_was_sent(rig: Rig, name: str) -> None:
    """Submitted, and word for word."""
    known = len(rig.model.turns)
    verdict = await rig.deliver(MESSAGES[name])
    assert verdict.verdict == "submitted", verdict
    assert await rig.asked(known) == MESSAGES[name].rstrip()


@pytest.mark.parametrize(
    ("sent", "taken"),
    [
        ("a\ttab", "a    tab"),
        later("win\r\ndows", "win\ndows"),
        ("\x1b[31mred\x1b[0m \x07bell", "red bell"),
        ("zero\u200bwidth\u202e", "zerowidth"),
        later("e\u0301 decomposed", "é decomposed"),
        ("trailing \n\n", "trailing"),
        ("!touch ran", " !touch ran"),
        later("!touch ran\n2\n3\n4\n5", " !touch ran\n2\n3\n4\n5"),
    ],
)
async def test_what_had_to_be_changed_is_named_and_arrives_so(rig: Rig, sent: str, taken: str) -> None:
    """The agent's own form, no command run."""
    known = len(rig.model.turns)
    verdict = await rig.deliver(sent)
    assert verdict.verdict == "submitted", verdict
    assert "Changed: " in str(verdict.detail)
    assert await rig.asked(known) == taken
    assert not (rig.cwd / "ran").exists()


@pytest.mark.parametrize("sent", ["/help", later(" /clear now"), later("/nosuchthing"), "exit", later(":q")])
async def test_what_would_be_a_command_arrives_as_words(rig: Rig, sent: str) -> None:
    """The agent is still there, and has been told."""
    known = len(rig.model.turns)
    verdict = await rig.deliver(sent)
    assert verdict.verdict == "submitted", verdict
    assert (await rig.asked(known)).rstrip("\n") == sent


async def test_what_would_pull_a_file_in_is_refused_and_nothing_is_typed(rig: Rig) -> None:
    """The composer stays as it was."""
    known = len(rig.model.turns)
    with pytest.raises(CannotConvey, match="readme"):
        await rig.deliver("what is in @readme.md ?")
    assert (await rig.idle()).composer in ("empty", "ghost")
    assert len(rig.model.turns) == known
    assert "PULLED-IN" not in json.dumps([dict(turn.body) for turn in rig.model.turns])


async def test_the_same_message_twice_is_two_requests(rig: Rig) -> None:
    """What stands on the screen from before proves nothing, and hides nothing."""
    for _ in range(2):
        await rig.idle()
        known = len(rig.model.turns)
        assert (await rig.deliver("continue")).verdict == "submitted"
        assert await rig.asked(known) == "continue"
        assert len(rig.model.turns) == known + 1


@pytest.mark.parametrize("draft", ["half a thought", "two lines\nof it"])
async def test_a_draft_is_set_aside_and_stands_there_again(rig: Rig, draft: str) -> None:
    """The message goes without it."""
    assert await rig.typist.paste(await rig.idle(), draft)
    await rig.until(lambda sight, _: sight.draft == draft)
    known = len(rig.model.turns)
    verdict = await rig.deliver("a message")
    assert verdict.verdict == "submitted", verdict
    assert await rig.asked(known) == "a message"
    sight = await rig.until(lambda sight, seen: sight.composer == "draft" and seen.screen.state == "ready")
    assert sight.draft == draft
    assert await rig.typist.clear(sight) == "cleared"


@pytest.mark.parametrize("keys", ["Home", later("Left"), later("Up"), later("Up Up Home"), "Up Left"])
async def test_a_draft_in_which_a_person_has_moved_about_stands_there_again(rig: Rig, keys: str) -> None:
    """Wherever they left the cursor: none of it is lost, and it keeps no message away."""
    draft = "one thought\ntwo of them\nand a third"
    assert await rig.typist.paste(await rig.idle(), draft)
    await rig.until(lambda sight, _: sight.draft == draft)
    await rig.keys(*keys.split())
    verdict = await rig.deliver(f"a message after {keys}")
    assert verdict.verdict == "submitted", verdict
    sight = await rig.until(lambda sight, seen: sight.composer == "draft" and seen.screen.state == "ready")
    assert sight.draft == draft
    assert await rig.typist.clear(sight) == "cleared"


async def test_a_block_in_the_composer_is_cleared_when_it_is_ours_and_left_when_it_is_not(rig: Rig) -> None:
    """Of a collapsed draft nobody knows the words."""
    block = "\n".join(f"draft {number}" for number in range(30))
    assert await rig.typist.paste(await rig.idle(), block)
    await rig.until(lambda sight, _: sight.composer == "draft")
    verdict = await rig.deliver("a message")
    assert verdict.verdict == "unverified"
    assert "left alone" in str(verdict.detail)
    known = len(rig.model.turns)
    assert (await rig.deliver(block)).verdict == "submitted"
    assert await rig.asked(known) == block


@pytest.mark.parametrize("mode", [later(("copy-mode",)), ("copy-mode", "-u")])
async def test_a_person_who_has_scrolled_back_does_not_keep_a_message_away(
    rig: Rig, mode: tuple[str, ...]
) -> None:
    """The mode is left first."""
    await rig.pane.server.run(*mode, "-t", rig.pane.ref.pane_id)
    known = len(rig.model.turns)
    assert (await rig.deliver("scrolled")).verdict == "submitted"
    assert await rig.asked(known) == "scrolled"


async def test_two_senders_at_once_are_two_messages(rig: Rig) -> None:
    """With the lock between them; the second may be queued."""
    turn = FakeTurn("first of two", verifiers=[ByPane()])
    from hub import Message

    both = await asyncio.gather(
        turn.deliver(rig.typist),
        turn.deliver(
            PaneTypist(rig.pane, load("claude-code"), pace=PATIENT), Message(id="2", text="second of two")
        ),
    )
    assert {verdict.verdict for verdict in both} <= {"submitted", "queued"}
    async with asyncio.timeout(60):
        await rig.model.received(lambda request: {"first of two", "second of two"} <= set(request.prompts))


async def test_a_message_while_the_agent_works_is_queued_or_taken_and_says_which(rig: Rig) -> None:
    """In the agent's own queue is not submitted; in the end the model has it."""
    known = len(rig.model.turns)
    assert (await rig.deliver("take your time")).verdict == "submitted"
    assert await rig.asked(known) == "take your time"
    verdict = await rig.deliver("meanwhile")
    assert verdict.verdict in ("queued", "submitted"), verdict
    async with asyncio.timeout(60):
        await rig.model.received(lambda request: any("meanwhile" in prompt for prompt in request.prompts))


async def test_a_dialog_blocks_with_its_words_and_is_not_confirmed(rig: Rig) -> None:
    """The command is not run; once it is answered, messages go again."""
    known = len(rig.model.turns)
    assert (await rig.deliver("please run `touch approved`")).verdict == "submitted"
    await rig.asked(known)
    await rig.until(lambda sight, _: sight.dialog is not None)
    verdict = await rig.deliver("yes")
    assert verdict.verdict == "blocked", verdict
    assert "touch approved" in str(verdict.detail)
    sight = await rig.until(lambda sight, _: sight.dialog is not None)
    assert not (rig.cwd / "approved").exists()
    assert await rig.typist.press("Escape", sight=sight)
    await rig.until(lambda sight, _: sight.dialog is None and sight.composer != "absent")
    assert not (rig.cwd / "approved").exists()


class Interfering(PaneTypist):
    """Does something right before the submit key."""

    def __init__(self, rig: Rig, act: Callable[[], Any]) -> None:
        super().__init__(rig.pane, rig.typist.manifest, pace=Pace(start_s=30, paste_s=5, proof_s=5))
        self._act = act
        self._acted = False

    async def submit(self, sight: Sight) -> bool:
        """Act once, then try."""
        if not self._acted:
            self._acted = True
            await self._act()
        return await super().submit(sight)


async def test_a_person_who_types_right_before_enter_keeps_it_from_being_pressed(rig: Rig) -> None:
    """Their words are not sent along."""
    known = len(rig.model.turns)

    async def types() -> None:
        await rig.keys("h", "m")
        await rig.until(lambda sight, _: sight.draft.endswith("hm"))

    verdict = await rig.deliver("a message", typist=Interfering(rig, types))
    assert verdict.verdict == "unverified", verdict
    assert len(rig.model.turns) == known
    sight = await rig.idle()
    assert sight.draft == "a messagehm"
    assert await rig.typist.clear(sight) == "cleared"


async def test_copy_mode_entered_right_before_enter_is_left_and_the_message_goes_once(rig: Rig) -> None:
    """Enter is not eaten."""

    async def scrolls() -> None:
        await rig.pane.server.run("copy-mode", "-t", rig.pane.ref.pane_id)

    known = len(rig.model.turns)
    assert (await rig.deliver("once", typist=Interfering(rig, scrolls))).verdict == "submitted"
    assert await rig.asked(known) == "once"


async def test_an_agent_that_is_killed_before_enter_leaves_a_shell_that_gets_nothing(
    claude_binary: Path, folder: Path
) -> None:
    """kill -9, and bash is there: dead; the words are on nobody's command line."""
    wrapper = ("bash", "--norc", "--noprofile", "-c", '"$@"; exec bash --norc --noprofile -i', "wrapper")
    async with rigged(claude_binary, folder / "killed", *wrapper) as rig:
        await rig.idle()

        async def kills() -> None:
            (agent,) = psutil.Process(rig.pane.ref.pane_pid).children()
            agent.kill()
            await rig.until(lambda sight, _: sight.holder == "shell")

        verdict = await rig.deliver("touch should-not-be", typist=Interfering(rig, kills))
        assert verdict.verdict == "dead", verdict
        assert (await rig.deliver("touch should-not-be")).verdict == "dead"
        await rig.keys("Enter")
        await rig.keys(*"echo", "Space", *"alive", "Enter")  # when that is done, so is whatever was on its way
        await rig.until(lambda _, seen: any(row.startswith("alive") for row in seen.screen.rows))
        assert not (rig.cwd / "should-not-be").exists()
