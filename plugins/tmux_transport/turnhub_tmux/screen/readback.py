"""Where a text that was typed is now: sent, in the agent's own queue, or still in the composer.

By position, not by presence, and blind to blanks, since a terminal wraps where it likes. A text that stood on the
screen before proves nothing: with a look from before, only what has been added since counts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from turnhub_tmux.screen.composer import said
from turnhub_tmux.screen.frame import Frame, greyed
from turnhub_tmux.screen.manifest import Manifest
from turnhub_tmux.screen.reader import read
from turnhub_tmux.screen.text import of_words, squeezed, unboxed
from turnhub_tmux.screen.types import Readback, Screen

_SHORTEST_END: Final = 8  # a shorter end of a text could stand anywhere
_SHORTEST_TAIL: Final = 24
_PUNCTUATION: Final = re.compile(r"[!-/:-@\[-`{-~•◦▪–—…]+")
_FENCE: Final = re.compile(r"^[ \t]*(```|~~~).*$", re.MULTILINE)
_HIDDEN: Final = re.compile(r"\(~?\d+(\.\d+)? ?[kKM]?B hidden\)")
_MAY_COLLAPSE: Final = 150  # a single line shorter than this is never shown as a collapsed paste


class _Look(Struct, frozen=True):
    """What one capture says about a text."""

    screen: Screen
    sent: int  # how often it stands above the composer, not queued
    queued: int
    after: tuple[str, ...]  # what stands below its last place, without blanks
    said: bool  # whether anything that was said is to be seen


def readback(needle: str, before: bytes | str | None, after: bytes | str, manifest: Manifest) -> Readback:
    """Where ``needle`` is in ``after``; ``before`` is the pane as it was before anything was typed, or None."""
    wanted = squeezed(needle)
    if not wanted:
        return Readback(submitted=None, queued=None, staged=None)
    drawn = _essence(needle) or wanted
    now = _look(drawn, after, manifest)
    then = None if before is None else _look(drawn, before, manifest)
    if now.screen.shell:
        return _at_a_shell(wanted, now)
    staged = _staged(needle, wanted, now.screen, None if then is None else then.screen)
    queued = now.queued > (then.queued if then else 0)
    submitted = _submitted(wanted, needle, now, then, staged)
    if queued and (then is None or now.sent <= then.sent):
        submitted = False
    return Readback(submitted=submitted, queued=queued, staged=staged)


def _at_a_shell(wanted: str, now: _Look) -> Readback:
    """No agent is there: what stands on the last line is typed and not run; of what stands above it, and of what
    an agent may have taken before it went, nothing can be told."""
    last = wanted in squeezed(now.screen.rows[-1])
    unsure = not last and (now.sent > 0 or now.said)
    return Readback(submitted=None if unsure else False, queued=False, staged=last)


# -- in the composer ----------------------------------------------------------------------------------------------


def _staged(needle: str, wanted: str, now: Screen, then: Screen | None) -> bool | None:
    composer = now.composer
    if composer.state != "draft":
        # Behind a dialog there may be a composer with something in it, of which nothing is to be seen.
        return None if composer.state == "absent" and now.state == "waiting" and then is not None else False
    text = squeezed(composer.text)
    if wanted in text or _is_end(text, wanted, truncated=composer.truncated) or _is_start(text, wanted):
        return True
    if composer.markers:
        return _in_paste(needle, now, then)
    # A part of it: the rest may be on its way.
    return None if wanted.startswith(text) and len(text) >= _SHORTEST_END else False


def _is_end(shown: str, wanted: str, *, truncated: bool) -> bool:
    """Whether the box shows only the end of the text; without a mark of that, it has to be longer to count."""
    shown = shown.lstrip("…").removeprefix("...")
    return len(shown) >= (_SHORTEST_END if truncated else _SHORTEST_TAIL) and wanted.endswith(shown)


def _is_start(shown: str, wanted: str) -> bool:
    """Whether the box shows only the start of the text, and says so by an ellipsis."""
    head = shown.rstrip("…") if shown.endswith("…") else shown.removesuffix("...")
    return head != shown and len(head) >= _SHORTEST_END and wanted.startswith(head)


def _in_paste(needle: str, now: Screen, then: Screen | None) -> bool | None:
    """Whether a collapsed paste in the composer is this text: it is new, and the text is one to be collapsed."""
    if then is not None:
        return len(now.composer.markers) > len(then.composer.markers) or (
            then.composer.state != "draft" or now.composer.markers != then.composer.markers
        )
    return True if _may_collapse(needle) else None


def _may_collapse(needle: str) -> bool:
    """Whether some agent may show a marker in place of this text. Line ends behind it count: they are pasted."""
    return "\n" in needle or len(needle) >= _MAY_COLLAPSE


# -- above it -----------------------------------------------------------------------------------------------------


def _look(wanted: str, capture: bytes | str, manifest: Manifest) -> _Look:
    screen = read(capture, manifest)
    frame = Frame(capture)
    last = len(screen.above)
    queue = _queued_rows(frame, screen, manifest)
    words = _drawn if _essence(wanted) else _words
    rows = [words(screen.above[n]) if n not in queue else "" for n in range(last)]
    waiting = [words(screen.above[n]) for n in sorted(queue)]
    text = "".join(rows)
    sent = text.count(wanted) or _tail_on_top(text, wanted) or _abbreviated(screen.above, wanted, manifest)
    spoken = any(said(row, manifest) for row in screen.above)
    return _Look(screen, sent, "".join(waiting).count(wanted), _below_last(rows, wanted), spoken)


def _words(row: str) -> str:
    return squeezed(unboxed(row))


def _drawn(row: str) -> str:
    return _PUNCTUATION.sub("", _words(row))


def _essence(text: str) -> str:
    """What surely stays of a text that an agent draws as Markdown: backticks, stars and hashes go, fences too."""
    return _PUNCTUATION.sub("", squeezed(_FENCE.sub("", text)))


def _tail_on_top(text: str, wanted: str) -> int:
    """1 where the pane begins in the middle of the text: its start has been scrolled away."""
    head = text[:_SHORTEST_TAIL]
    place = wanted.find(head) if len(head) == _SHORTEST_TAIL else -1
    while place >= 0:
        if text.startswith(wanted[place:]):
            return 1
        place = wanted.find(head, place + 1)
    return 0


def _abbreviated(above: Sequence[str], wanted: str, manifest: Manifest) -> int:
    """How often the text stands there without its middle, of which a row says that it is hidden."""
    count = 0
    for number, row in enumerate(above):
        if _HIDDEN.search(row) is None:
            continue
        head, tail = "", ""
        for text in reversed(above[:number]):
            if not text.strip():
                break
            mark = next((mark for mark in manifest.prompts if text.startswith(mark)), "")
            head = _drawn(text.removeprefix(mark)) + head
            if mark:
                break
        for text in above[number + 1 :]:
            if not text.strip() or said(text, manifest):
                break
            tail += _drawn(text)
        enough = min(len(head), len(tail)) >= _SHORTEST_TAIL
        count += enough and head in wanted and wanted.endswith(tail)
    return count


def _below_last(rows: Sequence[str], wanted: str) -> tuple[str, ...]:
    """The rows below the last place of the text; of them the first few, which do not change any more."""
    seen = ""
    for number in range(len(rows) - 1, -1, -1):
        seen = rows[number] + seen
        if wanted in seen:
            rest = seen[seen.rindex(wanted) + len(wanted) :]
            return (rest[:60],)
    return ()


def _queued_rows(frame: Frame, screen: Screen, manifest: Manifest) -> set[int]:
    """The rows of prompts that wait in the agent's own queue: grey ones, or where nothing is coloured those above
    the mark, but for the one that is being worked on."""
    if not screen.queue_hint:
        return set()
    blocks: list[list[int]] = []
    for number, text in enumerate(screen.above):
        bare = text.strip()
        if any(text.startswith((f"{mark} ", f"{mark}\xa0")) for mark in manifest.prompts):
            blocks.append([number])
        elif said(text, manifest) and not manifest.queue_marks.match(bare):
            if not manifest.busy_above.match(bare):
                blocks = []
        elif blocks and number == blocks[-1][-1] + 1 and text.startswith("  ") and not _mark(bare, manifest):
            blocks[-1].append(number)
    if frame.plain:
        blocks = blocks[1:] if screen.state == "busy" and len(blocks) > 1 else blocks
    else:
        blocks = [block for block in blocks if greyed(frame.rows[block[0]])]
    return {number for block in blocks for number in block}


def _mark(bare: str, manifest: Manifest) -> bool:
    return not bare or manifest.queue_marks.match(bare)


def _submitted(wanted: str, needle: str, now: _Look, then: _Look | None, staged: bool | None) -> bool | None:
    composer = now.screen.composer
    if staged and composer.text.startswith(("/", "@")):
        return False  # what is completed here is listed above the composer, too
    if then is not None:
        return _newly(now, then, staged, collapsible=_may_collapse(needle))
    if now.sent or staged:
        return bool(now.sent) and staged is not True
    if _pasted_above(needle, now.screen):
        return True
    if composer.state == "ghost" and wanted in squeezed(composer.text):
        return False
    unsure = now.said or now.queued or now.screen.dialog is not None
    return None if unsure else False


def _newly(now: _Look, then: _Look, staged: bool | None, *, collapsible: bool) -> bool | None:
    if now.sent > then.sent:
        return True
    more = sum(map(of_words, now.screen.markers)) > sum(map(of_words, then.screen.markers))
    if collapsible and more and not now.screen.composer.markers:
        return True
    if staged:
        return False
    if now.sent and now.sent == then.sent:
        stayed = now.after[0].startswith(then.after[0][:20]) if now.after and then.after else True
        return not stayed
    if now.screen.above == then.screen.above:
        return False
    return None


def _pasted_above(needle: str, screen: Screen) -> bool:
    """Whether a collapsed paste above the composer can only be this text, by its number of lines."""
    lines = needle.strip("\n").count("\n")
    return lines > 0 and any(
        f"+{count} lines" in marker for marker in screen.markers for count in (lines, lines + 1)
    )
