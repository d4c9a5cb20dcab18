"""A runner whose plugin never gets done, in a process to be killed: ``solo_distiller.py URL``."""

from __future__ import annotations

import asyncio
import sys

from hub.config import RunnerConfig
from hub.hookspecs import Distilled, FinishedTurn, hookimpl
from hub.testing.hub import hub_config, running_hub


class Endless:
    """A plugin that never answers."""

    @hookimpl
    async def distill_turn(self, turn: FinishedTurn) -> Distilled | None:
        """Wait until the process is ended."""
        await asyncio.get_running_loop().create_future()
        return None


async def main(url: str) -> None:
    """Run turns of the agent ``agent`` until the process is ended."""
    async with running_hub(hub_config(runner=RunnerConfig(lease_s=1.0)), url=url, hooks=[Endless()]):
        await asyncio.get_running_loop().create_future()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
