"""Pure: reads shell scripts by tree-sitter's grammar of bash, and trusts it with nothing.

Only forms that are known here are read; whatever else the grammar finds makes the script opaque, and so does
everything in which shells (or this grammar and a shell) could differ: control characters, carriage returns,
comments that begin inside a word, here-documents whose end is not where the grammar puts it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Final

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from turnhub_permissions.pieces import WORD_LIKE, WORDS, covered
from turnhub_permissions.script import Call, Redirect, Script
from turnhub_permissions.wordreading import SAFE_ARITHMETIC, WordReader
from turnhub_permissions.words import Word, literal, unknown

MOST_BYTES: Final = 32_768
_MOST_DEPTH: Final = 60
_PLAIN_TEXT: Final = """
program list compound_statement subshell do_group if_statement elif_clause else_clause negated_command
command_substitution process_substitution
"""
_TESTS_TEXT: Final = "-a -b -c -d -e -f -g -h -k -n -p -r -s -u -w -x -z -L -N -O -S -G -nt -ot -ef"
_MARKS_TEXT: Final = "; & && || ( ) { } do done if then fi elif else ! $( ` <( >("
_MARKS: Final = frozenset((*_MARKS_TEXT.split(), "\n"))
_PLAIN: Final = frozenset(_PLAIN_TEXT.split())
_TESTS: Final = frozenset(_TESTS_TEXT.split())
_NUMBER_TESTS: Final = frozenset(("-eq", "-ne", "-lt", "-le", "-gt", "-ge"))
_MOST_WORDS: Final = 1000
_MOST_READ: Final = 100  # of a command that has too many
_MOST_ROUNDS: Final = 40
_PLAIN_VALUE: Final = re.compile(r"[\w./@:+,=-]+")
_INNER_GAP: Final = re.compile(rb"(?=.*[ \t])(?:[ \t]|\\\n)+", re.DOTALL)
_LOOPS: Final = frozenset(("while_statement", "for_statement"))
_CASES: Final = frozenset(("case_statement", "case_item"))
_COMPARISONS: Final = frozenset(("==", "!=", "=", "=~", "<", ">", "&&", "||", "!", "(", ")"))
_TEST_NODES: Final = frozenset(("binary_expression", "unary_expression", "parenthesized_expression"))
_OUTPUT: Final = frozenset((">", ">>", "&>", "&>>", ">|", "<>"))


class Reader:
    """Reads scripts. Not for several threads at once."""

    def __init__(self) -> None:
        self._parser = Parser(Language(tree_sitter_bash.language()))

    def read(self, command: str, home: str | None = None) -> Script:
        """What ``command`` would run. ``home``: what HOME is worth, as long as the command leaves it alone."""
        if reason := _unreadable(command):
            return Script((), (reason,))
        source = command.encode()
        root = self._parser.parse(source).root_node
        values = {"HOME": home} if home and not re.search(r"\bHOME\b(?=[+=]|\s)", command) else {}
        return _Walk(source, values).script(root)


def _unreadable(command: str) -> str | None:
    if not command.strip():
        return "there is no command"
    try:
        size = len(command.encode())
    except UnicodeEncodeError:
        return "it holds half a character"
    if size > MOST_BYTES:
        return f"it is longer than {MOST_BYTES} bytes"
    for char in command:
        if char in "\n\t" or " " <= char <= "~":
            continue
        if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"):
            return f"it holds the character {char!a}, which is not what it looks like"
    return None


class _Walk(WordReader):
    def __init__(self, source: bytes, values: Mapping[str, str]) -> None:
        super().__init__(source, values)
        self._calls: list[Call] = []
        self._functions: tuple[str, ...] = ()
        self._repeated = self._spawned = False
        self._depth = self._rounds = 0

    def script(self, root: Node) -> Script:
        if root.has_error:
            self._opaque.append("it is no shell command that can be read")
        if not covered(root, self._source):
            self._opaque.append("its words cannot be told apart")
        self._visit(root, fed=False)
        return Script(tuple(self._calls), tuple(dict.fromkeys(self._opaque)), frozenset(self._variables))

    def _visit(self, node: Node, *, fed: bool) -> None:
        self._depth += 1
        try:
            if self._depth > _MOST_DEPTH:
                self._refuse("it is nested too deeply")
            elif node.is_error or node.is_missing:
                self._refuse("it is no shell command that can be read")
                self._each(node, fed=fed)
            else:
                self._known(node, fed=fed)
        finally:
            self._depth -= 1

    def _each(self, node: Node, *, fed: bool) -> None:
        for child in node.named_children:
            self._visit(child, fed=fed)

    def _known(self, node: Node, *, fed: bool) -> None:
        kind = node.type
        if kind in _PLAIN:
            self._plain(node, fed=fed)
        elif kind in _LOOPS or kind in _CASES:
            self._block(node, fed=fed, repeated=kind in _LOOPS)
        elif kind == "pipeline":
            self._pipeline(node, fed=fed)
        elif kind == "redirected_statement":
            self._redirected(node, fed=fed)
        elif kind == "command":
            self._command(node, (), fed=fed)
        elif kind in ("variable_assignment", "variable_assignments"):
            self._call((), self._assignments(node), (), fed=fed)
        elif kind in ("declaration_command", "unset_command"):
            self._declaration(node)
        elif kind == "test_command":
            self._test(node)
        elif kind == "function_definition":
            self._function(node, fed=fed)
        elif kind == "comment":
            self._comment(node)
        elif kind in WORDS:
            self._word(node)
        elif kind != "variable_name":
            self._refuse(f"it holds a {kind.replace('_', ' ')}")
            self._each(node, fed=fed)

    def _plain(self, node: Node, *, fed: bool) -> None:
        text = self._text(node)
        for child in node.children:
            if not child.is_named and child.type not in _MARKS and text[:2] != "((":
                self._refuse(f"{child.type!r} in an odd place")
        if node.type == "compound_statement" and text.startswith("(("):
            if not SAFE_ARITHMETIC.fullmatch(text):
                self._refuse("arithmetic with names can run commands")
            return
        if node.type == "compound_statement" and text[1:2] not in (" ", "\t", "\n"):
            self._refuse("a brace inside a word")
        if node.type == "negated_command" and text[1:2] not in (" ", "\t", "("):
            self._refuse("an exclamation mark inside a word")
        if node.type == "command_substitution" and text.startswith("`") and "\\" in text:
            self._refuse("backslashes between backquotes")
        spawned, self._spawned = self._spawned, self._spawned or b"&" in self._separators(node)
        self._each(node, fed=fed)
        self._spawned = spawned

    def _separators(self, node: Node) -> list[bytes]:
        return [child.text or b"" for child in node.children if not child.is_named]

    def _block(self, node: Node, *, fed: bool, repeated: bool) -> None:
        before, self._repeated = self._repeated, self._repeated or repeated
        if node.type == "for_statement":
            names = tuple(
                (self._text(one), unknown()) for one in node.named_children if one.type == "variable_name"
            )
            self._call((), names, (), fed=fed)
            if self._each_time(node, fed=fed):
                self._repeated = before
                return
        self._each(node, fed=fed)
        self._repeated = before

    def _each_time(self, node: Node, *, fed: bool) -> bool:
        """Read a loop over plain words once for each; false where it is none."""
        variable, body = node.child_by_field_name("variable"), node.child_by_field_name("body")
        if variable is None or body is None or self._text(node.children[0]) != "for":
            return False
        name = self._text(variable)
        values = [child for child in node.named_children if child not in (variable, body)]
        once = len(re.findall(rf"(?<![\w$]){name}(?!\w)", self._unbraced(name))) == 1
        words = [self._word(child) for child in values if child.type in WORDS]
        self._rounds += len(words)
        if not once or not words or len(words) < len(values) or self._rounds > _MOST_ROUNDS:
            return False
        if not all(word.pattern is None and _PLAIN_VALUE.fullmatch(word.text or "") for word in words):
            return False
        outer = self._values
        for word in words:
            self._values = {**outer, name: word.text or ""}
            self._visit(body, fed=fed)
        self._values = outer
        return True

    def _unbraced(self, name: str) -> str:
        return self._source.decode().replace("${" + name + "}", "")

    def _pipeline(self, node: Node, *, fed: bool) -> None:
        before, self._spawned = self._spawned, True
        for number, child in enumerate(node.named_children):
            self._visit(child, fed=fed or number > 0)
        self._spawned = before

    def _function(self, node: Node, *, fed: bool) -> None:
        name = node.child_by_field_name("name")
        body = node.child_by_field_name("body")
        functions, repeated, values = self._functions, self._repeated, self._values
        self._values = {key: value for key, value in values.items() if key == "HOME"}
        self._functions += (self._text(name) if name else "",)
        self._repeated = True
        for child in node.named_children:
            if child != name:
                self._visit(child, fed=True)  # by whoever calls it
        if body is None:
            self._refuse("a function without a body")
        self._functions, self._repeated, self._values = functions, repeated, values

    def _comment(self, node: Node) -> None:
        if self._before(node) not in b" \t\n;&|()":
            self._refuse("a comment that begins inside a word")

    def _redirected(self, node: Node, *, fed: bool) -> None:
        redirects: list[Redirect] = []
        body: Node | None = None
        rest: list[tuple[Node, bool]] = []
        for child in node.named_children:
            if child.type == "heredoc_redirect":
                fed = True
                rest += self._heredoc(child, redirects)
            elif child.type in ("file_redirect", "herestring_redirect"):
                fed = self._redirect(child, redirects) or fed
            else:
                if body is not None:
                    self._refuse("a redirection of several commands")
                body = child
        if body is not None and body.type == "command":
            self._command(body, tuple(redirects), fed=fed)
        else:
            if body is not None:
                self._visit(body, fed=fed)
            if redirects:  # after the body: what changes its directory may stand there, in `cd x && ls > y` too
                self._call((), (), tuple(redirects), fed=fed)
        for other, piped in rest:
            self._visit(other, fed=piped)

    def _redirect(self, node: Node, redirects: list[Redirect]) -> bool:
        """Note a redirection; whether it is one of the input."""
        if node.type == "herestring_redirect":
            for child in node.named_children:
                if child.type in WORDS:
                    self._word(child)
                elif child.type != "file_descriptor":
                    self._refuse("a here-string that cannot be read")
            return True
        if node.children[0].type == "file_descriptor" and self._before(node) not in b" \t\n;&|(":
            self._refuse("a number that may belong to a word")
        operator = next((child.type for child in node.children if not child.is_named), "")
        targets = [self._word(child) for child in node.named_children if child.type != "file_descriptor"]
        if len(targets) > 1:
            self._refuse("words behind a redirection")
        if operator in ("<&", ">&", "<&-", ">&-") and all(
            word.text is not None and re.fullmatch(r"\d+-?|-", word.text) for word in targets
        ):
            return operator.startswith("<")
        writes = operator in _OUTPUT or operator == ">&"
        if not targets or not (writes or operator == "<"):
            self._refuse("a redirection that cannot be read")
        redirects += [Redirect(word, writes) for word in targets]
        return operator in ("<", "<>")

    def _before(self, node: Node) -> bytes:
        return self._source[max(node.start_byte - 1, 0) : node.start_byte]

    def _heredoc(self, node: Node, redirects: list[Redirect]) -> list[tuple[Node, bool]]:
        """Check a here-document; what follows it on its first line."""
        found = {child.type: child for child in node.children}
        start, body, end = (found.get(f"heredoc_{name}") for name in ("start", "body", "end"))
        if start is None or end is None:
            self._refuse("a here-document without an end")
            return []
        raw = self._text(start)
        quoted = raw[:1] in ("'", '"')
        delimiter = raw[1:-1] if quoted else raw
        if not re.fullmatch(r"\w+", delimiter):
            self._refuse("a here-document with an odd delimiter")
        text = self._text(body) if body is not None else ""
        strip = "<<-" in found
        lines = text.split("\n")
        close = self._source[: end.end_byte].decode().rpartition("\n")[2]
        after = self._source[end.end_byte : end.end_byte + 1]
        if (close.lstrip("\t") if strip else close) != delimiter or after not in (b"", b"\n"):
            self._refuse("a here-document that ends in an odd place")
        if any((line.lstrip("\t") if strip else line) == delimiter for line in lines):
            self._refuse("a here-document that ends twice")
        if not quoted and re.search(r"`|\$[({\[]|\\", text):
            self._refuse("commands inside a here-document")
        if not quoted:
            self._variables.update(re.findall(r"\$(\w+)", text))
        rest: list[tuple[Node, bool]] = []
        for child in node.named_children:
            if child.type in ("heredoc_start", "heredoc_body", "heredoc_end", "file_descriptor"):
                continue
            if child.type in ("file_redirect", "herestring_redirect"):
                self._redirect(child, redirects)
            elif child.type in ("pipeline", "list", "command", "redirected_statement"):
                rest.append((child, "|" in self._separators_before(node, child)))
            else:
                self._refuse("words behind a here-document")
        return rest

    def _separators_before(self, node: Node, child: Node) -> str:
        begun = next(iter(node.children)).end_byte
        return "|" if b"|" in self._source[begun : child.start_byte] or child.type == "pipeline" else ""

    def _command(self, node: Node, redirects: tuple[Redirect, ...], *, fed: bool) -> None:
        assignments: list[tuple[str, Word]] = []
        words: list[Word] = []
        mine = list(redirects)
        end = -1
        children = node.children
        if len(children) > _MOST_WORDS:
            self._refuse("it has too many words")
            children = children[:_MOST_READ]
        for child in children:
            gap = self._source[end : child.start_byte] if end >= 0 else b" "
            if not _INNER_GAP.fullmatch(gap):
                self._refuse("its words cannot be told apart")
            end = child.end_byte if child.type in WORD_LIKE else -1
            if child.type == "variable_assignment":
                assignments += self._assignments(child)
            elif child.type == "command_name":
                words += [self._word(one) for one in child.named_children] or [self._odd("no name")]
            elif child.type in ("file_redirect", "herestring_redirect"):
                fed = self._redirect(child, mine) or fed
            elif child.type in WORDS:
                words.append(self._word(child))
            else:
                words.append(self._odd(f"{child.type} among its words"))
        self._call(tuple(words), tuple(assignments), tuple(mine), fed=fed)

    def _odd(self, why: str) -> Word:
        self._refuse(why)
        return unknown()

    def _call(
        self,
        words: tuple[Word, ...],
        assignments: tuple[tuple[str, Word], ...],
        redirects: tuple[Redirect, ...],
        *,
        fed: bool,
    ) -> None:
        self._calls.append(
            Call(words, assignments, redirects, fed, self._repeated, self._spawned, self._functions)
        )

    def _assignments(self, node: Node) -> tuple[tuple[str, Word], ...]:
        found: list[tuple[str, Word]] = []
        for one in node.named_children if node.type == "variable_assignments" else [node]:
            name = one.child_by_field_name("name")
            value = one.child_by_field_name("value")
            if one.type != "variable_assignment" or name is None or name.type != "variable_name":
                self._refuse("an assignment that cannot be read")
                self._each(one, fed=False)
                continue
            if value is not None and value.type not in WORDS:
                self._refuse("an assignment of several values")
                self._each(value, fed=False)
            empty = literal("") if value is None else unknown()
            found.append((self._text(name), self._word(value) if value and value.type in WORDS else empty))
        return tuple(found)

    def _declaration(self, node: Node) -> None:
        names: list[tuple[str, Word]] = []
        for child in node.named_children:
            if child.type == "variable_assignment":
                names += self._assignments(child)
            elif child.type == "variable_name":
                names.append((self._text(child), unknown()))
            elif child.type != "word" or self._text(child) not in ("-x", "-r", "-g"):
                self._refuse("a declaration that cannot be read")
                self._visit(child, fed=False)
        shows = not names and all(child.type == "word" for child in node.named_children)
        words = (literal(self._text(node.children[0])),) if shows else ()
        self._call(words, tuple(names), (), fed=False)

    def _test(self, node: Node) -> None:
        for child in _leaves(node):
            text = self._text(child)
            if child.type in WORDS:
                self._word(child)
            elif child.type == "test_operator":
                if text in _NUMBER_TESTS and self._of_numbers(child):
                    continue
                if text not in _TESTS:
                    self._refuse(f"the test {text}, which can run commands")
            elif text not in _COMPARISONS and text not in ("[[", "]]", "[", "]"):
                self._refuse(f"{text!r} in a test")

    def _of_numbers(self, operator: Node) -> bool:
        """Whether what a test compares are numbers, and not texts that a shell would calculate with."""
        sides = [operator.prev_sibling, operator.next_sibling]
        return all(side is not None and side.type in WORDS and self._is_number(side) for side in sides)

    def _is_number(self, node: Node) -> bool:
        word = self._word(node)
        return word.number or re.fullmatch(r"-?\d+", word.text or "") is not None

    def _visit_inside(self, node: Node) -> None:
        """The commands of a substitution: they run by themselves."""
        before, self._spawned = self._spawned, True
        self._visit(node, fed=False)
        self._spawned = before


def _leaves(node: Node) -> Iterator[Node]:
    for child in node.children:
        if child.type in _TEST_NODES:
            yield from _leaves(child)
        else:
            yield child
