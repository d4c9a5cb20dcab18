"""From a live menu to a dialog: what heads it, what it says, what its options mean, and its fingerprint."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from msgspec.structs import replace

from turnhub_tmux.screen.cells import width
from turnhub_tmux.screen.composer import said
from turnhub_tmux.screen.frame import Frame, greyed
from turnhub_tmux.screen.manifest import Manifest
from turnhub_tmux.screen.meaning import means
from turnhub_tmux.screen.rows import Choice, Menu
from turnhub_tmux.screen.text import folded, indent, is_bottom, is_fence, is_rule, is_top, squeezed, unboxed
from turnhub_tmux.screen.types import Dialog, DialogKind, Means, Option, Tab

_TALLEST: Final = 400
_EAVES: Final = "▔▔▔"  # the upper edge of a dialog that has rules of its own inside
_TAB: Final = re.compile(r"([☐☑☒✔✓]) +([^☐☑☒✔✓→←]+)")
_TIMER: Final = re.compile(
    r"\(\s*\d+ ?(s|sec|seconds|ms|m|min)\s*\)|\b(in|after|for) \d+ ?(s|sec|seconds?)\b"
    r"|\b\d+ ?(s|sec|seconds?) (left|remaining|elapsed|ago)\b|[·•] \d+ ?s\b|\b\d{1,2}:\d\d(:\d\d)?\b"
)
_SPINNERS: Final = re.compile(r"^[·✢✳✶✻✽∗⠀-⣿◐◓◑◒|/\\-](?= )")
_FEEDBACK: Final = "approve with this feedback"  # below the row for what to change, whatever is typed in it
_YES_NO: Final[frozenset[Means]] = frozenset({"yes", "yes_always", "no"})


def dialog(frame: Frame, menu: Menu, manifest: Manifest) -> Dialog:
    """The dialog around ``menu``."""
    first = top(frame, menu.first, manifest)
    rows = [unboxed(text).rstrip() for text in frame.texts[first : menu.first]]
    tabs, header = _tabs(frame, first, menu.first)
    body = _without_marks(rows)
    header = header or next((tab.label for tab in tabs if tab.current and folded(tab.label) != "submit"), "")
    title, question = _heads(frame, body, header)
    if not body and first:
        title = question = _spoken_above(frame, first, manifest)
    heads = [folded(title), folded(question), *(folded(row) for row in rows[:3])]
    asks = bool(header or tabs)
    kind = _structural(menu, rows, manifest, asks=asks) or _worded(menu, heads, manifest)
    if kind not in ("question", "other") and not question.endswith(("?", ":")):
        question = title
    options = _options(frame, menu, kind, manifest)
    text = "\n".join(row.strip() if not row.startswith("   ") else row[1:] for row in body).strip("\n")
    return Dialog(
        kind=kind,
        title=title,
        text=text,
        options=options,
        fingerprint=_fingerprint(kind, title, body, options, tabs),
        question=question,
        command=_command(frame, first, menu.first, title, options) if kind == "permission" else None,
        multi=any(option.checked is not None for option in options),
        tabs=tabs,
        digits=manifest.look.dialog.digits != "none"
        and all(o.key is not None for o in options if o.checked is None),
        amend=kind == "permission"
        and any(manifest.amend_hint.match(text.strip()) for text in frame.texts[menu.last + 1 :]),
    )


def top(frame: Frame, menu_first: int, manifest: Manifest) -> int:
    """The row with which the dialog begins: behind the nearest rule, border or thing said above the menu."""
    for number in range(menu_first - 1, max(-1, menu_first - _TALLEST), -1):
        text = frame.texts[number]
        if is_top(text) or (is_rule(text) and indent(text) <= 1) or text.lstrip()[:3] == _EAVES:
            return number + 1
        if said(text, manifest) and indent(text) == 0:
            return number + 1 if not _is_header(text) else number
        if any(text.startswith(f"{mark} ") or text.startswith(f"{mark}\xa0") for mark in manifest.prompts):
            return number + 1
    return max(0, menu_first - _TALLEST)


def _is_header(text: str) -> bool:
    return text.lstrip()[:1] in "☐☒✔"


def _spoken_above(frame: Frame, first: int, manifest: Manifest) -> str:
    """Where the question is the last thing said, it stands in that row, behind its mark."""
    text = frame.texts[first - 1].strip()
    for mark in manifest.said:
        text = text.removeprefix(mark).strip()
    return "" if is_rule(text) else text


def _tabs(frame: Frame, first: int, stop: int) -> tuple[tuple[Tab, ...], str]:
    """The pages of a dialog that has several, or the header of its only one."""
    for number in range(first, min(first + 4, stop)):
        text = unboxed(frame.texts[number])
        bare = text.strip()
        if bare.startswith("←") or bare.endswith("→"):
            hits = list(_TAB.finditer(text))
            shown = [frame.rows[number].styles[min(h.start(2), len(frame.rows[number].styles) - 1)] for h in hits]
            return tuple(_tab(hit, current=_stands_out(shown, place)) for place, hit in enumerate(hits)), ""
        if bare[:1] in ("☐", "☒", "☑") and len(bare) > 2:
            return (), bare[1:].strip()
    return (), ""


def _tab(hit: re.Match[str], *, current: bool) -> Tab:
    label = hit.group(2).strip()
    # The last page wears a tick from the start.
    return Tab(label=label, done=hit.group(1) != "☐" and folded(label) != "submit", current=current)


def _stands_out(styles: Sequence[object], place: int) -> bool:
    backgrounds = [getattr(style, "bg", None) or getattr(style, "inverse", False) for style in styles]
    return bool(backgrounds[place]) and sum(map(bool, backgrounds)) == 1


def _without_marks(rows: Sequence[str]) -> list[str]:
    """The rows of a dialog without rules, fences and its tab strip."""
    kept = []
    for row in rows:
        bare = row.strip()
        if bare and (is_rule(bare) or is_top(bare) or is_bottom(bare) or is_fence(bare)):
            kept.append("")
        elif bare.startswith("←") and bare.endswith("→"):
            continue
        else:
            kept.append(row)
    while kept and not kept[0].strip():
        kept.pop(0)
    while kept and not kept[-1].strip():
        kept.pop()
    return kept


def _heads(frame: Frame, body: Sequence[str], header: str) -> tuple[str, str]:
    """The title and the question: the first sentence, and the last paragraph above the options."""
    if not body:
        return header, ""
    paragraph: list[str] = []
    for row in reversed(body):
        if not row.strip() or indent(row) != indent(body[-1]):
            break
        paragraph.insert(0, row)
    question = _unwrapped(frame, paragraph, last=True)
    title = header or _unwrapped(frame, body, last=False)
    return title, title if title.endswith("?") and not question.endswith("?") else question


def _unwrapped(frame: Frame, rows: Sequence[str], *, last: bool) -> str:
    """The first (or last) line of a paragraph, together with the rows that it was wrapped over."""
    lines: list[str] = []
    before = ""
    for row in rows:
        if not row.strip():
            break
        full = before and width(before) + 1 + width(row.split()[0]) > frame.columns - 3
        if full and indent(row) == indent(before):
            lines[-1] += f" {row.strip()}"
        else:
            lines.append(row.strip())
        before = row
    return (lines[-1] if last else lines[0]) if lines else ""


def _structural(menu: Menu, rows: Sequence[str], manifest: Manifest, *, asks: bool) -> DialogKind | None:
    """The kind, where the layout tells it whatever the words are. ``asks``: it has a header or pages."""
    labels = [folded(choice.label) for choice in menu.choices]
    meant = [means(choice.label, manifest, check=choice.checked is not None) for choice in menu.choices]
    reviewed = "submit" in meant and any("review your answers" in folded(row) for row in rows)
    if reviewed or labels[:1] == ["submit answers"]:
        return "review"
    return "question" if asks or "chat" in meant else None


def _worded(menu: Menu, heads: Sequence[str], manifest: Manifest) -> DialogKind:
    """The kind by what stands above the options and in them."""
    labels = [folded(choice.label) for choice in menu.choices]
    for kind, titles, options in manifest.kinds:
        if titles.first(heads) is not None or options.first(labels) is not None:
            return kind
    if menu.shape == "inline":
        return "survey"
    if any(choice.checked is not None for choice in menu.choices):
        return "question"
    meant = {means(choice.label, manifest) for choice in menu.choices}
    if _YES_NO & meant:
        return "permission"
    return "question" if "text" in meant or any(head.endswith("?") for head in heads[:2]) else "other"


def _options(frame: Frame, menu: Menu, kind: DialogKind, manifest: Manifest) -> tuple[Option, ...]:
    choice = kind == "question"
    options = [_option(one, kind, manifest, choice) for one in menu.choices]
    if choice:
        options = _with_text_row(menu.choices, options)
    elif kind == "plan" and any(_FEEDBACK in folded(text) for text in frame.texts[menu.choices[-1].first :]):
        options[-1] = replace(options[-1], means="text")
    return tuple(options)


def _option(one: Choice, kind: DialogKind, manifest: Manifest, choice: bool) -> Option:
    meaning = means(one.label, manifest, check=one.checked is not None, choice=choice)
    if choice and folded(one.label) == "next":
        meaning = "next"
    if kind == "review" and folded(one.label) == "cancel":
        meaning = "cancel"
    if kind == "survey" and meaning in _YES_NO:
        meaning = "choose"
    return Option(
        key=one.number,
        label=one.label,
        means=meaning,
        description=one.description,
        checked=one.checked,
        selected=one.selected,
    )


def _with_text_row(choices: Sequence[Choice], options: list[Option]) -> list[Option]:
    """The row for one's own words is the last one before "Chat about this", also when something is typed in it."""
    if any(option.means == "text" for option in options):
        return options
    chat = next((place for place, option in enumerate(options) if option.means == "chat"), None)
    if chat is None:
        return options
    numbered = [place for place in range(chat) if choices[place].number is not None]
    if len(numbered) > 1 and not options[numbered[-1]].description:
        place = numbered[-1]
        old = options[place]
        options[place] = Option(
            key=old.key, label=old.label, means="text", checked=old.checked, selected=old.selected
        )
    return options


