"""A message reaches the agent as words, in the form that its composer gives it, or is refused with the reason."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from turnhub_tmux.convey import CLAUDE, as_typed, collapses, convey, needs_block
from turnhub_tmux.screen.types import Composer
from turnhub_tmux.staging import alone

from hub import CannotConvey

JOINED = "\u0645\u06cc\u200c\u062e\u0648 \u0915\u094d\u200d\u0937 \u05e9\u200e"

# Sent, and what Claude Code 2.1.332 then handed to its model: measured.
MEASURED = [
    ("  two blanks before", "  two blanks before"),
    ("\n\nlines before", "\n\nlines before"),
    ("a   \nb\t\nc", "a   \nb    \nc"),
    ("a\rb", "a\nb"),
    ("a\x0bb\x0cc", "a\nb\nc"),
    ("a\u2028b\u2029c", "a\nb\nc"),
    ("a\x85b", "a\nb"),
    ("nb\u00a0sp \u3000 wide", "nb\u00a0sp \u3000 wide"),
    ("é e\u0301 \u1100\u1161", "é é \uac00"),
    ("z\u0351\u0323\u0302", "\u1e93\u0351\u0302"),
    ("trail  \n\n", "trail"),
    ("a\x01\x07\x08\x1fb\x7fc\x80d\x9be", "abcde"),
    ("\x1b[31mred\x1b[0m", "red"),
    ("x \x1b[201~after", "x after"),
    ("x \x1b]0;title\x07after", "x after"),
    ("a\u200bb\u2060c\ufeffd\u00ade\u202ef\u2066g", "abcdefg"),
    ("a\u200db \u845b\U000e0100 x\ufe0f y", "ab \u845b x y"),
    ("\u65e5\u3164\u672c \uffa0x", "\u65e5\u672c x"),
    ("👩‍👩‍👧 👍🏽 🇩🇪 ✊️ 1️⃣ ❤️ 🏳️‍🌈 ☎︎", "👩‍👩‍👧 👍🏽 🇩🇪 ✊️ 1️⃣ ❤️ 🏳️‍🌈 ☎︎"),
    ("🏴\U000e0067\U000e0062\U000e007f", "🏴\U000e0067\U000e0062\U000e007f"),
    (JOINED, JOINED),
    ("\u1820\u180b", "\u1820\u180b"),
    ("/etc/hosts is a file", "/etc/hosts is a file"),
    ("// a comment", "// a comment"),
    ("#note &bg ? a@b.c (@x) `@y` \"@z\" -@w", "#note &bg ? a@b.c (@x) `@y` \"@z\" -@w"),
    ("ends with \\", "ends with \\"),
    ("Exit", "Exit"),
]  # fmt: skip


@pytest.mark.parametrize(("sent", "taken"), MEASURED)
def test_a_text_is_brought_to_the_form_in_which_the_agent_takes_it(sent: str, taken: str) -> None:
    """And what that changed has a name."""
    conveyed = convey(sent, CLAUDE, literal=True)
    assert conveyed.text == taken
    assert bool(conveyed.changes) is (sent != taken)


def test_windows_line_ends_become_one_newline() -> None:
    """The composer would make two of them."""
    assert convey("a\r\nb", CLAUDE, literal=True).text == "a\nb"


def test_half_a_surrogate_pair_is_replaced() -> None:
    """It cannot be sent to any terminal."""
    conveyed = convey("a\ud83db", CLAUDE, literal=True)
    assert conveyed.text == "a\ufffdb"
    assert conveyed.changes == ("half a surrogate pair became U+FFFD",)


@pytest.mark.parametrize("text", ["", "  \n ", "\x1b[31m", "\u200b\u2060"])
def test_a_message_of_nothing_is_refused(text: str) -> None:
    """There is nothing to press Enter for."""
    with pytest.raises(CannotConvey, match="empty"):
        convey(text, CLAUDE, literal=True)


@pytest.mark.parametrize(
    "text", ["@readme.md", "see @readme.md", "a\n@b", "x。@y", '@"a b"', "\u00a0@z", "1\n2\n3\n4 @f", "@@x"]
)
@pytest.mark.parametrize("kind", [CLAUDE, "codex"])
def test_what_would_pull_a_file_in_is_refused(text: str, kind: str) -> None:
    """Also inside a long paste; the reason names the word."""
    with pytest.raises(CannotConvey, match="pull a file") as refused:
        convey(text, kind, literal=True)
    assert "@" in refused.value.detail


@pytest.mark.parametrize("text", ["/help", " /help me", "\n/clear", "/", "\u00a0/x y", "exit", " quit ", ":wq"])
def test_what_would_be_a_command_goes_as_a_block_which_is_words(text: str) -> None:
    """Empty lines behind it make it one; it must be seen as one, or it is not submitted."""
    conveyed = convey(text, CLAUDE, literal=True)
    assert conveyed.text.rstrip() == text.rstrip()
    assert collapses(conveyed.text)
    assert len(conveyed.changes) >= 2
    as_words = Composer(state="draft", text=conveyed.text.strip())
    assert not alone(conveyed.text, as_words, CLAUDE)
    lines = conveyed.text.count("\n")
    block = f"[Pasted text #1 +{lines} lines]"
    assert alone(conveyed.text, Composer(state="draft", text=block, markers=(block,)), CLAUDE)


@pytest.mark.parametrize("text", ["/x/a.png", " '/x/a b.JPG'\n", '"/a.webp"', "/x\\ y.jpeg"])
@pytest.mark.parametrize("literal", [True, False])
def test_what_is_only_the_path_of_a_picture_is_refused(text: str, literal: bool) -> None:
    """The agent would show the picture in its place, and nobody could tell it from somebody else's."""
    with pytest.raises(CannotConvey, match="picture"):
        convey(text, CLAUDE, literal=literal)
    assert convey(f"see {text.strip()}", CLAUDE, literal=literal)


