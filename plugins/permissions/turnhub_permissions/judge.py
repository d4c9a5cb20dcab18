"""Pure: a call judged by a policy, and why.

Hard deny; deny rules; danger, which always asks; (the session's grants, which the hub knows); ask rules; allow
rules, of which every act needs one; else what the policy says of the rest: to ask, or to deny.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal

from msgspec import Struct

from turnhub_permissions.acts import Act
from turnhub_permissions.othertools import told_as
from turnhub_permissions.paths import Ground
from turnhub_permissions.policies import Policy
from turnhub_permissions.rules import Effect, Rule
from turnhub_permissions.tables import Tables
from turnhub_permissions.tools import acts_of

HARD: Final = "hard deny"
DANGER: Final = "danger"
UNREADABLE: Final = "cannot be read"
DEFAULT: Final = "no rule"
Step = Literal[
    "hard deny",
    "deny rules",
    "danger",
    "grants",
    "ask rules",
    "literal rules",
    "unreadable",
    "allow rules",
    "rest",
]


class Considered(Struct, frozen=True, kw_only=True):
    """One step of a judgement, about one act: the rule that holds (None: none does), which policy it is from, the
    rules that were looked at, and what it comes to."""

    step: Step
    about: str
    rule: str | None = None
    origin: str | None = None
    looked_at: tuple[str, ...] = ()
    says: str


class Judgement(Struct, frozen=True, kw_only=True):
    """What a policy says. ``danger``: why it asks whatever was granted. ``decided``: some rule, danger or guard
    has spoken; false where nothing has anything to say. ``chain``: every step, when it was asked for."""

    verdict: Effect
    rule: str
    why: str
    danger: str | None = None
    decided: bool = True
    chain: tuple[Considered, ...] = ()


class Judge:
    """Judges calls by the tables of what programs do. ``shell`` reads commands."""

    def __init__(self, tables: Tables, shell: Callable[[str, Ground], list[Act]]) -> None:
        self._tables = tables
        self._shell = shell

    def judge(
        self,
        policy: Policy,
        tool: str,
        given: Mapping[str, Any],
        ground: Ground,
        *,
        grant: str | None = None,
        explain: bool = False,
    ) -> Judgement:
        """The judgement on a call of ``tool`` with input ``given`` at ``ground``. ``grant``: the session's grant
        that covers it, where that is to be considered here; a hub considers it by itself."""
        calls = told_as(tool, given, ground, self._tables)
        acts = [
            act for one in calls for act in acts_of(one.tool, one.given, one.ground, self._tables, self._shell)
        ]
        if calls[0].tool != tool:  # rules may name it, too
            acts.append(Act(kind="tool", about=tool, name=tool, free=True))
        command = calls[0].given.get("command") if calls[0].tool == "Bash" else None
        text = command if isinstance(command, str) else None
        return _Judging(policy, acts, text, ground, grant, explain=explain).run()


class _Judging:
    def __init__(
        self,
        policy: Policy,
        acts: Sequence[Act],
        command: str | None,
        ground: Ground,
        grant: str | None,
        *,
        explain: bool,
    ) -> None:
        self._policy = policy
        self._acts = acts
        self._command = command
        self._ground = ground
        self._grant = grant
        self._explain = explain
        self._chain: list[Considered] = []

    def run(self) -> Judgement:
        """Go through the steps; all of them when they are to be explained."""
        found: Judgement | None = None
        steps = (
            self._hard,
            self._deny,
            self._danger,
            self._grants,
            self._ask,
            self._literal,
            self._unreadable,
            self._allow,
        )
        for step in steps:
            said = step()
            found = found or said
            if found and not self._explain:
                return found
        found = found or self._rest()
        return Judgement(
            verdict=found.verdict,
            rule=found.rule,
            why=found.why,
            danger=found.danger,
            decided=found.decided,
            chain=tuple(self._chain),
        )

    def _note(
        self, step: Step, says: str, about: str = "the call", one: Rule | None = None, looked: Sequence[Rule] = ()
    ) -> None:
        if self._explain:
            self._chain.append(
                Considered(
                    step=step,
                    about=about,
                    rule=one.text if one else None,
                    origin=one.origin if one else None,
                    looked_at=tuple(rule.text for rule in looked),
                    says=says,
                )
            )

    def _hard(self) -> Judgement | None:
        act = next((one for one in self._acts if one.hard), None)
        self._note(
            "hard deny",
            f"denied: {act.hard}" if act else "nothing that is never allowed",
            act.about if act else "the call",
        )
        if act is None:
            return None
        return Judgement(
            verdict="deny",
            rule=HARD,
            why=f"{_first_up(act.about)}: {act.hard}. Nothing allows that.",
            danger=act.hard,
        )

    def _deny(self) -> Judgement | None:
        return self._ruled("deny", "deny rules", self._policy.whole)

    def _ask(self) -> Judgement | None:
        return self._ruled("ask", "ask rules", self._policy.whole_ask)

    def _ruled(self, effect: Effect, step: Step, whole: Sequence[Rule]) -> Judgement | None:
        found: Judgement | None = None
        for one in whole if self._command is not None else ():
            pattern = one.command.whole if one.command else None
            if pattern and pattern.search(self._command or ""):
                self._note(step, f"{effect}s", "the whole command", one)
                found = found or self._by_rule(effect, one, "the whole command")
        for act in self._acts:
            one_rule = self._policy.first(effect, act, self._ground)
            if self._explain and act.kind != "note":
                looked = tuple(self._index(effect).about(act, self._ground))
                self._note(step, f"{effect}s it" if one_rule else "no rule", act.about, one_rule, looked)
            if one_rule and found is None:
                found = self._by_rule(effect, one_rule, act.about)
                if not self._explain:
                    return found
        return found

    def _index(self, effect: Effect) -> Any:
        return getattr(self._policy, effect)

    def _by_rule(self, effect: Effect, one: Rule, about: str) -> Judgement:
        word = {"deny": "denies", "ask": "asks about", "allow": "allows"}[effect]
        return Judgement(
            verdict=effect, rule=one.text, why=f"Policy {one.origin!r} {word} {about!r} by its rule {one.text}."
        )

    def _danger(self) -> Judgement | None:
        dangers = [act for act in self._acts if act.danger]
        for act in dangers:
            self._note("danger", f"always asks: {act.danger}", act.about)
        if not dangers:
            self._note("danger", "nothing dangerous")
            return None
        told = "; ".join(dict.fromkeys(f"{act.about}: {act.danger}" for act in dangers))
        if rest := self._policy.rest:
            why = f"{_first_up(told)}. Policy {rest.origin!r} denies what it does not allow."
            return Judgement(verdict="deny", rule=rest.text, why=why, danger=told)
        return Judgement(verdict="ask", rule=DANGER, why=f"{_first_up(told)}. That always asks.", danger=told)

    def _grants(self) -> Judgement | None:
        if self._grant is None:
            self._note("grants", "what a person has granted the session comes here")
            return None
        self._note("grants", f"grant {self._grant} allows it")
        return Judgement(verdict="allow", rule=self._grant, why="A person has granted it to this session.")

    def _literal(self) -> Judgement | None:
        one = self._policy.literals.get((self._command or "").strip())
        self._note(
            "literal rules", "allows it" if one else "no rule is this very command", "the whole command", one
        )
        return self._by_rule("allow", one, "this very command") if one else None

    def _unreadable(self) -> Judgement | None:
        opaque = [act for act in self._acts if act.opaque]
        for act in opaque:
            self._note("unreadable", f"a person has to look: {act.opaque}", act.about)
        if not opaque:
            self._note("unreadable", "all of it can be read")
            return None
        told = "; ".join(dict.fromkeys(f"{act.about}: {act.opaque}" for act in opaque))
        return self._left(UNREADABLE, f"{_first_up(told)}")

    def _allow(self) -> Judgement | None:
        used: dict[str, Rule] = {}
        missing: str | None = None
        for act in self._acts:
            if act.kind == "note":
                continue
            one = self._policy.first("allow", act, self._ground)
            looked = tuple(self._index("allow").about(act, self._ground)) if self._explain else ()
            own = act.free or (
                act.kind == "read" and act.name == "shell" and act.inside and not self._policy.read_rules
            )
            says = "allows it" if one else "needs no rule" if own else "no rule allows it"
            self._note("allow rules", says, act.about, one, looked)
            if one:
                used[one.text] = one
            elif not own and missing is None:
                missing = act.about
        if missing is not None:
            self._missing = missing
            return None
        told = ", ".join(used) or "harmless by itself"
        origins = ", ".join(dict.fromkeys(repr(one.origin) for one in used.values()))
        why = (
            f"All of it is allowed by {told} (policy {origins})." if used else "It does nothing that needs a rule."
        )
        return Judgement(verdict="allow", rule=told, why=why)

    _missing = "the call"

    def _rest(self) -> Judgement:
        said = self._left(DEFAULT, f"No rule allows {self._missing!r}")
        self._note("rest", "denied" if said.verdict == "deny" else "a person is asked", one=self._policy.rest)
        return said

    def _left(self, rule: str, told: str) -> Judgement:
        if rest := self._policy.rest:
            why = f"{told}. Policy {rest.origin!r} denies what it does not allow."
            return Judgement(verdict="deny", rule=rest.text, why=why)
        return Judgement(verdict="ask", rule=rule, why=f"{told}. A person is asked.", decided=rule != DEFAULT)


def _first_up(text: str) -> str:
    return text[:1].upper() + text[1:]
