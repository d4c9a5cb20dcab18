"""Pure: what a program does with its arguments, by the tables in ``programs.toml`` and ``git.toml``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct, field

from turnhub_permissions.globs import alternatives, could_be_secret
from turnhub_permissions.words import Word, literal, unknown

_KINDS: Final = """
flags more_flags values optional patterns reads writes opaque runs data globs
modes numbers recursive secret_flags danger pairs pairs_eq
in_place here operands_with
"""
_COMPARISONS: Final = frozenset(("-eq", "-ne", "-lt", "-le", "-gt", "-ge"))
_NUMERIC: Final = re.compile(r"%[-+ #0-9.*']*[diouxXeEfFgGaAc*]")
_LISTS: Final = tuple(_KINDS.split())


class Effects(Struct):
    """What a call does. ``reads`` and ``writes``: words that name files; ``whole``: directories that are read with
    all that is in them; ``opaque``: why it could do more; ``beyond``: why it may not be one that only reads;
    ``danger``: why it always asks; ``visible``: what is hidden is left out of ``whole``; ``revisions``: words that
    name files where they are no revisions; ``narrow``: only files of some names are read, none of them secret;
    ``follow``: behind links too; ``carried``: what is taken along as it is, links as links; ``spread``:
    directories whose content goes to another one, under their names or directly."""

    reads: list[Word] = field(default_factory=list)
    lists: list[Word] = field(default_factory=list)
    whole: list[Word] = field(default_factory=list)
    writes: list[Word] = field(default_factory=list)
    opaque: list[str] = field(default_factory=list)
    beyond: list[str] = field(default_factory=list)
    danger: list[str] = field(default_factory=list)
    visible: bool = False
    revisions: list[Word] = field(default_factory=list)
    narrow: bool = False
    follow: bool = False
    carried: list[Word] = field(default_factory=list)
    spread: list[tuple[Word, Word, bool]] = field(default_factory=list)


class Program(Struct, frozen=True):
    """A program's flags, each with what it means, and its further settings."""

    name: str
    kinds: Mapping[str, str]
    settings: Mapping[str, Any]

    @property
    def operands(self) -> str:
        """What operands are."""
        return str(self.settings.get("operands", "read"))


def programs(tables: Mapping[str, Any]) -> dict[str, Program]:
    """The programs of a table; ``like`` takes over another's flags."""
    return {
        name: _program(name, {**tables.get(table.get("like", ""), {}), **table}) for name, table in tables.items()
    }


def _program(name: str, table: Mapping[str, Any]) -> Program:
    kinds: dict[str, str] = {}
    for kind in _LISTS:
        given = table.get(kind, "")
        if isinstance(given, str):
            for flag in given.split():
                kinds[flag] = "flags" if kind == "more_flags" else _both(kind, kinds.get(flag))
    return Program(name, kinds, {key: value for key, value in table.items() if key not in ("flags", "values")})


def _both(kind: str, before: str | None) -> str:
    """A flag named twice: what changes how its value is taken wins, but effects stay."""
    if kind in ("recursive", "secret_flags", "operands_with") and before:
        return f"{kind}+{before}"
    if kind == "optional" and before == "flags":
        return "either"
    return kind


def effects(program: Program, words: Sequence[Word], cwd_word: Word) -> Effects:
    """What ``program`` does when it is called with ``words``."""
    return _Scan(program, words, cwd_word).run()


