"""An answer and the dialog as it stands, to keys. One page at a time: after them the caller looks again.

Everything goes by what an option means or by its label, never by where it stands; where a page cannot take an
answer, :class:`CannotAnswerError` says why and nothing is to be typed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

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
    """Take the option that means this: ``yes``, ``yes_always``, ``no``, ``submit``, ``cancel`` …"""

    means: Means


class Choose(Struct, frozen=True):
    """Take the options with these labels; exactly these where several may be ticked."""

    labels: tuple[str, ...]


class Words(Struct, frozen=True):
    """Answer in one's own words, in the row for that."""

    text: str


class Talk(Struct, frozen=True):
    """Leave the question and talk about it instead (``Chat about this``)."""


Answer: TypeAlias = Mean | Choose | Words | Talk


def strokes(dialog: Dialog, answer: Answer, manifest: Manifest, style: Style | None = None) -> tuple[Stroke, ...]:
    """The keys that give ``answer`` on the page that ``dialog`` is.

    ``style``: ``digits`` where a number takes its row at once, ``arrows`` to walk there and press Enter, which
    works everywhere; None: as the manifest says. Raises CannotAnswerError.
    """
    if style is None:
        style = "digits" if manifest.look.dialog.digits == "choose" else "arrows"
    match answer:
        case Mean(means):
            return _take(dialog, _meaning(dialog, means), manifest, style)
        case Choose(labels):
            return _choose(dialog, labels, manifest, style)
        case Words(text):
            return _words(dialog, text, manifest)
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


def _choose(dialog: Dialog, labels: Sequence[str], manifest: Manifest, style: Style) -> tuple[Stroke, ...]:
    wanted = [_labelled(dialog, label) for label in labels]
    if any(option.means in ("text", "chat", "submit", "next") for option in wanted):
        raise CannotAnswerError("A row for one's own words, or one that moves on, is no choice.")
    if not dialog.multi:
        if len(wanted) != 1:
            raise CannotAnswerError(f"Exactly one option can be taken here, not {len(wanted)}.")
        return _take(dialog, wanted[0], manifest, style)
    return _tick(dialog, wanted, manifest, style)


def _tick(dialog: Dialog, wanted: Sequence[Option], manifest: Manifest, style: Style) -> tuple[Stroke, ...]:
    """Tick exactly these, then move on by the row for that, or by Tab where there is none."""
    keys: list[Stroke] = []
    place = _cursor(dialog)
    for position, option in enumerate(dialog.options):
        if option.checked is None or option.means == "text" or option.checked == (option in wanted):
            continue
        if style == "digits" and option.key is not None:
            keys.append(_digit(option.key))
        else:
            keys += [*_walk(place, position, manifest), Key(manifest.keys.submit)]
            place = position
    last = next((n for n, o in enumerate(dialog.options) if o.means in ("submit", "next") and o.key is None), None)
    if last is None or style == "digits":
        # A digit moves the cursor in some versions and leaves it in others: Tab needs no place to start from.
        return (*keys, Key(manifest.keys.next_tab))
    return (*keys, *_walk(place, last, manifest), Key(manifest.keys.submit))


def _words(dialog: Dialog, text: str, manifest: Manifest) -> tuple[Stroke, ...]:
    if not text.strip() or "\n" in text.strip():
        raise CannotAnswerError("The row for one's own words takes one line that is not empty.")
    if dialog.multi or len([tab for tab in dialog.tabs if folded(tab.label) != "submit"]) > 1:
        raise CannotAnswerError("With several questions or several choices, own words cannot be typed safely.")
    row = dialog.option("text")
    if row is None:
        raise CannotAnswerError("This dialog has no row for one's own words.")
    # Always by the arrows: a digit on this row was seen to send it as it stands.
    walk = _walk(_cursor(dialog), dialog.options.index(row), manifest)
    return (*walk, Paste(text.strip()), Key(manifest.keys.submit))


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
