"""Bytes of a pane and a manifest in, a :class:`Screen` out."""

from __future__ import annotations

import re
from typing import Final

from turnhub_tmux.screen import composer as composers
from turnhub_tmux.screen import dialogs, menus
from turnhub_tmux.screen.composer import ABSENT, Place
from turnhub_tmux.screen.frame import Frame
from turnhub_tmux.screen.manifest import Manifest
from turnhub_tmux.screen.rows import Lost, Menu
from turnhub_tmux.screen.text import indent, joined
from turnhub_tmux.screen.types import Composer, Dialog, Screen, State

_SHELL: Final = re.compile(r"^(\S{0,80}[$%#] |[➜λ] |\S{1,80} ❯ |\[[^\]]{1,80}\][$%#] ?)|^\S{0,80}[$%#]$")
_NUMBERED: Final = re.compile(r"1[.)] .*\n *2[.)] ")
_STATUS_ROWS: Final = 12
_LOST: Final = "options hold the keyboard, but the first one, or one between them, is out of sight"
_PANEL: Final = "a panel of the agent's own is open; Escape closes it"
_CUT: Final = "these rows may be a menu or a numbered draft: what stands below them is out of sight"


def read(screen: bytes | str, manifest: Manifest) -> Screen:
    """What the pane says. Never raises, whatever the bytes are."""
    frame = Frame(screen)
    last = next((text.strip() for text in reversed(frame.texts) if text.strip()), "")
    if manifest.panel.match(last):
        return _screen(frame, manifest, state="waiting", above=frame.texts, why=_PANEL, panel=True)
    place = composers.framed(frame, manifest)
    barred = place is not None and place.top == place.first  # behind a bar, where dialogs stand as well
    stop = len(frame) if place is None or barred else place.top
    menu = menus.find(frame, stop, manifest, box_below=place is not None and not barred)
    if place is not None and not barred and place.composer.state == "draft":
        menu = None  # what is typed goes to the composer: nothing else has the keyboard
    place = None if barred and menu is not None else place
    if isinstance(menu, Lost):
        return _screen(frame, manifest, state="waiting", above=frame.texts, why=_LOST)
    if menu is not None:
        return _with_dialog(frame, menu, place, manifest)
    if place is None and (held := _held(frame, last, manifest)) is not None:
        return held
    place = place or composers.bare(frame, manifest)
    if place is not None and _cut_menu(frame, place):
        return _screen(frame, manifest, state="unknown", above=frame.texts[: place.top], why=_CUT)
    return _at_rest(frame, place, manifest)


def _held(frame: Frame, last: str, manifest: Manifest) -> Screen | None:
    """What holds the keyboard, with nothing in it that can be answered from elsewhere. ``last``: the last row."""
    held = manifest.held.first([text.strip() for text in frame.texts[-4:]])
    if held is not None:
        why = f"{held!r} holds the keyboard; it is left to the person at the terminal"
        return _screen(frame, manifest, state="waiting", above=frame.texts, why=why)
    if manifest.unread.match(last):
        return _screen(frame, manifest, state="waiting", above=frame.texts, why=_PANEL, panel=True)
    return None


def _cut_menu(frame: Frame, place: Place) -> bool:
    """Whether a prompt without a frame, the last thing on the pane, may as well be the cursor of a menu."""
    bare = place.first == place.top and place.last == place.bottom == len(frame)
    return bare and _NUMBERED.match(place.composer.text) is not None


def _with_dialog(frame: Frame, menu: Menu, place: Place | None, manifest: Manifest) -> Screen:
    dialog = dialogs.dialog(frame, menu, manifest)
    return _screen(
        frame,
        manifest,
        state="waiting",
        above=frame.texts[: dialogs.top(frame, menu.first, manifest)],
        why=f"a live menu of {len(dialog.options)} rows is the last thing on the pane ({dialog.kind})",
        composer=place.composer if place else ABSENT,
        dialog=dialog,
    )


def _at_rest(frame: Frame, place: Place | None, manifest: Manifest) -> Screen:
    composer = place.composer if place else ABSENT
    above = frame.texts[: place.top] if place else frame.texts
    below = frame.texts[place.bottom :] if place else ()
    state, why = _state(above, below, composer, manifest)
    return _screen(frame, manifest, state=state, above=above, why=why, composer=composer)


def _state(
    above: tuple[str, ...], below: tuple[str, ...], composer: Composer, manifest: Manifest
) -> tuple[State, str]:
    footer = [text.strip() for text in below if text.strip()]
    hit = manifest.busy_below.first([*footer, joined(footer)])
    if hit:
        return "busy", f"below the composer: {hit!r}"
    status = _last_status(above, manifest)
    if status is not None:
        return "busy", f"last above the composer: {status!r}"
    if composer.state == "absent":
        return "unknown", "no composer and no live menu is to be seen"
    return "ready", f"the composer stands ({composer.state}) and nothing says that work goes on"


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
    manifest: Manifest,
    *,
    state: State,
    above: tuple[str, ...],
    why: str,
    composer: Composer = ABSENT,
    dialog: Dialog | None = None,
    panel: bool = False,
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
        panel=panel,
        why=(why,),
    )


def _shell(text: str) -> bool:
    return _SHELL.match(text) is not None
