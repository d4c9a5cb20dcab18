"""Pure: bundles put together to policies, and their rules found quickly."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hub import ConfigError, PolicyBundle
from turnhub_permissions.acts import Act
from turnhub_permissions.paths import Ground, heads
from turnhub_permissions.rules import READ_TOOLS, Effect, Rule, RuleError, rule

OWN: Final = "permissions"
EFFECTS: tuple[Effect, ...] = ("deny", "ask", "allow")


class Source(Struct, frozen=True):
    """Where policies come from: those of the configuration, in ``where``, and the bundles of plugins.
    A policy of the configuration that extends its own name extends the bundle of that name."""

    where: str
    configured: Mapping[str, PolicyBundle]
    offered: Mapping[str, PolicyBundle]
    givers: Mapping[str, str]

    @property
    def names(self) -> tuple[str, ...]:
        """All names of policies."""
        return tuple(sorted({*self.configured, *self.offered}))

    def find(self, name: str) -> PolicyBundle | None:
        """The policy of that name: the configuration's own before a plugin's."""
        return self.configured.get(name) or self.offered.get(name)


class Index(Struct, frozen=True):
    """Rules of one effect: those about commands by their first word, those about places by tool and the name with
    which they begin, the others by tool."""

    by_word: Mapping[str, tuple[Rule, ...]]
    any_word: tuple[Rule, ...]
    by_head: Mapping[tuple[str, str], tuple[Rule, ...]]
    by_tool: Mapping[str, tuple[Rule, ...]]
    patterns: tuple[Rule, ...]

    def about(self, act: Act, ground: Ground) -> Iterator[Rule]:
        """The rules that could be about an act."""
        if act.kind == "run":
            yield from self.by_word.get(act.words[0], ())
            if (base := act.words[0].rpartition("/")[2]) != act.words[0]:
                yield from self.by_word.get(base, ())
            yield from self.any_word
        elif act.kind in ("read", "write"):
            yield from self._of_places(act, ground)
        elif act.kind == "fetch":
            yield from self.by_tool.get("WebFetch", ())
        else:
            yield from self.by_tool.get(act.name, ())
            if act.name.startswith("mcp__"):
                yield from self.by_tool.get("__".join(act.name.split("__")[:2]), ())
        yield from self.patterns

    def _of_places(self, act: Act, ground: Ground) -> Iterator[Rule]:
        tools = ("Read",) if act.kind == "read" else ("Edit", "Write", "MultiEdit", "NotebookEdit")
        begins = heads(act.places, ground)
        for tool in dict.fromkeys((*tools, act.name)):
            yield from self.by_tool.get(tool, ())
            if begins is None:
                yield from (one for key, rules in self.by_head.items() if key[0] == tool for one in rules)
            else:
                for head in begins:
                    yield from self.by_head.get((tool, head), ())


class Policy(Struct, frozen=True):
    """A policy, ready to judge. ``rest``: what happens to what nothing allows; ``literals``: commands that are
    allowed by their very text; ``read_rules``: whether it says where may be read."""

    name: str
    deny: Index
    ask: Index
    allow: Index
    whole: tuple[Rule, ...]
    whole_ask: tuple[Rule, ...]
    literals: Mapping[str, Rule]
    rest: Rule | None
    read_rules: bool

    def first(self, effect: Effect, act: Act, ground: Ground) -> Rule | None:
        """The first rule of this effect that covers an act."""
        index: Index = getattr(self, effect)
        for one in index.about(act, ground):
            if one.allows(act, ground) if effect == "allow" else one.forbids(act, ground):
                return one
        return None


def flattened(source: Source, name: str, key: str) -> list[PolicyBundle]:
    """The bundles that make up a policy, those that are extended first. ``key``: where the name stands. Raises
    ConfigError for unknown names and for circles."""
    found: list[PolicyBundle] = []
    _collect(source, name, key, (), found)
    return found


def _collect(
    source: Source, name: str, key: str, path: tuple[tuple[str, bool], ...], found: list[PolicyBundle]
) -> None:
    own = bool(path) and path[-1] == (name, True)
    bundle = source.offered.get(name) if own else source.find(name)
    if bundle is None:
        known = ", ".join(source.names) or "there are none"
        raise ConfigError(f"{source.where}: {key}: expected the name of a policy ({known}), got {name!r}.")
    here = (name, not own and name in source.configured)
    if here in path:
        circle = " -> ".join((*(one for one, _ in path[path.index(here) :]), name))
        raise ConfigError(f"{source.where}: {key}: these policies extend each other in a circle: {circle}.")
    for base in bundle.extends:
        _collect(source, base, f"policies.{name}.extends", (*path, here), found)
    if bundle not in found:
        found.append(bundle)


def compiled(source: Source, name: str, key: str = "policy") -> Policy:
    """The policy ``name``. Raises ConfigError that names file, key and rule where something is wrong."""
    bundles = flattened(source, name, key)
    rules = {effect: list(_rules(source, bundles, effect)) for effect in EFFECTS}
    rest = next((one for one in rules["deny"] if one.text.strip() == "*"), None)
    deny = [one for one in rules["deny"] if one.text.strip() != "*"]
    literals = {one.command.literal: one for one in rules["allow"] if one.command and one.command.literal}
    return Policy(
        name=name,
        deny=_index(deny),
        ask=_index(rules["ask"]),
        allow=_index(rules["allow"]),
        whole=tuple(one for one in deny if one.command and one.command.whole),
        whole_ask=tuple(one for one in rules["ask"] if one.command and one.command.whole),
        literals=literals,
        rest=rest,
        read_rules=any(one.tool in READ_TOOLS or one.tool == "*" for one in rules["allow"]),
    )


def empty() -> Policy:
    """A policy without rules."""
    none = _index(())
    return Policy("", none, none, none, (), (), {}, None, read_rules=False)


def _rules(source: Source, bundles: Iterable[PolicyBundle], effect: Effect) -> Iterator[Rule]:
    for bundle in bundles:
        for number, text in enumerate(getattr(bundle, effect)):
            try:
                one = rule(text, effect, bundle.name)
                own = source.offered.get(bundle.name) is bundle and source.givers.get(bundle.name) == OWN
                yield replace(one, reads=own and one.tool == "Bash")
            except RuleError as error:
                where = source.where
                if source.configured.get(bundle.name) is not bundle:
                    where = f"plugin {source.givers.get(bundle.name, '?')!r}"
                key = f"policies.{bundle.name}.{effect}[{number}]"
                raise ConfigError(f"{where}: {key}: {text!r} is no rule: {error}.") from None


def _index(rules: Iterable[Rule]) -> Index:
    by_word: dict[str, list[Rule]] = {}
    by_tool: dict[str, list[Rule]] = {}
    by_head: dict[tuple[str, str], list[Rule]] = {}
    any_word: list[Rule] = []
    patterns: list[Rule] = []
    for one in rules:
        if one.tool == "*" or "*" in one.tool:
            patterns.append(one)
        elif one.tool == "Bash":
            first = one.command.first if one.command else None
            if one.command is None or (first is None and one.command.whole is None):
                any_word.append(one)
            elif first is not None:
                by_word.setdefault(first, []).append(one)
        elif one.path is not None and one.path.anchor == "cwd" and one.path.head:
            by_head.setdefault((one.tool, one.path.head), []).append(one)
        else:
            by_tool.setdefault(one.tool, []).append(one)
    return Index(
        {word: tuple(found) for word, found in by_word.items()},
        tuple(any_word),
        {head: tuple(found) for head, found in by_head.items()},
        {tool: tuple(found) for tool, found in by_tool.items()},
        tuple(patterns),
    )
