"""``turnhub policy``, as somebody types it: without a hub, but for one form of explain."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from hub.testing import HubProcess, hub_process

CONFIG = """
[policies.careful]
extends = ["reads"]
allow = ["Bash(git status)", "Read(docs/**)"]
deny = ["Bash(rm -rf *)"]
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A directory with a configuration."""
    (tmp_path / "turnhub.toml").write_text(CONFIG)
    return tmp_path


def turnhub(home: Path, *arguments: str, given: str | bytes = "") -> subprocess.CompletedProcess[str]:
    """Run ``turnhub policy``."""
    data = given.encode() if isinstance(given, str) else given
    done = subprocess.run(
        [sys.executable, "-m", "hub", "policy", *arguments],
        cwd=home,
        input=data,
        capture_output=True,
        check=False,
        timeout=60,
    )
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def lines(*calls: Any) -> str:
    """Calls as JSON lines."""
    return "".join(json.dumps(call) + "\n" for call in calls)


def bash(command: str, cwd: str | None = None) -> dict[str, Any]:
    """A call of Bash."""
    return {"tool": "Bash", "input": {"command": command}} | ({"cwd": cwd} if cwd else {})


def test_calls_from_stdin_get_a_line_each(home: Path) -> None:
    """verdict, plugin, rule and why, in order, and nothing else."""
    calls = lines(
        bash("git status", str(home)),
        bash("rm -rf x", str(home)),
        bash("npm test", str(home)),
        {"tool": "Read", "input": {"file_path": "docs/a.md"}, "cwd": str(home)},
        bash("rm -rf /"),
        {"tool": "Read", "input": {"file_path": "~/.ssh/id_rsa"}},
    )
    done = turnhub(home, "judge", "--config", "turnhub.toml", "--policy", "careful", "--json", given=calls)
    assert (done.returncode, done.stderr) == (0, "")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert all(
        set(one) == {"verdict", "plugin", "rule", "why"} and one["plugin"] == "permissions" for one in found
    )
    assert [(one["verdict"], one["rule"]) for one in found] == [
        ("allow", "Bash(git status)"),
        ("deny", "Bash(rm -rf *)"),
        ("ask", "no rule"),
        ("allow", "Read(./**)"),
        ("deny", "hard deny"),
        ("ask", "danger"),
    ]


@pytest.mark.parametrize(
    "bad",
    [
        "{",
        "5",
        "[]",
        '{"tool": 5}',
        '{"input": {}}',
        '{"tool": "Bash", "input": "x"}',
        '{"tool": "Bash", "cwd": 1}',
        "\udcff",
    ],
)
def test_a_line_that_is_no_call_is_named_by_its_number(home: Path, bad: str) -> None:
    """On stderr and in its place; the other lines are judged still, and the exit code is 2."""
    given = (
        lines(bash("git status")).encode()
        + bad.encode(errors="surrogateescape")
        + b"\n\n"
        + lines(bash("ls")).encode()
    )
    done = turnhub(home, "judge", "--policy", "careful", "--json", given=given)
    assert done.returncode == 2
    assert done.stderr.startswith("turnhub: line 2: ")
    first, second, third = (json.loads(line) for line in done.stdout.splitlines())
    assert (first["verdict"], third["verdict"]) == ("allow", "allow")
    assert second["error"].startswith("line 2: ")


@pytest.mark.parametrize("command", ["judge", "explain", "show"])
def test_an_unknown_policy_is_named_with_those_that_there_are(home: Path, command: str) -> None:
    """Exit code 2 and one line."""
    arguments = {"judge": ("--policy", "gone"), "explain": ("--policy", "gone", "Bash", "ls"), "show": ("gone",)}
    done = turnhub(home, command, *arguments[command])
    assert (done.returncode, done.stdout) == (2, "")
    assert "careful, edits, locked, reads, yolo" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[policies.a]\nextends = ["b"]\n[policies.b]\nextends = ["a"]', "circle: a -> b -> a"),
        ('[policies.a]\nextends = ["gone"]', "policies.a.extends"),
        ('[policies.a]\nallow = ["Bash("]', "policies.a.allow[0]: 'Bash('"),
        ('[agents.x]\ntransport = "scripted"\npolicy = "gone"', "agents.x.policy"),
        ('[policies.a]\nallow = "Bash"', "policies.a.allow"),
    ],
)
def test_check_names_file_key_and_rule(home: Path, text: str, says: str) -> None:
    """One line, exit code 2."""
    (home / "turnhub.toml").write_text(text)
    done = turnhub(home, "check")
    assert done.returncode == 2
    assert says in done.stderr
    assert "turnhub.toml" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_check_says_that_all_is_well(home: Path) -> None:
    """With the names of all policies."""
    done = turnhub(home, "check")
    assert (done.returncode, done.stderr) == (0, "")
    assert "careful, edits, locked, reads, yolo" in done.stdout


def test_policies_are_listed_and_shown(home: Path) -> None:
    """With where they come from, and with what they extend."""
    listed = json.loads(turnhub(home, "list", "--json").stdout)
    assert {one["name"]: one["from"].rpartition("/")[2] for one in listed} == {
        "careful": "turnhub.toml",
        **dict.fromkeys(("edits", "locked", "reads", "yolo"), "plugin permissions"),
    }
    shown = turnhub(home, "show", "careful").stdout
    assert shown.index("[policies.reads]") < shown.index("[policies.careful]")
    assert '"Bash(rm -rf *)",' in shown


def test_explain_shows_the_chain(home: Path) -> None:
    """Every step for a person; all of it for a machine."""
    done = turnhub(home, "explain", "--policy", "careful", "Bash", "ls && rm -rf x")
    assert done.returncode == 0
    assert "Bash(rm -rf *), policy careful" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("deny: Bash(rm -rf *). ")
    found = json.loads(
        turnhub(home, "explain", "--policy", "careful", "--json", "Read", '{"file_path": "x"}').stdout
    )
    assert (found["verdict"], found["policy"], found["cwd"]) == ("allow", "careful", str(home))
    assert found["chain"]


def test_settings_of_claude_code_are_printed_as_toml(home: Path) -> None:
    """Ready to be put into the configuration."""
    (home / ".claude").mkdir()
    (home / ".claude/settings.json").write_text('{"permissions": {"allow": ["Bash(make:*)", "Foo(x)"]}}')
    done = turnhub(home, "import", ".", "--name", "mine", "--config-dir", "nowhere")
    assert done.returncode == 0
    assert '[policies.mine]\nallow = [\n    "Bash(make:*)",\n]' in done.stdout
    assert "'Foo(x)' is not taken over" in done.stderr
    assert turnhub(home / ".claude", "import", ".", "--config-dir", "nowhere").returncode == 2


HUB = """
[plugins]
enabled = ["permissions"]
[agents.echo]
transport = "scripted"
policy = "mine"
[policies.mine]
extends = ["reads"]
deny = ["Bash(make clean)"]
"""


@pytest.fixture(scope="module")
def hub() -> Iterator[HubProcess]:
    """A hub whose agent has a policy."""
    with hub_process(HUB) as process:
        yield process


@pytest.mark.slow
def test_explain_takes_policy_and_place_from_a_session(hub: HubProcess) -> None:
    """A running hub says which; the rules are those of the configuration."""
    headers = {"Authorization": f"Bearer {hub.token}"}
    session = httpx.post(f"{hub.url}/v1/sessions", json={"agent": "echo"}, headers=headers).json()
    done = turnhub(
        hub.folder,
        "explain",
        "--url",
        hub.url,
        "--token",
        hub.token,
        "--json",
        session["id"],
        "Bash",
        "make clean",
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["verdict"], found["policy"], found["cwd"]) == ("deny", "mine", session["cwd"])
    gone = turnhub(hub.folder, "explain", "--url", hub.url, "--token", hub.token, "ses_gone", "Bash", "ls")
    assert gone.returncode == 2
