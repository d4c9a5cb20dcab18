"""Pure: a message in the form in which an agent's composer takes it, or the reason why it cannot be conveyed.

What Claude Code's composer does to pasted text was measured (2.1.332): it is done here first, so that what was
sent can be compared with what arrived, and each change has a name. Other agents get the same care and no tricks.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from hub import CannotConvey, Conveyed
from turnhub_tmux.invisible import without_invisible

CLAUDE: Final = "claude-code"
BLOCK_LINES: Final = 3  # so many line ends, and a paste collapses to a block
BLOCK_LENGTH: Final = 800  # so many characters, and it does too
MOST: Final = 1_000_000

ESCAPES: Final = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b")
_LINE_ENDS: Final = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]")
_SURROGATES: Final = re.compile(r"[\ud800-\udfff]")
_MENTION: Final = re.compile(r"(?:^|[\s\ufeff。、？！])@(?![\s\ufeff])(\S{0,40})")
_POPUP: Final = re.compile(r"(?:^|\s)[:#@/]\S*$")
# What the agent puts in place of pasted words: such a text in its words cannot be told from it.
_MARKER: Final = re.compile(r"\[(?:Pasted text|Image|\.\.\.Truncated text) #\d+[^\]\n]*\]")
# The agent's own frame around long pastes; in a text it puts a backslash behind the bracket.
_FRAME: Final = re.compile(r"[<\uff1c\ufe64\u2039](?=[\s/]*pasted[-_\u2010-\u2015]content\b)", re.IGNORECASE)
_PICTURE: Final = re.compile(r"(['\"]?)/.*\.(?:png|jpe?g|gif|webp)\1", re.IGNORECASE)
_FAREWELLS: Final = frozenset({"exit", "quit", ":q", ":q!", ":wq", ":wq!"})


def convey(text: str, kind: str, *, literal: bool) -> Conveyed:
    """``text`` for an agent of this kind. ``literal``: it has to arrive as words. Raises CannotConvey."""
    if len(text) > MOST:
        raise CannotConvey(f"The message has {len(text)} characters; {MOST} are the most that can be pasted.")
    text, changes = normal(text)
    if not text:
        raise CannotConvey("Nothing of the message would be left in the agent's composer: it is empty.")
    if kind == CLAUDE:
        text, changes = _beside_its_own(text, changes)
    if literal:
        text, changes = _as_words(text, kind, changes)
    if kind == CLAUDE and collapses(text):
        changes.append("handed over as a block of pasted content")
    return Conveyed(text=text, changes=tuple(changes))


def normal(text: str) -> tuple[str, list[str]]:
    """What a composer makes of pasted text, and what that changed."""
    changes = []
    for name, step in (
        ("half a surrogate pair became U+FFFD", lambda t: _SURROGATES.sub("\ufffd", t)),
        ("terminal escapes left out", lambda t: ESCAPES.sub("", t)),
        ("other line ends became newlines", lambda t: _LINE_ENDS.sub("\n", t)),
        ("tabs became four spaces", lambda t: t.replace("\t", "    ")),
        ("control characters left out", lambda t: _CONTROL.sub("", t)),
        ("invisible characters left out", without_invisible),
        ("composed to NFC", lambda t: unicodedata.normalize("NFC", t)),
        ("whitespace at its end left out", str.rstrip),
    ):
        done = step(text)
        if done != text:
            changes.append(name)
        text = done
    return text, changes


def collapses(text: str) -> bool:
    """Whether Claude Code shows a paste of it as a block instead of its words."""
    return text.count("\n") >= BLOCK_LINES or len(text) > BLOCK_LENGTH


def as_typed(text: str, kind: str) -> str:
    """What has to be pasted for ``text`` to stand in the composer and to be submitted as it is. A blank at the
    end, which the agent takes away again, keeps a backslash from turning Enter into a new line, and closes lists
    of completions, in which Enter would choose."""
    if kind == CLAUDE and not collapses(text) and (text.endswith("\\") or _POPUP.search(text)):
        return f"{text} "
    return text


def needs_block(text: str) -> bool:
    """Whether Claude Code takes ``text`` as words for sure only if it is shown as a block."""
    return _acts(text) or _MARKER.search(text) is not None


def _acts(text: str) -> bool:
    return _is_command(text) or text.strip() in _FAREWELLS


def _beside_its_own(text: str, changes: list[str]) -> tuple[str, list[str]]:
    """``text``, where it looks like what Claude Code itself makes of pastes. Raises CannotConvey."""
    if _PICTURE.fullmatch(text.strip()):
        raise CannotConvey(
            "In place of a message that is only the path of a picture the agent would take the picture itself. "
            "Put a word before it."
        )
    marked = _FRAME.sub(r"<\\", text)
    if marked != text:
        changes = [*changes, "a backslash put into what looks like the agent's own frame of pasted content"]
    return marked, changes


def _as_words(text: str, kind: str, changes: list[str]) -> tuple[str, list[str]]:
    if mention := _MENTION.search(text):
        where = f"@{mention.group(1)}"
        raise CannotConvey(
            f"{where!r} at the start of a word would pull a file into the conversation. Put it in quotes or "
            "backticks, or send the message with literal: false."
        )
    if text.startswith("!"):
        if kind != CLAUDE:
            raise CannotConvey(
                "A leading '!' may run a command. Begin with a word, or send it with literal: false."
            )
        text, changes = f" {text}", [*changes, "a blank put before the leading '!', which would run a command"]
    if not needs_block(text) or (kind != CLAUDE and not _acts(text)):
        return text, changes
    if kind != CLAUDE:
        raise CannotConvey(
            f"{text.split()[0][:40]!r} at the start would be taken for a command. Begin with a word, or send it "
            "with literal: false."
        )
    if not collapses(text):
        blanks = BLOCK_LINES - text.count("\n")
        text += "\n" * blanks
        what = "a command" if _acts(text) else "the agent's own mark of a paste"
        changes = [*changes, f"empty lines put behind it, without which it would be taken for {what}"]
    return text, changes


def _is_command(text: str) -> bool:
    """Whether it begins as a slash command does: ``/word``, but not ``/etc/hosts`` and not ``//``."""
    bare = text.lstrip()
    if not bare.startswith("/"):
        return False
    first = bare.split(maxsplit=1)[0]
    return "/" not in first[1:]
