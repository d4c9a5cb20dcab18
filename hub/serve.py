"""The hub in one process: store, plugins, runner and front put together, started and stopped in order."""

from __future__ import annotations

import asyncio
import os
import signal
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Literal

import structlog
from msgspec import Struct

from hub import __version__, distiller, hooks, ids
from hub.config import Config, ServerConfig
from hub.configload import check_policies
from hub.errors import ConfigError, HubError, StoreReadOnly, StoreTooOld
from hub.exposure import check_exposure, warnings
from hub.front.app import create_app
from hub.front.protocol import limits_of
from hub.front.server import FrontServer
from hub.front.services import Services as FrontServices
from hub.front.tls import leaf, server_context
from hub.metrics import Metrics
from hub.plugins import Plugins, agents, load
from hub.policies import hand_over
from hub.runner.runner import Runner
from hub.runner.services import Services as RunnerServices
from hub.statedir import HubNote, private_dir, remove_note, write_note
from hub.store import embedded
from hub.store.common import store_bounds
from hub.store.connect import Connections
from hub.store.doorbell import Doorbell
from hub.store.exclusive import Exclusive
from hub.store.feed import Feed
from hub.store.overview import Overview, new_enough
from hub.store.rights import check_rights
from hub.store.store import Store
from hub.store.work import Work
from hub.tokens import Tokens

Role = Literal["all", "front", "runner"]
_ENDINGS_S = 0.5


class ServeInfo(Struct, frozen=True, kw_only=True):
    """What a hub says of itself once it serves. ``url`` is empty without a front."""

    url: str
    token: str
    version: str
    agents: tuple[str, ...]


class _Parts(Struct, frozen=True, kw_only=True):
    config: Config
    plugins: Plugins
    store: Store
    doorbell: Doorbell
    feed: Feed
    overview: Overview
    work: Work
    metrics: Metrics
    tokens: Tokens


def new_loop() -> asyncio.AbstractEventLoop:
    """An event loop for a hub: uvloop's where there is one (half the CPU for each delivery), else asyncio's."""
    try:
        import uvloop  # noqa: PLC0415 - not on every platform
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


async def serve(
    config: Config, *, role: Role = "all", announce: Callable[[ServeInfo], None] | None = None
) -> None:
    """Serve until SIGTERM or SIGINT. Raises HubError where it cannot start: the store is away, the port is
    taken, the state directory cannot be used."""
    state = config.store.state
    tls = _tls(config.server) if role != "runner" else None
    try:
        private_dir(state)
    except OSError as error:
        raise ConfigError(f"store.state: {state} cannot be used ({error}). Name one of your own.") from None
    stop = asyncio.Event()
    _on_signals(stop.set)
    async with _store_url(config) as url, _parts(config, url) as parts:
        try:
            await _serve(parts, role, tls, stop, announce or (lambda _: None))
        except* HubError as errors:
            first = _first(errors)
        else:
            return
    raise first


def _first(errors: BaseExceptionGroup[HubError]) -> HubError:
    """The first of several errors: one sentence is what a person can act on."""
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error if isinstance(error, HubError) else HubError(str(error))


@asynccontextmanager
async def _store_url(config: Config) -> AsyncIterator[str]:
    """The store's URL; the embedded server runs meanwhile, if it is the store."""
    if config.store.url != "embedded":
        yield config.store.url
        return
    started = await embedded.start(config.store.state)
    watch = asyncio.create_task(started.watch())
    try:
        yield started.url
    finally:
        watch.cancel()
        await asyncio.wait([watch])
        await started.close()


@asynccontextmanager
async def _parts(config: Config, url: str) -> AsyncIterator[_Parts]:
    plugins = load(config)
    hand_over(config, plugins)
    distiller.hand_over(config, plugins)
    try:
        check_policies(config, plugins.bundles)
    except ConfigError as error:  # a person is asked instead, which is safe; `turnhub doctor` says it too
        structlog.get_logger("hub").warning("a policy is missing, so its asks go to a person", reason=error.detail)
    if absent := [one.name for one in plugins.found if one.status in ("unavailable", "broken")]:
        hint = "`turnhub plugins` says why"
        structlog.get_logger("hub").info("some enabled plugins are not used", plugins=absent, hint=hint)
    connections = Connections(url)
    bounds = store_bounds(config.runner)
    store = Store(connections.commands, bounds)
    doorbell = Doorbell(connections)
    parts = _Parts(
        config=config,
        plugins=plugins,
        store=store,
        doorbell=doorbell,
        feed=Feed(store, doorbell),
        overview=Overview(store),
        work=Work(connections),
        metrics=Metrics(),
        tokens=Tokens(config.store.state),
    )
    try:
        await _examine(store, parts.overview)
        yield parts
    finally:
        await connections.close()


