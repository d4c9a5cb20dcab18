"""Bytes of a pane and a manifest in, a :class:`Screen` out."""

from __future__ import annotations

import re
from typing import Final

from turnhub_tmux.screen import composer as composers
from turnhub_tmux.screen import dialogs, menus
from turnhub_tmux.screen.composer import ABSENT, Place
from turnhub_tmux.screen.frame import Frame
from turnhub_tmux.screen.manifest import Manifest
from turnhub_tmux.screen.menus import Lost, Menu
from turnhub_tmux.screen.text import indent, joined
from turnhub_tmux.screen.types import Composer, Dialog, Screen, State

_SHELL: Final = re.compile(r"^(\S{0,80}[$%#] |[➜λ] |\S{1,80} ❯ |\[[^\]]{1,80}\][$%#] ?)|^\S{0,80}[$%#]$")
_NUMBERED: Final = re.compile(r"1[.)] .*\n *2[.)] ")
_STATUS_ROWS: Final = 12


def read(screen: bytes | str, manifest: Manifest) -> Screen:
    """What the pane says. Never raises, whatever the bytes are."""
    frame = Frame(screen)
    place = composers.framed(frame, manifest)
    menu = menus.find(frame, place.top if place else len(frame), manifest, box_below=place is not None)
    if menu is None and place is None:
        place = composers.bare(frame, manifest)
        if place is not None and _cut_menu(frame, place):
            why = ("rows that may be a menu or a numbered draft: what stands below them is out of sight",)
            return _screen(frame, "unknown", ABSENT, None, frame.texts[: place.top], manifest, why)
    held = None if menu else _held(frame, place, manifest)
    if held:
        return _held_screen(frame, held, manifest)
    if isinstance(menu, Lost):
        why = ("options hold the keyboard, but the first one, or one between them, is out of sight",)
        return _screen(frame, "waiting", ABSENT, None, frame.texts, manifest, why)
    if menu is not None:
        return _with_dialog(frame, menu, place, manifest)
    return _at_rest(frame, place, manifest)


def _cut_menu(frame: Frame, place: Place) -> bool:
    """Whether a prompt without a frame, the last thing on the pane, may as well be the cursor of a menu."""
    return place.bottom == len(frame) and _NUMBERED.match(place.composer.text) is not None


def _with_dialog(frame: Frame, menu: Menu, place: Place | None, manifest: Manifest) -> Screen:
    dialog = dialogs.dialog(frame, menu, manifest)
    above = frame.texts[: menu.first]
    return _screen(frame, "waiting", place.composer if place else ABSENT, dialog, above, manifest, _why(dialog))


def _why(dialog: Dialog) -> tuple[str, ...]:
    return (f"a live menu of {len(dialog.options)} rows is the last thing on the pane ({dialog.kind})",)


def _held(frame: Frame, place: Place | None, manifest: Manifest) -> str | None:
    if place is not None and place.first != place.top:
        return None
    return manifest.held.first([text.strip() for text in frame.texts[-4:]])


def _held_screen(frame: Frame, held: str, manifest: Manifest) -> Screen:
    why = (f"{held!r} holds the keyboard; it is left to the person at the terminal",)
    return _screen(frame, "waiting", ABSENT, None, frame.texts, manifest, why)


def _at_rest(frame: Frame, place: Place | None, manifest: Manifest) -> Screen:
    composer = place.composer if place else ABSENT
    above = frame.texts[: place.top] if place else frame.texts
    below = frame.texts[place.bottom :] if place else ()
    state, why = _state(above, below, composer, manifest)
    return _screen(frame, state, composer, None, above, manifest, why)


def _state(
    above: tuple[str, ...], below: tuple[str, ...], composer: Composer, manifest: Manifest
) -> tuple[State, tuple[str, ...]]:
    footer = [text.strip() for text in below if text.strip()]
    hit = manifest.busy_below.first(footer) or (manifest.busy_below.match(joined(footer)) and joined(footer))
    if hit:
        return "busy", (f"below the composer: {hit!r}",)
    status = _last_status(above, manifest)
    if status is not None:
        return "busy", (f"last above the composer: {status!r}",)
    if composer.state == "absent":
        return "unknown", ("no composer and no live menu is to be seen",)
    return "ready", (f"the composer stands ({composer.state}) and nothing says that work goes on",)


def _last_status(above: tuple[str, ...], manifest: Manifest) -> str | None:
    """The row that says that work goes on, where it is the last thing at the left edge that is no prompt."""
    seen = 0
    for text in reversed(above):
        bare = text.strip()
        if not bare:
            continue
        seen += 1
        if seen > _STATUS_ROWS:
            return None
        if manifest.busy_above.match(bare) and indent(text) <= 2:
            return bare
        if indent(text) > 0 or manifest.queue_marks.match(bare):
            continue
        if not _is_prompt(text, manifest):
            return None
    return None


def _is_prompt(text: str, manifest: Manifest) -> bool:
    return any(text.startswith(mark) for mark in manifest.prompts)


def _screen(
    frame: Frame,
    state: State,
    composer: Composer,
    dialog: Dialog | None,
    above: tuple[str, ...],
    manifest: Manifest,
    why: tuple[str, ...],
) -> Screen:
    hint = composer.state in ("ghost", "draft") and manifest.queue_hints.match(joined([composer.text]))
    marks = any(manifest.queue_marks.match(text.strip()) for text in above[-40:])
    return Screen(
        state=state,
        composer=composer,
        dialog=dialog,
        rows=frame.texts,
        above=above,
        markers=manifest.pastes.found("\n".join(above)),
        queue_hint=hint or marks,
        shell=composer.state == "absent" and dialog is None and bool(frame) and _shell(frame.texts[-1]),
        why=why,
    )


def _shell(text: str) -> bool:
    return _SHELL.match(text) is not None
