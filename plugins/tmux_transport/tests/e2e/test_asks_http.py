"""Asks of the real agent over HTTP: two clients and a hub that is killed. What its model was told is the judge."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from hub.testing import HubProcess, hub_process

from .conftest import World
from .test_asks import Scene, Scripted
from .test_restart import Client, config_of

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(180)]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a short name, gone in the end."""
    made = Path(tempfile.mkdtemp(prefix="th-"))
    yield made
    shutil.rmtree(made, ignore_errors=True)


async def answer(hub: HubProcess, ask: str, **body: Any) -> httpx.Response:
    """One client's answer to an ask."""
    headers = {"Authorization": f"Bearer {hub.token}"}
    async with httpx.AsyncClient(base_url=hub.url, headers=headers, timeout=30) as client:
        return await client.post(f"/v1/asks/{ask}/answer", json=body)


@pytest.mark.parametrize(
    "hooked", [pytest.param(True, marks=pytest.mark.full, id="hooks"), pytest.param(False, id="keys")]
)
async def test_two_clients_answer_and_an_answered_ask_never_comes_back(folder: Path, *, hooked: bool) -> None:
    """The second answer is refused with who gave the first and what it was; what cannot be typed is refused with
    the reason, and the ask stays open; the model is told exactly what was answered. After that neither a restart
    of the hub, nor another turn, nor 500 lines more bring an ask back."""
    scripted = Scripted()
    async with scripted.model as model:
        world = World(folder, model)
        world.trust()
        scene = Scene(world, None, hooked=hooked)
        config = config_of(world).replace("socket =", f"hooks = {str(hooked).lower()}\nsocket =")
        try:
            with hub_process(config) as hub:
                client = Client(hub)
                session = (await client.call("POST", "/v1/sessions", agent="pane"))["id"]
                permission, question = await _two_asks(hub, client, session, scene)
                hub.kill()
                hub.start()
                client = Client(hub)
                await client.call("POST", f"/v1/sessions/{session}/messages", text="LINES now")
                await client.until(f"/v1/sessions/{session}", lambda found: found["turn"] is None)
                assert await client.call("GET", "/v1/asks?state=open") == []
                events = (await client.call("GET", f"/v1/sessions/{session}/events?after=0"))["events"]
        finally:
            await world.close()
    for kind in ("ask_opened", "ask_settled", "ask_delivered"):
        found = [
            event["ask"]["id"] if kind == "ask_opened" else event["ask_id"]
            for event in events
            if event["type"] == kind
        ]
        assert found == [permission, question], kind
    assert world.prompts() == ["BASH one", "ASK two", "LINES now"]


async def _two_asks(hub: HubProcess, client: Client, session: str, scene: Scene) -> tuple[str, str]:
    """A permission and a question, each answered by one client and then by another; their ids."""
    await client.call("POST", f"/v1/sessions/{session}/messages", text="BASH one")
    (ask,) = await client.until("/v1/asks?state=open", bool)
    permission: str = ask["id"]
    if not scene.hooked:
        refused = await answer(hub, permission, decision="allow", input={"command": "echo other"})
        assert refused.status_code == 422
        assert "not changed" in refused.text
    assert (await answer(hub, permission, decision="deny", message="not on my watch")).status_code == 200
    late = await answer(hub, permission, decision="allow")
    assert late.status_code == 409
    assert '"deny"' in late.text
    await client.until(f"/v1/sessions/{session}", lambda found: found["turn"] is None)
    assert "not on my watch" in scene.told()
    assert not (scene.world.cwd / "made").exists()

    await client.call("POST", f"/v1/sessions/{session}/messages", text="ASK two")
    (ask,) = await client.until("/v1/asks?state=open", bool)
    question: str = ask["id"]
    assert (await answer(hub, question, answers={"Which colour?": "a warm green"})).status_code == 200
    late = await answer(hub, question, answers={"Which colour?": "Red"})
    assert late.status_code == 409
    assert "a warm green" in late.text
    await client.until(f"/v1/sessions/{session}", lambda found: found["turn"] is None)
    assert '"Which colour?"="a warm green"' in scene.told()
    return permission, question
