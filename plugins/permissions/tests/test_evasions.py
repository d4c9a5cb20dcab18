"""Property: no wrapping makes a command allowed that is not."""

from __future__ import annotations

import shlex
import time
import tomllib
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from turnhub_permissions.judge import Judgement
from turnhub_permissions.testing import engine_over
from turnhub_permissions.testing import judged as judged_by

CORPUS: Final[dict[str, Any]] = tomllib.loads((Path(__file__).parent / "corpus.toml").read_text(encoding="utf-8"))
ENGINE: Final = engine_over(CORPUS["policies"])

_SIMPLE: Final = (
    "rm -rf build",
    "cat .env",
    "git push --force",
    "touch /etc/x",
    "rm -rf /",
    "cat ~/.ssh/id_rsa",
    "chmod 777 x",
    "dd if=x of=y",
)
_PREFIXES: Final = """
env ~nohup ~time ~timeout 5 ~nice -n 3 ~command ~exec ~stdbuf -oL ~sudo ~! ~LC_ALL=C ~env LANG=C ~setsid ~xargs ~
ionice -c 3 ~coproc ~busybox ~env -i ~timeout -k 1 -s KILL 5 ~
"""
_AROUND: Final = """
@~ls; @~@; ls~ls && @~@ || ls~ls | @~@ | cat~(@)~{ @; }~if true; then @; fi~if @; then ls; fi~while @; do ls; done~
for i in 1; do @; done~echo $(@)~echo "$(@)"~cat <(@)~f() { @; }; f~x=$(@)~case x in x) @;; esac~ls%@~@%ls~@ &~! @~
echo ${x:-$(@)}~ls > >(@)~[ -n $(@) ]~@ > /dev/null 2>&1~@ # done~until @; do ls; done~cat <<'EOF'%x%EOF%@~echo `@`
"""
_SHELLED: Final = """
sh -c @~bash -lc @~
eval @~echo @ | sh~bash <<< @~ssh host @~find . -exec sh -c @ \\;~env sh -c @~xargs sh -c @~zsh -euc @
"""


def forms(text: str) -> list[str]:
    """The forms in a text: ``@`` is where a command goes, ``%`` a new line."""
    return [form.replace("%", "\n") for form in text.replace("\n", "").split("~")]


simple = st.sampled_from(_SIMPLE)


def shelled(inner: str) -> st.SearchStrategy[str]:
    """The command in a shell's arguments, or on its input."""
    return st.sampled_from([form.replace("@", shlex.quote(inner)) for form in forms(_SHELLED)])


