"""What posts say, recorded and made up: typed facts in any order, and nothing from what is no post."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from turnhub_tmux.bridge.course import Course
from turnhub_tmux.bridge.facts import (
    AskOver,
    BatchDone,
    Displayed,
    Fact,
    PermissionAsked,
    PromptSubmitted,
    SessionOver,
    SessionSeen,
    StopFailed,
    Stopped,
    ToolDone,
    ToolFailed,
    ToolStarting,
)
from turnhub_tmux.bridge.posts import EVENTS, Post, read

Told = Callable[[str], list[Fact]]
Recorded = Callable[[str], list[Post]]
Body = Callable[..., bytes]


def of(facts: list[Fact], kind: type) -> list[Any]:
    """The facts of one kind."""
    return [fact for fact in facts if isinstance(fact, kind)]


def take(course: Course, raw: bytes, ask_id: str = "ask") -> list[Fact]:
    """The facts in one post."""
    post = read(raw, ask_id)
    assert post is not None
    return course.take(post)


def test_a_plain_turn_tells_the_prompt_the_text_and_the_end(told: Told) -> None:
    """Where the session is comes first; the displayed pieces make up what the agent said last."""
    facts = told("plain")
    assert isinstance(facts[0], SessionSeen)
    assert facts[0].transcript_path.endswith(".jsonl")
    assert of(facts, PromptSubmitted)[0].prompt == "hello  there\nsecond line"
    first = [fact for fact in of(facts, Displayed) if fact.prompt_id == facts[1].prompt_id]
    assert "".join(fact.delta for fact in first) == of(facts, Stopped)[0].last_message
    assert [fact.final for fact in first] == [False, True]
    assert len(of(facts, SessionSeen)) == 1


def test_a_prompt_to_a_busy_agent_is_queued_not_submitted(told: Told) -> None:
    """Its post comes at once, under the running prompt's id; the same words again are marked as heard before."""
    prompts = of(told("queued"), PromptSubmitted)
    assert [(one.prompt[:14], one.queued, one.repeated) for one in prompts[:3]] == [
        ("SLOW one", False, False),
        ("the same words", True, False),
        ("the same words", True, True),
    ]
    assert [one.prompt for one in prompts if one.queued is False] == ["SLOW one", "MIDWAY one", "SLOW two"]


def test_the_first_post_of_an_agent_that_ran_before_does_not_tell_whether_it_was_queued(body: Body) -> None:
    """A restarted listener does not know what the agent was at."""
    course = Course(fresh=False)
    (prompt,) = of(take(course, body("UserPromptSubmit", prompt="hi")), PromptSubmitted)
    assert prompt.queued is None
    (later,) = of(take(course, body("UserPromptSubmit", prompt="more")), PromptSubmitted)
    assert later.queued is True


def test_tools_tell_start_and_end_and_how_an_ask_was_taken(told: Told) -> None:
    """Allowed, denied, changed, answered, failed: each ask is about its own call, and ends once."""
    facts = told("tools")
    asks, overs = of(facts, PermissionAsked), of(facts, AskOver)
    assert [one.ask_id for one in overs] == [one.ask_id for one in asks]
    assert [one.tool_use_id for one in asks] == [one.tool_use_id for one in of(facts, ToolStarting)]
    assert [(one.sign, one.ran) for one in overs] == [
        ("tool", True),
        ("batch", None),
        ("tool", True),
        ("tool", True),
        ("tool", True),
    ]
    assert overs[1].output == "not today"
    assert overs[2].input["command"] == "echo changed"
    assert overs[3].input["answers"] == {"Which colour?": "Green,\nin my own words"}
    assert asks[3].questions[0].question == "Which colour?"
    assert [option.label for option in asks[3].questions[0].options] == ["Red", "Blue"]
    (failed,) = of(facts, ToolFailed)
    assert "Exit code 3" in failed.error
    assert len(of(facts, ToolDone)) == 3


def test_the_keyboard_is_heard_of_by_what_comes_after(told: Told) -> None:
    """A yes by the tool, an answer by its words, a no by the next prompt at the latest."""
    overs = of(told("keyboard"), AskOver)
    assert [(one.sign, one.answered) for one in overs] == [("tool", False), ("tool", False), ("prompt", False)]
    assert overs[1].input["answers"] == {"Which colour?": "Blue"}


def test_starting_over_is_another_session_with_another_transcript(told: Told) -> None:
    """After /clear the agent has a new id; the old one ended."""
    facts = told("keyboard")
    before, after = of(facts, SessionSeen)
    assert before.agent_session != after.agent_session
    assert before.transcript_path != after.transcript_path
    assert next(one.reason for one in of(facts, SessionOver)) == "clear"


