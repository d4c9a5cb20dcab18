"""The bundles that come with this plugin."""

from __future__ import annotations

import tomllib
from importlib.resources import files

import msgspec

from hub import PolicyBundle


def builtin_bundles() -> dict[str, PolicyBundle]:
    """The bundles of ``bundles.toml``, by name."""
    text = files("turnhub_permissions").joinpath("bundles.toml").read_text(encoding="utf-8")
    return {
        name: msgspec.convert({"name": name, **table}, PolicyBundle) for name, table in tomllib.loads(text).items()
    }
