"""Pure: the words of a script, as a grammar's nodes, read with what the shell does to them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from tree_sitter import Node

from turnhub_permissions.words import (
    Opaque,
    Part,
    Word,
    ansi_c,
    bare_parts,
    double_quoted,
    joined,
    literal,
    unknown,
)

_NEW_WORDS: Final = frozenset(("expansion", "simple_expansion", "command_substitution", "arithmetic_expansion"))
_SAFE_EXPANSION: Final = re.compile(r"\$\{#?\w+\}|\$\{\w+(?::?[-+]|%%?|##?)[\w./*@:-]*\}")
SAFE_ARITHMETIC: Final = re.compile(r"[\s0-9+\-*/%<>=!&|^~?:,()]*")


_NAME: Final = re.compile(r"\$?\b([a-z_][a-z0-9_]*)\b")
_MOST_NUMBERS: Final = 16
_SIMPLE: Final = re.compile(r"[\w./@:+,=%-]+", re.ASCII)  # what nothing happens to
_COUNTS: Final = re.compile(r"\$[?#]|\$\{[?#]\}|\$\{#\w+\}")
_ARITHMETIC: Final = re.compile(r"\$\(\([\s\w+\-*/%<>=!&|^~?:,$]*\)\)")


def _is_numeric(name: str, source: str) -> bool:
    if not re.fullmatch(r"[a-z_][a-z0-9_]*", name):
        return False
    plain = _ARITHMETIC.sub("0", source)
    bare = len(re.findall(rf"(?<![\w$]){name}(?!\w)", plain)) - len(re.findall(rf"\$\{{{name}\}}", plain))
    given = len(re.findall(rf"(?:^|(?<=[\s;&|(])){name}=-?\d+(?=[\s;&|)]|$)", plain, re.MULTILINE))
    return bare == given > 0


class WordReader:
    """Reads words out of ``source``. ``values``: what is known of variables. What cannot be told is noted in
    ``opaque``, the variables that are used in ``variables``."""

    def __init__(self, source: bytes, values: Mapping[str, str]) -> None:
        self._source = source
        self._values = values
        self._opaque: list[str] = []
        self._variables: set[str] = set()
        self._numbers: dict[str, bool] = {}

    def _text(self, node: Node) -> str:
        return self._source[node.start_byte : node.end_byte].decode()

    def _refuse(self, why: str) -> None:
        self._opaque.append(why)

    def _visit_inside(self, node: Node) -> None:
        """Read the commands of a substitution."""
        raise NotImplementedError

    def _word(self, node: Node) -> Word:
        if node.type == "word" and _SIMPLE.fullmatch(text := self._text(node)):
            return literal(text)
        try:
            return joined(self._parts(node))
        except Opaque as odd:
            self._refuse(str(odd))
            return unknown()

    def _parts(self, node: Node) -> list[Part]:
        kind = node.type
        if kind == "process_substitution":
            self._visit_inside(node)
            return [Part(None, False, feeds=True, stream=True)]
        if kind in _NEW_WORDS:
            return [self._expansion(node)]
        return self._written(node)

    def _written(self, node: Node) -> list[Part]:
        text = self._text(node)
        match node.type:
            case "word" | "number" | "extglob_pattern" | "regex":
                return bare_parts(text)
            case "raw_string":
                return [Part(text[1:-1], True)]
            case "ansi_c_string":
                return [Part(ansi_c(text), True)]
            case "string":
                return self._string(node)
            case "concatenation":
                return self._concatenation(node)
        if node.type != "brace_expression":
            self._refuse(f"a {node.type.replace('_', ' ')} in a word")
        return [Part(None, False)]

    def _concatenation(self, node: Node) -> list[Part]:
        parts: list[Part] = []
        at = node.start_byte
        for child in node.children:
            if child.start_byte != at:
                raise Opaque("a word with a gap")
            parts += self._parts(child)
            at = child.end_byte
        if at != node.end_byte:
            raise Opaque("a word with a gap")
        return parts

    def _string(self, node: Node) -> list[Part]:
        parts: list[Part] = []
        at, end = node.start_byte + 1, node.end_byte - 1
        if end < at or self._source[at - 1 : at] + self._source[end : end + 1] != b'""':
            raise Opaque("quotes that do not match")
        for child in node.named_children:
            if child.type == "string_content":
                continue
            if child.type not in _NEW_WORDS:
                raise Opaque(f"a {child.type} between quotes")
            parts.append(Part(double_quoted(self._source[at : child.start_byte].decode()), True))
            part = self._expansion(child)
            several = "@" in self._text(child)
            parts.append(Part(part.text, not several, part.feeds))
            at = child.end_byte
        parts.append(Part(double_quoted(self._source[at:end].decode()), True))
        return parts

    def _number(self, match: re.Match[str]) -> str:
        return "0" if self._numeric(match[1]) else match[0]

    def _numeric(self, name: str) -> bool:
        """Whether a variable is a number wherever the script sets it, which it does somewhere."""
        if name not in self._numbers:
            self._numbers[name] = len(self._numbers) < _MOST_NUMBERS and _is_numeric(name, self._source.decode())
        return self._numbers[name]

    def _expansion(self, node: Node) -> Part:
        text = self._text(node)
        self._variables.update(self._text(one) for one in node.named_children if one.type == "variable_name")
        if node.type == "command_substitution":
            self._visit_inside(node)
            return Part(None, False, feeds=True)
        if node.type == "arithmetic_expansion":
            inner = text.lstrip("$").strip("()[]")
            if not SAFE_ARITHMETIC.fullmatch(_NAME.sub(self._number, inner)):
                self._refuse("arithmetic with names can run commands")
            else:
                return Part(None, True, number=True)
        elif _COUNTS.fullmatch(text) or self._numeric(text.strip("${}")):
            return Part(None, True, number=True)
        elif node.type == "expansion" and not _SAFE_EXPANSION.fullmatch(text):
            self._refuse("an expansion that can run commands")
        for child in node.named_children:
            if child.type in ("command_substitution", "process_substitution"):
                self._visit_inside(child)
        value = self._values.get(text.strip("${}"))
        return Part(None, False) if value is None or text.startswith("$(") else Part(value, True)