def _command(frame: Frame, first: int, stop: int, title: str, options: Sequence[Option]) -> str | None:
    """What would be run: what stands between fences, behind ``$``, or under the title where it is not grey."""
    texts = [unboxed(text) for text in frame.texts[first:stop]]
    fences = [n for n, text in enumerate(texts) if is_fence(text)]
    if len(fences) >= 2 and "command" in folded(title):
        return _rejoined(frame, texts[fences[0] + 1 : fences[-1]]) or None
    for n, text in enumerate(texts):
        if text.strip().startswith("$ "):
            more = [t.strip() for t in _until_blank(texts[n + 1 :])]
            return "\n".join([text.strip()[2:], *more]).strip()
    for option in options:
        head, colon, start = option.label.partition(": ")
        if colon and folded(head) in ("always allow", "never allow"):
            return next((t.strip() for t in texts if t.strip().startswith(start.rstrip("*… "))), None)
    return _under_title(frame, first, texts) if "command" in folded(title) else None


def _rejoined(frame: Frame, texts: Sequence[str]) -> str:
    """Lines of which a long one was broken at the very edge, anywhere in a word."""
    out = ""
    for before, text in pairwise(("", *texts)):
        broken = before and width(before) >= frame.columns - 1
        out += text.strip() if broken or not out else f"\n{text.strip()}"
    return out.strip()


