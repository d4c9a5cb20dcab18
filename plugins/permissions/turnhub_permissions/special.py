"""Pure: programs whose arguments follow rules of their own: find and git; and dangerous forms."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from turnhub_permissions.forms import Forms, operands
from turnhub_permissions.globs import could_be_secret
from turnhub_permissions.hosts import gives_credentials
from turnhub_permissions.outputs import note_outputs
from turnhub_permissions.places import exists, own_git
from turnhub_permissions.programs import Effects, effects
from turnhub_permissions.scene import Scene
from turnhub_permissions.words import UNKNOWN, Word, literal, unknown

_GIT_SAFE: Final = re.compile(
    r"(?:color\.\w+|core\.quotepath|advice\.\w+|user\.name|user\.email|init\.defaultbranch|log\.showsignature)=[^\n!]*",
    re.IGNORECASE,
)
_VERIFIES: Final = re.compile(
    rf"%[-+ ]?G[^D]|%[-+ ]?G$|%\(?\*?signature|{UNKNOWN}|^\*?signature"
    r"|^(?!oneline$|short$|medium$|full$|fuller$|reference$|email$|raw$|mboxrd$|author$|committer$|trailer:|$)[\w-]+$"
)
_MOST_STARTS: Final = 16
_FOUND: Final = Word(None, "./", "./" + UNKNOWN, found=True)
_NEW_BRANCH: Final = frozenset(("-b", "-B", "--orphan"))
_HELPER: Final = re.compile(r"(?:^|=)(?:ext|fd)::", re.IGNORECASE)
_RECURSIVE: Final = re.compile(r"-[A-Za-z]*[rR][A-Za-z]*|--r(?:e(?:c(?:u(?:r(?:s(?:i(?:v(?:e)?)?)?)?)?)?)?)?")


def dangers(scene: Scene, name: str, args: Sequence[Word]) -> None:
    """Note why a call is dangerous, or never allowed, by its form."""
    tables = scene.tables
    base = name.rpartition("/")[2]
    texts = [word.shown for word in args]
    if base in tables.hard_programs or base.startswith("mkfs."):
        scene.hard(f"{base} is never run from here", name)
    if base in ("init", "telinit") and texts[:1] in (["0"], ["6"]):
        scene.hard("it stops the machine", name)
    if base == "systemctl" and {"poweroff", "reboot", "halt", "kexec", "rescue", "emergency"} & set(texts):
        scene.hard("it stops the machine", name)
    if base == "dd" and any(text.startswith("of=") and tables.disks.match(text[3:]) for text in texts):
        scene.hard("it overwrites a disk", name)
    fetches = base in tables.fetching
    if any((fetches or "://" in text) and gives_credentials(text) for text in texts):
        scene.danger("that address hands out credentials", name)
    if base in tables.dangerous:
        scene.danger(tables.dangerous[base], name)
    if base != "git":
        shaped(scene, base, name, args)
    if base in ("rm", "chmod", "chown", "chgrp", "mv", "shred", "srm"):
        _much(scene, base, args, texts)


def shaped(scene: Scene, base: str, name: str, args: Sequence[Word]) -> None:
    """Note the dangerous forms that a call of ``base`` has, or could turn out to have."""
    valued = scene.tables.valued.get(base, frozenset())
    forms = scene.tables.forms.get(base, Forms())
    for form in forms.fitting(args, valued):
        scene.danger(form.why, f"{name} {form.named}".strip())
    if any(word.text is None for word in args) and any(forms.fitting(args, valued, perhaps=True)):
        scene.opaque("words that are only known when it runs may make it do more", name)


def _much(scene: Scene, base: str, args: Sequence[Word], texts: Sequence[str]) -> None:
    recursive = base in ("mv", "shred", "srm") or any(_RECURSIVE.fullmatch(text) for text in texts)
    if not recursive:
        return
    before = ["", *texts]
    operands = [
        word
        for word, last in zip(args, before, strict=False)
        if not word.prefix.startswith("-") and not (base == "mv" and last in ("-t", "-S"))
    ]
    if base == "mv" and not any(text.startswith(("-t", "--target")) for text in texts):
        operands = operands[:-1]
    for word in operands:
        if root := scene.roots(word):
            scene.hard(f"it would take {root} away", base)
    if "--no-preserve-root" in texts:
        scene.hard("it would take / away", base)


def _formats(args: Sequence[Word]) -> Iterator[str]:
    """The formats that a call of git is given."""
    for word, after in zip(args, [*args[1:], literal("")], strict=False):
        flag, equals, value = word.shown.partition("=")
        if len(flag) > 3 and any(one.startswith(flag) for one in ("--format", "--pretty", "--group", "--sort")):
            yield value if equals else "" if flag == "--pretty" else after.shown


def _pathspec(word: Word) -> str | None:
    """The path that stands behind a revision or the magic of git's patterns; None where there is none of these."""
    found = re.fullmatch(r"[^:/]*:(\([a-z,:]*\))?(.+)", word.text or "", re.DOTALL)
    if found is None or found[2][0] in "!^":
        return None
    return f"/{found[2]}" if "top" in (found[1] or "") else found[2]


