"""A hub with a person beside it, whose home directory is the hub's folder: what documents say of ``~`` is so."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct

from hub.testing.process import COMMAND, HubProcess, hub_process

# The agent that the documents talk to, with a scripted one in its place.
REHEARSAL = """
[plugins]
enabled = []
[agents.rehearsal]
transport = "scripted"
"""


class Home(Struct, frozen=True):
    """A running hub, and the environment of somebody at home beside it."""

    hub: HubProcess
    environment: dict[str, str]


@contextmanager
def home_with_hub(*command: str) -> Iterator[Home]:
    """``turnhub serve`` (or the given ``turnhub``) with its state where a person's hub keeps it."""
    with hub_process(REHEARSAL, command=command or COMMAND) as hub:
        usual = hub.folder / ".local/state/turnhub"
        usual.parent.mkdir(parents=True)
        usual.symlink_to(hub.state)
        plain = {name: value for name, value in os.environ.items() if not name.startswith(("TURNHUB_", "XDG_"))}
        yield Home(hub, {**plain, "HOME": str(hub.folder)})
        assert hub.stop() == 0, hub.words()


def session_in(output: str) -> str:
    """The first session id in what a command printed."""
    found = re.search(r"ses_[0-9a-z]+", output)
    assert found, output
    return found[0]