def _under_title(frame: Frame, first: int, texts: Sequence[str]) -> str | None:
    start = next((n for n, text in enumerate(texts) if text.strip()), len(texts)) + 1
    while start < len(texts) and not texts[start].strip():
        start += 1
    block = _until_blank(texts[start:])
    kept = [t.strip() for n, t in enumerate(block) if not greyed(frame.rows[first + start + n].stripped())]
    return "\n".join(kept) or None


def _until_blank(texts: Sequence[str]) -> list[str]:
    block = []
    for text in texts:
        if not text.strip():
            break
        block.append(text)
    return block


def _fingerprint(
    kind: str, title: str, body: Sequence[str], options: Sequence[Option], tabs: Sequence[Tab]
) -> str:
    """The same wherever the cursor stands, whatever is ticked or typed into the free row, however time goes by."""
    parts = [kind, title, *(tab.label for tab in tabs)]
    parts += [_timeless(row) for row in body if row.strip()]
    parts += [f"{o.key}:{'' if o.means == 'text' else o.label}:{o.description}" for o in options]
    digest = hashlib.sha256("\x1f".join(squeezed(part) for part in parts).encode("utf-8", "replace"))
    return digest.hexdigest()[:16]


def _timeless(row: str) -> str:
    bare = row.strip()
    if bare.startswith(("$ ", "│")):
        return bare
    return _TIMER.sub("", _SPINNERS.sub("", bare))
