"""Pure: one simple command, by what is known of its program."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from msgspec.structs import replace

from turnhub_permissions.paths import is_own_input
from turnhub_permissions.programs import Effects, effects
from turnhub_permissions.scene import Scene
from turnhub_permissions.special import Find, Git, archive, dangers
from turnhub_permissions.unread import Unread
from turnhub_permissions.words import Word, literal, unknown
from turnhub_permissions.wrapping import SHELLS, inner_of, shell_script

_SYSTEM: Final = ("/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/", "/opt/homebrew/bin/")
_FREE_NAMES: Final = ": true false exit return break continue shift wait test set cd read pwd"
DECLARES: Final = frozenset(("declare", "typeset", "export", "readonly"))
_FREE: Final = frozenset(_FREE_NAMES.split())
_GNU_TEXT: Final = """
grm grmdir gunlink gfind gchmod gchown gchgrp gshred gsed gdd gmv gcp gln gtruncate gtee gxargs genv gcat ghead
gtail gnice gtimeout gnohup gstdbuf gsort
"""
_GNU: Final = frozenset(_GNU_TEXT.split())  # GNU programs, as they are called beside those of the system
_DELETES: Final = frozenset(("rm", "rmdir", "unlink", "mv", "truncate", "tee", "cp"))
_MOST_WORDS: Final = 500
_MOST_READ: Final = 64  # of those that are too many: what is surely dangerous is still said
_MOST_WHOLE: Final = 32
_MOST_DEPTH: Final = 12
_ACTIVATE: Final = re.compile(r"(?:\./)?\.?v?env/bin/activate")  # what everybody has in a project


class Commands:
    """Notes what commands do in a scene; ``script`` reads a script that one of them would run."""

    def __init__(self, scene: Scene, script: Callable[[str], None]) -> None:
        self._scene = scene
        self._script = script
        self._depth = 0
        self._unread = Unread(scene, lambda words, fed: self.run(words, fed=fed), script)

    def run(self, words: Sequence[Word], *, fed: bool = False, repeated: bool = False, many: bool = False) -> None:
        """Note what ``words`` run. ``fed``: something is piped into them; ``many``: words are added by others."""
        scene = self._scene
        self._depth += 1
        if self._depth > _MOST_DEPTH:
            scene.opaque("it is wrapped too often")
            return
        if len(words) > _MOST_WORDS or len(words) * len(scene.ground.cwds) > _MOST_WORDS:
            scene.opaque("it has too many words to tell what all of them mean", words[0].shown)
            words = words[:_MOST_READ]
            if len(scene.ground.cwds) > 1:
                scene.ground = replace(scene.ground, cwds=())
        name = self._name(words[0], fed=fed)
        if name is None:
            return
        words = (literal(name), *words[1:])
        args = words[1:]
        dangers(scene, name, args)
        if many and name in _DELETES:
            scene.danger("does so to whatever is found", name)
        self._dispatch(name, words, args, fed=fed, repeated=repeated)

    def _name(self, word: Word, *, fed: bool) -> str | None:
        """The program's name, without the directories where programs are; None where it cannot be told."""
        scene = self._scene
        text = word.text
        if text is None or word.pattern is not None:
            scene.opaque("what it runs is only known when it runs", word.shown)
            if word.feeds or fed:
                scene.danger("runs what nobody has seen", word.shown)
            return None
        if not text or not text.isascii() or not re.fullmatch(r"[\w./~+:@%\[\]-]+", text) or text.startswith("="):
            scene.opaque("an odd name of a program", text)
            return None
        base = text.rpartition("/")[2]
        if base in _GNU:
            text, base = text.removesuffix(base) + base[1:], base[1:]
        if "/" not in text or any(text == directory + base for directory in _SYSTEM):
            return "test" if base == "[" else base
        dangers(scene, base, ())
        return text

    def _dispatch(
        self, name: str, words: Sequence[Word], args: Sequence[Word], *, fed: bool, repeated: bool
    ) -> None:
        scene, tables = self._scene, self._scene.tables
        if len(args) == 1 and args[0].text in tables.versions.get(name, ()):
            scene.run(words, name, free=True)
        elif name in tables.wrappers:
            self._wrapped(name, words, args, fed=fed, repeated=repeated)
        elif name in SHELLS:
            self._shell(words, args, fed=fed)
        elif name == "eval":
            self._eval(words, args)
        elif name in (".", "source"):
            self._source(name, words, args)
        elif (name == "set" and not args) or (name in DECLARES and all(word.prefix[:1] == "-" for word in args)):
            scene.danger("shows the environment, with its secrets", name)
        elif name in ("cd", "chdir"):
            self._cd(words, args, repeated=repeated)
        elif name == "find":
            self._find(words, args)
        elif name == "tar" and (found := archive(args)) is not None:
            self._known(name, words, found)
        elif name == "git":
            Git(scene).run(words, args)
        elif (program := tables.programs.get(name)) is not None and name not in tables.opaque:
            self._known(program.name, words, effects(program, args, literal(".")))
        else:
            self._unread.note(name, words, fed=fed)

    def _source(self, name: str, words: Sequence[Word], args: Sequence[Word]) -> None:
        scene = self._scene
        scene.run(words, name)
        if len(args) != 1 or not _ACTIVATE.fullmatch(args[0].text or ""):
            scene.opaque("it runs a file in this shell", name)
        for word in args[:1]:
            scene.runs_file(word)
        if any(word.feeds for word in args):
            scene.danger("runs what nobody has seen", name)

    def _known(self, name: str, words: Sequence[Word], found: Effects) -> None:
        scene = self._scene
        scene.run(words, name, free=name in _FREE or name in ("test", "["))
        for why in (*found.opaque, *found.beyond):
            scene.opaque(why, name)
        for why in found.danger:
            scene.danger(why, name)
        if any(word.pattern and not word.prefix for word in words[1:]) and scene.flag_like_files():
            scene.opaque("a wildcard that may become a flag", name)
        note(scene, found)

    def _wrapped(
        self, name: str, words: Sequence[Word], args: Sequence[Word], *, fed: bool, repeated: bool
    ) -> None:
        scene = self._scene
        wrapper = scene.tables.wrappers[name]
        itself = bool(wrapper.settings.get("itself"))
        scene.run(words, name, free=not itself)
        if danger := wrapper.settings.get("danger"):
            scene.danger(str(danger), name)
        inner = inner_of(scene, wrapper, args)
        if not inner:
            if fed and wrapper.settings.get("text"):
                scene.danger("runs what is piped into it", name)
            return
        if wrapper.settings.get("text"):
            if any(word.text is None for word in inner):
                scene.opaque("what it runs is only known when it runs", name)
            else:
                self._script(" ".join(word.text or "" for word in inner))
            return
        many = bool(wrapper.settings.get("appends"))
        self.run((*inner, unknown()) if many else inner, fed=fed, repeated=repeated, many=many)

    def _shell(self, words: Sequence[Word], args: Sequence[Word], *, fed: bool) -> None:
        scene = self._scene
        name = words[0].shown
        found = shell_script(args)
        if found.opaque:
            scene.opaque(found.opaque, name)
        if found.script is not None:
            scene.run(words, name, free=True)
            if found.script.text is None:
                scene.opaque("the script is only known when it runs", name)
                scene.danger("runs what nobody has seen", name)
            else:
                self._script(found.script.text)
        elif found.file is not None and is_own_input(found.file.text or ""):
            scene.run(words, name)
            scene.danger("runs what is piped into it", name)
        elif found.file is not None:
            self._unread.note(name, words, fed=False)
            scene.runs_file(found.file)
            if found.file.text is None:
                scene.danger("runs what nobody has seen", name)
        else:
            scene.run(words, name)
            why = "runs what is piped into it" if fed or found.stdin else "opens a shell"
            scene.danger(why, name)

    def _eval(self, words: Sequence[Word], args: Sequence[Word]) -> None:
        scene = self._scene
        scene.run(words, "eval", free=True)
        if args and args[0].text == "--":
            args = args[1:]
        if any(word.text is None or word.pattern is not None for word in args):
            scene.opaque("the script is only known when it runs", "eval")
            scene.danger("runs what nobody has seen", "eval")
        elif args:
            self._script(" ".join(word.text or "" for word in args))

    def _cd(self, words: Sequence[Word], args: Sequence[Word], *, repeated: bool) -> None:
        scene = self._scene
        scene.run(words, "cd", free=True)
        targets = [word for word in args if word.text not in ("-L", "-P", "--")]
        target = targets[0] if targets else Word("~", "~", "~", tilde=True)
        places = scene.places(target) if len(targets) < 2 and target.prefix[:1] not in ("-", "+") else None
        if places is None or target.pattern is not None:
            scene.ground = replace(scene.ground, cwds=())
            scene.opaque("where it goes is only known when it runs", "cd")
            return
        scene.read(target, listing=True)
        cwds = (*scene.ground.cwds, *(path for place in places for path in place.spellings()))
        scene.ground = replace(scene.ground, cwds=tuple(dict.fromkeys(cwds)))
        if len(scene.ground.cwds) > 16:
            scene.ground = replace(scene.ground, cwds=())

    def _find(self, words: Sequence[Word], args: Sequence[Word]) -> None:
        self._scene.run(words, "find")
        scene, find = self._scene, Find(self._scene)
        for inner in find.read(args):
            before, scene.found = scene.found, find.found
            self.run(inner, many=True)
            scene.found = before


def note(scene: Scene, found: Effects) -> None:
    """Note the files that a program reads and writes."""
    if max(len(found.whole), len(found.carried)) > _MOST_WHOLE:
        scene.opaque("it takes too much as a whole to look through all of it")
        found.whole, found.carried, found.spread = [], [], []
    for word in found.lists:
        scene.read(word, listing=True)
    for word in found.reads:
        scene.read(word)
    for word in found.whole:
        scene.read_whole(word, hidden=not found.visible and not found.narrow, follow=found.follow)
    for word in found.carried:
        scene.carries(word)
    for source, target, direct in found.spread:
        scene.spreads(source, target, direct=direct)
    for word in found.writes:
        scene.write(word)
