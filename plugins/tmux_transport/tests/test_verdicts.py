"""When a turn is over, and how it ended: by who said it, in whatever order they say it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from turnhub_tmux.bridge.facts import StopFailed, Stopped
from turnhub_tmux.panes.pane import Look, PaneRef
from turnhub_tmux.reading import answer_on
from turnhub_tmux.screen.manifest import Manifest
from turnhub_tmux.screen.reader import read
from turnhub_tmux.screen.types import Composer, Screen
from turnhub_tmux.story import Story
from turnhub_tmux.transcript import facts as rows
from turnhub_tmux.transcript.rows import facts
from turnhub_tmux.typist import SEEN, Seen
from turnhub_tmux.verdicts import LONG_REST_S, REST_S, TELL_S, Signs, ending

from hub import Completed, Ending, Failed, Interrupted, Sight

AT = 100.0


def judged(signs: Signs, now: float = AT, **changes: Any) -> Ending | None:
    """The ending, of an agent with hooks and a transcript unless told otherwise."""
    return ending(signs, now, **{"told": True, "hooked": True, "written": True, "error": None, **changes})


@pytest.fixture
def sight(pane: Callable[[str], bytes], claude: Manifest) -> Callable[[str], Sight]:
    """A sight of a saved screen of the real agent."""

    def of(name: str) -> Sight:
        capture = pane(f"claude-2.1.332-{name}")
        look = Look(
            ref=PaneRef(pane_id="%1", server_pid=1, pane_pid=1),
            dead=False,
            status=None,
            scrolled=False,
            alternate=False,
            cursor=(0, 0),
            size=(200, 40),
            attached=0,
            command="claude",
            holder="agent",
            capture=capture,
        )
        return Sight(holder="agent", seen={SEEN: Seen(look=look, screen=read(capture, claude), manifest=claude)})

    return of


@pytest.mark.parametrize("order", ["hook first", "transcript first"])
def test_hook_and_transcript_both_say_that_it_is_done(order: str) -> None:
    """The second witness is waited for, but not for long; without one the first will do."""
    says: list[Any] = [Stopped(), rows.TurnOver(duration_ms=1)]
    first, second = says if order == "hook first" else reversed(says)
    signs = Signs()
    assert judged(signs) is None
    signs.hear(first, AT)
    assert judged(signs) is None
    assert judged(signs, AT + TELL_S) == Completed()
    signs.hear(second, AT + 0.1)
    assert judged(signs, AT + 0.1) == Completed()
    assert judged(signs, AT + 0.1, told=False) is None


def test_what_belongs_to_another_prompt_ends_nothing() -> None:
    """Late posts, helpers, and what the agent had to do before a message that it queued."""
    signs = Signs()
    signs.hear(Stopped(late=True), AT)
    signs.hear(Stopped(agent="helper"), AT)
    signs.hear(rows.TurnOver(duration_ms=1, aside=True), AT)
    assert judged(signs, AT + 60) is None
    signs = Signs(queued=True)
    signs.hear(Stopped(), AT)
    signs.hear(rows.TurnOver(duration_ms=1), AT)
    assert judged(signs, AT + 60) is None
    signs.hear(rows.Prompt(text="ours", source="queued"), AT + 61)
    assert judged(signs, AT + 61) is None
    signs.hear(Stopped(), AT + 62)
    signs.hear(rows.TurnOver(duration_ms=1), AT + 62)
    assert judged(signs, AT + 62) == Completed()


def test_abnormal_ends_are_told_as_they_are() -> None:
    """An error in the agent's own words; a person's interrupt; a refused tool; an agent gone, seen twice."""
    failed, broken, refused, dead = Signs(), Signs(), Signs(), Signs()
    failed.hear(StopFailed(error="unknown", last_message="API Error: 400 bad thing"), AT)
    assert judged(failed) == Failed(code="agent_error", message="API Error: 400 bad thing")
    broken.hear(rows.Interrupted(), AT)
    assert judged(broken) == Interrupted(by="keyboard")
    refused.hear(rows.Interrupted(tool=True), AT)
    assert judged(refused) == Completed(stop_reason="tool_denied")
    dead.look(Sight(holder="nothing"), AT)
    assert judged(dead) is None
    dead.look(Sight(holder="unknown"), AT)
    dead.look(Sight(holder="shell"), AT)
    assert judged(dead) is None
    dead.look(Sight(holder="shell"), AT)
    found = judged(dead)
    assert isinstance(found, Failed)
    assert found.code == "agent_dead"


@pytest.mark.parametrize(
    ("kind", "words", "code", "hint"),
    [
        ("max_output_tokens", "API Error: it exceeded the maximum.", "token_cap", ""),
        ("authentication_failed", "Invalid API key · Fix external API key", "agent_unavailable", "/login"),
        ("rate_limit", "API Error: Request rejected (429) · slow down", "agent_error", "Wait a while"),
        ("invalid_request", "Prompt is too long", "agent_error", "/compact"),
        ("server_error", "API Error: 529", "agent_error", ""),
    ],
)
def test_an_error_of_the_model_has_its_code_whoever_tells_it(kind: str, words: str, code: str, hint: str) -> None:
    """By its hook, or by its transcript alone: the same failure, in the agent's words, with what mends it."""
    signs, story = Signs(), Story()
    signs.hear(StopFailed(error=kind, last_message=words), AT)
    row = {
        "type": "assistant",
        "isApiErrorMessage": True,
        "error": kind,
        "message": {"id": "m", "content": [{"type": "text", "text": words}]},
    }
    for fact in facts(msgspec.json.encode(row)):
        story.read(fact, live=True)
    found = judged(signs)
    assert isinstance(found, Failed)
    assert found.code == code
    assert found.message is not None
    assert found.message.startswith(words.rstrip("."))
    assert hint in found.message
    assert story.error == found


