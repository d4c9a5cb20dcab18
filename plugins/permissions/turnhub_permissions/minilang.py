"""Pure: whether a text for sed or awk only works on what it is given. What is not surely so is opaque."""

from __future__ import annotations

import re
from typing import Final

from turnhub_permissions.programs import Effects
from turnhub_permissions.words import Word


def _pattern(delimiter: str) -> str:
    """A regular expression of sed up to its delimiter. In brackets there is neither delimiter nor backslash: seds
    differ about them."""
    d = re.escape(delimiter)
    named = "" if delimiter == ":" else r"|\[:[a-z]+:\]"
    return rf"(?:\\.|\[\^?\]?(?:[^\]\[\\\n{d}]{named})*\]|[^\\\[\n{d}])*"


def _substitution(delimiter: str) -> str:
    d = re.escape(delimiter)
    text = rf"(?:\\.|[^\\\n{d}])*"
    return rf"(?:s{d}{_pattern(delimiter)}{d}{text}{d}[gpiI0-9]*|y{d}{text}{d}{text}{d})"


_ADDRESS: Final = rf"(?:\d+(?:~\d+)?|\$|/{_pattern('/')}/I?)"
_ADDRESSES: Final = rf"(?:{_ADDRESS}(?:[ \t]*,[ \t]*(?:{_ADDRESS}|[+~]\d+))?[ \t]*(?:![ \t]*)?)?"
_COMMAND: Final = rf"(?:[pdnNDPgGhHx=l]|[qQ]\d*|{'|'.join(map(_substitution, '/|#,@:!+'))})"
_UNIT: Final = rf"(?:{_ADDRESSES}{_COMMAND}[ \t]*(?=[;\n}}]|$)|{_ADDRESSES}\{{|\}})"
_SED: Final = re.compile(rf"[ \t;\n]*(?:{_UNIT}[ \t;\n]*)*")
_AWK_WORDS: Final = re.compile(
    r"system|getline|ENVIRON|PROCINFO|ARGV|ARGC|FUNCTAB|SYMTAB|extension|@|(?<!\|)\|(?!\|)|/inet"
)


def _masked(text: str) -> str:
    """A script of awk without what stands in its texts and regular expressions; as it is where awks could read it
    differently."""
    if "\\\n" in text:
        return text
    out, before, at = "", "\n", 0
    while at < len(text):
        char = text[at]
        if char == "#":
            at = len(text) if (end := text.find("\n", at)) < 0 else end
            continue
        if char == '"' or (char == "/" and before in _BEFORE_REGEX):
            found = (_AWK_TEXT if char == '"' else _AWK_REGEX).match(text, at)
            if found is None:
                return text
            out, at, before = out + char * 2, found.end(), char
            continue
        out += char
        before = char if char not in " \t" else before
        at += 1
    return out


_BEFORE_REGEX: Final = frozenset("(,{};!~&|\n")
_AWK_TEXT: Final = re.compile(r'"(?:\\.|[^"\\\n])*"')
_AWK_REGEX: Final = re.compile(r"/(?:\\.|\[\^?[^\]\[\\/\n]+\]|[^/\\\[\n])+/")


def script_effects(kind: str, word: Word, out: Effects) -> None:
    """Note in ``out`` what the script ``word`` of language ``kind`` could do beyond its input and output."""
    text = word.text
    if text is None:
        out.opaque.append("its script is only known when it runs")
    elif kind == "sed":
        if len(text) > _LONGEST or not _SED.fullmatch(text):
            out.opaque.append("its script may read, write or run something")
    elif _AWK_WORDS.search(bare := _masked(text)) or ">" in bare.partition("print")[2]:
        out.opaque.append("its script may read, write or run something")


_LONGEST: Final = 400  # what is longer is looked at by a person, and by no regular expression