def test_posts_that_come_twice_are_told_once(recorded: Recorded, told: Told) -> None:
    """Every recorded post, delivered twice: the same facts, but for stops, and prompts that are marked."""
    for scene in ("plain", "tools", "keyboard"):
        course = Course()
        twice = [fact for post in recorded(scene) for _ in (1, 2) for fact in course.take(post)]
        ids = (Displayed, ToolStarting, ToolDone, ToolFailed, BatchDone, AskOver, SessionSeen)
        assert [fact for fact in twice if isinstance(fact, ids)] == [f for f in told(scene) if isinstance(f, ids)]
        prompts = of(twice, PromptSubmitted)
        assert [one.repeated for one in prompts] == [False, True] * (len(prompts) // 2)


def test_what_belongs_to_an_earlier_prompt_is_late_and_ends_nothing(body: Body) -> None:
    """A stop that was under way when the next prompt began does not end the next prompt's asks."""
    course = Course()
    take(course, body("UserPromptSubmit", prompt="one", prompt_id="p1"))
    take(course, body("UserPromptSubmit", prompt="two", prompt_id="p2"))
    take(course, body("PermissionRequest", prompt_id="p2", tool_name="Bash", tool_input={"command": "x"}))
    (stopped,) = take(course, body("Stop", prompt_id="p1", last_assistant_message="late"))
    assert isinstance(stopped, Stopped)
    assert stopped.late
    assert [one.ask_id for one in course.asks] == ["ask"]
    _, over = take(course, body("Stop", prompt_id="p2"))
    assert isinstance(over, AskOver)
    assert over.sign == "stop"


def test_two_calls_of_the_same_words_are_two_asks(body: Body) -> None:
    """Each ask gets the call that nobody asked about yet."""
    course = Course()
    for call in ("t1", "t2"):
        fields = {"tool_name": "Bash", "tool_input": {"command": "x"}}
        take(course, body("PreToolUse", tool_use_id=call, **fields))
    asked = [
        of(
            take(course, body("PermissionRequest", tool_name="Bash", tool_input={"command": "x"}), ask),
            PermissionAsked,
        )
        for ask in ("a", "b")
    ]
    assert [one[0].tool_use_id for one in asked] == ["t1", "t2"]
    done = body("PostToolUse", tool_use_id="t2", tool_name="Bash", tool_input={"command": "x"}, tool_response="ok")
    _, over = take(course, done)
    assert isinstance(over, AskOver)
    assert (over.ask_id, over.output) == ("b", "ok")


def test_a_helper_that_asks_in_the_background_outlives_the_stop(body: Body) -> None:
    """Its ask ends with its own tool, or with the session."""
    course = Course()
    take(course, body("PermissionRequest", agent_id="h", tool_name="Bash", tool_input={}), "theirs")
    take(course, body("PermissionRequest", tool_name="Read", tool_input={}), "ours")
    overs = of(take(course, body("Stop")), AskOver)
    assert [one.ask_id for one in overs] == ["ours"]
    overs = of(take(course, body("SessionEnd", reason="other")), AskOver)
    assert [(one.ask_id, one.sign) for one in overs] == [("theirs", "end")]


def test_a_failed_stop_says_why(body: Body) -> None:
    """The kind of error, its words, and what was said before."""
    raw = body("StopFailure", error="rate_limit", error_details="429", last_assistant_message="half")
    failed = take(Course(), raw)[-1]
    assert isinstance(failed, StopFailed)
    assert (failed.error, failed.detail, failed.last_message) == ("rate_limit", "429", "half")


def test_unknown_events_and_fields_are_passed_over(body: Body) -> None:
    """They still say where the session is."""
    (seen,) = take(Course(), body("SomethingNew", prompt={"a": 1}))
    assert isinstance(seen, SessionSeen)
    facts = take(Course(), body("Stop", last_assistant_message=7, novelty=[1]))
    assert of(facts, Stopped)[0].last_message == ""


def test_posts_without_what_their_event_needs_say_nothing(body: Body) -> None:
    """No tool, no index, no words: no fact."""
    for event in ("UserPromptSubmit", "MessageDisplay", "PreToolUse", "PostToolUse", "PermissionRequest"):
        post = read(body(event))
        assert post is not None
        assert post.fact is None


@given(st.binary(max_size=200))
def test_what_is_no_post_is_none(raw: bytes) -> None:
    """Whatever bytes come, nothing is raised."""
    assert read(raw) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
FIELDS = (
    "prompt_id",
    "prompt",
    "message_id",
    "index",
    "delta",
    "final",
    "tool_name",
    "tool_input",
    "tool_use_id",
    "tool_calls",
    "tool_response",
    "permission_suggestions",
    "agent_id",
    "transcript_path",
)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.sampled_from(EVENTS), st.dictionaries(st.sampled_from(FIELDS), JSON)), max_size=12))
def test_posts_of_any_shape_in_any_order_are_harmless(posts: list[tuple[str, dict[str, Any]]]) -> None:
    """Nothing is raised; no ask ends that was not open, and none ends twice."""
    import json

    course, opened, ended = Course(), set(), []
    for number, (event, fields) in enumerate(posts):
        raw = json.dumps({"session_id": "s", **fields, "hook_event_name": event}).encode()
        for fact in take(course, raw, f"ask-{number}"):
            if isinstance(fact, PermissionAsked):
                opened.add(fact.ask_id)
            if isinstance(fact, AskOver):
                ended.append(fact.ask_id)
    assert len(set(ended)) == len(ended)
    assert set(ended) <= opened
    assert {one.ask_id for one in course.asks} == opened - set(ended)


def test_an_ask_that_is_posted_again_after_its_end_is_no_new_ask(body: Body) -> None:
    """A late copy opens nothing; the same words for another call do."""
    course = Course()
    words = {"tool_name": "Bash", "tool_input": {"command": "x"}}
    take(course, body("PreToolUse", tool_use_id="t1", **words))
    take(course, body("PermissionRequest", **words), "first")
    take(course, body("PostToolUse", tool_use_id="t1", **words))
    assert take(course, body("PermissionRequest", **words), "again") == []
    take(course, body("PreToolUse", tool_use_id="t2", **words))
    (asked,) = of(take(course, body("PermissionRequest", **words), "second"), PermissionAsked)
    assert asked.tool_use_id == "t2"
