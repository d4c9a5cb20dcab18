"""Bundles: what extends what, what is wrong with it, and what the built-in ones say of themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from turnhub_permissions.engine import Engine, checked, source_of
from turnhub_permissions.testing import FakeFiles, called, engine_over, judged, policies

from hub import ConfigError, PolicyBundle


def mistake(tables: Mapping[str, Mapping[str, Any]], **offered: PolicyBundle) -> str:
    """The one line in which a mistake is told."""
    with pytest.raises(ConfigError) as caught:
        checked(policies(tables, **offered))
    assert "\n" not in caught.value.detail
    return caught.value.detail


def test_a_policy_has_the_rules_of_all_that_it_extends() -> None:
    """Denials of any of them count; its own rules add to theirs."""
    engine = engine_over(
        {
            "base": {"allow": ["Bash(make:*)"], "deny": ["Bash(make clean)"]},
            "other": {"allow": ["Bash(npm test)"]},
            "mine": {"extends": ["base", "other", "reads"], "allow": ["Bash(make clean)"]},
        }
    )
    says = [
        judged(engine, "mine", command).verdict for command in ("make x", "make clean", "npm test", "ls", "npm x")
    ]
    assert says == ["allow", "deny", "allow", "allow", "ask"]
    assert judged(engine, "mine", "make clean").why.startswith("Policy 'base' denies")


def test_an_unknown_policy_is_named_with_those_that_there_are() -> None:
    """File, key, and what could have been meant."""
    told = mistake({"mine": {"extends": ["raeds"]}})
    assert told.startswith("turnhub.toml: policies.mine.extends: expected the name of a policy (careful, edits, ")
    assert told.endswith("got 'raeds'.")


def test_a_policy_that_an_agent_names_has_to_be_there() -> None:
    """The key is the agent's."""
    from msgspec.structs import replace

    named = replace(policies({}), used={"agents.claude.policy": "gone"})
    with pytest.raises(ConfigError, match=r"turnhub\.toml: agents\.claude\.policy: .*got 'gone'"):
        checked(named)


@pytest.mark.parametrize("length", [1, 2, 5])
def test_a_circle_is_told_whole(length: int) -> None:
    """Every policy on the way round is named."""
    names = [f"p{number}" for number in range(length)]
    tables = {name: {"extends": [names[(number + 1) % length]]} for number, name in enumerate(names)}
    if length == 1:
        assert "expected the name of a policy" in mistake(tables)
    else:
        assert " -> ".join([*names, "p0"]) in mistake(tables)


def test_a_policy_may_extend_the_bundle_whose_name_it_takes() -> None:
    """`careful` of the configuration, made of the plugin's `careful`."""
    engine = engine_over({"careful": {"extends": ["careful"], "allow": ["Bash(make)"]}})
    assert [judged(engine, "careful", command).verdict for command in ("make", "ls", "npm")] == [
        "allow",
        "allow",
        "ask",
    ]


def test_a_policy_that_is_extended_twice_counts_once() -> None:
    """A diamond is no circle."""
    engine = engine_over({"a": {"extends": ["reads"]}, "b": {"extends": ["reads"]}, "c": {"extends": ["a", "b"]}})
    assert judged(engine, "c", "ls").verdict == "allow"


def test_a_rule_that_is_none_is_named_with_its_file_and_key() -> None:
    """The configuration's by file, a plugin's by the plugin."""
    told = mistake({"mine": {"deny": ["Bash(ls)", "Bash("]}})
    assert told.startswith("turnhub.toml: policies.mine.deny[1]: 'Bash(' is no rule: ")
    told = mistake({"mine": {"extends": ["theirs"]}}, theirs=PolicyBundle(name="theirs", allow=("bash",)))
    assert told.startswith("plugin 'other': policies.theirs.allow[0]: 'bash' is no rule: ")


def test_a_mistake_in_a_bundle_that_nobody_uses_stops_nothing() -> None:
    """What another plugin offers is checked when it is used."""
    checked(policies({"mine": {}}, theirs=PolicyBundle(name="theirs", allow=("bash",))))


