"""The hub itself: health, readiness, figures, agents."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, Final

from hub import __version__
from hub.errors import StoreReadOnly, StoreUnavailable
from hub.front.operations import Answer, Call, Operation, Reply, operation
from hub.front.problems import NotReady
from hub.front.views import Health, Readiness
from hub.metrics import CONTENT_TYPE
from hub.plugins import AgentView


@operation("GET", "/healthz", Reply(200, Health), scope=None)
async def health(_: Call[Any, Any]) -> Answer:
    """Whether the process answers at all. Wants no token."""
    return Answer(200, Health(version=__version__))


@operation("GET", "/readyz", Reply(200, Readiness), scope="read", errors=["not_ready"])
async def readiness(call: Call[Any, Any]) -> Answer:
    """Whether the hub can do its work: the store takes writes and a runner lives. 503 says what is missing."""
    services = call.services
    try:
        store, runners = await asyncio.gather(services.overview.ping(), services.work.runners())
        await services.overview.take_write()
    except (StoreUnavailable, StoreReadOnly) as error:
        raise NotReady(f"Not ready: {error.detail}", missing=["store"]) from None
    if not runners:
        raise NotReady(
            "Not ready: no runner is alive, so no turn would run. Start one: turnhub serve --role runner.",
            missing=["runner"],
        )
    return Answer(200, Readiness(store=store, runners=tuple(runners)))


@operation("GET", "/metrics", Reply(200, str, CONTENT_TYPE), scope="read")
async def metrics(call: Call[Any, Any]) -> Answer:
    """The hub's figures, for Prometheus."""
    services = call.services
    with suppress(StoreUnavailable, StoreReadOnly):  # the other figures are of use even then
        services.metrics.distill_backlog(await services.overview.backlog())
    return Answer(200, services.metrics.render())


@operation("GET", "/v1/agents", Reply(200, list[AgentView]), scope="read")
async def list_agents(call: Call[Any, Any]) -> Answer:
    """The configured agents, and whether each can run here; if not, why, and what mends it."""
    return Answer(200, list(await asyncio.to_thread(call.services.agents)))


OPERATIONS: Final[tuple[Operation, ...]] = (health, readiness, metrics, list_agents)