async def _examine(store: Store, overview: Overview) -> None:
    """Say what the store is not good for. Raises StoreTooOld or StoreRefused where nothing works with it."""
    await check_rights(store.redis)
    health = await overview.ping()
    if not new_enough(health.version):
        raise StoreTooOld(
            f"The store is too old: it has to be Redis 6.2, Valkey, or newer (it is version {health.version})."
        )
    if health.maxmemory_policy not in ("noeviction", "unknown"):
        structlog.get_logger("hub").warning(
            "the store may throw sessions away when its memory is full",
            maxmemory_policy=health.maxmemory_policy,
            mend="redis-cli CONFIG SET maxmemory-policy noeviction (and the same in redis.conf)",
        )
    try:
        await overview.take_write()
    except StoreReadOnly as error:  # a replica may become a primary, and a full disk be emptied
        structlog.get_logger("hub").warning("no turn can run until the store takes writes", reason=error.detail)


def _tls(server: ServerConfig) -> ssl.SSLContext | None:
    """The front's TLS, where it has any. Raises ConfigError where it cannot be, or is missing and needed."""
    check_exposure(server)
    for sentence in warnings(server):
        structlog.get_logger("hub").warning("the front is open to other machines", reason=sentence)
    return None if server.tls_cert is None else server_context(server.tls_cert, server.tls_key)


async def _serve(
    parts: _Parts,
    role: Role,
    tls: ssl.SSLContext | None,
    stop: asyncio.Event,
    announce: Callable[[ServeInfo], None],
) -> None:
    runner = _runner(parts) if role != "front" else None
    front = _front(parts, tls) if role != "runner" else None
    async with asyncio.TaskGroup() as group:
        chores = [group.create_task(parts.doorbell.run()), group.create_task(parts.feed.run())]
        roles = [group.create_task(one.run()) for one in (runner, front) if one is not None]
        if front is not None:
            await front.started.wait()
        info = _info(parts, front.url if front else "")
        with _note(parts.config, info.url):
            announce(info)
            await stop.wait()
            await _wind_down(parts, runner, front)
            await asyncio.wait(roles)
        for chore in chores:
            chore.cancel()


async def _wind_down(parts: _Parts, runner: Runner | None, front: FrontServer | None) -> None:
    """Turns end first, so that their terminal events still reach the streams; then the streams end."""
    structlog.get_logger("hub").info("stopping", turns=runner.running if runner else 0)
    if runner is not None:
        runner.stop()
        await runner.idle(within_s=_ENDINGS_S)
    parts.feed.drain()
    if front is not None:
        front.stop()


def _runner(parts: _Parts) -> Runner:
    services = RunnerServices(
        runner_id=ids.runner_id(),
        config=parts.config,
        plugins=parts.plugins,
        store=parts.store,
        overview=parts.overview,
        work=parts.work,
        doorbell=parts.doorbell,
        exclusive=Exclusive(parts.store.redis),
        metrics=parts.metrics,
    )
    return Runner(services, __version__)


def _front(parts: _Parts, tls: ssl.SSLContext | None) -> FrontServer:
    config, plugins = parts.config, parts.plugins
    routes = tuple(answer.value for answer in hooks.offered(plugins.manager, "register_routes"))
    services = FrontServices(
        config=config,
        store=parts.store,
        feed=parts.feed,
        overview=parts.overview,
        work=parts.work,
        tokens=parts.tokens,
        agents=lambda: agents(config, plugins),
        metrics=parts.metrics,
        routes=routes,
        policies=frozenset((*config.policies, *plugins.bundles)),
    )
    return FrontServer(create_app(services), config.server.host, config.server.port, limits_of(config.server), tls)


def _info(parts: _Parts, url: str) -> ServeInfo:
    return ServeInfo(url=url, token=parts.tokens.primary(), version=__version__, agents=tuple(parts.config.agents))


def _on_signals(stop: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop)


class _note:
    """Where the hub listens, written for clients on this machine while it serves."""

    def __init__(self, config: Config, url: str) -> None:
        self._state, self._url = config.store.state, url
        self._certificate = leaf(config.server.tls_cert) if url and config.server.tls_cert else None

    def __enter__(self) -> None:
        if self._url:
            note = HubNote(url=self._url, pid=os.getpid(), version=__version__, certificate=self._certificate)
            write_note(self._state, note)

    def __exit__(self, *_: object) -> None:
        if self._url:
            remove_note(self._state, os.getpid())