@pytest.mark.parametrize(
    "text", ["[Pasted text #1 +60 lines]", "see [Image #12]", "[...Truncated text #3 +5 lines...]"]
)
def test_what_looks_like_the_agents_mark_of_a_paste_goes_as_a_block(text: str) -> None:
    """In its words nobody could tell it from a paste."""
    conveyed = convey(text, CLAUDE, literal=True)
    assert collapses(conveyed.text)
    assert "mark of a paste" in conveyed.changes[0]
    assert convey(text, "codex", literal=True).text == text


@pytest.mark.parametrize(
    ("sent", "taken"),
    [
        ('<pasted_content id="1">', '<\\pasted_content id="1">'),
        ("a </ Pasted-Content> b", "a <\\/ Pasted-Content> b"),
        ("\uff1cpasted_content", "<\\pasted_content"),
        ("<\\pasted_content", "<\\pasted_content"),
        ("<pasted_contents> <pasted content>", "<pasted_contents> <pasted content>"),
    ],
)
def test_the_agents_own_frame_gets_its_backslash(sent: str, taken: str) -> None:
    """As the agent itself would put it: measured."""
    conveyed = convey(sent, CLAUDE, literal=True)
    assert conveyed.text == taken
    assert bool(conveyed.changes) is (sent != taken)


@pytest.mark.parametrize("text", ["!ls", "!ls\n!pwd\n3\n4\n5"])
def test_a_leading_exclamation_mark_gets_a_blank_before_it(text: str) -> None:
    """Long pastes would run, too."""
    conveyed = convey(text, CLAUDE, literal=True)
    assert conveyed.text == f" {text}"
    assert "blank" in conveyed.changes[0]


@pytest.mark.parametrize("text", ["/help", "!ls", "exit"])
def test_other_agents_get_no_tricks(text: str) -> None:
    """What may act there is refused."""
    with pytest.raises(CannotConvey, match="literal: false"):
        convey(text, "gemini", literal=True)