def wrapped(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """One more layer around commands."""
    around = st.builds(lambda form, text: form.replace("@", text), st.sampled_from(forms(_AROUND)), inner)
    return around | inner.flatmap(shelled)


def judged(command: str, policy: str) -> Judgement:
    """What a policy of the corpus says."""
    return judged_by(ENGINE, policy, command)


commands = st.recursive(st.builds(str.__add__, st.sampled_from(forms(_PREFIXES)), simple), wrapped, max_leaves=4)


@settings(deadline=None, max_examples=300)
@given(command=commands, policy=st.sampled_from(("reads", "edits", "dev", "yolo", "lax", "locked")))
def test_wrapping_a_dangerous_command_never_makes_it_allowed(command: str, policy: str) -> None:
    """Prefixes, lists, pipelines, substitutions, functions, loops, shells in shells: in any depth."""
    assert judged(command, policy).verdict != "allow", command


@settings(deadline=None, max_examples=200)
@given(data=st.data(), name=st.sampled_from(("rm", "/bin/rm", "/usr/bin/rm")))
def test_quoting_a_name_changes_nothing(data: st.DataObject, name: str) -> None:
    """Each character as it is, behind a backslash, between quotes of any kind, or as an escape."""
    ways = ("{0}", "\\{0}", "'{0}'", '"{0}"', "$'{0}'", "$'\\x{1:02x}'", "{0}''")
    spelt = "".join(data.draw(st.sampled_from(ways)).format(char, ord(char)) for char in name)
    assert judged(f"{spelt} -rf build", "lax").verdict == "ask"
    assert judged(f"{spelt} -rf /", "lax").verdict != "allow"


_ALLOWED = [
    command
    for group in CORPUS["group"]
    if group["policy"] == "reads" and group["verdict"] == "allow"
    for command in group["commands"]
    if "#" not in command and "<<" not in command
]


@settings(deadline=None, max_examples=300)
@given(
    first=st.sampled_from(_ALLOWED),
    joint=st.sampled_from((";", "\n", " && ", " || ", " | ", " & ")),
    bad=simple,
    data=st.data(),
)
def test_what_is_allowed_beside_it_does_not_help(first: str, joint: str, bad: str, data: st.DataObject) -> None:
    """A harmless command before or behind a dangerous one: the whole is not allowed."""
    parts = [first, bad] if data.draw(st.booleans()) else [bad, first]
    assert judged(joint.join(parts), "lax").verdict != "allow"


@settings(deadline=None, max_examples=400)
@given(text=st.text(alphabet=st.sampled_from("rml s-f/~.$(){}[]`'\"\\;|&<>\n\t #=*?!x1é"), max_size=24))
def test_any_text_gets_a_verdict(text: str) -> None:
    """Whatever an agent comes up with, there is a verdict and a sentence, and no exception."""
    found = judged(text, "yolo")
    assert found.verdict in ("allow", "deny", "ask")
    assert found.why


@settings(deadline=None, max_examples=25)
@given(
    depth=st.integers(1, 3000),
    pair=st.sampled_from(
        ("()", "{}", ("$(", ")"), ("`", "`"), ("[[", "]]"), ("((", "))"), ("'", "'"), ("<(", ")"))
    ),
)
def test_deep_nesting_is_not_read_and_breaks_nothing(depth: int, pair: tuple[str, str] | str) -> None:
    """A person is asked about what is nested without end."""
    command = f"{pair[0] * depth} rm -rf x {pair[1] * depth}"
    assert judged(command, "yolo").verdict in ("ask", "deny") or pair == "''"


@pytest.mark.parametrize(
    "command",
    [
        "ls;" * 8000,
        "ls " + "a " * 16000,
        "rm -rf " + "*/" * 3000,
        "$(" * 3000,
        "`" * 16000,
        "f(){ " * 3000,
        "sh -c " * 50 + "ls",
        "eval " * 2000 + "ls",
        "env " * 8000 + "ls",
        "sed '" + "\n" * 390 + "X' x",
        "sed 's/" + "a[b]" * 90 + "/x",
        "awk '" + "print" * 6000 + "' x",
        "cat <<E\n" * 2000,
    ],
    ids=range(13),
)
@pytest.mark.timeout(60)
def test_no_text_keeps_the_judge_busy(command: str) -> None:
    """What is long, deep or made to be slow is judged all the same."""
    assert judged(command, "reads").verdict in ("ask", "allow", "deny")


@pytest.mark.parametrize(
    "command",
    [
        "npx " + "rm " * 1500,
        "npx " + "git " * 1500,
        "uv run " + "find " * 1500,
        ";".join(f"cd a{number}" for number in range(15)) + "; cat " + " ".join(map(str, range(400))),
        "cd a;" * 100 + "cat " + " ".join(map(str, range(400))),
        "cat " + "x " * 8000,
        "hyperfine " + "'ls -l' " * 1000,
        "kubectl " + "$X " * 3000,
        "cp -r " + "src " * 500 + ".",
        "".join(f"v{number}=1; echo $((v{number}));" for number in range(190)),
        "awk '" + "/" * 6000 + "' x",
        "sed '" + "{}" * 190 + "X' x",
        "for a in 1 2 3 4 5 6; do for b in 1 2 3 4 5 6; do for c in 1 2 3 4 5 6; do ls; done; done; done",
    ],
    ids=range(13),
)
def test_what_repeats_itself_costs_no_more_than_its_length(command: str) -> None:
    """Judged in a fraction of a second (a twentieth, where nothing else is going on), or asked about."""
    judged("ls", "reads")
    begun = time.process_time()
    said = judged(command, "reads")
    assert time.process_time() - begun < 0.4
    assert said.verdict == "ask" or command.startswith(("for", "hyperfine", "awk"))
