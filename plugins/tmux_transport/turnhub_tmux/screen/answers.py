"""An answer and the dialog as it stands, to keys. One page at a time: after them the caller looks again.

Everything goes by what an option means or by its label, never by where it stands; where a page cannot take an
answer, :class:`CannotAnswerError` says why and nothing is to be typed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from hub import HubError
from turnhub_tmux.screen.manifest import Manifest
from turnhub_tmux.screen.text import folded
from turnhub_tmux.screen.types import Dialog, Key, Means, Option, Paste, Stroke

Style: TypeAlias = Literal["digits", "arrows"]


class CannotAnswerError(HubError):
    """This page cannot take this answer; nothing has been typed."""

    code = "cannot_answer"


class Mean(Struct, frozen=True):
    """Take the option that means this: ``yes``, ``yes_always``, ``no``, ``submit``, ``cancel`` … ``words`` go with
    a denial, where the dialog takes them."""

    means: Means
    words: str = ""


class Choose(Struct, frozen=True):
    """Take the options with these labels; exactly these where several may be ticked. There ``words`` may be added,
    in the row for one's own."""

    labels: tuple[str, ...]
    words: str = ""


class Words(Struct, frozen=True):
    """Answer in one's own words, in the row for that."""

    text: str


class Talk(Struct, frozen=True):
    """Leave the question and talk about it instead (``Chat about this``)."""


class Leave(Struct, frozen=True):
    """Leave the dialog without an answer."""


Answer: TypeAlias = Mean | Choose | Words | Talk | Leave


def strokes(dialog: Dialog, answer: Answer, manifest: Manifest, style: Style | None = None) -> tuple[Stroke, ...]:
    """The keys that give ``answer`` on the page that ``dialog`` is.

    ``style``: ``digits`` where a number takes its row at once, ``arrows`` to walk there and press Enter, which
    works everywhere; None: as the manifest says. Raises CannotAnswerError.
    """
    if style is None:
        style = "digits" if manifest.look.dialog.digits == "choose" else "arrows"
    if any(option.means == "text" and option.selected for option in dialog.options):
        style = "arrows"  # a digit would be written into the row
    match answer:
        case Mean(means, words) if words:
            return _amend(dialog, _meaning(dialog, means), words, manifest)
        case Mean(means):
            return _take(dialog, _meaning(dialog, means), manifest, style)
        case Choose(labels, words):
            return _choose(dialog, labels, words, manifest, style)
        case Words(text):
            return _words(dialog, text, manifest, style)
        case Leave():
            return (Key(manifest.keys.cancel),)
        case Talk():
            return _take(dialog, _meaning(dialog, "chat"), manifest, style)


def _meaning(dialog: Dialog, means: Means) -> Option:
    """The one option that means this. A one-time yes is never given by one that lasts."""
    found = [option for option in dialog.options if option.means == means]
    if not found:
        raise CannotAnswerError(f"No option of this dialog means {means!r}: {_offered(dialog)}.")
    return found[0]


def _offered(dialog: Dialog) -> str:
    return ", ".join(f"{option.label!r} ({option.means})" for option in dialog.options)


def _labelled(dialog: Dialog, label: str) -> Option:
    wanted = folded(label)
    exact = [option for option in dialog.options if folded(option.label) == wanted]
    cut = [o for o in dialog.options if o.label.endswith("…") and wanted.startswith(folded(o.label.rstrip("…")))]
    found = exact or cut
    if len(found) != 1:
        many = "no option" if not found else "more than one option"
        raise CannotAnswerError(f"There is {many} {label!r} in this dialog: {_offered(dialog)}.")
    return found[0]


