"""Pure: rules as Claude Code has them: ``Bash(git status)``, ``Read(docs/**)``, ``mcp__server__tool``."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Final, Literal

from msgspec import Struct

from turnhub_permissions.acts import Act
from turnhub_permissions.paths import Ground, PathPattern, path_pattern

Effect = Literal["allow", "deny", "ask"]
READ_TOOLS: Final = frozenset(("Read", "Grep", "Glob", "LS", "NotebookRead"))
WRITE_TOOLS: Final = frozenset(("Edit", "MultiEdit", "Write", "NotebookEdit"))
_KNOWN: Final = (*sorted(READ_TOOLS | WRITE_TOOLS), "Bash", "WebFetch", "WebSearch", "Task", "Agent", "Skill")
_NAMED: Final = frozenset(("Skill", "SlashCommand", "Task", "Agent", "WebSearch"))
_RULE: Final = re.compile(r"(?P<tool>\*|[A-Za-z][\w.*-]*)(?:\((?P<spec>.*)\))?", re.DOTALL)
_OPERATORS: Final = re.compile(r"&&|\|\||[|;&\n<>`]|\$\(")
_SEP: Final = "\x1f"
_LONG: Final = {"--recursive": "r", "--force": "f", "--delete": "d", "--all": "a", "--no-verify": "n"}


class RuleError(ValueError):
    """A rule that is none; the sentence says what is wrong."""


class CommandPattern(Struct, frozen=True):
    """A pattern of commands. ``words`` over one command's words; ``whole`` over the text of the call, where
    the rule itself has operators; ``literal``: it has no wildcards, so it is that very text; ``first``: its first
    word; ``loose`` and ``flags``: the pattern without its flags, and these."""

    words: re.Pattern[str]
    whole: re.Pattern[str] | None
    literal: str | None
    first: str | None
    loose: re.Pattern[str] | None
    flags: frozenset[str]

    def allows(self, words: Sequence[str]) -> bool:
        """Whether this one command is meant."""
        return self.whole is None and self.words.fullmatch(_SEP.join(words)) is not None

    def forbids(self, words: Sequence[str]) -> bool:
        """Whether this one command is meant, wherever its program lies and in whatever order its flags are."""
        if self.whole is not None:
            return False
        base = (words[0].rpartition("/")[2], *words[1:])
        if self.words.fullmatch(_SEP.join(words)) or self.words.fullmatch(_SEP.join(base)):
            return True
        if self.loose is None:
            return False
        given = {flag for word in base for flag in _flags_in(word)}
        rest = [word for word in base if not word.startswith("-")]
        return self.flags <= given and self.loose.fullmatch(_SEP.join(rest)) is not None


def _flags_in(word: str) -> set[str]:
    """The flags that a word holds: long ones by their names, short ones by their letters, both where they mean the
    same."""
    if word.startswith("--") and len(word) > 2:
        name = word.partition("=")[0]
        return {name, *_LONG.get(name, "")}
    letters = word[1:] if re.fullmatch(r"-[A-Za-z]+", word) else ""
    return {*letters, *("r" if letter == "R" else letter for letter in letters)}


class Rule(Struct, frozen=True):
    """A rule. ``text`` as written; ``origin``: the policy that holds it; ``reads``: it is
    about commands that only read."""

    text: str
    tool: str
    origin: str = ""
    command: CommandPattern | None = None
    path: PathPattern | None = None
    domain: str | None = None
    name: re.Pattern[str] | None = None
    reads: bool = False

    def allows(self, act: Act, ground: Ground) -> bool:
        """Whether this rule, as one that allows, covers an act."""
        if self.tool == "*":
            return True
        if act.kind == "run":
            if self.reads and act.beyond:
                return False
            return self.tool == "Bash" and (self.command is None or self.command.allows(act.words))
        if act.kind in ("read", "write"):
            if not self._covers(act):
                return False
            return self.path is None or (
                bool(act.places) and all(self.path.allows(one, ground) for one in act.places)
            )
        return self._other(act)

    def forbids(self, act: Act, ground: Ground) -> bool:
        """Whether this rule, as one that denies or asks, covers an act."""
        if self.tool == "*":
            return True
        if act.kind == "run":
            return self.tool == "Bash" and (self.command is None or self.command.forbids(act.words))
        if act.kind in ("read", "write"):
            if not self._reaches(act):
                return False
            return self.path is None or any(self.path.forbids(one, ground) for one in act.places)
        return self._other(act, subdomains=True)

    def _covers(self, act: Act) -> bool:
        if self.tool == act.name:
            return True
        if act.kind == "read":
            return self.tool == "Read"
        return self.tool == "Edit" or (self.tool == "Write" and act.name in ("Write", "shell"))

    def _reaches(self, act: Act) -> bool:
        return self._covers(act) or (act.kind == "write" and self.tool in WRITE_TOOLS and self.path is not None)

    def _other(self, act: Act, *, subdomains: bool = False) -> bool:
        if act.kind == "fetch":
            return self.tool == "WebFetch" and (
                self.domain is None or _hosts(self.domain, act.name, subdomains=subdomains)
            )
        if act.kind != "tool":
            return False
        if self.name is not None:
            return self.tool == act.name and self.name.fullmatch(act.words[0] if act.words else "") is not None
        return _tool_matches(self.tool, act.name)


def _tool_matches(pattern: str, name: str) -> bool:
    if pattern == name:
        return True
    if "*" not in pattern and pattern.startswith("mcp__") and pattern.count("__") == 1:
        return name.startswith(pattern + "__")
    return "*" in pattern and re.fullmatch(re.escape(pattern).replace(r"\*", ".*"), name) is not None


def _hosts(pattern: str, host: str, *, subdomains: bool) -> bool:
    if pattern.startswith("*."):
        return host.endswith(pattern[1:])
    return host == pattern or (subdomains and host.endswith("." + pattern))


def rule(text: str, effect: Effect, origin: str = "") -> Rule:
    """The rule that ``text`` is. Raises RuleError."""
    if not isinstance(text, str) or not (match := _RULE.fullmatch(text.strip())):
        raise RuleError("expected `Tool` or `Tool(what)`, with one pair of parentheses")
    tool, spec = match["tool"], match["spec"]
    if spec is None and (")" in text or "(" in text):
        raise RuleError("its parentheses do not match")
    _check_tool(tool, spec)
    if spec is None or (spec.strip() in ("*", ":*", "**") and tool not in _NAMED):
        return Rule(text, tool, origin)
    if not spec.strip():
        raise RuleError(f"nothing stands in the parentheses; for all of {tool} write `{tool}`")
    if tool == "Bash":
        return Rule(text, tool, origin, command=command_pattern(spec.strip(), effect))
    if tool in READ_TOOLS | WRITE_TOOLS:
        try:
            return Rule(text, tool, origin, path=path_pattern(spec.strip()))
        except (ValueError, re.error) as error:
            raise RuleError(str(error)) from None
    if tool == "WebFetch":
        return Rule(text, tool, origin, domain=_domain(spec.strip()))
    pattern = re.escape(spec.strip().removesuffix(":*")).replace(r"\*", ".*")
    return Rule(
        text, tool, origin, name=re.compile(pattern + ("(?: .*)?" if spec.endswith(":*") else ""), re.DOTALL)
    )


def _check_tool(tool: str, spec: str | None) -> None:
    close = [one for one in _KNOWN if one.casefold() == tool.casefold() and one != tool]
    if close:
        raise RuleError(f"there is no tool {tool!r}; did you mean {close[0]!r}?")
    if "*" in tool and tool != "*" and not tool.startswith("mcp__"):
        raise RuleError("a tool's name cannot hold `*`, but for `mcp__server__*` and `*` alone")
    if spec is not None and tool not in {*_KNOWN, *_NAMED}:
        near = get_close_matches(tool, _KNOWN, 1, 0.75)
        hint = f"; did you mean {near[0]!r}?" if near else f"; write `{tool}` for all of its calls"
        raise RuleError(f"{tool!r} takes nothing in parentheses{hint}")


def _domain(spec: str) -> str:
    name = spec.removeprefix("domain:").strip().casefold().rstrip(".")
    if not spec.startswith("domain:") or not re.fullmatch(r"(?:\*\.)?[\w-]+(?:\.[\w-]+)*|\[[0-9a-f:.]+\]", name):
        raise RuleError("expected `domain:` and a host name, as in `WebFetch(domain:example.com)`")
    return name


def command_pattern(spec: str, effect: Effect) -> CommandPattern:
    """The pattern of commands that ``spec`` is. Raises RuleError."""
    wild = "*" in spec
    if _OPERATORS.search(spec):
        if wild and effect == "allow":
            raise RuleError("a rule with `*` is about one command; write one rule for each command of this line")
        whole = re.compile(re.escape(spec).replace(r"\*", ".*").replace(r"\ ", r"\s+"), re.DOTALL)
        return CommandPattern(re.compile("(?!)"), whole, None if wild else spec, None, None, frozenset())
    try:
        tokens = shlex.split(spec.removesuffix(":*"))
    except ValueError as error:
        raise RuleError(f"its quotes do not match ({error})") from None
    if not tokens:
        raise RuleError("it names no command")
    if spec.endswith(":*"):
        tokens.append("*")
    first = None if "*" in tokens[0] else _program(tokens[0])
    tokens[0] = first or tokens[0]
    marks = [token for token in tokens[1:] if re.fullmatch(r"-[A-Za-z]+|--[a-z][a-z-]*", token)]
    flags = frozenset(_LONG.get(flag, flag) for token in marks for flag in _wanted(token))
    others = [token for number, token in enumerate(tokens) if not number or token not in marks]
    loose = _joined(others) if flags and effect != "allow" else None
    scripts = spec.endswith(":*") and len(tokens) > 2
    return CommandPattern(_joined(tokens, scripts=scripts), None, None if wild else spec, first, loose, flags)


def _wanted(token: str) -> set[str]:
    return {token} if token.startswith("--") else set(token[1:])


def _program(token: str) -> str:
    for directory in ("/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/"):
        if token.startswith(directory) and "/" not in token[len(directory) :]:
            return token[len(directory) :]
    return token


def _joined(tokens: Sequence[str], *, scripts: bool = False) -> re.Pattern[str]:
    """The pattern of these words. ``scripts``: the last one may go on behind a colon, as names of scripts do
    (``test:unit`` under ``npm run test:*``)."""
    ends = len(tokens) > 1 and tokens[-1] == "*"
    fixed = tokens[:-1] if ends else tokens
    body = _SEP.join(re.escape(token).replace(r"\*", ".*") for token in fixed)
    goes_on = f"(?::[^{_SEP}]*)?" if scripts else ""
    return re.compile(body + goes_on + (f"(?:{_SEP}.*)?" if ends else ""), re.DOTALL)
