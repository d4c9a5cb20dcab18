"""The hub that the command line is pointed at: a small fake one, and the real one. Tests do not know which."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hub.testing.process import HubProcess, hub_process
from tests.clihub import CliHub
from tests.fakehub import FakeHub, running

_AGENTS = '[plugins]\nenabled = []\n[agents.echo]\ntransport = "scripted"\n[agents.gone]\ntransport = "absent"\n'


@pytest.fixture(scope="module")
def real() -> Iterator[HubProcess]:
    """One real hub for a module's tests: each has sessions of its own and looks at no others."""
    with hub_process(_AGENTS) as process:
        yield process


@pytest.fixture(params=["fake", "real"])
def hub(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CliHub]:
    """A hub with the agents `echo` and `gone`."""
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    monkeypatch.chdir(home)
    if request.param == "fake":
        with running(FakeHub()) as fake:
            yield CliHub(url=fake.url, token=fake.token, home=home)
    else:
        process: HubProcess = request.getfixturevalue("real")
        yield CliHub(url=process.url, token=process.token, home=home)
