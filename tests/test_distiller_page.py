"""docs/distiller.md is so: its configurations are accepted, its commands print what it shows, its codes exist."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hub import distiller, plugins
from hub.configload import load
from hub.testing.process import hub_process

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs/distiller.md").read_text()
CONFIGS = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
HUB = """
[plugins]
enabled = ["distiller"]
[agents.rehearsal]
transport = "scripted"
"""


@pytest.mark.parametrize("config", CONFIGS, ids=range(len(CONFIGS)))
def test_its_configurations_are_accepted(config: str, tmp_path: Path) -> None:
    """By the hub and by the plugin, as they stand."""
    (tmp_path / "turnhub.toml").write_text(config)
    made = load(tmp_path / "turnhub.toml", environ={})
    loaded = plugins.load(made)
    assert [one.status for one in loaded.found if one.name == "distiller"] == ["loaded"]
    distiller.hand_over(made, loaded)


def plain(text: str) -> str:
    """``text`` without what is never the same twice."""
    text = re.sub(r"\b(trn|ses)_[0-9a-z]+", r"\1", text)
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "now", text)


@pytest.mark.slow
def test_its_commands_print_what_it_shows() -> None:
    """In a new session, line for line; a memory comes a moment after the turn's end."""
    (console,) = re.findall(r"^```console\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    steps = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", console, re.MULTILINE)
    assert len(steps) == 3
    with hub_process(HUB) as hub:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        environment = {"PATH": path, "HOME": str(hub.folder), "LC_ALL": "C.UTF-8"}
        environment |= {"TURNHUB_URL": hub.url, "TURNHUB_TOKEN": hub.token}

        def run(command: str) -> str:
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=hub.folder,
                env=environment,
                capture_output=True,
                text=True,
                check=True,
                timeout=60,
            )
            return done.stdout

        environment["session"] = run("turnhub new rehearsal").strip()
        for command, shown in steps:
            printed = run(command)
            for _ in range(20):
                if plain(printed) == plain(shown):
                    break
                printed = run(command) if "send" not in command else printed
            assert plain(printed) == plain(shown)


def test_its_codes_are_those_of_the_code() -> None:
    """Every code that is given somewhere stands in the table, and no other."""
    section = PAGE.split("| code |")[1].split("\n\n")[0]
    told = {code for row in section.splitlines()[2:] for code in re.findall(r"`(\w+)`", row.split("|")[1])}
    sources = [
        *(ROOT / "plugins/distiller/turnhub_distiller").glob("*.py"),
        ROOT / "hub/runner/remembering.py",
        ROOT / "hub/runner/distilling.py",
        ROOT / "hub/store/lua/finish.lua",
    ]
    text = "".join(path.read_text() for path in sources)
    given = set(re.findall(r'(?:RouteFailed\(\s*|_failed\(|code=|"code":)"(\w+)"', text))
    assert told == given