def archive(args: Sequence[Word]) -> Effects | None:
    """What a call of tar does that makes an archive of what it is given, or lists one; None for all others."""
    letters = re.fullmatch(r"-?([ct])[zjJv]*f", args[0].text or "") if args else None
    if letters is None or any(word.text is None or word.prefix.startswith("-") for word in args[2:]):
        return None
    files = list(args[1:2])
    if not files or files[0].text is None or ":" in files[0].text or files[0].pattern:
        return None
    if files[0].text.startswith("-") and files[0].text != "-":
        return None
    if letters[1] == "t":
        return Effects(reads=files)
    written = [] if files[0].text == "-" else files
    return Effects(reads=list(args[2:]), whole=list(args[2:]), writes=written)


class Find:
    """Reads the arguments of find."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._kinds = scene.tables.programs["find"].kinds
        self._starts: list[Word] = []
        self._names: list[str] = []
        self._sure = True

    @property
    def found(self) -> tuple[Sequence[Word], Sequence[str]] | None:
        """Where it looks, and for what names (none: for all); None where that cannot be told."""
        return (self._starts, self._names) if self._sure else None

    def read(self, args: Sequence[Word]) -> list[tuple[Word, ...]]:
        """Note what find does; the commands that it runs."""
        scene, inner = self._scene, []
        words = iter(args)
        expression = False
        for word in words:
            text = word.text
            expression = expression or word.prefix[:1] in ("-", "(", "!")
            if text is None:
                if word.may_be_flag:
                    scene.opaque("a word that is only known when it runs may be a flag", "find")
                elif not expression:
                    self._start(word)
            elif not expression or re.match(r"[./\w~]", text):
                self._start(word)
            elif self._kinds.get(text) == "runs":
                inner.append(self._inner(words))
            elif not self._test(text, words):
                scene.opaque(f"nothing is known of its test {text}", "find")
        if not self._starts:
            self._start(literal("."))
        texts = {word.shown for word in args}
        self._sure = not texts & {"-L", "-H", "-follow"} and len(self._starts) <= _MOST_STARTS
        if texts & {"-o", "-or", ",", "!", "-not", "("}:
            self._names = []
        return [one for one in inner if one]

    def _start(self, word: Word) -> None:
        self._starts.append(word)
        self._scene.read(word, listing=True)

    def _test(self, text: str, words: Iterator[Word]) -> bool:
        scene = self._scene
        kind = self._kinds.get(text)
        if kind == "flags" or re.fullmatch(r"-O\d", text):
            return True
        if text == "-delete":
            scene.danger("deletes what it finds", "find")
            for word in self._starts or [literal(".")]:
                scene.write(word)
                if root := scene.roots(word):
                    scene.hard(f"it would take {root} away", "find")
            return True
        if text.startswith("-fprint") or text == "-fls":
            scene.write(next(words, unknown()))
            if text == "-fprintf":
                next(words, None)
            return True
        if kind == "reads" or re.fullmatch(r"-newer[aBcm][aBcmt]", text):
            value = next(words, unknown())
            if not text.endswith("t"):
                scene.read(value, listing=True)
            return True
        taken = next(words, None) if kind == "values" else None
        if taken is not None and taken.text and text in ("-name", "-iname"):
            self._names = [taken.text]
        return taken is not None

    def _inner(self, words: Iterator[Word]) -> tuple[Word, ...]:
        found: list[Word] = []
        for word in words:
            if word.text == ";" or (word.text == "+" and found and found[-1].text is None):
                break
            found.append(_FOUND if word.shown == "{}" else unknown() if "{}" in word.shown else word)
        else:
            self._scene.opaque("the command that it runs has no end", "find")
        return tuple(found)


class Git:
    """Reads calls of git."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._kinds = scene.tables.programs["git"].kinds

    def run(self, words: Sequence[Word], args: Sequence[Word]) -> None:
        """Note what a call of git does."""
        scene = self._scene
        rest = self._globals(list(args))
        if (
            any(not scene.ground.within(scene.ground.place(cwd)) for cwd in scene.ground.cwds)
            or not scene.ground.cwds
        ):
            scene.opaque("git runs what the settings of another directory say", "git")
        elif any(own_git(cwd, scene.ground) for cwd in scene.ground.cwds):
            scene.opaque("git runs what the settings of a directory inside this one say", "git")
        name = rest[0].text if rest else "help"
        at = len(scene.acts)
        scene.run((literal("git"), *rest), "git")
        if name is None or not re.fullmatch(r"[a-z][a-z-]*|--version|--help", name):
            scene.opaque("what it does is only known when it runs", "git")
            return
        shaped(scene, "git", "git", rest)
        if name == "checkout":
            self._checkout(rest[1:])
        program = scene.tables.git.get(name.removeprefix("--"))
        found = effects(program, rest[1:], literal(".")) if program else None
        if found is None:
            self._open(name, rest[1:])
            return
        for why in found.opaque:
            scene.opaque(why, f"git {name}")
        if any(_VERIFIES.search(text) for text in _formats(rest[1:])):
            scene.opaque("its format may make it run gpg", f"git {name}")
        self._files(found)
        if found.beyond:
            scene.acts[at] = replace(scene.acts[at], beyond=found.beyond[0])
            if name == "config":
                scene.danger("changes what git runs", "git config")
            self._open(name, rest[1:])
        else:
            self._secrets(rest[1:])

    def _files(self, found: Effects) -> None:
        """Files that are read: those that flags name, and operands that lie elsewhere, which are no revisions."""
        scene = self._scene
        for word in found.reads:
            scene.read(word)
        for one in found.revisions:
            word, path = one, _pathspec(one)
            if path is not None:
                word = literal(path)
            if (
                word.text
                and could_be_secret(word.text, dotted=True)
                and re.search(r"[*?\[].*[^*]|[^*/]\*$", word.text)
            ):
                scene.danger("it may read secrets", f"git {word.shown}")
            places = scene.places(word)
            parts = (word.text or "").split("/")
            elsewhere = word.tilde or parts[0] == "" or ".." in parts
            if elsewhere or places is None or not all(scene.ground.within(one) for one in places):
                scene.read(word)
                scene.read_whole(word)

    def _globals(self, rest: list[Word]) -> list[Word]:
        scene = self._scene
        while rest and rest[0].may_be_flag:
            text = rest[0].text
            if text in ("--version", "--help"):
                break
            if text is not None and self._kinds.get(text) == "flags":
                del rest[0]
            elif text == "-C" and len(rest) > 1 and (places := scene.places(rest[1])):
                scene.read(rest[1], listing=True)
                cwds = (*scene.ground.cwds, *(place.real for place in places))
                scene.ground = replace(scene.ground, cwds=cwds)
                del rest[:2]
            elif text == "-c" and len(rest) > 1 and rest[1].text and _GIT_SAFE.fullmatch(rest[1].text):
                del rest[:2]
            else:
                scene.opaque(f"{rest[0].shown} can make it run something", "git")
                del rest[
                    : 2 if text in ("-c", "-C", "--git-dir", "--work-tree", "--namespace", "--exec-path") else 1
                ]
        return rest

    def _checkout(self, args: Sequence[Word]) -> None:
        """Files that a checkout overwrites: what is there, or can be nothing but a path."""
        scene = self._scene
        given = operands(args, _NEW_BRANCH)
        branch = any(
            word.shown in _NEW_BRANCH or word.shown in ("-t", "--track", "--detach", "-d") for word in args
        )
        for word in given:
            text = word.shown
            if re.match(r"\.{0,2}/|\.\.?$|:|.*[*?\[]", text) or any(
                exists(path, scene.ground) for one in scene.places(word) or () for path in one.spellings()
            ):
                scene.danger("throws changes away", f"git checkout {text}")
        if len(given) > 1 and not branch:
            scene.danger("throws changes away", "git checkout")

    def _open(self, name: str, args: Sequence[Word]) -> None:
        scene = self._scene
        self._secrets(args)
        note_outputs(scene, f"git {name}", "git", (literal(name), *args))
        for word in args:
            flag = word.prefix.partition("=")[0]
            if (
                len(flag) > 2 and any(one.startswith(flag) and kind == "runs" for one, kind in self._kinds.items())
            ) or flag in ("-x", "--exec"):
                scene.opaque(f"{flag} makes it run something", f"git {name}")

    def _secrets(self, args: Sequence[Word]) -> None:
        for word in args:
            if _HELPER.search(word.shown):
                self._scene.opaque("this address makes it run something", "git")
            if why := self._scene.mentions(word):
                self._scene.danger(why, word.shown)
