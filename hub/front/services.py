"""What the front needs from the rest of the hub: one record, made by whoever assembles the hub."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from msgspec import Struct
from starlette.routing import BaseRoute

from hub.config import Config
from hub.metrics import Metrics
from hub.plugins import AgentView
from hub.store.feed import Feed
from hub.store.overview import Overview
from hub.store.store import Store
from hub.store.work import Work
from hub.tokens import Token


class Agents(Protocol):
    """The configured agents. May look at the disk: it is called in a thread."""

    def __call__(self) -> Sequence[AgentView]:
        """All agents, and whether each can run."""


class Keys(Protocol):
    """Who may do what. May look at the disk: it is called in a thread."""

    def verify(self, secret: str) -> Token | None:
        """Whose secret this is."""


class Services(Struct, frozen=True, kw_only=True):
    """What the front needs. ``routes``: those of plugins, below ``/plugins/``. ``policies``: the names that a
    session may choose from; None leaves them unchecked."""

    config: Config
    store: Store
    feed: Feed
    overview: Overview
    work: Work
    tokens: Keys
    agents: Agents
    metrics: Metrics
    routes: tuple[BaseRoute, ...] = ()
    policies: Collection[str] | None = None
