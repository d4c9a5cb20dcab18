"""Where a person's own manifests are looked for, before those that come along."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def folders(environment: Mapping[str, str] = os.environ) -> tuple[Path, ...]:
    """``TURNHUB_MANIFESTS`` where it is set (several: separated as in PATH), and ``turnhub/manifests`` in the
    person's configuration."""
    named = [Path(one).expanduser() for one in environment.get("TURNHUB_MANIFESTS", "").split(os.pathsep) if one]
    base = environment.get("XDG_CONFIG_HOME") or "~/.config"
    return (*named, Path(base).expanduser() / "turnhub" / "manifests")