def _choose(
    dialog: Dialog, labels: Sequence[str], words: str, manifest: Manifest, style: Style
) -> tuple[Stroke, ...]:
    wanted = [_labelled(dialog, label) for label in labels]
    if any(option.means in ("text", "chat", "submit", "next") for option in wanted):
        raise CannotAnswerError("A row for one's own words, or one that moves on, is no choice.")
    if not dialog.multi:
        if len(wanted) != 1:
            raise CannotAnswerError(f"Exactly one option can be taken here, not {len(wanted)}.")
        return _take(dialog, wanted[0], manifest, style)
    return _tick(dialog, wanted, words, manifest, style)


def _tick(
    dialog: Dialog, wanted: Sequence[Option], words: str, manifest: Manifest, style: Style
) -> tuple[Stroke, ...]:
    """Tick exactly these and write ``words``, then move on by the row for that, or by Tab where there is none."""
    keys: list[Stroke] = []
    place = _cursor(dialog)
    if all(option.key is None for option in dialog.options):
        style = "arrows"
    row = dialog.option("text")
    if not words and row is not None and row.checked:
        raise CannotAnswerError("Somebody has written an answer into the row for one's own words.")
    for position, option in enumerate(dialog.options):
        if option.checked is None or option.means == "text" or option.checked == (option in wanted):
            continue
        if style == "digits" and option.key is not None:
            keys.append(_digit(option.key))
        else:
            keys += [*_walk(place, position, manifest), Key(manifest.keys.submit)]
            place = position
    if words:
        row = _row_for(dialog, words)
        if not _holds(row, words):
            keys += [*_walk(place, dialog.options.index(row), manifest), Paste(words.strip())]
            place = dialog.options.index(row)
        style = "arrows"
    last = next((n for n, o in enumerate(dialog.options) if o.means in ("submit", "next") and o.key is None), None)
    if last is None or style == "digits":
        # A digit moves the cursor in some versions and leaves it in others: Tab needs no place to start from.
        return (*keys, Key(manifest.keys.next_tab))
    return (*keys, *_walk(place, last, manifest), Key(manifest.keys.submit))


def _words(dialog: Dialog, text: str, manifest: Manifest, style: Style) -> tuple[Stroke, ...]:
    row = _row_for(dialog, text)
    if dialog.multi:
        return _tick(dialog, (), text, manifest, style)
    # Always by the arrows: a digit on this row was seen to send it as it stands.
    walk = _walk(_cursor(dialog), dialog.options.index(row), manifest)
    return (*walk, *(() if _holds(row, text) else (Paste(text.strip()),)), Key(manifest.keys.submit))


def _row_for(dialog: Dialog, text: str) -> Option:
    """The row for one's own words, if it is empty or has just these. Raises CannotAnswerError."""
    _one_line(text)
    row = dialog.option("text")
    if row is None:
        raise CannotAnswerError("This dialog has no row for one's own words.")
    if not _holds(row, text) and (row.checked or _TEXT_ROW.match(folded(row.label)) is None):
        raise CannotAnswerError("Somebody has written something else into the row for one's own words.")
    return row


def _one_line(text: str) -> None:
    if not text.strip() or len(text.strip().splitlines()) > 1:
        raise CannotAnswerError("A dialog takes one line of words that is not empty.")


def _holds(row: Option, text: str, before: str = "") -> bool:
    """Whether a row has just this text, which may be wrapped below it, with a remark behind, or cut."""
    wanted = _squeezed(before + text)
    label, whole = _squeezed(row.label), _squeezed(row.label + row.description)
    if label.endswith("…") and len(label) > _CUT:
        return wanted.startswith(label[:-1])
    return wanted == label or (whole.startswith(wanted) and _REMARK.fullmatch(whole[len(wanted) :]) is not None)


