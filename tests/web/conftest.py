"""A real hub, and a real browser before it."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from hub.testing.process import HubProcess, hub_process
from tests.web.visitor import Visitors

# No distiller: what it adds to a turn comes some time after the turn has ended.
CONFIG = """
[plugins]
enabled = ["sdk"]

[runner]
lease_s = 6.0

[agents.echo]
transport = "scripted"

[agents.timed]
transport = "scripted"
policy = "timed"

[policies.timed]
ask_timeout_s = 600

[agents.rehearsal]
transport = "sdk"
rehearsal = true
"""
_CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for a module. While it is there an event loop runs in this thread, which others cannot bear."""
    if _CHROMIUM is None:
        pytest.fail("Chromium is not installed: scripts/system-packages.sh installs it.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def hub() -> Iterator[HubProcess]:
    """One hub for the tests that leave it as it was."""
    with hub_process(CONFIG, environ={"IS_SANDBOX": "1"}) as hub:
        yield hub


@pytest.fixture
def visitors(browser: Browser) -> Iterator[Visitors]:
    """People with the page open; at the end none of them may have seen an error."""
    visitors = Visitors(browser)
    yield visitors
    visitors.leave()


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a short name, gone in the end with the tmux in it."""
    made = Path(tempfile.mkdtemp(prefix="th-"))
    yield made
    subprocess.run(["tmux", "-S", str(made / "tmux"), "kill-server"], capture_output=True, check=False)
    shutil.rmtree(made, ignore_errors=True)