@pytest.mark.parametrize("text", ["/help", "!ls", "@readme.md what is this?", "exit"])
def test_as_a_person_would_send_it_everything_goes(text: str) -> None:
    """``literal: false``."""
    assert convey(text, CLAUDE, literal=False).text == text


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("a\\", "a\\ "),
        ("see :smi", "see :smi "),
        ("see #cha", "see #cha "),
        ("plain", "plain"),
        ("x\n" * 9 + "\\", "x\n" * 9 + "\\"),
    ],
)
def test_a_blank_at_the_end_keeps_enter_an_enter(text: str, typed: str) -> None:
    """Behind a backslash it would be a new line, in a list of completions a choice."""
    assert as_typed(text, CLAUDE) == typed


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=60))
def test_what_was_brought_to_its_form_stays_as_it_is(text: str) -> None:
    """Composed, without control characters, without whitespace at its end; and once is enough."""
    try:
        conveyed = convey(text, CLAUDE, literal=False).text
    except CannotConvey:
        return
    assert conveyed == unicodedata.normalize("NFC", conveyed).rstrip()
    assert not [c for c in conveyed if unicodedata.category(c) == "Cc" and c != "\n"]
    assert convey(conveyed, CLAUDE, literal=False).text == conveyed


@given(st.text(alphabet="/!@#ab \n\\:q", max_size=12))
def test_no_text_goes_as_words_that_would_act(text: str) -> None:
    """Whatever specials are put together: refused, a block, or harmless."""
    try:
        words = convey(text, CLAUDE, literal=True).text
    except CannotConvey:
        return
    assert not words.startswith("!")
    assert not any(word.startswith("@") and len(word) > 1 for word in words.split())
    assert not needs_block(words) or collapses(words)


# In the composer


def draft(text: str, *markers: str, truncated: bool = False) -> Composer:
    """A composer with this in it."""
    return Composer(state="draft", text=text, markers=markers, truncated=truncated)


LONG = "\n".join(f"line {number}" for number in range(60))
BLOCK = "[Pasted text #3 +59 lines]"
CUT = "the very long " * 50 + "tail of it all, really so"


@pytest.mark.parametrize(
    ("text", "composer", "expected"),
    [
        ("hello there", draft("hello there"), True),
        ("hello there", draft("hello\nthere"), True),
        ("hello there", draft("hello there friend"), False),
        ("hello there", draft("hm hello there"), False),
        ("hello there", draft("hello"), False),
        ("hello there", Composer(state="ghost", text="hello there"), False),
        ("hello there", Composer(state="empty"), False),
        (LONG, draft(BLOCK, BLOCK), True),
        (LONG, draft(f"{BLOCK} x", BLOCK), False),
        (LONG, draft(BLOCK * 2, BLOCK, BLOCK), False),
        (LONG, draft("[Pasted text #3 +58 lines]", "[Pasted text #3 +58 lines]"), False),
        ("hello there", draft(BLOCK, BLOCK), False),
        ("y" * 900, draft("[Pasted text #2]", "[Pasted text #2]"), True),
        (CUT, draft("…long tail of it all, really so", truncated=True), True),
        (CUT, draft("long tail of it all, really so"), False),
        ("👍🏽 é", draft("👍 é"), True),
        ("👩\u200d👩\u200d👧\u200d👦 and 👨🏽\u200d💻", draft("👩\u200d👩\u200d👧 and 👨"), True),
        ("👩\u200d👩\u200d👧 and so", draft("👩\u200d👩\u200d👧 and on"), False),
        ("/help", draft("/help"), True),
        ("/help\n\n\n", draft("/help"), False),
        ("[Image #1]\n\n\n", draft("[Image #1]", "[Image #1]"), False),
    ],
)  # fmt: skip
def test_a_text_is_staged_only_if_it_is_all_that_stands_there(
    text: str, composer: Composer, expected: bool
) -> None:
    """Presence is not enough, and a block has to be as long as the text."""
    assert alone(text, composer, CLAUDE) is expected
