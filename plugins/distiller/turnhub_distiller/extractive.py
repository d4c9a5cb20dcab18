"""Pure: a memory without a model, made of what a turn's own record says. The same turn gives the same memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from hub import Distillate
from turnhub_distiller.account import Account, one_line

_FILES_MOST: Final = 50
_FAILURES_MOST: Final = 10
_FINDINGS_MOST: Final = 6
_COMMANDS_MOST: Final = 5
_TITLE_WORDS: Final = 8
_TITLE_MOST: Final = 60
_BULLET: Final = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+(.+)")
_SENTENCES: Final = re.compile(r"(?<=[.!?])\s+(?=\S)")
_FINDING: Final = re.compile(
    r"\b(?:decid|decision|cause|because|since|found|fix|turn(?:s|ed) out|instead|therefore|must|should|still)\w*",
    re.IGNORECASE,
)


def distilled(account: Account) -> Distillate:
    """What is to be remembered of a turn."""
    return Distillate(
        summary=_summary(account),
        files_changed=account.files_changed[:_FILES_MOST],
        failures=account.failures[:_FAILURES_MOST],
        key_findings=tuple(_findings(account))[:_FINDINGS_MOST],
    )


def title(account: Account) -> str | None:
    """The first words of what was asked; None where nothing was."""
    line = next((line for line in account.asked.splitlines() if line.strip()), "").strip().lstrip("#/ ")
    words = line.split()
    short = " ".join(words[:_TITLE_WORDS])
    return one_line(short + ("…" if len(words) > _TITLE_WORDS else ""), _TITLE_MOST) or None


def _summary(account: Account) -> str:
    parts = [f"Asked: {_first_sentence(account.asked)}" if account.asked else ""]
    parts.append(_done(account))
    if account.texts:
        parts.append(f"Answered: {_first_sentence(account.texts[-1])}")
    if account.outcome != "completed":
        parts.append(f"The turn {account.outcome}: {one_line(account.trouble, 200)}")
    return "\n".join(part for part in parts if part)


def _done(account: Account) -> str:
    did: list[str] = []
    if commands := account.commands:
        shown = "; ".join(commands[:_COMMANDS_MOST])
        more = len(commands) - _COMMANDS_MOST
        did.append(f"ran {_counted(len(commands), 'command')} ({shown}{f'; and {more} more' if more > 0 else ''})")
    if files := account.files_changed:
        did.append(f"changed {_counted(len(files), 'file')}")
    others = sum(1 for call in account.calls if call.name != "Bash" and not call.path)
    if others:
        did.append(f"made {_counted(others, 'other tool call')}")
    line = ", ".join(did)
    return f"Did: {line}." if line else ""


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _first_sentence(text: str) -> str:
    paragraph = text.strip().split("\n\n", 1)[0]
    return one_line(_SENTENCES.split(" ".join(paragraph.split()), maxsplit=1)[0], 200)


def _findings(account: Account) -> Iterator[str]:
    """Bullets of the last text, then its sentences that tell causes and decisions, then its first sentence."""
    if not account.texts:
        return
    text = re.sub(r"```.*?(?:```|\Z)", "", account.texts[-1], flags=re.DOTALL)
    bullets = [bullet[1] for line in text.splitlines() if (bullet := _BULLET.match(line))]
    prose = " ".join(line for line in text.splitlines() if line.strip() and not _BULLET.match(line))
    telling = [sentence for sentence in _SENTENCES.split(prose) if _FINDING.search(sentence)]
    findings = dict.fromkeys(one_line(line.replace("**", ""), 300) for line in (*bullets, *telling))
    yield from findings or ([_first_sentence(text)] if text.strip() else [])
