"""A conversation as Markdown: readable, whole, and nothing in it breaks out of its place."""

from __future__ import annotations

import re

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from hub.archive import About
from hub.events import (
    AnyEvent,
    Ask,
    AskOpened,
    AskSettled,
    AskWithdrawn,
    By,
    Digest,
    DistillFailed,
    ForkedFrom,
    Question,
    Reasoning,
    Text,
    ToolFinished,
    ToolStarted,
    TurnCompleted,
    TurnFailed,
    TurnInterrupted,
    TurnStarted,
    Usage,
    UserMessage,
)
from hub.fold import fold
from hub.markdown import code, fenced, folded, markdown, words
from tests.strategies import session_logs

ABOUT = About(id="ses_1", agent="claude", transport="sdk", title="Fix the *build*", cwd="/srv/x")


def shown(*events: AnyEvent, about: About = ABOUT) -> str:
    """The Markdown of one turn with these events."""
    begun = (UserMessage(message_id="m", text="do it\n# now"), TurnStarted(attempt=1, message_id="m"))
    numbered = [
        msgspec.structs.replace(event, seq=seq, turn_id="t") for seq, event in enumerate((*begun, *events), 1)
    ]
    return markdown(about, fold(numbered))


def test_the_head_tells_what_the_session_is() -> None:
    """Title, agent, directory, where it came from."""
    about = msgspec.structs.replace(ABOUT, forked_from=ForkedFrom(session_id="ses_0", seq=7))
    text = shown(about=about)
    assert text.startswith(
        "# Fix the \\*build\\*\n\n* Agent: `claude`\n* Transport: `sdk`\n* Directory: `/srv/x`\n"
    )
    assert "* Forked from: `ses_0, after event 7`" in text
    assert "## User\n\n> do it\n> # now\n\n## Agent\n" in text
    assert text.endswith("*Running still.*\n")


def test_a_turn_has_its_words_and_its_tools_folded() -> None:
    """The agent's Markdown stays Markdown; a call shows name, outcome and time, and the rest on demand."""
    digest = Digest(text="a```b", bytes=9000, sha256="ab", truncated=True)
    text = shown(
        Reasoning(block=0, text="hm"),
        Text(block=1, text="Look: **here**"),
        ToolStarted(tool_id="x", name="Bash<b>", input={"command": "ls"}),
        ToolFinished(tool_id="x", status="ok", digest=digest, duration_ms=1500),
        TurnCompleted(stop_reason="x", duration_ms=61_000, tools=1, cost_usd=0.25, usage=Usage(output_tokens=12)),
    )
    assert "<summary>Reasoning</summary>\n\n```\nhm\n```\n" in text
    assert "\n\nLook: **here**\n\n" in text
    assert "<summary>Bash&lt;b&gt;: ok, 1.5 s</summary>" in text
    assert '```json\n{\n  "command": "ls"\n}\n```' in text
    assert "````\na```b\n````" in text
    assert "The beginning of 9000 bytes, SHA-256 `ab`." in text
    assert text.endswith("*61.0 s, 1 tool, 12 output tokens, 0.2500 USD*\n")


def test_failures_say_what_happened() -> None:
    """A failed turn has its code and its sentence, a stopped one who did it, cut off words are marked."""
    failed = shown(
        Text(block=0, text="I beg", partial=True),
        TurnFailed(code="agent_dead", message="It died.", retryable=True, duration_ms=5),
    )
    assert "I beg\n\n*(cut off here)*\n\n**Failed** (`agent_dead`): It died. *0.0 s*" in failed
    assert "**Stopped** by ann." in shown(TurnInterrupted(by="ann", duration_ms=5))
    assert "> Note (timeout): late" in shown(DistillFailed(code="timeout", message="late"))


def test_asks_say_who_answered_and_how() -> None:
    """Allowed by a person, denied by a rule, answered in words, withdrawn, still open."""
    asks = [Ask(id=f"a{number}", kind="permission", tool="Bash", subject="rm `x`") for number in range(4)]
    question = Ask(id="q", kind="question", tool="AskUserQuestion", questions=(Question(question="Which one?"),))
    text = shown(
        *(AskOpened(ask=ask) for ask in (*asks, question)),
        AskSettled(ask_id="a0", by=By(kind="person", name="ann"), decision="allow", scope="session"),
        AskSettled(
            ask_id="a1", by=By(kind="policy", name="careful", rule="Bash(rm *)"), decision="deny", message="No."
        ),
        AskWithdrawn(ask_id="a2", reason="moved on"),
        AskSettled(ask_id="q", by=By(kind="person", name="bob"), answers={"Which one?": "That"}),
    )
    assert "* **Asked** for `Bash` `` rm `x` ``: allowed for the session by person ann\n" in text
    assert ": denied by policy careful, rule Bash(rm \\*): No." in text
    assert ": withdrawn (moved on)" in text
    assert ": still open" in text
    assert "* **Asked** for `AskUserQuestion`" not in text
    assert "* **Asked**: answered by person bob: That\n  * Which one?" in text


@given(session_logs())
def test_any_conversation_can_be_written(events: list[AnyEvent]) -> None:
    """What is folded is closed again, and every message stands there."""
    text = markdown(ABOUT, fold(events))
    assert text.count("\n<details>\n") == text.count("\n</details>\n")
    assert text.endswith("\n")


@given(st.text())
def test_code_stays_code(text: str) -> None:
    """No text ends the fence or the span that it stands in, or the fold's summary."""
    block = fenced(text)
    fence = block.split("\n")[0]
    assert fence not in block[len(fence) : -len(fence)]
    span = code(text)
    marks = re.match("`+", span)
    assert marks
    assert len(span.splitlines()) <= 1
    assert "</summary>" not in folded(text, []).removesuffix("</summary>\n\n\n\n</details>")
    assert len(words(text).splitlines()) <= 1
