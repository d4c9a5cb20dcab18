"""A runner alone in a process of its own, for tests that kill and freeze processes: ``solo.py URL LEASE_S``."""

from __future__ import annotations

import asyncio
import sys

from hub.config import RunnerConfig
from hub.testing.hub import hub_config, running_hub


async def main(url: str, lease_s: float) -> None:
    """Run turns of the agent ``agent`` until the process is ended."""
    async with running_hub(hub_config(runner=RunnerConfig(lease_s=lease_s)), url=url):
        await asyncio.get_running_loop().create_future()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], float(sys.argv[2])))
