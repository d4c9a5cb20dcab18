"""Pure: whether the pieces that a grammar found in a script are those that a shell would find."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tree_sitter import Node

_WORDS_TEXT: Final = """
word raw_string ansi_c_string string concatenation number simple_expansion expansion command_substitution
process_substitution arithmetic_expansion brace_expression extglob_pattern regex
"""
WORDS: Final = frozenset(_WORDS_TEXT.split())
WORD_LIKE: Final = frozenset((*WORDS, "command_name", "variable_assignment"))
_TOUCHY: Final = frozenset((*WORD_LIKE, "file_descriptor", "heredoc_start", "variable_name", "test_operator"))
_NEW_SCRIPTS: Final = frozenset(("command_substitution", "process_substitution", "expansion"))
_BRACES: Final = frozenset(("{", "}", "!", "[", "]", "[[", "]]"))
_GROUPS: Final = frozenset(("compound_statement", "negated_command", "test_command"))
_TEXTS: Final = frozenset(("string", "heredoc_body", "raw_string", "ansi_c_string", "comment"))
_GAP: Final = re.compile(rb"(?:[ \t\n]|\\\n)*")
_JOINED: Final = re.compile(rb"(?:\\\n)+")  # a line that goes on without a blank: a word may go on too


def covered(root: Node, source: bytes) -> bool:
    """Whether the pieces that the grammar found are those of a shell: nothing but blanks lies between them, two
    that touch are one word or no words, and file descriptors are numbers."""
    open_nodes: list[Node] = [root]
    while open_nodes:
        before: tuple[Node, int] | None = None
        for leaf, word in _pieces(open_nodes.pop()):
            if before is not None:
                gap = source[before[0].end_byte : leaf.start_byte]
                if not _GAP.fullmatch(gap) or _JOINED.fullmatch(gap):
                    return False
                if not gap and word and before[1] and word != before[1]:
                    return False
            if leaf.type == "file_descriptor" and not source[leaf.start_byte : leaf.end_byte].isdigit():
                return False
            before = leaf, word
            if leaf.type in _TEXTS:
                open_nodes += leaf.named_children
    return _GAP.fullmatch(source[: root.start_byte]) is not None and not source[root.end_byte :].strip()


def _pieces(top: Node) -> Iterator[tuple[Node, int]]:
    """The leaves below a node, in order, texts between quotes as one; each with a number for the word that it is
    part of, 0 where it is part of none."""
    nodes = [(top, 0)]
    while nodes:
        node, word = nodes.pop()
        if node.type in _NEW_SCRIPTS:
            word = 0
        elif not word and (node.type in _TOUCHY or (not node.is_named and _is_word(node))):
            word = node.id
        if node.child_count == 0 or (node.type in _TEXTS and node != top):
            yield node, word
        else:
            nodes += [(child, word) for child in reversed(node.children)]


def _is_word(node: Node) -> bool:
    """Whether a token without a name is a word to a shell: ``then``, or a brace that begins a group."""
    parent = node.parent.type if node.parent else ""
    return node.type.isalpha() or (node.type in _BRACES and parent in _GROUPS)
