"""The transport ``tmux``: agents that live in terminal panes.

Importing this is cheap: everything heavy is loaded when it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hub import hookimpl

if TYPE_CHECKING:
    import click

__all__ = ["register_commands"]


@hookimpl
def register_commands(group: click.Group) -> None:
    """Offer ``turnhub screen``."""
    from turnhub_tmux.commands import screen  # noqa: PLC0415 - keeps the start of every other command quick

    group.add_command(screen)
