"""The tutorial, typed as it stands beside the hub that it starts."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from hub.statedir import read_note
from hub.testing.stores import wait_for

PAGE = (Path(__file__).parent.parent / "docs/tutorial.md").read_text()
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)

pytestmark = [pytest.mark.slow, pytest.mark.real, pytest.mark.timeout(300)]


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of a person whose hub the tutorial's first command has started."""
    folder = tmp_path_factory.mktemp("t")
    names = {name: value for name, value in os.environ.items() if not name.startswith(("TURNHUB_", "ANTHROPIC_"))}
    path = f"{Path(sys.executable).parent}:{names['PATH']}"
    environment = {**names, "HOME": str(folder), "PATH": path}
    (command,) = BLOCKS[0].splitlines()
    process = subprocess.Popen(
        [*command.split(), "--port", "0"],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    state = folder / ".local/state/turnhub/demo"

    def serves() -> bool:
        assert process.poll() is None, "the hub has ended"
        note = read_note(state)
        if note is None:
            return False
        environment["TURNHUB_URL"] = note.url
        try:
            return httpx.get(f"{note.url}/healthz", trust_env=False).status_code == 200
        except httpx.TransportError:
            return False

    try:
        wait_for(serves, 60)
        yield environment
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(20)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def test_the_tutorial_works_as_it_stands(home: dict[str, str]) -> None:
    """From the first command to the last, in one shell: each part does what the text around it says."""
    script = "\n".join(f"{block}\necho '--- part' $? >&2" for block in BLOCKS[1:])
    done = subprocess.run(
        ["bash", "-mc", script],
        cwd=home["HOME"],
        env=home,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    told = done.stdout + done.stderr
    assert re.findall(r"^--- part (\d+)$", done.stderr, re.MULTILINE) == ["0"] * len(BLOCKS[1:]), told
    for shown in (
        "This is a rehearsal",
        "1 of 40: this line came first",
        "40 of 40",
        "You allowed it, and it printed:",
        "This time it worked.",
        "by extractive",
    ):
        assert shown in done.stdout, told
    assert (
        "This line was printed by a command that you allowed." in (Path(home["HOME"]) / "session.md").read_text()
    )
