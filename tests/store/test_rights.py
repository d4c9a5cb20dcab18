"""What a login has to be allowed: it is asked before a hub starts, and what is told to be enough is enough."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import hub
from hub.errors import StoreRefused
from hub.store import transactions
from hub.store.rights import CALLS, ENOUGH, check_rights
from hub.testing import stores
from hub.testing.process import COMMAND, hub_process
from hub.testing.stores import ServerProcess
from tests.e2e.door import Door, types
from tests.store.desk import connected

pytestmark = pytest.mark.anyio

ASK = {"tool": "Bash", "input": {"command": "ls"}, "ask": True, "result": "ok"}
SIGNS = transactions._READ_ONLY_SIGNS + transactions._LOGIN_SIGNS + transactions._AWAY_SIGNS
LOGIN = "?username=hub&password=secret"


@pytest.fixture(params=["redis", "valkey"])
def server(request: pytest.FixtureRequest) -> Iterator[ServerProcess]:
    """A server of one's own with a user ``hub`` that may nothing yet."""
    binary = stores.redis_binary() if request.param == "redis" else stores.valkey_binary()
    if binary is None:
        pytest.skip(f"{request.param} is not installed here")
    with stores.server(binary) as process:
        _allow(process, "on", ">secret")
        yield process


def _allow(server: ServerProcess, *rights: str) -> None:
    with server.client() as look:
        look.execute_command("ACL", "SETUSER", "hub", *rights)


def _config(server: ServerProcess) -> str:
    return f'[store]\nurl = "{server.url}{LOGIN}"\n[agents.echo]\ntransport = "scripted"\n'


def test_every_command_that_is_sent_is_asked_for() -> None:
    """In the transactions, and in all that speaks to the store."""
    folder = Path(hub.__file__).parent / "store"
    sent: set[str] = set()
    for path in [*folder.rglob("*.lua"), *folder.glob("*.py")]:
        text = path.read_text()
        sent.update(re.findall(r"redis\.p?call\('([A-Z]+)'", text))
        sent.update(re.findall(r"(?:execute_command\(\s*|[ (\[]\()\"([A-Z]+)\",", text))
    assert {"XREADGROUP", "HSET", "ZREVRANGEBYSCORE", "HVALS"} <= sent
    assert sent - {"EVAL", "COUNT", "NOGROUP", *SIGNS} <= {call[0] for call in CALLS}


@pytest.mark.parametrize(
    ("rights", "told"),
    [
        ("~th:* +@all", "PUBLISH, SUBSCRIBE, on keys"),
        ("~* &* +@all -xadd -@dangerous", "XADD, INFO"),
        ("~other:* &* +@all", "DEL, EXISTS, EXPIRE, GET and "),
        ("%R~th:* &* +@all", "DEL, EXPIRE, HDEL, HINCRBY and "),
    ],
)
async def test_what_is_missing_is_told(server: ServerProcess, rights: str, told: str) -> None:
    """Commands, keys, channels, keys that may be read only."""
    _allow(server, *rights.split())
    async with connected(server.url + LOGIN) as connections:
        with pytest.raises(StoreRefused, match=re.escape(f"({told}")) as refused:
            await check_rights(connections.commands)
        assert refused.value.detail.endswith(f"ACL SETUSER <user> {ENOUGH}")


def test_a_hub_does_not_start_with_less_and_says_what_is_missing(server: ServerProcess) -> None:
    """In one line; not even the right to ask."""
    _allow(server, "~th:*", "+@all")
    with stores.short_folder() as folder:
        (folder / "turnhub.toml").write_text(_config(server))
        command = [*COMMAND, "serve", "--port", "0", "--state", str(folder / "s")]
        for rights, told in (("", "PUBLISH"), ("-@scripting", "eval"), ("+@scripting &th:* -info", "INFO")):
            _allow(server, *rights.split())
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
            assert done.returncode == 1
            assert len(done.stderr.splitlines()) == 1, done.stderr
            assert told in done.stderr


async def test_what_is_told_to_be_enough_is_enough(server: ServerProcess) -> None:
    """A hub with those rights alone: turns, streams, asks, the queue, deleting, terminals that are asked for."""
    _allow(server, *ENOUGH.split())
    with hub_process(_config(server)) as running:
        async with Door(running) as door:
            session = await door.new()
            assert types(await door.talk(session, "hello"))[-1] == "turn_completed"
            assert (await door.play(session, ASK)).status_code == 202
            async with door.stream("GET", f"/v1/sessions/{session}/live") as answer:
                async for line in answer.aiter_lines():
                    if line == "event: ask_opened":
                        break
            waits = {"text": "next", "on_busy": "queue"}
            assert (await door.post(f"/v1/sessions/{session}/messages", waits)).status_code == 202
            (ask,) = (await door.get("/v1/asks?state=open")).json()
            answered = await door.post(f"/v1/asks/{ask['id']}/answer", {"decision": "allow"})
            assert answered.status_code == 200
            async with door.stream("GET", f"/v1/sessions/{session}/events?after=0") as answer:
                ends = 0
                async for line in answer.aiter_lines():
                    ends += line == "event: turn_completed"
                    if ends == 3:
                        break
            assert (await door.get(f"/v1/sessions/{session}/memory")).status_code == 200
            assert len((await door.get("/v1/sessions")).json()) == 1
            deleted = await door.http.delete(
                f"{running.url}/v1/sessions/{session}", headers={"Authorization": f"Bearer {running.token}"}
            )
            assert deleted.status_code == 204
        assert running.stop() == 0
        assert "NOPERM" not in running.words(), json.dumps(running.words())
