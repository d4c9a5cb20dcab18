"""``turnhub screen --file``: as documented, through the real command line."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from turnhub_tmux.commands import screen

DATA = Path(__file__).parent / "data"
PERMISSION = DATA / "panes" / "claude-2.1.332-31_perm_bash.ansi"
QUEUED = DATA / "panes" / "claude-2.1.332-40_queued.ansi"


def shown(*arguments: str) -> Mapping[str, Any]:
    """What it prints as JSON."""
    result = CliRunner().invoke(screen, [*arguments, "--json"])
    assert result.exit_code == 0, result.output
    read: Mapping[str, Any] = msgspec.json.decode(result.stdout)
    return read


def test_a_dialog() -> None:
    """State, composer and dialog in the documented shape."""
    seen = shown("--file", str(PERMISSION), "--kind", "claude-code")
    assert seen["state"] == "waiting"
    assert seen["composer"]["state"] == "absent"
    dialog = seen["dialog"]
    assert (dialog["kind"], dialog["title"], dialog["multi"]) == ("permission", "Bash command", False)
    assert [(o["key"], o["means"]) for o in dialog["options"]] == [
        ("1", "yes"),
        ("2", "yes_always"),
        ("3", "yes_always"),
        ("4", "no"),
    ]
    assert dialog["fingerprint"]
    assert "touch" in dialog["text"]
    assert "submitted" not in seen


def test_a_needle() -> None:
    """Adds three verdicts."""
    seen = shown("--file", str(QUEUED), "--needle", "queued msg")
    assert (seen["submitted"], seen["queued"], seen["staged"]) == (False, True, False)


def test_a_baseline(tmp_path: Path) -> None:
    """What stood there before does not count."""
    pane = "❯ go\n● ok\n──────\n❯ \n──────"
    before, after = tmp_path / "before", tmp_path / "after"
    before.write_text(pane, encoding="utf-8")
    after.write_text(pane, encoding="utf-8")
    assert shown("--file", str(after), "--needle", "go")["submitted"] is True
    assert shown("--file", str(after), "--needle", "go", "--baseline", str(before))["submitted"] is False


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--file", "/nowhere"], "/nowhere"),
        (["--file", str(PERMISSION), "--kind", "nothing"], "claude-code"),
        (["--file", str(PERMISSION), "--baseline", str(PERMISSION)], "--needle"),
        ([], "--file"),
    ],
)
def test_used_wrongly(arguments: list[str], says: str) -> None:
    """One line on stderr, exit code 2."""
    result = CliRunner().invoke(screen, arguments)
    assert result.exit_code == 2
    assert says in result.stderr
    assert result.stdout == ""


def test_for_a_person(tmp_path: Path) -> None:
    """The same in words, and nothing in it that a terminal would act on."""
    pane = tmp_path / "pane"
    pane.write_text("● x\n──────\n❯ a\u202eb\n──────", encoding="utf-8")
    result = CliRunner().invoke(screen, ["--file", str(pane), "--needle", "ab"])
    assert result.exit_code == 0
    assert "ready" in result.stdout
    assert "\u202e" not in result.stdout


@pytest.mark.parametrize("columns", [40, 400])
def test_a_live_pane_stands_beside_what_is_read(tmp_path: Path, columns: int) -> None:
    """A pane by its tmux name: its rows with their numbers, what is read on their right, or above them where the
    terminal is too narrow."""
    socket = str(tmp_path / "s")
    tmux = ["tmux", "-u", "-f", "/dev/null", "-S", socket]
    subprocess.run([*tmux, "new-session", "-d", "-s", "work", "-x", "50", "-y", "8", "echo hi; cat"], check=True)
    try:
        end = time.monotonic() + 20
        while b"hi" not in subprocess.check_output([*tmux, "capture-pane", "-p", "-t", "work"]):
            assert time.monotonic() < end
        result = CliRunner(env={"COLUMNS": str(columns)}).invoke(screen, ["work", "--socket", socket])
    finally:
        subprocess.run([*tmux, "kill-server"], check=True)
    assert result.exit_code == 0, result.stderr
    first = result.stdout.splitlines()[0]
    assert first.startswith("state " if columns == 40 else "   1 | hi | state ")
    assert "   1 | hi" in result.stdout


def test_through_turnhub_itself_without_a_configuration(tmp_path: Path) -> None:
    """The plugin being installed is enough: no configuration names it, no hub runs."""
    command = [sys.executable, "-m", "hub", "screen", "--file", str(PERMISSION), "--json"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=60, check=False)
    assert result.returncode == 0, result.stderr
    assert msgspec.json.decode(result.stdout)["state"] == "waiting"
