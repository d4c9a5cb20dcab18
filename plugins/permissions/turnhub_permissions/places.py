"""Pure: which places are secret, guarded, or too much to be deleted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import translate
from itertools import pairwise
from typing import Final

from turnhub_permissions.paths import Ground, Place, glob_escaped
from turnhub_permissions.tables import Tables

FREE: Final = frozenset(
    ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty", "/dev/zero", "/dev/urandom")
)


def secret(place: Place, ground: Ground, tables: Tables) -> str | None:
    """Why the content of a place is secret; None where it is not known to be."""
    for path in dict.fromkeys(text.casefold() for text in place.spellings()):
        if path.startswith("/dev/") and tables.disks.match(path):
            return f"{path} is a disk"
        if tables.secret_roots.fullmatch(path):
            return f"{path} holds secrets"
        for home in {one.casefold().rstrip("/") for one in (ground.named_home, ground.real_home)}:
            if path.startswith(home) and tables.secret_homes.fullmatch(path[len(home) :]):
                return f"~{path[len(home) :]} is where secrets are"
    for path in place.spellings():
        name = path.rpartition("/")[2]
        if tables.secret_names.fullmatch(name) and not tables.harmless_names.fullmatch(name):
            return f"{name} may hold secrets"
    return None


def whole_secret(
    place: Place, ground: Ground, tables: Tables, *, hidden: bool, follow: bool = False
) -> str | None:
    """Why reading all of a directory would read secrets. ``hidden``: what is hidden too; ``follow``: links too."""
    for path in place.spellings():
        top = path.rstrip("/") + "/"
        if any(f"{home.rstrip('/')}/".startswith(top) for home in (ground.home, ground.real_home)):
            return f"{path} holds the home directory, with its secrets"
        if top in ("/", "/etc/", "/proc/", "/root/", "/run/", "/var/"):
            return f"{path} holds secrets"
    return below_secret(place, ground, tables, follow=follow) if hidden else None


def below_secret(
    place: Place, ground: Ground, tables: Tables, *, follow: bool = False, names: Sequence[str] = ()
) -> str | None:
    """Why reading what lies below a directory would read secrets. ``follow``: behind links too; ``names``: only
    what is called so."""
    found = ground.resolver.below(place.real)
    if found is None:
        return None if names else f"{place.named} holds too much to tell what is secret"
    wanted = re.compile("|".join(map(translate, names)), re.IGNORECASE) if names else None
    for path, link in found:
        name = path.rpartition("/")[2]
        if wanted and not wanted.fullmatch(name):
            continue
        if tables.secret_names.fullmatch(name) and not tables.harmless_names.fullmatch(name):
            return f"below {place.named}, {name} may hold secrets"
        if link and follow:
            behind = ground.place(path)
            if not ground.within(behind):
                return f"below {place.named}, {name} leads to {behind.real}"
            if why := secret(behind, ground, tables):
                return f"below {place.named}, {why}"
    return None


def guarded(place: Place, ground: Ground, tables: Tables) -> str | None:
    """Why writing to a place would change what programs run."""
    tops = {ground.cwd.rstrip("/"), ground.real_cwd.rstrip("/")}
    for path in place.spellings():
        top = next((top for top in tops if path.startswith(top + "/")), "")
        for part in path[len(top) :].split("/"):
            if tables.guarded_names.fullmatch(part):
                return f"{part} decides what is run"
        if why := _guarded_below(path[len(top) :], tables) or _of_git(path, ground):
            return why
    return None


def root_of_much(places: Iterable[Place], ground: Ground, tables: Tables) -> str | None:
    """The place among these that nobody may delete or hand to somebody else as a whole."""
    homes = {ground.home.rstrip("/"), ground.real_home.rstrip("/")}
    for place in places:
        for path in place.spellings():
            top = path.rstrip("/") or "/"
            if top in tables.roots or top in homes or any(home.startswith(top + "/") for home in homes):
                return top
    return None


def _guarded_below(path: str, tables: Tables) -> str | None:
    """Why writing would change what programs run, by the names of two directories that follow each other."""
    parts = path.split("/")
    pairs = (f"{first}/{second}" for first, second in pairwise(parts))
    return next((f"{pair} decides what is run" for pair in pairs if tables.guarded_names.fullmatch(pair)), None)


def _of_git(path: str, ground: Ground) -> str | None:
    """Why a file would belong to a git directory of its own, whose settings say what git runs."""
    folder, _, name = path.rpartition("/")
    if name == "HEAD" or (name.casefold() == "head" and ground.resolver.folds(path)):
        return "HEAD makes its directory one of git"
    if name.casefold() == "config" and any(
        exists(f"{folder}/{one}", ground) for one in ("HEAD", "objects", "refs")
    ):
        return f"{folder} may be a directory of git, whose config decides what is run"
    return None


def exists(path: str, ground: Ground) -> bool:
    """Whether there is something at an absolute path."""
    return ground.resolver.expand(glob_escaped(path)) != ()


def own_git(path: str, ground: Ground) -> bool:
    """Whether a directory is one of git by itself, without being called so."""
    return all(exists(f"{path.rstrip('/')}/{one}", ground) for one in ("HEAD", "objects", "refs"))
