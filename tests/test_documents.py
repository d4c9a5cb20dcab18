"""The documents' commands, run as they stand, against a hub with a scripted agent in the rehearsal's place."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from hub.configload import load
from hub.exposure import check_exposure, warnings
from hub.testing.stores import wait_for
from tests.hubhome import Home, home_with_hub

ROOT = Path(__file__).parent.parent
SERVED_AT = "http://127.0.0.1:8420"
ASKING = json.dumps({"steps": [{"tool": "Bash", "input": {"command": "ls"}, "ask": True}, {"hang": True}]})
# Every request is told on stderr, and given up when it takes for ever.
CURLRC = r"""
write-out = "%{stderr}\n@ %{http_code} %{method} %{url_effective}\n"
max-time = 60
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(400),
    pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed"),
]


class Shell:
    """A shell that a person has beside a running hub."""

    def __init__(self, home: Home) -> None:
        self.hub = home.hub
        self.folder = home.hub.folder
        self.environment = {**home.environment, "CURL_HOME": str(self.folder)}
        (self.folder / ".curlrc").write_text(CURLRC)

    def type(self, script: str) -> list[tuple[int, str, str]]:
        """Run a shell script; the requests it made: status, method, path."""
        done = subprocess.run(
            ["bash", "-uc", script.replace(SERVED_AT, self.hub.url)],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert "unbound variable" not in done.stderr, done.stderr
        told = re.findall(r"^@ (\d+) (\w+) (\S+)$", done.stderr, re.MULTILINE)
        return [(int(status), method, url.removeprefix(self.hub.url)) for status, method, url in told]

    def read(self, name: str) -> str:
        """What a script has written into a file of this name."""
        return (self.folder / name).read_text().strip()

    def ask(self, session: str) -> None:
        """Bring the session's agent to ask for a permission; returns when the ask waits."""
        with httpx.Client(
            base_url=self.hub.url, headers={"Authorization": f"Bearer {self.hub.token}"}, trust_env=False
        ) as client:
            posted = client.post(f"/v1/sessions/{session}/messages", json={"text": ASKING, "on_busy": "interrupt"})
            assert posted.status_code == 202, posted.text
            wait_for(lambda: client.get("/v1/asks?state=open").json(), 60)


@pytest.fixture(scope="module")
def shell() -> Iterator[Shell]:
    """A shell beside a running hub."""
    with home_with_hub() as home:
        yield Shell(home)


def blocks(document: str) -> list[str]:
    """The shell blocks of a document."""
    return re.findall(r"^```sh\n(.*?)^```$", (ROOT / document).read_text(), re.MULTILINE | re.DOTALL)


def test_a_first_turn_works_as_the_readme_shows_it(shell: Shell) -> None:
    """Two requests, typed as they stand there: a session, and a turn that streams to its end."""
    (script,) = [block for block in blocks("README.md") if "curl" in block]
    assert [status for status, _, _ in shell.type(script)] == [201, 200]


def test_the_tour_of_the_api_works_as_it_stands(shell: Shell) -> None:
    """Every request of the tour succeeds, or is refused in the way that the tour says."""
    tour = blocks("docs/http.md")
    asks = next(index for index, block in enumerate(tour) if "/v1/asks" in block)
    script = "\n".join(tour[:asks]) + "\necho $session > session"
    told = shell.type(script)
    session = shell.read("session")
    shell.ask(session)
    rest = "\n".join([tour[0], f"session={session}", *tour[asks:]])
    told += shell.type(rest)
    may_be = {
        "/interrupt": {202, 404},
        "/retry": {202, 409},
        "/live": {200, 204},
        "/answer": {200, 409},
        "/queue/": {200, 204, 404, 409},
    }
    for status, method, path in told:
        expected = next((may for part, may in may_be.items() if part in path), {200, 201, 202, 204})
        assert status in expected, f"{status} {method} {path}"
    assert len(told) >= script.count("curl ") + "\n".join(tour[asks:]).count("curl ")


def test_an_ask_is_settled_once_as_the_tour_says(shell: Shell) -> None:
    """Of the answers that the tour shows, the first is taken and every other one is told who was first."""
    preparation, *_ = blocks("docs/http.md")
    create = (
        'curl -s -H "$auth" --json \'{"agent": "rehearsal"}\' $hub/v1/sessions | grep -o "ses_[0-9a-z]*" | head -1'
    )
    shell.type(f"{preparation}\n{create} > session")
    shell.ask(shell.read("session"))
    (asks,) = [block for block in blocks("docs/http.md") if "/answer" in block]
    answered = [status for status, _, path in shell.type(f"{preparation}\n{asks}") if path.endswith("/answer")]
    assert answered[0] == 200
    assert set(answered[1:]) == {409}


def test_the_commands_about_tokens_work_as_they_stand(tmp_path: Path) -> None:
    """In their order, without a hub: one is made, listed and revoked, and the primary one stays."""
    (script,) = blocks("docs/security.md")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euc", script],
        cwd=tmp_path,
        env={"PATH": path, "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    primary, made, listed = done.stdout.splitlines()
    assert primary.startswith("th_")
    assert made.startswith("th_")
    assert listed.startswith("phone\tread, approve\t")


def test_the_configuration_of_the_security_page_opens_the_hub_and_is_not_refused(tmp_path: Path) -> None:
    """With TLS and a name by which others come: nothing to warn of."""
    (text,) = re.findall(
        r"^```toml\n(.*?)^```$", (ROOT / "docs/security.md").read_text(), re.MULTILINE | re.DOTALL
    )
    (tmp_path / "turnhub.toml").write_text(text)
    server = load(None, {}, tmp_path).server
    check_exposure(server)
    assert warnings(server) == []
    assert (server.tls_cert, server.tls_key) == (tmp_path / "hub.pem", tmp_path / "hub.key")


def test_the_commands_about_policies_print_what_the_page_shows(tmp_path: Path) -> None:
    """With the page's own configuration, line for line."""
    page = (ROOT / "docs/policies.md").read_text()
    (config,) = re.findall(r"^```toml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "turnhub.toml").write_text(config)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {"PATH": path, "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"}
    consoles = re.findall(r"^```console\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    for shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", "".join(consoles), re.MULTILINE):
        command, output = shown
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.stdout.replace(f"{tmp_path}/", "") == output, done.stderr
    assert len(consoles) >= 4
