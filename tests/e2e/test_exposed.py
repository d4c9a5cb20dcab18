"""A hub that others can reach: TLS, or a refusal to start that says what mends it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import httpx
import psutil
import pytest

from hub.testing.process import hub_process
from tests.certificates import issue


def serve(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``turnhub serve`` that is expected to end by itself."""
    return subprocess.run(
        [sys.executable, "-m", "hub", "serve", "--state", str(folder / "state"), "--port", "0", *arguments],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder), "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_beyond_this_machine_a_hub_without_tls_does_not_start(tmp_path: Path) -> None:
    """Exit code 2, one line that says how to mend it, and nothing is made: no token, no store."""
    done = serve(tmp_path, "--host", "0.0.0.0")
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("turnhub: server.host: '0.0.0.0' is reached from other machines")
    assert "--insecure-bind" in line
    assert "--tls-cert" in line
    assert list(tmp_path.iterdir()) == []


def test_a_certificate_that_cannot_be_read_stops_the_start(tmp_path: Path) -> None:
    """On loopback too: nobody is served in the clear who was promised TLS."""
    done = serve(tmp_path, "--tls-cert", "none.pem")
    assert done.returncode == 2
    assert f"server.tls_cert: {tmp_path / 'none.pem'} cannot be read" in done.stderr


@pytest.mark.parametrize("how", ["--insecure-bind", "insecure_bind = true"])
def test_a_bare_bind_is_served_where_it_is_asked_for_and_warned_of(how: str) -> None:
    """By option or by configuration; the log says what it means."""
    option = how.startswith("--")
    config = "[plugins]\nenabled = []\n" if option else f"[server]\n{how}\n[plugins]\nenabled = []\n"
    with hub_process(config, "--host", "0.0.0.0", *([how] if option else [])) as hub:
        assert httpx.get(f"{hub.url}/healthz").status_code == 200
        assert "without TLS" in hub.words()
        assert hub.stop() == 0


def test_the_command_line_finds_a_hub_with_tls(tmp_path: Path) -> None:
    """By the state directory alone, though no authority of the machine knows the certificate or its name."""
    issued = issue(tmp_path / "tls", "hub.example")
    config = '[plugins]\nenabled = []\n[agents.echo]\ntransport = "scripted"\n'
    arguments = ("--host", "0.0.0.0", "--tls-cert", str(issued.cert), "--tls-key", str(issued.key))
    with hub_process(config, *arguments) as hub:
        assert hub.url.startswith("https://127.0.0.1:")
        told = subprocess.run(
            [sys.executable, "-m", "hub", "agents", "--json", "--state", str(hub.state)],
            cwd=hub.folder,
            env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert told.returncode == 0, told.stderr
        assert [one["name"] for one in json.loads(told.stdout)] == ["echo"]
        assert hub.stop() == 0, hub.words()
        assert "PRIVATE" not in hub.words()


def test_no_secret_stands_in_logs_or_on_command_lines() -> None:
    """After a login, a wrong one and refused requests; of the hub and of what it starts."""
    config = '[plugins]\nenabled = []\n[agents.echo]\ntransport = "scripted"\n'
    with hub_process(config, "--log-format", "json", "--log-level", "debug") as hub:
        mine = {"Authorization": f"Bearer {hub.token}"}
        assert httpx.get(f"{hub.url}/?token={hub.token}").status_code == 303
        assert httpx.get(f"{hub.url}/?token=th_wrong").status_code == 401
        assert httpx.get(f"{hub.url}/v1/agents?token=th_wrong", headers=mine).status_code == 200
        assert httpx.get(f"{hub.url}/v1/agents", headers={"Authorization": "Bearer th_wrong"}).status_code == 401
        assert httpx.get(f"{hub.url}/v1/nowhere?token={hub.token}", headers=mine).status_code == 404
        around = [psutil.Process(hub.pid), *psutil.Process(hub.pid).children(recursive=True)]
        commands = " ".join(word for one in around for word in one.cmdline())
        assert hub.stop() == 0
        for secret in (hub.token, "th_wrong"):
            assert secret not in hub.log.read_text()
            assert secret not in commands
