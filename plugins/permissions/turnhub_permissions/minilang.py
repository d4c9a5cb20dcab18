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
_ONE: Final = rf"[ \t]*(?:{_ADDRESSES}{_COMMAND}[ \t]*)?"
_SED: Final = re.compile(rf"{_ONE}(?:[;\n]{_ONE})*")
_AWK_WORDS: Final = re.compile(
    r"system|getline|ENVIRON|PROCINFO|ARGV|ARGC|FUNCTAB|SYMTAB|extension|@|(?<!\|)\|(?!\|)|/inet"
)


def script_effects(kind: str, word: Word, out: Effects) -> None:
    """Note in ``out`` what the script ``word`` of language ``kind`` could do beyond its input and output."""
    text = word.text
    if text is None:
        out.opaque.append("its script is only known when it runs")
    elif kind == "sed":
        if len(text) > _LONGEST or not _SED.fullmatch(text):
            out.opaque.append("its script may read, write or run something")
    elif _AWK_WORDS.search(text) or ">" in text.partition("print")[2]:
        out.opaque.append("its script may read, write or run something")


_LONGEST: Final = 400  # what is longer is looked at by a person, and by no regular expression
