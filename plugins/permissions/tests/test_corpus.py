"""Several hundred commands and their verdicts. The claim: no dangerous one is allowed, under any policy."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Final

import pytest
from turnhub_permissions.testing import CWD, HOME, engine_over, judged

CORPUS: Final[dict[str, Any]] = tomllib.loads((Path(__file__).parent / "corpus.toml").read_text(encoding="utf-8"))
BUILT_IN: Final = ("reads", "careful", "edits", "locked", "yolo")
ENGINE: Final = engine_over(CORPUS["policies"])
GROUPS = CORPUS["group"]
ALL_POLICIES = (*BUILT_IN, *CORPUS["policies"])


DANGEROUS = [command for group in GROUPS if group.get("dangerous") for command in group["commands"]]


@pytest.mark.parametrize("group", GROUPS, ids=[group["name"] for group in GROUPS])
def test_each_command_gets_its_verdict(group: dict[str, Any]) -> None:
    """As it stands in corpus.toml; the reason is a sentence and the rule has a name."""
    for command in group["commands"]:
        found = judged(ENGINE, group["policy"], command)
        assert (command, found.verdict) == (command, group["verdict"]), found.why
        assert found.rule, command
        assert found.why.endswith("."), command


@pytest.mark.parametrize("policy", ALL_POLICIES)
def test_no_dangerous_command_is_allowed(policy: str) -> None:
    """0 of them, not under a policy that allows everything in every way that can be written."""
    assert [command for command in DANGEROUS if judged(ENGINE, policy, command).verdict == "allow"] == []


def test_the_corpus_is_large_and_says_everything_once() -> None:
    """At least 350 commands, most of them dangerous, none twice under one policy."""
    pairs = [(group["policy"], command) for group in GROUPS for command in group["commands"]]
    assert len(pairs) == len(set(pairs))
    assert len(pairs) >= 1000
    assert len(DANGEROUS) >= 600


@pytest.mark.parametrize("policy", ALL_POLICIES)
def test_what_is_never_allowed_is_denied_everywhere(policy: str) -> None:
    """The hard guard stands before every rule."""
    (group,) = [one for one in GROUPS if one["name"] == "never, whatever is said"]
    assert [command for command in group["commands"] if judged(ENGINE, policy, command).verdict != "deny"] == []


def test_explaining_changes_no_verdict() -> None:
    """The chain ends where the judgement without it ends, for every command of the corpus."""
    for group in GROUPS:
        policy = ENGINE.policy(group["policy"])
        for command in group["commands"]:
            short = ENGINE.judge(policy, "Bash", {"command": command}, CWD, home=HOME)
            long = ENGINE.judge(policy, "Bash", {"command": command}, CWD, home=HOME, explain=True)
            assert (long.verdict, long.rule, long.why, long.danger) == (
                short.verdict,
                short.rule,
                short.why,
                short.danger,
            )
            assert long.chain