def test_bundles_of_other_plugins_are_extended_like_any() -> None:
    """They come with the hub's policies."""
    offered = PolicyBundle(name="theirs", allow=("Bash(make)",))
    engine = Engine(source_of(policies({"mine": {"extends": ["theirs"]}}, theirs=offered)), FakeFiles())
    assert judged(engine, "mine", "make").verdict == "allow"


def test_locked_asks_nobody() -> None:
    """What is not reading is denied, dangers and riddles too; what a policy that extends it allows is allowed."""
    engine = engine_over({"mine": {"extends": ["locked"], "allow": ["Bash(make)"]}})
    for command in ("npm test", "rm -rf x", "$X", "cat .env"):
        found = judged(engine, "locked", command)
        assert (found.verdict, found.rule) == ("deny", "*")
    assert [judged(engine, "mine", command).verdict for command in ("make", "ls", "npm")] == [
        "allow",
        "allow",
        "deny",
    ]


def test_without_a_policy_only_guards_speak() -> None:
    """What is never allowed is denied, what is dangerous asks; of everything else nothing is said."""
    engine = engine_over({})
    says = [
        engine.judge(engine.policy(None), "Bash", {"command": command}, "/home/ada/project")
        for command in ("rm -rf /", "rm -rf x", "ls")
    ]
    assert [(one.verdict, one.decided) for one in says] == [("deny", True), ("ask", True), ("ask", False)]
    assert says[1].danger


def test_every_judgement_names_its_rule_and_why() -> None:
    """Whatever the step that decides."""
    engine = engine_over({"p": {"allow": ["Bash(make)"], "deny": ["Bash(x)"], "ask": ["Bash(y)"]}})
    rules = {
        command: judged(engine, "p", command).rule
        for command in ("make", "x", "y", "z", "$X", "rm -r x", "rm -rf /")
    }
    assert rules == {
        "make": "Bash(make)",
        "x": "Bash(x)",
        "y": "Bash(y)",
        "z": "no rule",
        "$X": "cannot be read",
        "rm -r x": "danger",
        "rm -rf /": "hard deny",
    }


def test_explaining_shows_every_step_and_the_rules_that_were_looked_at() -> None:
    """Also those behind the step that decided."""
    engine = engine_over({"p": {"allow": ["Bash(make:*)", "Bash(make x)"], "deny": ["Bash(make clean)"]}})
    found = engine.judge(engine.policy("p"), "Bash", {"command": "make clean"}, "/home/ada/project", explain=True)
    assert found.verdict == "deny"
    steps = list(dict.fromkeys(one.step for one in found.chain))
    assert steps == [
        "hard deny",
        "deny rules",
        "danger",
        "grants",
        "ask rules",
        "literal rules",
        "unreadable",
        "allow rules",
    ]
    (denied,) = [one for one in found.chain if one.step == "deny rules"]
    assert (denied.rule, denied.origin) == ("Bash(make clean)", "p")
    (allowed,) = [one for one in found.chain if one.step == "allow rules"]
    assert allowed.looked_at == ("Bash(make:*)", "Bash(make x)")


def test_the_tools_that_only_think_go_on_under_reads() -> None:
    """A list of things to do hurts nobody."""
    assert called(engine_over({}), "reads", "TodoWrite", {"todos": []}).verdict == "allow"


def test_a_grant_stands_behind_denials_and_dangers_and_before_everything_else() -> None:
    """As the hub itself takes it."""
    engine = engine_over({"p": {"ask": ["Bash(make:*)"], "deny": ["Bash(make clean)"]}})
    policy = engine.policy("p")

    def says(command: str) -> str:
        return engine.judge(policy, "Bash", {"command": command}, "/home/ada/project", grant="ask_1").verdict

    assert [says(command) for command in ("make", "npm test", "make clean", "rm -r x", "rm -rf /")] == [
        "allow",
        "allow",
        "deny",
        "ask",
        "deny",
    ]
