"""What all sessions are at: once, for machines, and live in a terminal."""

from __future__ import annotations

import json
import shutil
import socket
import sys
from pathlib import Path

import pytest

from hub.cli.overview import age, cells, counts, everything
from hub.testing.process import HubProcess, hub_process
from tests.clihub import BASH, FAIL, HANG, CliHub, script
from tests.tmuxpane import pane

CONFIG = '[plugins]\nenabled = []\n[agents.echo]\ntransport = "scripted"\n'
NOW_S = 1_767_225_600.0  # 2026-01-01T00:00:00Z


def listed(name: str, **fields: object) -> dict[str, object]:
    turn = {"id": "t1", "state": "running", "started_at": "2025-12-31T23:58:55.000Z", "attempt": 1}
    plain = {"id": name, "agent": "echo", "title": None, "archived": False, "turn": None, "open_asks": 0}
    return {**plain, "queued": 0, "ended": None, **({"turn": turn} if fields.pop("runs", False) else {}), **fields}


def test_those_that_want_somebody_come_first() -> None:
    """Then those that run, those that failed, and the others; archived ones are left out."""
    shown = everything(
        [
            listed("idle", ended="interrupted"),
            listed("failed", ended="failed"),
            listed("running", runs=True, ended="failed", queued=2),
            listed("asks", runs=True, open_asks=1),
            listed("gone", archived=True),
            listed("new"),
        ],
        [],
    )
    assert [(row.session, row.state) for row in shown.sessions] == [
        ("asks", "waiting for you"),
        ("running", "running"),
        ("failed", "failed"),
        ("idle", "idle"),
        ("new", "idle"),
    ]
    assert counts(shown) == "1 waiting for you, 1 running, 1 failed, 2 idle"
    assert cells(shown.sessions[1], NOW_S) == ("running", "running", "echo", "1 min 5 s", "-", "2", "-")


def test_a_title_is_one_harmless_line() -> None:
    """Whatever somebody called it."""
    (row,) = everything([listed("a", title="x\x1b]0;t\x07y\nz")], []).sessions
    assert cells(row, NOW_S)[-1] == "xy z"


@pytest.mark.parametrize(
    ("since", "shown"),
    [
        ("2026-01-01T00:00:00.000Z", "0 s"),
        ("2026-01-01T00:00:09.000Z", "0 s"),
        ("2025-12-31T23:59:01.000Z", "59 s"),
        ("2025-12-31T22:30:30.000Z", "1 h 29 min"),
        ("nonsense", ""),
    ],
)
def test_ages(since: str, shown: str) -> None:
    """For people; clocks that go wrong make none negative."""
    assert age(since, NOW_S) == shown


def test_once_and_for_machines(real: HubProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Into a pipe it is printed once, a line a session; as JSON with the runners."""
    monkeypatch.chdir(tmp_path)
    hub = CliHub(url=real.url, token=real.token, home=tmp_path)
    waits, fails = hub.new(), hub.new()
    hub.start(waits, BASH)
    hub.asked(waits)
    hub.run("send", waits, "later", "--on-busy", "queue")
    hub.run("send", fails, script(FAIL))
    for options in ((), ("--once",)):
        result = hub.run("top", *options)
        assert result.exit_code == 0
        rows = {row.split("\t")[0]: row.split("\t")[1:] for row in result.stdout.splitlines()}
        assert rows[waits][:2] == ["waiting for you", "echo"]
        assert rows[waits][3:] == ["1", "1", "-"]
        assert rows[fails] == ["failed", "echo", "-", "-", "-", "-"]
        assert "Runner run_" in result.stderr
    told = json.loads(hub.run("top", "--json").stdout)
    row = next(one for one in told["sessions"] if one["session"] == waits)
    assert (row["state"], row["asks"], row["queued"]) == ("waiting for you", 1, 1)
    assert "echo" in told["runners"][0]["agents"]
    hub.run("interrupt", waits)


@pytest.mark.skipif(not shutil.which("tmux"), reason="tmux is not installed")
def test_live_it_follows_what_happens(tmp_path: Path) -> None:
    """Pushed by the hub; when that is gone it says so, and goes on when it is back."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with hub_process(CONFIG, "--port", str(port)) as process:
        desk = CliHub(url=process.url, token=process.token, home=tmp_path)
        session = desk.new()
        environ = {name: value for name, value in desk.environ.items() if value is not None}
        with pane([sys.executable, "-m", "hub", "top"], environ, tmp_path) as top:
            top.see("1 idle", "runner run_", "SESSION", session)
            desk.start(session, HANG)
            top.see("1 running", session, "running", "echo", " s ")
            desk.run("send", session, "later", "--on-busy", "queue")
            top.until(lambda shown: shown.split(session)[1].split()[-2:] == ["1", "-"], "one message waits")
            desk.run("interrupt", session)
            top.see("1 idle")
            desk.start(session, BASH)
            top.see("1 waiting for you")
            process.kill()
            top.see("the hub is away")
            process.start()
            top.until(
                lambda shown: "away" not in shown and "1 failed" in shown, "the hub is back, the turn is not"
            )
            top.press("C-c")
            top.see("[exit 0]")
