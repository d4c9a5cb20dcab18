"""The page on deployment: its blocks are tried on what they are for."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from hub.configload import load
from hub.testing.process import HubProcess, hub_process
from hub.testing.stores import wait_for

PAGE = (Path(__file__).parent.parent / "docs/deploy.md").read_text()
PROXIED = """
[server]
allowed_hosts = ["hub.example.org", "localhost", "127.0.0.1"]
trusted_proxies = ["127.0.0.1"]
[plugins]
enabled = []
[agents.echo]
transport = "scripted"
"""


def blocks(language: str) -> list[str]:
    """The code blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("block", blocks("toml"))
def test_each_configuration_is_one(block: str, tmp_path: Path) -> None:
    """The hub reads it without a complaint."""
    path = tmp_path / "turnhub.toml"
    path.write_text(block)
    assert load(path).path == path


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    """`systemd-analyze verify` has nothing to say about it."""
    (unit,) = blocks("ini")
    program = next(line for line in unit.splitlines() if line.startswith("ExecStart=")).split()[0]
    path = tmp_path / "turnhub.service"
    path.write_text(unit.replace(program, f"ExecStart={sys.executable}"))
    command = ["systemd-analyze", "verify", "--man=no", "--user", str(path)]
    environment = {"XDG_RUNTIME_DIR": str(tmp_path), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    told = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert [line for line in told.stderr.splitlines() if "turnhub.service" in line] == []


@contextmanager
def proxied(hub: HubProcess, folder: Path) -> Iterator[str]:
    """A real nginx with the page's server block, without TLS, on a port of its own; its address."""
    (block,) = blocks("nginx")
    port = int(hub.url.rpartition(":")[2]) + 1
    lines = [line for line in block.splitlines() if not line.strip().startswith("ssl_")]
    server = "\n".join(lines).replace("listen 443 ssl;", f"listen 127.0.0.1:{port};")
    server = server.replace("http://127.0.0.1:8420", hub.url)
    temps = "".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    config = folder / "nginx.conf"
    config.write_text(
        f"daemon off; pid {folder}/pid; error_log {folder}/error.log; worker_processes 1;\n"
        f"events {{}}\nhttp {{ {temps}\n{server}\n}}\n"
    )
    process = subprocess.Popen(
        ["nginx", "-p", str(folder), "-c", str(config), "-e", str(folder / "error.log")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"

    def answers() -> bool:
        assert process.poll() is None, (folder / "error.log").read_text()
        try:
            return (
                httpx.get(f"{url}/healthz", headers={"Host": "hub.example.org"}, trust_env=False).status_code
                == 200
            )
        except httpx.TransportError:
            return False

    try:
        wait_for(answers, 20)
        yield url
    finally:
        process.terminate()
        process.wait(20)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("nginx"), reason="nginx is not installed")
def test_behind_nginx_a_stream_comes_as_it_is_made(tmp_path: Path) -> None:
    """Through a real nginx with the page's settings: words arrive while their turn still runs; a name that the hub
    is not told of is refused."""
    script = json.dumps({"steps": [{"text": "at once"}, {"hang": True}]})
    with hub_process(PROXIED) as hub, proxied(hub, tmp_path) as url:
        headers = {"Authorization": f"Bearer {hub.token}", "Host": "hub.example.org"}
        with httpx.Client(base_url=url, headers=headers, trust_env=False, timeout=30) as client:
            login = client.get(f"/?token={hub.token}", headers={"X-Forwarded-Proto": "https"})
            assert "Secure" not in login.headers["set-cookie"]  # here nginx has no TLS, and says so
            session = client.post("/v1/sessions", json={"agent": "echo"}).json()["id"]
            streaming = {"Accept": "text/event-stream"}
            path = f"/v1/sessions/{session}/messages"
            with client.stream("POST", path, json={"text": script}, headers=streaming) as stream:
                assert any("at once" in line for line in stream.iter_lines())
                running = client.get(f"/v1/sessions/{session}").json()["turn"]
                assert running["state"] == "running"
            client.post(f"/v1/sessions/{session}/interrupt", json={})
            foreign = client.get("/v1/sessions", headers={"Host": "elsewhere.example.org"})
            assert (foreign.status_code, foreign.json()["code"]) == (403, "foreign_host")


@contextmanager
def behind_caddy(hub: HubProcess, folder: Path) -> Iterator[str]:
    """A real Caddy with the page's block, on a port of its own and with a certificate of its own; its address."""
    (block,) = (one for one in blocks("text") if "reverse_proxy" in one)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    site = block.replace("hub.example.org {", f"hub.example.org:{port} {{\n    bind 127.0.0.1\n    tls internal")
    config = folder / "Caddyfile"
    options = "admin off\n    auto_https disable_redirects\n    skip_install_trust\n    storage file_system"
    config.write_text(
        f"{{\n    {options} {folder}/data\n}}\n" + site.replace("127.0.0.1:8420", hub.url.removeprefix("http://"))
    )
    log = folder / "caddy.log"
    with log.open("wb") as out:
        command = ["caddy", "run", "--config", str(config), "--adapter", "caddyfile"]
        environ = {**os.environ, "HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
        process = subprocess.Popen(command, stdout=out, stderr=out, env=environ)

    def answers() -> bool:
        assert process.poll() is None, log.read_text()
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 5):
            return (folder / "data/pki/authorities/local/root.crt").exists() and "certificate obtained" in (
                log.read_text()
            )
        return False

    try:
        wait_for(answers, 30)
        yield f"https://hub.example.org:{port}"
    finally:
        process.terminate()
        process.wait(20)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("caddy"), reason="caddy is not installed")
@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
def test_behind_caddy_a_stream_comes_as_it_is_made_and_the_cookie_is_secure(tmp_path: Path) -> None:
    """Through a real Caddy with the page's block, which ends TLS: words arrive while their turn still runs, the
    login's cookie is Secure, and a page of the name may ask."""
    script = json.dumps({"steps": [{"text": "at once"}, {"hang": True}]})
    with hub_process(PROXIED) as hub, behind_caddy(hub, tmp_path) as url:
        port = url.rpartition(":")[2]
        root = tmp_path / "data/pki/authorities/local/root.crt"
        curl = ["curl", "-sS", "--noproxy", "*", "--cacert", str(root), "--max-time", "60"]
        curl += ["--resolve", f"hub.example.org:{port}:127.0.0.1"]

        def ask(*args: str) -> str:
            return subprocess.run([*curl, *args], check=True, capture_output=True, text=True).stdout

        login = ask("-D", "-", "-o", "/dev/null", f"{url}/?token={hub.token}")
        assert "Secure" in login
        auth = ["-H", f"Authorization: Bearer {hub.token}", "-H", f"Origin: {url}"]
        session = json.loads(ask(*auth, "--json", '{"agent": "echo"}', f"{url}/v1/sessions"))["id"]
        path = f"{url}/v1/sessions/{session}"
        streaming = [*curl, "-N", *auth, "-H", "Accept: text/event-stream", "--json", json.dumps({"text": script})]
        with subprocess.Popen([*streaming, f"{path}/messages"], stdout=subprocess.PIPE, text=True) as stream:
            assert stream.stdout is not None
            assert any("at once" in line for line in stream.stdout)
            assert json.loads(ask(*auth, path))["turn"]["state"] == "running"
            ask(*auth, "-X", "POST", f"{path}/interrupt")
            assert "turn_interrupted" in stream.stdout.read()
