"""Pure: whether a text for sed or awk only works on what it is given. What is not surely so is opaque."""

from __future__ import annotations

import re
from typing import Final

from turnhub_permissions.programs import Effects
from turnhub_permissions.words import Word


def _substitution(delimiter: str) -> str:
    d = re.escape(delimiter)
    body = rf"(?:\\.|[^\\\n{d}])*"
    return rf"(?:s{d}{body}{d}{body}{d}[gpiI0-9]*|y{d}{body}{d}{body}{d})"


_REGEX: Final = r"/(?:\\.|[^\\\n/])*/I?"
_ADDRESS: Final = rf"(?:\d+(?:~\d+)?|\$|{_REGEX})"
_ADDRESSES: Final = rf"(?:{_ADDRESS}(?:\s*,\s*(?:{_ADDRESS}|[+~]\d+))?\s*!?\s*)?"
_COMMAND: Final = rf"(?:[pdnNDPgGhHx=l]|[qQ]\d*|{'|'.join(map(_substitution, '/|#,@:!+'))})"
_SED: Final = re.compile(rf"\s*(?:{_ADDRESSES}{_COMMAND})?(?:\s*[;\n]\s*(?:{_ADDRESSES}{_COMMAND})?)*\s*")
_AWK_WORDS: Final = re.compile(
    r"system|getline|ENVIRON|PROCINFO|ARGV|ARGC|FUNCTAB|SYMTAB|extension|@|(?<!\|)\|(?!\|)|/inet"
)
_AWK_OUTPUT: Final = re.compile(r"print[^;}]*>")


def script_effects(kind: str, word: Word, out: Effects) -> None:
    """Note in ``out`` what the script ``word`` of language ``kind`` could do beyond its input and output."""
    text = word.text
    if text is None:
        out.opaque.append("its script is only known when it runs")
    elif kind == "sed":
        if len(text) > _LONGEST or not _SED.fullmatch(text):
            out.opaque.append("its script may read, write or run something")
    elif _AWK_WORDS.search(text) or _AWK_OUTPUT.search(text):
        out.opaque.append("its script may read, write or run something")


_LONGEST: Final = 400  # what is longer is looked at by a person, and by no regular expression
