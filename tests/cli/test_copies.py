"""Forks, exports, imports and whole outputs on the command line, against a real hub."""

from __future__ import annotations

import json
from pathlib import Path

from hub.masking import MASK
from hub.testing.process import HubProcess
from tests.clihub import CliHub, script


def talked(hub: CliHub, text: str) -> str:
    """A session with one turn."""
    session = hub.new()
    assert hub.run("send", session, text).exit_code == 0
    return session


def test_a_fork_goes_on_by_itself(real: HubProcess, tmp_path: Path) -> None:
    """Its id on stdout; it shows the conversation, its agent is told it, and it has an origin."""
    hub = CliHub(url=real.url, token=real.token, home=tmp_path)
    session = talked(hub, "hello")
    fork = hub.run("fork", session, "--title", "Another way").stdout.strip()
    assert "Echo: hello" in hub.run("show", fork).stdout
    sent = hub.run("send", fork, "and now?").stdout
    assert "Assistant: Echo: hello" in sent
    assert sent.rstrip().endswith("Echo: and now?")
    shown = json.loads(hub.run("show", fork, "--json").stdout)
    assert shown["session"]["forked_from"]["session_id"] == session
    early = json.loads(hub.run("fork", session, "--after", "1", "--json").stdout)
    assert early["forked_from"] == {"session_id": session, "seq": 1}
    wrong = hub.run("fork", session, "--after", "trn_x")
    assert (wrong.exit_code, "trn_x" in wrong.stderr) == (2, True)


def test_an_export_is_masked_and_comes_back_in(real: HubProcess, tmp_path: Path) -> None:
    """To a file of the owner's alone, or to stdout; what is imported is what was exported, with a new id."""
    hub = CliHub(url=real.url, token=real.token, home=tmp_path)
    session = talked(hub, "API_KEY=abcdef123456")
    masked, whole = tmp_path / "masked.jsonl", tmp_path / "whole.jsonl"
    assert "look it through" in hub.run("export", session, "--output", str(masked)).stderr
    hub.run("export", session, "--no-mask", "--output", str(whole))
    assert masked.stat().st_mode & 0o777 == 0o600
    assert MASK in masked.read_text()
    assert "abcdef123456" not in masked.read_text()
    assert hub.run("export", session, "--no-mask").stdout == whole.read_text()
    made = hub.run("import", str(whole)).stdout.strip()
    assert made != session
    assert "Echo: API_KEY=abcdef123456" in hub.run("show", made).stdout
    exported = hub.run("export", made, "--no-mask").stdout
    assert exported.replace(made, session) == whole.read_text()
    read = hub.run("import", "-", "--json", stdin=masked.read_text())
    assert json.loads(read.stdout)["imported_from"] == session
    assert hub.run("export", session, "--format", "markdown").stdout.startswith("# A conversation\n")


def test_what_cannot_be_imported_is_told_in_a_line(real: HubProcess, tmp_path: Path) -> None:
    """A file that is no export, one that is not there, and one that cannot be written."""
    hub = CliHub(url=real.url, token=real.token, home=tmp_path)
    bad = tmp_path / "bad.jsonl"
    bad.write_text("{}\n")
    for arguments, words in (
        (("import", str(bad)), "Line 1"),
        (("import", str(tmp_path / "none")), "cannot be read"),
        (("export", talked(hub, "x"), "--output", str(tmp_path / "no" / "where")), "cannot be written"),
    ):
        result = hub.run(*arguments)
        assert result.exit_code == 2
        assert words in result.stderr
        assert len(result.stderr.strip().splitlines()) == 1


def test_a_tools_whole_output_is_shown_on_demand(real: HubProcess, tmp_path: Path) -> None:
    """The conversation names the tool whose output is longer than what it shows; asked for, it is there."""
    hub = CliHub(url=real.url, token=real.token, home=tmp_path)
    session = talked(hub, script({"tool": "Bash", "input": {"command": "ls"}, "result": "x" * 5000}))
    assert "(all of it: --tool tool_1)" in hub.run("show", session).stdout
    assert hub.run("show", session, "--tool", "tool_1").stdout == "x" * 5000 + "\n"
    found = json.loads(hub.run("show", session, "--tool", "tool_1", "--json").stdout)
    assert (found["bytes"], found["truncated"]) == (5000, False)
    missing = hub.run("show", session, "--tool", "tool_9")
    assert (missing.exit_code, "tool_9" in missing.stderr) == (2, True)
