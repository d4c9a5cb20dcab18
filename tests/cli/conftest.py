"""The hub that the command line is pointed at."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clihub import CliHub
from tests.fakehub import FakeHub, running


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CliHub]:
    """A hub with the agents `echo` and `gone`."""
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    monkeypatch.chdir(home)
    with running(FakeHub()) as fake:
        yield CliHub(url=fake.url, token=fake.token, home=home)
