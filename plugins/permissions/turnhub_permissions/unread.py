"""Pure: programs of which no table tells what their arguments do. They need a rule; and what their arguments
surely make them run, write or read is noted whatever rule there is."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from msgspec.structs import replace

from turnhub_permissions.forms import Forms, operands
from turnhub_permissions.outputs import note_outputs
from turnhub_permissions.paths import is_own_input
from turnhub_permissions.scene import Scene
from turnhub_permissions.special import dangers
from turnhub_permissions.words import UNKNOWN, Word, literal
from turnhub_permissions.wrapping import SHELLS

_ASSIGNS: Final = re.compile(r"[A-Za-z_.][\w.]*[:+?!]*=")
_LOADER: Final = re.compile(r"ld(?:-linux|-musl|64)?[\w.-]*\.so(?:\.\d+)*")
_SCRIPT: Final = re.compile(r"[\w./@+][\w./@+-]*\.(?:py|js|mjs|cjs|ts|rb|pl|php|lua|R|exs?|groovy)")
_INTERPRETERS: Final = frozenset(("python", "node", "nodejs", "perl", "ruby", "php", "lua"))
_NO_PLACE: Final = re.compile(
    r"[\d.:]*\d|[a-z]+:\d+|http\.server|SimpleHTTPServer|zipfile|tarfile|pyftpdlib|serve"
)
_MOST_LOOKED: Final = 8
_MOST_TEXTS: Final = 32
_REMOTE: Final = re.compile(r"[\w.@-]+:")
_PLAIN: Final = re.compile(r"[\w./+-]+")


class Unread:
    """Notes such calls in a scene; ``run`` notes a command that one of them runs."""

    def __init__(
        self, scene: Scene, run: Callable[[Sequence[Word], bool], None], script: Callable[[str], None]
    ) -> None:
        self._scene = scene
        self._run = run
        self._script = script

    def note(self, name: str, words: Sequence[Word], *, fed: bool) -> None:
        """Note a call of ``name``. ``fed``: something is piped into it."""
        scene, tables, args = self._scene, self._scene.tables, words[1:]
        base = name.rpartition("/")[2]
        scene.run(words, name)
        if "/" in name:
            scene.runs_file(literal(name))
        if "/" in name and not name.startswith("/") and scene.ground.cwds != (scene.ground.cwd,):
            scene.opaque("which file it runs depends on where it is", name)
        if base in tables.opaque:
            scene.opaque("it runs what it is told, in ways that are not read here", name)
        inline = tables.inline.get(_own(base)) or tables.inline.get(base)
        if inline:
            self._inline(name, inline, args)
        self._input(name, tables.input.get(_own(base)) or tables.input.get(base), args, fed=fed)
        if base in ("make", "gmake"):
            self._directory(name, args)
        if base in tables.containers:
            self._container(name, args, fed=fed)
        self._told_to_run(name, base, args)
        self._buried(base, args, fed=fed)
        self._texts(name, base, args)
        at = len(scene.outputs)
        self._places(name, base, args)
        if base in tables.runners:
            if fed and _dash(args, tables.marks):
                scene.danger("runs what is piped into it", name)
            self._files(args, {path for one in scene.outputs[at:] for path in one.spellings()})
        if self._shaped(tables.packing, base, args):
            words = [literal(word.shown.partition("=")[2]) for word in args if re.match(r"--[\w-]+=.", word.shown)]
            words += [word for word in operands(args, frozenset()) if not _NO_PLACE.fullmatch(word.shown)]
            self._sends(words or [literal(".")])
        if self._shaped(tables.copying, base, args):
            *sources, target = operands(args, frozenset()) or [literal(".")]
            self._sends(sources)
            for source in sources:
                if base == "rsync" and not _REMOTE.match(source.shown) and not _REMOTE.match(target.shown):
                    scene.carries(source)
                    scene.spreads(source, target, direct=source.shown.endswith(("/", "/.")))

    def _shaped(self, forms: Mapping[str, Forms], base: str, args: Sequence[Word]) -> bool:
        found = forms.get(base) or forms.get(_own(base)) or Forms()
        return any(found.fitting(args, self._scene.tables.valued.get(base, frozenset())))

    def _texts(self, name: str, base: str, args: Sequence[Word]) -> None:
        """Scripts among the arguments: all that a program may take for one, or what a runner is handed and can be
        nothing else."""
        scene, tables = self._scene, self._scene.tables
        forms = list(tables.texts.get(base, Forms()).fitting(args, tables.valued.get(base, frozenset())))
        if not forms and base not in tables.runners:
            return
        texts = [word.shown for word in args if re.search(r"\s", word.shown)]
        behind = [_behind(args, form.words[-1] if form.words else ()) for form in forms]
        if len(texts) + len(behind) > _MOST_TEXTS:
            scene.opaque("it is told to run too much", name)
            return
        if forms and any(word.text is None for word in args):
            scene.opaque("what it runs is only known when it runs", name)
        for text in texts:
            if UNKNOWN not in text:
                self._noted(partial(self._script, re.sub(r"^--?[\w-]+=", "", text)), dangers_only=not forms)
        for text in behind:
            if UNKNOWN not in text:
                self._noted(partial(self._script, text), dangers_only=True)

    def _noted(self, judge: Callable[[], None], *, dangers_only: bool = False) -> None:
        """Note what speaks against something, and nothing else of it."""
        scene = self._scene
        at, ground = len(scene.acts), scene.ground
        judge()
        scene.ground = ground
        scene.acts[at:] = [
            replace(act, kind="note")
            for act in scene.acts[at:]
            if act.hard or act.danger or (act.opaque and not dangers_only)
        ]

    def _files(self, args: Sequence[Word], written: set[str]) -> None:
        """What a program that runs others may be told to run: no file that it writes by itself."""
        for word in args:
            places = () if word.prefix.startswith("-") else self._scene.places(word) or ()
            if not written.intersection(path for one in places for path in one.spellings()):
                self._scene.runs_file(word, sure=False)

    def _sends(self, words: Sequence[Word]) -> None:
        """Directories that are packed or sent with all that is in them."""
        for word in words:
            if not _REMOTE.match(word.shown):
                self._scene.read_whole(word)

    def _inline(self, name: str, flags: frozenset[str], args: Sequence[Word]) -> None:
        scene = self._scene
        letters = {flag[1] for flag in flags if re.fullmatch(r"-\w", flag)}
        operand = False
        script = _own(name) in _INTERPRETERS and args and _SCRIPT.fullmatch(args[0].text or "")
        for word in () if script else args:  # flags behind a script are its own
            text = word.prefix
            operand = operand or not text.startswith("-")
            clustered = re.match(r"-[A-Za-z]+", text) and not operand and letters & set(text[1:])
            if (
                text.partition("=")[0] in flags
                or clustered
                or any(text.startswith(f) for f in flags if len(f) == 2 and f[0] == "-")
            ):
                scene.opaque("it runs the text in its arguments", name)
        if any(word.feeds for word in args):
            scene.danger("runs what nobody has seen", name)

    def _input(
        self, name: str, unless: tuple[int, frozenset[str]] | None, args: Sequence[Word], *, fed: bool
    ) -> None:
        """A program that runs its input, unless so many operands or one of these flags are there."""
        if unless is None:
            return
        scene = self._scene
        count, flags = unless
        given = operands(args, scene.tables.valued.get(_own(name), frozenset()))
        told = any(word.shown.partition("=")[0] in flags for word in args)
        if (fed and (_dash(args, scene.tables.marks) or (not told and len(given) < count))) or any(
            is_own_input(word.text or "") for word in given[:1]
        ):
            scene.danger("runs what is piped into it", name)
        if count == 1 and given and not told:
            if given[0].text is None and given[0].feeds:
                scene.danger("runs what nobody has seen", name)
            elif given[0].text is None and given[0].splits:
                scene.opaque("what it runs is only known when it runs", name)
            scene.runs_file(
                given[0], sure=_SCRIPT.fullmatch(given[0].text or "") is not None or "/" in given[0].shown
            )

    def _directory(self, name: str, args: Sequence[Word]) -> None:
        """Where make works: inside the working directory it does what it does here."""
        scene = self._scene
        for word, after in zip(args, [*args[1:], literal("")], strict=False):
            found = re.fullmatch(r"(-[A-Za-z]*C|--di[a-z]*)=?(.*)", word.shown, re.DOTALL)
            if found is None:
                continue
            places = scene.places(replace(word, text=found[2], tilde=False) if found[2] and word.text else after)
            if not places or not all(scene.ground.within(one) for one in places):
                scene.opaque("it does what another directory says", name)

    def _container(self, name: str, args: Sequence[Word], *, fed: bool) -> None:
        """A command that is run in a container: an image alone runs what it was made for."""
        words = [word.shown for word in operands(args, self._scene.tables.container_values)]
        if words[:1] == ["container"]:
            del words[0]
        if "run" in words[1:3] or (words[:1] in (["run"], ["create"]) and (fed or len(words) > 2)):
            self._scene.opaque("it runs a command that is not read here", name)

    def _told_to_run(self, name: str, base: str, args: Sequence[Word]) -> None:
        """Flags, assignments and texts that name what is to be run, as many programs call them."""
        scene, tables = self._scene, self._scene.tables
        texts = tables.running_operands.get(base)
        for word in args:
            flag = word.prefix.partition("=")[0]
            if flag in tables.running_flags:
                scene.opaque(f"{flag} can make it run something", name)
            elif base in tables.assigning and _ASSIGNS.match(word.prefix):
                scene.opaque(f"{word.prefix.partition('=')[0]} may change what it runs", name)
            elif texts is not None and (texts.search(word.shown) or (word.text is None and base in tables.sql)):
                scene.opaque("it runs, reads or writes what its arguments say", name)

    def _buried(self, base: str, args: Sequence[Word], *, fed: bool) -> None:
        """A command among the arguments: of a program that runs others, any; elsewhere what is surely one."""
        scene, tables = self._scene, self._scene.tables
        if _LOADER.fullmatch(base):
            scene.opaque("it runs another program", base)
        runner = base in tables.runners or _LOADER.fullmatch(base) is not None
        marked = base in tables.direct
        looked = 0
        for at, word in enumerate(args):
            text = re.sub(r"(?<=\w)@[\w.^~-]+$", "", word.text or "").rpartition("/")[2]  # a package's version
            marked = marked or (at > 0 and args[at - 1].shown in tables.marks)
            if not (text in tables.telling or text.startswith("mkfs") or _own(text) in tables.inline):
                continue
            looked += 1
            if looked > _MOST_LOOKED:
                scene.opaque("it is told too much to see what it runs", base)
                return
            rest = args[at + 1 :]
            if text in SHELLS and rest and re.fullmatch(r"-[a-z]*c[a-z]*", rest[0].prefix):
                self._run((literal(text), *rest), fed)
                return
            if runner and text in SHELLS and fed:
                scene.danger("runs what is piped into it", text)
            if runner or text in tables.buried:
                dangers(scene, text, rest)
            if runner and marked:
                self._stands_alone(text, rest, fed=fed)

    def _stands_alone(self, name: str, args: Sequence[Word], *, fed: bool) -> None:
        """Note what speaks against a command behind a runner, as if it stood alone."""
        tables = self._scene.tables
        known = name in tables.stands or any(
            one in tables.inline or one in tables.input for one in (name, _own(name))
        )
        if not known or name in tables.marks:
            return
        self._noted(lambda: self._run((literal(name), *args), fed))

    def _places(self, name: str, base: str, args: Sequence[Word]) -> None:
        """Secrets and what decides what is run, wherever they are named; outputs, where a flag says so."""
        scene = self._scene
        for word in args:
            if why := scene.mentions(word) or scene.too_much(word):
                scene.danger(why, word.shown)
        note_outputs(scene, name, base, args)


def _behind(args: Sequence[Word], last: Sequence[str]) -> str:
    """What stands behind the last word of a form, and behind the flags there, as one text."""
    at = next((number for number, word in enumerate(args, 1) if word.shown.casefold() in last), 0)
    rest = list(args[at:])
    while rest and rest[0].prefix.startswith("-"):
        del rest[0]
    return " ".join(word.shown for word in rest)


def _dash(args: Sequence[Word], marks: frozenset[str]) -> bool:
    """Whether the script is to be read from the input: ``-`` where its name would stand."""
    rest = [word.shown for word in args if word.shown == "-" or not word.prefix.startswith("-")]
    while rest and rest[0] in marks:
        del rest[0]
    return rest[:1] == ["-"]


def _own(name: str) -> str:
    """A program's name without directory and version."""
    return re.sub(r"(?<=[a-z])[\d.]+$", "", name.rpartition("/")[2])
