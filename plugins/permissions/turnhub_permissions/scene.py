"""Pure: what has been found out about a shell command so far: its acts, and where it may stand."""

from __future__ import annotations

import re
from collections.abc import Sequence
from posixpath import isabs
from typing import Final

from msgspec.structs import replace

from turnhub_permissions.acts import Act
from turnhub_permissions.globs import LONGEST_PATTERN, could_be_secret
from turnhub_permissions.paths import Ground, Place, glob_escaped
from turnhub_permissions.places import (
    FREE,
    below_secret,
    guarded,
    root_of_much,
    secret,
    whole_secret,
)
from turnhub_permissions.tables import Tables
from turnhub_permissions.words import UNKNOWN, Word

_LONGEST: Final = 160
_LONGEST_PATH: Final = 4096  # no system opens longer ones


class Scene:
    """Acts in the order in which they were found. ``ground.cwds`` grows with every ``cd``; empty: nobody knows."""

    def __init__(self, ground: Ground, tables: Tables) -> None:
        self.ground = ground
        self.tables = tables
        self.acts: list[Act] = []
        self.found: tuple[Sequence[Word], Sequence[str]] | None = None  # what find looks through, and for what
        self.outputs: list[Place] = []  # what is written by programs of which nothing else is known
        self.files: list[tuple[str, tuple[Place, ...] | None, bool]] = []

    def opaque(self, why: str, about: str = "") -> None:
        """Note that something cannot be told."""
        self.acts.append(Act(kind="note", about=told(about), opaque=why))

    def danger(self, why: str, about: str = "") -> None:
        """Note a danger."""
        self.acts.append(Act(kind="note", about=told(about), danger=why))

    def hard(self, why: str, about: str = "") -> None:
        """Note what is never allowed."""
        self.acts.append(Act(kind="note", about=told(about), hard=why, danger=why))

    def run(self, words: Sequence[Word], name: str, *, free: bool = False) -> None:
        """Something is run, by the name ``name``."""
        shown = (name, *(word.shown for word in words[1:]))
        self.acts.append(Act(kind="run", about=told(" ".join(shown)), words=shown, free=free))

    def runs_file(self, word: Word, *, sure: bool = True) -> None:
        """A file is run; ``sure``: the word names one, and is no word of the program that runs it."""
        if not word.prefix.startswith("-"):
            self.files.append((told(f"runs {word.shown}"), self.places(word), sure))

    def output(self, word: Word) -> None:
        """A program of which nothing is known writes there."""
        self.outputs += self.places(word) or ()

    def flag_like_files(self) -> bool:
        """Whether a wildcard could become a flag, since a file is called like one."""
        resolver = self.ground.resolver
        return any(
            resolver.expand(f"{glob_escaped(cwd)}/-*") != () for cwd in self.ground.cwds or (self.ground.cwd,)
        )

    def places(self, word: Word) -> tuple[Place, ...] | None:
        """The places that a word names; None where nobody knows."""
        text = word.text
        if text is None or not text:
            return None
        if len(text) > _LONGEST_PATH or len(word.pattern or "") > LONGEST_PATTERN:
            return None
        if word.tilde and not (text == "~" or text.startswith("~/")):
            return None
        if not word.tilde and text.startswith("~"):
            text = "./" + text
        if not self.ground.cwds and not (isabs(text) or word.tilde):
            return None
        ground = self.ground if self.ground.cwds else replace(self.ground, cwds=(self.ground.cwd,))
        pattern = word.pattern
        if pattern is not None and re.search(r"[*?\[]", pattern.replace("[*]", "").replace("[?]", "")) is None:
            pattern = None
        return ground.places(text, pattern=pattern) or None

    def read(self, word: Word, *, listing: bool = False) -> None:
        """A file is read; ``listing``: only its name and what kind of file it is."""
        if word.text == "-" or word.text in FREE or word.stream:
            return
        places = self.places(word)
        about = told(f"reads {word.shown}")
        if word.found and self.found is not None:
            self._read_found(about, *self.found)
            return
        if places is None:
            self.acts.append(
                Act(kind="read", about=about, opaque="which file it reads is only known when it runs")
            )
            return
        why = None if listing else self._secret(places)
        if why is None and not listing and word.pattern and could_be_secret(word.pattern):
            why = "it may read secrets"
        self.acts.append(self._at("read", about, places, "Read", danger=why))

    def _read_found(self, about: str, starts: Sequence[Word], names: Sequence[str]) -> None:
        """What find has found is read: below ``starts``, and called like ``names``, where there are some."""
        for start in starts:
            places = self.places(start) or ()
            if not places:
                self.acts.append(Act(kind="read", about=about, opaque="where it looks is only known when it runs"))
            for place in places:
                why = whole_secret(place, self.ground, self.tables, hidden=False)
                why = why or below_secret(place, self.ground, self.tables, follow=True, names=names)
                why = why or (
                    "it may read secrets" if any(could_be_secret(n, dotted=True) for n in names) else None
                )
                self.acts.append(self._at("read", about, (place,), "Read", danger=why or self._secret((place,))))

    def read_whole(self, word: Word, *, hidden: bool = True, follow: bool = False) -> None:
        """A directory is read with all that is in it; ``hidden``: what is hidden too; ``follow``: behind links."""
        for place in self.places(word) or ():
            if why := whole_secret(place, self.ground, self.tables, hidden=hidden, follow=follow):
                self.acts.append(self._at("read", f"reads all of {word.shown}", (place,), "Read", danger=why))

    def carries(self, word: Word) -> None:
        """Something is taken elsewhere as it is: a link could mean another place there, and what lies behind it
        would be taken for what it is called."""
        for place in self.places(word) or ():
            folder, _, name = place.named.rpartition("/")
            below = self.ground.resolver.below(place.real)
            if self.ground.resolver.real(folder or "/").rstrip("/") + f"/{name}" != place.real:
                self.opaque("it takes a link along", word.shown)
            elif below is None:
                self.opaque("it takes along too much to tell what it is", word.shown)
            elif any(link for _, link in below):
                self.opaque("it takes links along", word.shown)

    def spreads(self, source: Word, target: Word, *, direct: bool) -> None:
        """All that is in a directory is put into another one; ``direct``: without the directory's own name."""
        tops = self.places(target) or ()
        for place in self.places(source) or ():
            found = self.ground.resolver.below(place.real) or ()
            if direct and not found and any(self.ground.within(top) for top in tops):
                self.opaque("what it puts there is not known yet", source.shown)
            start = len(place.real.rstrip("/") if direct else place.real.rstrip("/").rpartition("/")[0])
            for top in tops:
                paths = (top.real.rstrip("/") + path[start:] for path, _ in found)
                why = (guarded(Place(path, path), self.ground, self.tables) for path in paths)
                if one := next((one for one in why if one), None):
                    self.danger(one, f"{source.shown} to {target.shown}")

    def write(self, word: Word) -> None:
        """A file is written, made or deleted."""
        if word.text in FREE or word.stream:
            return
        places = self.places(word)
        about = told(f"writes {word.shown}")
        if places is None:
            self.acts.append(
                Act(kind="write", about=about, opaque="which file it writes is only known when it runs")
            )
            return
        hard = next(
            (f"{path} is a disk" for one in places for path in one.spellings() if self.tables.disks.match(path)),
            None,
        )
        self.acts.append(self._at("write", about, places, "Edit", danger=hard or self._unsafe(places), hard=hard))

    def roots(self, word: Word) -> str | None:
        """What a word names that is too much to be deleted or given away: ``/``, a home, a system directory."""
        if word.text is None:
            return None
        found = list(self.places(word) or ())
        top, slash, name = word.text.rpartition("/")
        if word.pattern is not None and "*" in name and not name.strip(".*?"):
            whole = (top or "/") if slash else "."
            found += self.places(Word(whole, whole, whole, tilde=word.tilde)) or ()
        return root_of_much(found, self.ground, self.tables)

    def unsafe(self, word: Word) -> str | None:
        """Why nothing should be written at the place that a word names; None where nothing speaks against it, or
        nobody knows."""
        return self._unsafe(self.places(word) or ()) if word.text not in FREE else None

    def too_much(self, word: Word) -> str | None:
        """Why a program of which nothing is known may not be given a directory: a home, or all that there is."""
        text = word.text or ""
        if text[:1] not in ("/", "~", ".") or word.text is None or len(text) > _LONGEST:
            return None
        found = self.places(word) or ()
        why = (whole_secret(place, self.ground, self.tables, hidden=False) for place in found)
        return next((one for one in why if one), None)

    def mentions(self, word: Word) -> str | None:
        """Why an argument of a program of which nothing is known looks like a secret file."""
        text = word.text
        if text is None:
            text = word.prefix
        if not text or re.search(r"\s", text) or "://" in text:
            return None
        pieces = {text, *re.split(r"[=:,@]", text)[1:]}
        if re.match(r"-[A-Za-z].", text):
            pieces.add(text[2:])
        for piece in pieces:
            if len(piece) > 1 and not piece.startswith("-"):
                tilde = piece.startswith("~")
                found = self.places(Word(piece, piece, piece, piece if word.pattern else None, tilde)) or ()
                if why := self._secret(found):
                    return why
        return "it may read secrets" if word.pattern and could_be_secret(word.pattern) else None

    def _secret(self, places: Sequence[Place]) -> str | None:
        return next((why for one in places if (why := secret(one, self.ground, self.tables))), None)

    def _unsafe(self, places: Sequence[Place]) -> str | None:
        outside = next((one for one in places if not self.ground.within(one)), None)
        if outside is not None:
            return f"{outside.real} is outside of the working directory"
        why = next((why for one in places if (why := guarded(one, self.ground, self.tables))), None)
        return why or self._secret(places)

    def _at(
        self,
        kind: str,
        about: str,
        places: tuple[Place, ...],
        tool: str,
        *,
        danger: str | None = None,
        hard: str | None = None,
    ) -> Act:
        return Act(
            kind=kind,  # type: ignore[arg-type]
            about=about,
            places=places,
            path_tool=tool,
            inside=all(self.ground.within(one) for one in places),
            danger=danger,
            hard=hard,
        )


def told(text: str) -> str:
    """What an act is about, for people: unknown parts as dots, and not too long."""
    plain = text.replace(UNKNOWN, "…") or "the command"
    return plain if len(plain) <= _LONGEST else plain[: _LONGEST - 1] + "…"
