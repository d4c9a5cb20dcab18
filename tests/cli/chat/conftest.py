"""A chat in a pane of tmux, with a real hub whose agent plays scripts."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from hub.testing.process import HubProcess, hub_process
from tests.clihub import CliHub
from tests.tmuxpane import Pane, pane

Attach = Callable[..., AbstractContextManager[Pane]]


@pytest.fixture(scope="module")
def process() -> Iterator[HubProcess]:
    """One real hub for a module's tests."""
    with hub_process('[plugins]\nenabled = []\n[agents.echo]\ntransport = "scripted"\n') as running:
        yield running


@pytest.fixture
def desk(process: HubProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CliHub:
    """The hub as somebody else at the same desk sees it."""
    monkeypatch.chdir(tmp_path)
    return CliHub(url=process.url, token=process.token, home=tmp_path)


@pytest.fixture
def command(desk: CliHub) -> Attach:
    """``command(*args)``: the command line in a pane of its own."""
    if not shutil.which("tmux"):
        pytest.skip("tmux is not installed")

    def start(*args: str, **options: int) -> AbstractContextManager[Pane]:
        environ = {name: value for name, value in desk.environ.items() if value is not None}
        return pane([sys.executable, "-m", "hub", *args], environ, desk.home, **options)

    return start
