"""``turnhub top``: all sessions at once, as they change."""

from __future__ import annotations

import asyncio
import math
import signal
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import click

from hub.cli.common import DONE, Caller, hub_command

if TYPE_CHECKING:
    from rich.console import RenderableType

    from hub.cli.output import Output
    from hub.cli.overview import Everything
    from hub.client import Client

_TOGETHER_S: Final = 0.2
"""Changes within so short a time are looked at together."""
_RUNNERS_EVERY_S: Final = 5.0
"""The hub pushes what changes in sessions, turns and asks, but not that a runner came or is not heard of again."""
_STYLES: Final = {"waiting for you": "bold yellow", "running": "green", "failed": "red", "idle": "dim"}


@click.command()
@click.option("--once", is_flag=True, help="Print once and leave; so it is, too, where the output is no terminal.")
@click.option("--limit", type=click.IntRange(1, 500), default=50, show_default=True, help="How many sessions.")
@hub_command
def top(caller: Caller, once: bool, limit: int) -> None:
    """Show what all sessions are at, as it changes: state, agent, age of the turn, open asks, messages that wait;
    and the runners. Ctrl-C leaves.

    Sessions that wait for you come first, then those that run, those that failed, and the idle ones.
    """

    async def work(client: Client) -> int:
        if once or caller.out.json or not sys.stdout.isatty():
            _print(caller.out, await _look(client, limit))
            return DONE
        return await _live(client, limit)

    caller.run(work)


async def _look(client: Client, limit: int) -> Everything:
    from hub.cli.overview import everything

    sessions, ready = await asyncio.gather(client.sessions(limit), _runners(client))
    return everything(sessions, ready)


async def _runners(client: Client) -> list[dict[str, object]]:
    from hub.client import ProblemError

    try:
        found: list[dict[str, object]] = (await client.readiness())["runners"]
    except ProblemError as problem:
        if problem.status != 503:
            raise
        return []  # that there are none is what it says
    return found


def _print(out: Output, shown: Everything) -> None:
    import msgspec

    from hub.cli.overview import COLUMNS, cells, runner_line

    if out.json:
        out.document(msgspec.to_builtins(shown))
        return
    now_s = time.time()
    out.table(COLUMNS, [dict(zip(COLUMNS, cells(row, now_s), strict=True)) for row in shown.sessions])
    for runner in shown.runners:
        out.talk(f"Runner {runner_line(runner)}", "dim")
    if not shown.runners:
        out.talk("No runner was heard of: turns do not begin.", "yellow")


async def _live(client: Client, limit: int) -> int:
    """Show it until Ctrl-C."""
    from rich.console import Console
    from rich.live import Live

    leaving = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, leaving.set)
    console = Console(highlight=False)
    try:
        watch = _Watch(client, limit, await _look(client, limit))
        with Live(watch.drawn(console.height), console=console, auto_refresh=False, screen=True) as live:
            async with asyncio.TaskGroup() as group:
                work = [group.create_task(one) for one in (watch.hear(), watch.look(), watch.poll())]
                while not leaving.is_set():
                    live.update(watch.drawn(console.height), refresh=True)
                    with suppress(TimeoutError):
                        async with asyncio.timeout(1):  # ages go on
                            await _first(leaving, watch.changed)
                    watch.changed.clear()
                for task in work:
                    task.cancel()
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
    return DONE


async def _first(*events: asyncio.Event) -> None:
    """Wait until any of them is set."""
    waiting = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for one in waiting:
            one.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


class _Watch:
    """A hub as it was looked at last; ``changed`` is set when that has changed."""

    def __init__(self, client: Client, limit: int, shown: Everything) -> None:
        self.changed = asyncio.Event()
        self._client = client
        self._limit = limit
        self._shown = shown
        self._away: str | None = None
        self._hinted = asyncio.Event()

    async def hear(self) -> None:
        """Hear what changes, for ever."""
        from hub.client import Patience

        patience = Patience(total_s=math.inf, lost=self._lost, back=self._back)
        async with self._client.hints(patience) as stream:
            self._hinted.set()  # what changed before the stream was there
            async for _ in stream:
                self._hinted.set()

    async def look(self) -> None:
        """Look again whenever something has changed, for ever."""
        from hub.client import HubNotReachable, ProblemError

        while True:
            await self._hinted.wait()
            self._hinted.clear()
            try:
                self._shown = await _look(self._client, self._limit)
            except (HubNotReachable, ProblemError) as error:
                if isinstance(error, ProblemError) and error.status < 500:
                    raise
            self.changed.set()
            await asyncio.sleep(_TOGETHER_S)

    async def poll(self) -> None:
        """Look for runners now and then, for ever."""
        while True:
            await asyncio.sleep(_RUNNERS_EVERY_S)
            self._hinted.set()

    def _lost(self, reason: str) -> None:
        self._away = reason
        self.changed.set()

    def _back(self) -> None:
        self._away = None
        self._hinted.set()

    def drawn(self, height: int) -> RenderableType:
        """What is shown now, in at most ``height`` lines."""
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        from hub.cli.clean import one_line
        from hub.cli.overview import COLUMNS, cells, counts, runner_line

        now_s = time.time()
        table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
        for column in COLUMNS:
            table.add_column(
                column.upper(), no_wrap=True, overflow="ellipsis", ratio=1 if column == "title" else None
            )
        runners = [Text(f"runner {runner_line(one)}", style="dim", no_wrap=True) for one in self._shown.runners]
        room = max(1, height - len(runners) - 4)
        for row in self._shown.sessions[:room]:
            table.add_row(*(Text(cell) for cell in cells(row, now_s)), style=_STYLES[row.state])
        lines = [Text(counts(self._shown), style="bold")]
        if self._away is not None:
            lines.append(Text(one_line(f"the hub is away ({self._away}); this is how it was"), style="yellow"))
        elif not runners:
            lines.append(Text("no runner was heard of: turns do not begin", style="yellow"))
        return Group(*lines, *runners, Text(""), table)