class _Scan:
    def __init__(self, program: Program, words: Sequence[Word], here: Word) -> None:
        self._program = program
        self._words = list(words)
        self._here = here
        self._out = Effects()
        self._operands: list[Word] = []
        self._seen: set[str] = set()
        self._pattern_given = False
        self._backup: Word | None = None
        self._recursive = program.settings.get("recursive") in ("visible", "always")
        self._out.visible = program.settings.get("recursive") == "visible"
        self._out.follow = "follows" in program.settings
        self._text_rule = program.settings.get("opaque_text")

    def run(self) -> Effects:
        if self._program.operands == "any":
            self._any()
        elif self._program.operands == "opaque":
            self._refuse("it can run, read or write what its arguments say")
        else:
            rest = self._flags(iter(self._words))
            self._operands += rest
            self._take()
        return self._out

    def _refuse(self, why: str) -> None:
        self._out.opaque.append(why)

    def _any(self) -> None:
        """A program whose arguments are words; only its first may be a flag that does something."""
        for word in self._words[:1]:
            kind = self._program.kinds.get(word.prefix[:2])
            if (kind and not word.prefix.startswith("--")) or (word.may_be_flag and self._program.kinds):
                self._refuse("its first argument may be a flag")

        if self._program.settings.get("formats"):
            self._formats()

    def _formats(self) -> None:
        """Shells calculate with what printf takes for numbers."""
        first, *rest = self._words or [literal("")]
        if rest and (first.text is None or _NUMERIC.search(first.text)):
            for word in rest:
                if not word.number and not re.fullmatch(r"[-+]?[\d.]+", word.text or ""):
                    self._refuse("it calculates with what may be no number")

    def _flags(self, words: Iterator[Word]) -> list[Word]:
        for word in words:
            text = word.text
            if text == "--":
                return list(words)
            if text is None:
                if word.may_be_flag:
                    self._refuse("a word that is only known when it runs may be a flag")
                self._operands.append(word)
            elif text.startswith("-") and len(text) > 1:
                if word.pattern is not None and not re.match(r"-[\w-]+=", text):
                    self._refuse("a flag with wildcards")
                self._flag(text, words)
            else:
                self._operands.append(word)
        return []

    def _flag(self, text: str, words: Iterator[Word]) -> None:
        settings = self._program.settings
        if settings.get("digits") and re.fullmatch(r"-\d+[bkmcl]?", text):
            return
        name, equals, value = text.partition("=")
        known = self._program.kinds.get(name if equals else text)
        if known is not None and (text.startswith("--") or not equals):
            self._means(name if equals else text, known, literal(value) if equals else None, words)
        elif text.startswith("--") or settings.get("single"):
            self._out.beyond.append(f"nothing is known of its flag {name}")
        else:
            self._cluster(text, words)

    def _cluster(self, text: str, words: Iterator[Word]) -> None:
        for at in range(1, len(text)):
            flag = "-" + text[at]
            kind = self._program.kinds.get(flag)
            if kind is None:
                self._out.beyond.append(f"nothing is known of its flag {flag}")
                return
            rest = text[at + 1 :]
            base = kind.rpartition("+")[2]
            if base in ("flags", "here", "danger"):
                self._means(flag, kind, None, words)
                continue
            self._means(flag, kind, literal(rest) if rest else None, words)
            return

    def _means(self, flag: str, kind: str, value: Word | None, words: Iterator[Word]) -> None:
        extra, _, base = kind.rpartition("+")
        self._seen.add(flag)
        if "recursive" in extra:
            self._recursive = True
        if "secret_flags" in extra:
            self._refuse(f"{flag} makes it read what is hidden")
        match base:
            case "flags":
                if value is not None:
                    self._refuse(f"{flag} takes no value")
            case "opaque" | "runs":
                self._refuse(f"{flag} makes it run, load or send something")
            case "danger":
                self._out.danger.append(str(self._program.settings.get("danger_why", flag)))
            case "here":
                self._out.writes.append(unknown())
            case "in_place":
                self._seen.add("in_place")
                self._backup = value or self._backup
                if value is not None and "/" in value.shown:
                    self._refuse("a backup elsewhere")
            case "optional" | "either":
                self._checked(value)
            case "pairs":
                next(words, None)
                self._checked(next(words, None))
            case _:
                self._valued(base, flag, next(words, None) if value is None else value)

    def _valued(self, kind: str, flag: str, value: Word | None) -> None:
        if value is None:
            self._refuse(f"{flag} without its value")
            return
        match kind:
            case "reads":
                self._out.reads.append(value)
                if flag in ("-f", "--file"):
                    self._pattern_given = True
            case "writes":
                if not (value.text == "-" and self._program.settings.get("dash")):
                    self._out.writes.append(value)
            case "globs" | "modes" | "data" | "numbers":
                self._chooses(kind, flag, value)
            case "patterns":
                self._pattern_given = True
                self._script(value)
            case "pairs_eq":
                if value.text is None or not re.match(r"[a-z]\w*=", value.text):
                    self._refuse(f"{flag} with an odd name")
            case "values":
                if value.splits:
                    self._refuse(f"what {flag} is given may become a flag")
                self._checked(value)
            case _:
                self._refuse(f"nothing is known of {flag}")

    def _chooses(self, kind: str, flag: str, value: Word) -> None:
        """A flag whose value says which files are read, or whether they are, or is a number."""
        if kind == "globs":
            self._glob(flag, value)
        elif kind == "modes":
            self._recursive = self._recursive or value.text not in ("read", "skip")
        elif kind == "numbers":
            if not value.number and not re.fullmatch(r"[\d.]+", value.text or ""):
                self._refuse(f"{flag} calculates with what may be no number")
        else:
            self._data(value)

    def _glob(self, flag: str, value: Word) -> None:
        """Which files are read, by their names."""
        text = value.text
        if text is None:
            self._refuse("which files it reads is only known when it runs")
        elif not text.startswith("!"):
            names = [one.rpartition(":")[2].casefold() for one in alternatives(text)]
            if any(could_be_secret(name, dotted=True) and name != "*.json" for name in names):
                self._out.danger.append(f"{flag} makes it read what may be secret")
            self._out.narrow = True

    def _data(self, value: Word) -> None:
        """What is sent: a text, or what a file holds."""
        if value.text is None and not re.match(r"[\w.-]*=[^@<]|[^\w@<]", value.prefix):
            self._refuse("what it sends is only known when it runs")
        elif found := re.match(r"(?:[\w.-]*=?)[@<](.*)", value.shown, re.DOTALL):
            path = found[1].partition(";")[0]
            self._out.reads.append(
                Word(path, path, path, tilde=path.startswith("~/")) if value.text else unknown()
            )

    def _checked(self, value: Word | None) -> None:
        if (
            value is not None
            and self._text_rule
            and not value.number
            and (value.text is None or re.search(self._text_rule, value.text))
        ):
            self._refuse("an argument that could do more")

    def _script(self, word: Word) -> None:
        kind = self._program.settings.get("opaque_script")
        if kind:
            from turnhub_permissions.minilang import script_effects  # noqa: PLC0415 - it needs Effects from here

            script_effects(str(kind), word, self._out)
        else:
            self._checked(word)

    def _take(self) -> None:
        settings, operands = self._program.settings, list(self._operands)
        if "words" in settings:
            first = operands[0].text if operands else ""
            if first not in settings["words"]:
                self._out.beyond.append(f"{first or 'this form'} is not one that only reads")
            return
        if len(operands) > int(settings.get("most", len(operands))):
            self._out.beyond.append("it does more with these arguments")
        if settings.get("arithmetic"):
            self._compares()
        if settings.get("plus"):
            operands = [word for word in operands if not word.prefix.startswith("+")]
        kind = self._program.operands
        if kind.startswith("script+"):
            if not self._pattern_given and not self._seen & set(str(settings.get("no_script", "")).split()):
                if operands:
                    self._script(operands.pop(0))
                else:
                    self._refuse("it has no pattern")
            kind = "edit" if "in_place" in self._seen else kind.rpartition("+")[2]
        self._by_kind(kind, operands)

    def _compares(self) -> None:
        """What is compared as numbers has to be some: shells calculate with texts, and run what stands in them."""
        numbers = [word.number or re.fullmatch(r"-?\d+", word.text or "") is not None for word in self._words]
        for at, word in enumerate(self._words):
            sides = (at - 1, at + 1)
            if word.text in _COMPARISONS and not all(0 <= side < len(numbers) and numbers[side] for side in sides):
                self._refuse("a comparison of what may be no numbers")

    def _by_kind(self, kind: str, operands: list[Word]) -> None:
        if self._program.settings.get("response") and any(word.prefix[:1] in ("@", "") for word in operands):
            self._refuse("what stands in a file may become its arguments")
        out = self._out
        files = {
            "list": (out.lists, operands or [self._here]),
            "edit": (out.writes, operands),
            "write": (out.writes, operands),
            "in+out": (out.writes, operands[1:]),
            "revisions": (out.revisions, operands),
            "pages": (
                out.reads,
                [word for word in operands if word.text is None or word.tilde or "/" in word.text],
            ),
        }
        if kind in files:
            target, words = files[kind]
            target += words
            if kind == "edit" and self._backup is not None:
                target += [_backup(word, self._backup) for word in operands]
            out.reads += operands if kind == "edit" else operands[:1] if kind == "in+out" else []
        elif kind == "read":
            self._read(operands)
        elif kind in ("copy", "move"):
            self._copy(operands, moved=kind == "move")
        else:
            self._plain(kind, operands)

    def _plain(self, kind: str, operands: list[Word]) -> None:
        """Operands that name no files."""
        settings = self._program.settings
        if kind == "key" and len(operands) == 1 and re.fullmatch(r"[\w-]+\.[\w.-]+", operands[0].text or ""):
            return
        if kind in ("none", "key"):
            if operands and not any(
                self._program.kinds.get(f, "").startswith("operands_with") for f in self._seen
            ):
                self._out.beyond.append("it does more with these arguments")
        elif kind == "plus":
            if any(not word.prefix.startswith("+") for word in operands):
                self._out.danger.append(str(settings.get("danger_why", "it changes something")))
        elif kind in ("text", "url"):
            for word in operands:
                self._checked(word)
                if kind == "url":
                    self._address(word)
        elif kind == "names":
            for word in operands:
                if word.text is None or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", word.text):
                    self._refuse("it sets what is no plain name, and a subscript is run")
                self._checked(word)
        else:
            self._refuse("it can run, read or write what its arguments say")

    def _address(self, word: Word) -> None:
        settings = self._program.settings
        rule = settings.get("opaque_operand")
        if rule and (word.text is None or re.search(rule, word.text)):
            self._refuse("an address that could do more")
        if "saves" in settings and not self._seen & set(str(settings["saves"]).split()):
            name = re.sub(r"[?#].*", "", word.shown.partition("://")[2] or word.shown).partition("/")[2]
            name = name.rpartition("/")[2] or "index.html"
            self._out.writes.append(unknown() if word.text is None else literal(name))

    def _read(self, operands: list[Word]) -> None:
        self._out.reads += operands
        if self._recursive:
            self._out.whole += operands or [self._here]

    def _copy(self, operands: list[Word], *, moved: bool) -> None:
        out = self._out
        given = list(out.writes)
        sources = operands if given else operands[:-1]
        targets = given or operands[-1:]
        out.reads += sources
        out.whole += sources if self._recursive else []
        out.writes += (sources if moved else []) + ([] if given else targets)
        out.writes += [_inside(target, source) for target in targets for source in sources]
        if moved or self._recursive or self._seen & {"-P", "-d", "--no-dereference"}:
            direct = bool(self._seen & {"-T", "--no-target-directory"})
            out.carried += sources
            out.spread += [
                (source, target, direct or is_content(source.shown)) for target in targets for source in sources
            ]


def is_content(path: str) -> bool:
    """Whether a path names what is in a directory, and not the directory."""
    return path in (".", "..") or path.rstrip("/").endswith(("/.", "/.."))


def _inside(directory: Word, source: Word) -> Word:
    """What a copy of ``source`` is called when its target is a directory."""
    if directory.text is None or source.text is None or source.pattern or directory.pattern:
        return unknown()
    name = source.text.rstrip("/").rpartition("/")[2]
    path = f"{directory.text.rstrip('/')}/{name}"
    return Word(path, path, path, tilde=directory.tilde)


def _backup(edited: Word, suffix: Word) -> Word:
    """What the copy of a file is called that is edited in place: ``*`` stands for its name."""
    if edited.text is None or suffix.text is None or edited.pattern:
        return unknown()
    folder, slash, name = edited.text.rpartition("/")
    kept = suffix.text.replace("*", name) if "*" in suffix.text else name + suffix.text
    path = folder + slash + kept
    return Word(path, path, path, tilde=edited.tilde)