def _amend(dialog: Dialog, option: Option, words: str, manifest: Manifest) -> tuple[Stroke, ...]:
    """Walk to the row, open it for words, write them, send them: only once they are seen in that very row."""
    _one_line(words)
    if option.selected and _holds(option, words, f"{option.means},"):
        return (Key(manifest.keys.submit),)
    opened = manifest.amend_empty.match(folded(option.label))
    takes = dialog.amend or opened
    if not takes and any(row.selected and row.means in ("yes", "no") for row in dialog.options):  # it would say so
        raise CannotAnswerError("This dialog takes no words with a denial.")
    walk = _walk(_cursor(dialog), dialog.options.index(option), manifest)
    return (
        *walk,
        *(() if opened else (Key(manifest.keys.amend),)),
        Paste(words.strip()),
        Key(manifest.keys.submit),
    )


def _squeezed(text: str) -> str:
    return "".join(text.split()).casefold()


_TEXT_ROW: Final = re.compile(
    r"type something|tell \w+ what|type here|type your|something else|other$|enter (your|a) "
)
_REMARK: Final = re.compile(r"(shift\+tab\w+)?")
_CUT: Final = 150


def _take(dialog: Dialog, option: Option, manifest: Manifest, style: Style) -> tuple[Stroke, ...]:
    if dialog.kind == "survey" and option.key is not None:
        return (_digit(option.key),)
    if style == "digits" and option.key is not None:
        return (_digit(option.key),)
    return (*_walk(_cursor(dialog), dialog.options.index(option), manifest), Key(manifest.keys.submit))


def _digit(key: str) -> Key:
    if len(key) != 1:
        raise CannotAnswerError(f"Option {key} is behind the first nine: its number would be read as two keys.")
    return Key(key)


def _cursor(dialog: Dialog) -> int:
    """Where the cursor stands. Without one nothing can be walked to."""
    for position, option in enumerate(dialog.options):
        if option.selected:
            return position
    raise CannotAnswerError("The cursor of this dialog is not to be seen.")


def _walk(start: int, stop: int, manifest: Manifest) -> Iterator[Stroke]:
    key = Key(manifest.keys.down if stop > start else manifest.keys.up)
    return iter([key] * abs(stop - start))


# -- a whole form at once ----------------------------------------------------------------------------


class Shape(Struct, frozen=True):
    """A question as its form shows it: how many options it has, whether several may be ticked."""

    n: int
    multi: bool = False


def form(
    questions: Sequence[Shape], picks: Sequence[Sequence[int]] | None = None, text: str | None = None
) -> tuple[Stroke, ...]:
    """The keys for a whole form that has just opened, without looking in between: by arrows and Enter only.

    ``picks`` are the positions (from 0) of the options taken, per question; or ``text`` for a lone question. One
    with a single answer goes on by itself once it is answered; one with ticks ends in its row Submit, behind the
    row for own words; a form of several questions, or with ticks, ends in a review page.

    Raises CannotAnswerError.
    """
    if text is not None:
        if len(questions) != 1 or questions[0].multi:
            raise CannotAnswerError("Own words can be typed into a lone question with one answer only.")
        if not text.strip() or "\n" in text.strip():
            raise CannotAnswerError("The row for one's own words takes one line that is not empty.")
        return (*[Key("Down")] * questions[0].n, Paste(text), Key("Enter"))
    if picks is None or len(picks) != len(questions):
        raise CannotAnswerError("Each question needs its answer.")
    keys: list[Stroke] = []
    for question, taken in zip(questions, picks, strict=True):
        keys += _of_question(question, sorted(set(taken)))
    if len(questions) > 1 or questions[0].multi:
        keys.append(Key("Enter"))
    return tuple(keys)


def _of_question(question: Shape, taken: Sequence[int]) -> Iterator[Stroke]:
    if not taken or taken[0] < 0 or taken[-1] >= question.n or (len(taken) > 1 and not question.multi):
        raise CannotAnswerError(f"A question with {question.n} options cannot be answered by {list(taken)}.")
    place = 0
    for position in taken:
        yield from [Key("Down")] * (position - place)
        yield Key("Enter")
        place = position
    if question.multi:
        yield from [Key("Down")] * (question.n + 1 - place)
        yield Key("Enter")
