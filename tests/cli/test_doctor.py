"""doctor: finds what is wrong, names what mends it, and is silent about passwords."""

from __future__ import annotations

import errno
import json
import os
import shutil
import socket
import socketserver
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner
from redis import Redis

from hub import __version__
from hub.cli.main import turnhub
from hub.errors import StoreUnavailable
from hub.statedir import HubNote, write_note
from hub.store.rights import ENOUGH
from tests.certificates import issue
from tests.clihub import CliHub

REDIS = shutil.which("redis-server")


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An own directory with an own home, and a port that is free."""
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    monkeypatch.chdir(home)
    for name in ("TURNHUB_URL", "TURNHUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    with socket.create_server(("127.0.0.1", 0)) as free:
        monkeypatch.setenv("TURNHUB_SERVER__PORT", str(free.getsockname()[1]))
    return home


def examine(config: str, *args: str, code: int | None = None) -> dict[str, dict[str, str]]:
    """The findings by name; of several with one name the worst."""
    Path("turnhub.toml").write_text(config)
    result = CliRunner().invoke(turnhub, ["doctor", "--json", *args])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    told = json.loads(result.stdout)
    assert result.exit_code == (0 if told["ok"] else 1)
    assert code in {None, result.exit_code}
    ranked = sorted(told["findings"], key=lambda one: ["ok", "note", "wrong"].index(one["status"]))
    return {one["name"]: one for one in ranked}


GOOD = '[plugins]\nenabled = []\n[store]\nstate = "s"\n[agents.echo]\ntransport = "scripted"\n'


def test_all_is_well(place: Path) -> None:
    """Exit code 0, every finding is fine, and nothing was made."""
    found = examine(GOOD, code=0)
    assert {one["status"] for one in found.values()} == {"ok"}
    assert {"python", "configuration", "state directory", "store", "plugin scripted", "agent echo", "hub"} == set(
        found
    )
    assert not (place / "s").exists()


def test_people_read_what_mends_it(place: Path) -> None:
    """A line for each finding, and under what is wrong the line that mends it."""
    Path("turnhub.toml").write_text(GOOD)
    (place / "s").mkdir(mode=0o755)
    result = CliRunner().invoke(turnhub, ["doctor"])
    assert result.exit_code == 1
    assert "✓ python: " in result.stdout
    assert (
        f"✗ state directory: {place / 's'} is open to others\n    mend it: chmod 700 {place / 's'}"
        in result.stdout
    )
    assert "1 thing to mend." in result.stderr
    (place / "s").chmod(0o700)
    assert "All is well." in CliRunner().invoke(turnhub, ["doctor"]).stderr


def test_a_mistake_in_the_configuration_does_not_end_the_examination() -> None:
    """It is a finding; the rest is looked at with the defaults."""
    found = examine("[server]\nprot = 1", "--state", "s", code=1)
    assert "did you mean `port`?" in found["configuration"]["detail"]
    assert {"store", "hub"} <= set(found)


def test_rights_that_are_too_wide_are_named(place: Path) -> None:
    """Directory and secrets."""
    state = place / "s"
    state.mkdir(mode=0o700)
    (state / "token").write_text("x")
    (state / "token").chmod(0o644)
    found = examine(GOOD, code=1)["state directory"]
    assert found["mend"] == f"chmod 600 {state / 'token'}"
    (state / "token").unlink()
    state.rmdir()
    state.write_text("a file")
    assert "cannot be used" in examine(GOOD, code=1)["state directory"]["detail"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /proc here")
def test_a_directory_in_which_nothing_can_be_written_is_named(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For root too, whom rights do not stop; a disk that is full has another mend."""
    found = examine(GOOD, "--state", "/proc/turnhub", code=1)["state directory"]
    assert found["detail"].startswith("/proc/turnhub cannot be made in /proc: ")
    assert found["mend"] == "name another one with --state"
    (place / "s").mkdir(mode=0o700)

    def full(**_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("hub.cli.checks.tempfile.TemporaryFile", full)
    found = examine(GOOD, code=1)["state directory"]
    assert found["detail"] == f"{place / 's'} cannot be used: No space left on device"
    assert "free some space" in found["mend"]


def test_a_state_directory_that_is_typed_is_meant_from_here(place: Path) -> None:
    """Wherever the configuration lies, and where it cannot be read."""
    (place / "elsewhere").mkdir()
    for text in (GOOD, "no = = toml"):
        (place / "elsewhere/my.toml").write_text(text)
        found = examine(GOOD, "--config", "elsewhere/my.toml", "--state", "mine")["state directory"]
        assert found["detail"] == f"{place / 'mine'} is made at the first start"


def test_agents_that_cannot_run_say_why() -> None:
    """A transport that nobody offers, options that are wrong, a policy that does not exist, no agent at all."""
    found = examine('[plugins]\nenabled = []\n[agents.a]\ntransport = "nothing"\npolicy = "gone"', code=1)
    assert "offers transport 'nothing'" in found["agent a"]["detail"]
    assert "agents.a.policy" in found["policies"]["detail"]
    assert examine("[plugins]\nenabled = []\n[agents]", code=1)["agents"]["status"] == "wrong"


def test_a_plugin_that_is_missing_matters_when_an_agent_needs_it() -> None:
    """Otherwise it is worth a note."""
    config = '[plugins]\nenabled = ["absent"]\n[agents.a]\ntransport = "{}"\n'
    needed = examine(config.format("absent"), code=1)["plugin absent"]
    assert needed["status"] == "wrong"
    assert "spelt right" in needed["detail"]
    assert examine(config.format("scripted"), code=0)["plugin absent"]["status"] == "note"


def test_a_missing_tmux_matters_when_an_agent_needs_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It names the packages."""
    monkeypatch.setenv("PATH", str(tmp_path))
    config = '[plugins]\nenabled = ["tmux"]\n[agents.a]\ntransport = "{}"\n'
    found = examine(config.format("tmux"), code=1)["tmux"]
    assert found["status"] == "wrong"
    assert "apt-get install tmux" in found["mend"]
    assert examine(config.format("scripted"))["tmux"]["status"] == "note"
    (tmp_path / "tmux").write_text("#!/bin/sh\necho tmux 9.9\n")
    (tmp_path / "tmux").chmod(0o755)
    assert examine(config.format("tmux"))["tmux"] == {
        "name": "tmux",
        "status": "ok",
        "detail": "9.9",
        "mend": None,
    }


def test_a_store_that_is_away_is_named_without_its_password() -> None:
    """The address, and what to do."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    text = GOOD.replace('state = "s"', f'state = "s"\nurl = "redis://me:SESAME@127.0.0.1:{port}/0"')
    away = examine(text, code=1)["store"]
    assert f"127.0.0.1:{port}" in away["detail"]
    assert "SESAME" not in json.dumps(away)


@contextmanager
def old_redis(version: str, hello: bytes) -> Iterator[str]:
    """A stand-in for an old Redis: it tells its version and the time, and takes whatever else it is told."""

    class Old(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while line := self.rfile.readline():
                words = [self.rfile.read(int(self.rfile.readline()[1:]) + 2)[:-2] for _ in range(int(line[1:]))]
                about = f"redis_version:{version}\r\nmaxmemory_policy:noeviction\r\n".encode()
                answers = {
                    b"TIME": b"*2\r\n$10\r\n%d\r\n$1\r\n0\r\n" % int(time.time()),
                    b"INFO": b"$%d\r\n%s\r\n" % (len(about), about),
                    b"HELLO": hello,
                    b"EVAL": b"*0\r\n",
                }
                self.wfile.write(answers.get(words[0].upper(), b"+OK\r\n"))

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Old) as server:
        server.daemon_threads = True
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        try:
            yield f"redis://127.0.0.1:{server.server_address[1]}/0"
        finally:
            server.shutdown()
            serving.join()


@pytest.mark.parametrize(
    ("version", "hello", "told"),
    [
        (
            "5.0.14",
            b"-ERR unknown command `HELLO`, with args beginning with: `3`, \r\n",
            "unknown command `HELLO`",
        ),
        ("6.0.16", b"%1\r\n+server\r\n+redis\r\n", "6.0.16"),
    ],
)
def test_a_store_that_is_too_old_is_named(version: str, hello: bytes, told: str) -> None:
    """By the doctor, and by the hub, which does not start on it; one that has not even the first command, too."""
    with old_redis(version, hello) as url:
        found = examine(GOOD.replace('state = "s"', f'state = "s"\nurl = "{url}"'), code=1)["store"]
        assert told in found["detail"]
        assert found["mend"] == "install Redis 6.2 or Valkey, or newer"
        command = [sys.executable, "-m", "hub", "serve", "--port", "0"]
        served = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert served.returncode == 1
    assert served.stderr.startswith("turnhub: The store is too old: it has to be Redis 6.2, Valkey, or newer (")
    assert told in served.stderr
    assert len(served.stderr.splitlines()) == 1


@pytest.mark.skipif(REDIS is None, reason="redis-server is not installed")
def test_clocks_that_differ_are_named(redis: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With how much and which way; what mends it."""
    text = GOOD.replace('state = "s"', f'state = "s"\nurl = "{redis}"')
    assert "clock" not in examine(text)
    real = time.time
    for offset, told in ((60, "60 s ahead of the store's"), (-60, "60 s behind the store's")):
        monkeypatch.setattr("hub.cli.store_checks.time.time", lambda offset=offset: real() + offset)
        found = examine(text, code=1)["clock"]
        assert told in found["detail"]
        assert "set-ntp" in found["mend"]


def test_an_embedded_store_that_does_not_run_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """There is none for this machine, or it cannot be started."""

    def none() -> Path:
        raise StoreUnavailable("There is no embedded store for this machine.")

    monkeypatch.setattr("hub.store.valkey.server_binary", none)
    assert "There is no embedded store" in examine(GOOD, code=1)["store"]["detail"]
    monkeypatch.setattr("hub.store.valkey.server_binary", lambda: tmp_path / "absent")
    assert "does not run" in examine(GOOD, code=1)["store"]["detail"]


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[str]:
    """A Redis of one's own, on a socket, that throws keys away when it is full."""
    path = tmp_path / "r.sock"
    command = [str(REDIS), "--port", "0", "--unixsocket", str(path), "--save", "", "--dir", str(tmp_path)]
    command += ["--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"]
    with (tmp_path / "redis.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 20
        with socket.socket(socket.AF_UNIX) as probe:
            while probe.connect_ex(str(path)) and time.monotonic() < deadline:
                pass
        yield f"unix://{path}"
    finally:
        process.terminate()
        process.wait()


@pytest.mark.skipif(REDIS is None, reason="redis-server is not installed")
def test_a_store_that_may_throw_sessions_away_is_named(redis: str) -> None:
    """It is reachable, but its policy loses data; the command that sets it right is named."""
    found = examine(GOOD.replace('state = "s"', f'state = "s"\nurl = "{redis}"'), code=1)["store"]
    assert "allkeys-lru" in found["detail"]
    assert "CONFIG SET maxmemory-policy noeviction" in found["mend"]


@pytest.mark.skipif(REDIS is None, reason="redis-server is not installed")
def test_a_store_that_takes_no_writes_is_named(redis: str) -> None:
    """A replica answers, and is no store for a hub; so is one that is full."""
    text = GOOD.replace('state = "s"', f'state = "s"\nurl = "{redis}"')
    with Redis.from_url(redis) as look:
        look.config_set("maxmemory-policy", "noeviction")
        assert examine(text, code=0)["store"]["status"] == "ok"
        look.execute_command("REPLICAOF", "127.0.0.1", "1")
        assert (
            "takes no writes now (You can't write against a read only replica"
            in (examine(text, code=1)["store"]["detail"])
        )
        look.execute_command("REPLICAOF", "NO", "ONE")
        look.config_set("maxmemory", "1")
        assert "Give it more memory" in examine(text, code=1)["store"]["detail"]


@pytest.mark.skipif(REDIS is None, reason="redis-server is not installed")
def test_a_login_that_may_too_little_is_named_with_its_rights(redis: str) -> None:
    """What it may not, and what mends it; a wrong password is another thing."""
    text = GOOD.replace('state = "s"', f'state = "s"\nurl = "{redis}?username=hub&password=SESAME"')
    with Redis.from_url(redis) as look:
        look.config_set("maxmemory-policy", "noeviction")
        assert "user and password" in examine(text, code=1)["store"]["mend"]
        look.execute_command("ACL", "SETUSER", "hub", "on", ">SESAME", "~th:*", "+@all")
        found = examine(text, code=1)["store"]
        assert "(PUBLISH, SUBSCRIBE, " in found["detail"]
        assert found["mend"].endswith(f"ACL SETUSER <user> {ENOUGH}")
        assert "SESAME" not in json.dumps(found)
        look.execute_command("ACL", "SETUSER", "hub", *ENOUGH.split())
        assert examine(text, code=0)["store"]["status"] == "ok"


def test_a_port_that_is_taken_is_named_with_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """By something that is no hub."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        monkeypatch.setenv("TURNHUB_SERVER__PORT", str(port))
        found = examine(GOOD, code=1)["hub"]
    assert "is taken by something else" in found["detail"]
    assert found["mend"] == f"turnhub serve --port {port + 1}"


def test_an_address_that_is_not_ours_is_named() -> None:
    """It can not be listened on."""
    text = f'[server]\nhost = "192.0.2.1"\n{GOOD}'
    assert "could not listen on 192.0.2.1" in examine(text, code=1)["hub"]["detail"]


def test_a_hub_that_others_can_reach_is_looked_at(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without TLS it would not start; with it, the certificate has to be one, and the names have to be known."""
    open_to_all = f'[server]\nhost = "0.0.0.0"\n{GOOD}'
    assert "--insecure-bind" in examine(open_to_all, code=1)["exposure"]["detail"]
    (place / "empty.pem").write_text("")
    text = open_to_all.replace("[server]", '[server]\ntls_cert = "empty.pem"')
    assert "server.tls_cert" in examine(text, code=1)["exposure"]["detail"]
    issued = issue(place / "tls")
    text = open_to_all.replace("[server]", f'[server]\ntls_cert = "{issued.cert}"\ntls_key = "{issued.key}"')
    found = examine(text, code=0)["exposure"]
    assert found["status"] == "note"
    assert "server.allowed_hosts" in found["detail"]
    monkeypatch.setenv("TURNHUB_TOKEN", "hunter2")
    found = examine(text, code=1)["exposure"]
    assert "7 characters" in found["detail"]
    assert "hunter2" not in str(found)


def test_the_version_that_runs_is_compared_with_the_one_installed(
    hub: CliHub, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An upgrade counts when the hub is started again."""
    write_note(place / "s", HubNote(url=hub.url, pid=1, version="x"))
    (place / "s/token").write_text(hub.token)
    (place / "s/token").chmod(0o600)
    assert examine(GOOD, code=0)["hub"]["detail"] == f"version {__version__} runs at {hub.url}"
    monkeypatch.setattr("hub.cli.checks.__version__", "9.9")
    found = examine(GOOD, code=1)["hub"]
    assert f"runs version {__version__}, installed is 9.9" in found["detail"]
    assert found["mend"] == "stop it and start it again: turnhub serve"


def test_a_token_that_the_hub_does_not_know_is_named(
    hub: CliHub, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hub is there, and of this version, but would refuse every other command."""
    write_note(place / "s", HubNote(url=hub.url, pid=1, version="x"))
    monkeypatch.setenv("TURNHUB_TOKEN", "th_wrong")
    found = examine(GOOD, code=1)["hub"]
    assert "does not know our token" in found["detail"]
    assert "turnhub token" in found["mend"]
    assert "th_wrong" not in str(found)
    result = hub.run("sessions", TURNHUB_TOKEN="th_wrong")
    assert result.exit_code == 2
    assert result.stderr == (
        f"turnhub: the hub at {hub.url} does not know this token, or got none. `turnhub token` on its machine "
        "shows one that it does; give it with TURNHUB_TOKEN or --token.\n"
    )


def test_a_hub_elsewhere_is_looked_for_where_clients_would(monkeypatch: pytest.MonkeyPatch) -> None:
    """TURNHUB_URL; what is no address, and what is no hub, is named."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    monkeypatch.setenv("TURNHUB_URL", f"http://127.0.0.1:{port}")
    found = examine(GOOD, code=1)["hub"]
    assert f"none answers at TURNHUB_URL (http://127.0.0.1:{port}" in found["detail"]
    assert "unset TURNHUB_URL" in found["mend"]
    monkeypatch.setenv("TURNHUB_URL", "ftp://nowhere")
    assert "is no address of a hub" in examine(GOOD, code=1)["hub"]["detail"]


def test_a_login_that_is_missing_is_named_with_what_mends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """For an agent that is asked for it is wrong, on a line of its own; of the defaults another one can run, and
    then it is a note."""
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    found = examine('[plugins]\nenabled = ["sdk"]\n[agents.claude]\ntransport = "sdk"\n', code=1)["agent claude"]
    assert found["detail"] == "Claude Code is not logged in."
    assert "/login" in found["mend"]
    Path("turnhub.toml").unlink()
    told = json.loads(CliRunner().invoke(turnhub, ["doctor", "--json", "--state", "s"]).stdout)
    assert told["ok"]
    assert next(one for one in told["findings"] if one["name"] == "agent claude")["status"] == "note"
