"""The command that says what is missing, unreachable or misconfigured, and what mends it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from hub.cli.common import DONE, FAILED, config_option, json_option, state_option

if TYPE_CHECKING:
    from hub.cli.checks import Finding

_MARKS: Final = {"ok": "✓", "note": "·", "wrong": "✗"}


@click.command()
@config_option
@state_option
@json_option
def doctor(config: Path | None, state: Path | None, as_json: bool) -> None:
    """Say what is missing or wrong, and what mends it.

    Changes nothing and needs no running hub. Exits with 0 when all is well, else 1.
    """
    import asyncio

    from hub.cli.output import Output

    out = Output(json=as_json)
    findings = asyncio.run(examine(config, state))
    bad = [one for one in findings if one.status == "wrong"]
    if as_json:
        out.document({"ok": not bad, "findings": findings})
    else:
        for one in findings:
            out.line(f"{_MARKS[one.status]} {one.name}: {one.detail}")
            if one.mend:
                out.line(f"    mend it: {one.mend}")
        out.talk(f"{len(bad)} thing{'' if len(bad) == 1 else 's'} to mend." if bad else "All is well.")
    click.get_current_context().exit(FAILED if bad else DONE)


async def examine(path: Path | None, state: Path | None, environ: Any = os.environ) -> list[Finding]:
    """All findings, in the order in which one would mend them."""
    from hub.cli import checks, store_checks

    config, first = checks.configuration(path, state, environ)
    loaded, about_plugins = checks.loaded_plugins(config)
    return [
        checks.python(),
        first,
        *checks.state_directory(config.store.state),
        *await store_checks.store(config),
        *about_plugins,
        *checks.tmux(config),
        *(checks.agents(config, loaded) if loaded is not None else ()),
        *checks.exposure(config, environ),
        await checks.running(config, environ),
    ]