def test_words_that_stand_in_the_composer_again_were_interrupted(sight: Callable[[str], Sight]) -> None:
    """Escape before the agent has shown anything: nobody tells of it. Only once it was seen at work, and rests."""
    signs = Signs(put_back=True)
    signs.look(sight("w200-idle"), AT)
    assert judged(signs, AT + REST_S) is None
    signs.look(sight("w200-busy"), AT)
    signs.look(sight("w200-idle"), AT)
    assert judged(signs, AT + REST_S - 0.1) is None
    assert judged(signs, AT + REST_S) == Interrupted(by="keyboard")


def test_rest_on_the_screen_counts_where_nobody_else_tells(sight: Callable[[str], Sight]) -> None:
    """Of a foreign agent soon; of one that should have told late, and as incomplete; with its error, as that. An
    agent at work is not at rest."""
    signs = Signs()
    for name in ("w200-busy", "w200-idle", "w200-idle"):
        signs.look(sight(name), AT)
    assert judged(signs, AT + REST_S, hooked=False, written=False) == Completed()
    assert judged(signs, AT + REST_S) is None
    found = judged(signs, AT + LONG_REST_S)
    assert isinstance(found, Failed)
    assert found.code == "incomplete"
    bad = Failed(code="agent_error", message="bad")
    assert judged(signs, AT + TELL_S, error=bad) == bad
    signs.look(sight("w200-busy"), AT + 1)
    assert judged(signs, AT + 60) is None
    signs.look(sight("w200-perm-bash"), AT + 1)
    assert judged(signs, AT + 60, hooked=False, written=False) is None


def test_an_answer_is_read_off_the_screen_below_the_message(sight: Callable[[str], Sight]) -> None:
    """For agents of which nothing else tells."""
    seen: Seen = sight("w200-paste-submitted").seen[SEEN]
    assert "ECHO of" in answer_on(seen.screen, "no such message", ["❯"])
    assert answer_on(seen.screen, "no such message", ["❯"]).startswith(answer_on(seen.screen, "", ["❯"])[:5])


@pytest.mark.parametrize(
    ("rows", "message", "answer"),
    [
        (["› hello", "", "• Echo: hello"], "hello", "• Echo: hello"),
        (["› hello", "• one", "› hello", "• two"], "hello", "• two"),
        (["› two lines", "  in one", "", "• yes"], "two lines\nin one", "• yes"),
        (["line 2", "line 3", "", "• yes"], "line 1\nline 2\nline 3", "• yes"),
        (["› other", "• yes"], "hello", "› other\n• yes"),
        (["• yes"], "", "• yes"),
    ],
)
def test_an_answer_that_says_the_message_again_is_whole(rows: list[str], message: str, answer: str) -> None:
    """Only what the agent marks as said by a person is the message, in all its rows."""
    screen = Screen(state="ready", composer=Composer(state="empty"), above=tuple(rows))
    assert answer_on(screen, message, ["›", ">"]) == answer
