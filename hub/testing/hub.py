"""A whole hub without HTTP, for tests: store, doorbell, feed and runners put together, over any store.

``async with running_hub(config) as hub`` gives one over fakeredis; with ``url=`` it stands on a real store.
Every runner has connections of its own, as if it were a process of its own.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from hub import distiller, ids, plugins
from hub.config import AgentConfig, Config, PluginsConfig, RunnerConfig
from hub.events import AnyEvent, Terminal, Unknown, decode_frames
from hub.metrics import Metrics
from hub.plugins import Plugins
from hub.runner.runner import Runner
from hub.runner.services import Services
from hub.store.channels import FeedBounds
from hub.store.common import store_bounds
from hub.store.connect import Connections, Lines
from hub.store.doorbell import Doorbell
from hub.store.exclusive import Exclusive
from hub.store.feed import Feed
from hub.store.overview import Overview
from hub.store.records import Begun, SessionRecord
from hub.store.store import Bounds, Store
from hub.store.work import Work
from hub.transport import Transport

if TYPE_CHECKING:
    from redis.asyncio.client import PubSub

_BOUND_S = 20.0


class FakeLines:
    """Connections to a fakeredis server."""

    def __init__(self, server: Any) -> None:
        import fakeredis  # noqa: PLC0415 - only tests have it

        make: Any = fakeredis.FakeAsyncRedis
        self.commands = make(server=server)
        self.blocking = make(server=server)

    def pubsub(self) -> PubSub:
        """A pub/sub connection of its own."""
        pubsub: PubSub = self.blocking.pubsub()
        return pubsub

    async def close(self) -> None:
        """Close all."""
        await self.commands.aclose()
        await self.blocking.aclose()


def hub_config(*agents: str, runner: RunnerConfig | None = None, cwd: str = "/", **changes: Any) -> Config:
    """A configuration of scripted agents with these names (``agent`` without any)."""
    named = {name: AgentConfig(name=name, transport="scripted", cwd=cwd) for name in agents or ("agent",)}
    changes = {"agents": named, "plugins": PluginsConfig(enabled=()), **changes}
    return Config(runner=runner or RunnerConfig(), **changes)


class Process:
    """What one process of a hub has: connections, and all that reads and writes through them."""

    def __init__(self, lines: Lines, bounds: Bounds, feed_bounds: FeedBounds | None = None) -> None:
        self.lines = lines
        self.store = Store(lines.commands, bounds)
        self.doorbell = Doorbell(lines)
        self.feed = Feed(self.store, self.doorbell, feed_bounds)
        self.overview = Overview(self.store)
        self.work = Work(lines)

    async def run(self) -> None:
        """What has to run all the time."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self.doorbell.run())
                group.create_task(self.feed.run())
        finally:
            await self.lines.close()


class RunnerProcess(Process):
    """A runner as if it were alone in its process."""

    def __init__(self, lines: Lines, bounds: Bounds, config: Config, loaded: Plugins) -> None:
        super().__init__(lines, bounds)
        self.id = ids.runner_id()
        self.metrics = Metrics()
        self.services = Services(
            runner_id=self.id,
            config=config,
            plugins=loaded,
            store=self.store,
            overview=self.overview,
            work=self.work,
            doorbell=self.doorbell,
            exclusive=Exclusive(self.lines.commands),
            metrics=self.metrics,
        )
        self.runner = Runner(self.services, "test")
        self._task: asyncio.Task[None] | None = None

    def start(self, group: asyncio.TaskGroup) -> None:
        """Let it run, as a task of ``group``."""
        self._task = group.create_task(self._both())

    async def _both(self) -> None:
        running = asyncio.create_task(self.run())
        try:
            await self.runner.run()
        finally:
            running.cancel()
            await asyncio.wait([running])

    async def stop(self, *, within_s: float = _BOUND_S) -> None:
        """Stop it in order. Raises TimeoutError."""
        self.runner.stop()
        await self._gone(within_s)

    async def kill(self) -> None:
        """End it at once; nothing is written any more, no turn is ended."""
        if self._task is not None:
            self._task.cancel()
        await self._gone(_BOUND_S)

    async def _gone(self, within_s: float) -> None:
        if self._task is not None:
            done, _ = await asyncio.wait([self._task], timeout=within_s)
            if not done:
                raise TimeoutError(f"The runner does not end within {within_s} s.")


class TestHub(Process):
    """A hub under test. It is itself a process that runs no turns: a front without HTTP."""

    __test__ = False  # its name begins like a test's

    def __init__(
        self,
        connect: Callable[[], Lines],
        config: Config,
        loaded: Plugins,
        group: asyncio.TaskGroup,
        *,
        bounds: Bounds,
        feed_bounds: FeedBounds | None = None,
    ) -> None:
        super().__init__(connect(), bounds, feed_bounds)
        self.config = config
        self.plugins = loaded
        self.runners: list[RunnerProcess] = []
        self.connect = connect
        self._bounds = bounds
        self._group = group

    def add_runner(self, lines: Lines | None = None, config: Config | None = None) -> RunnerProcess:
        """Start one more runner."""
        runner = RunnerProcess(lines or self.connect(), self._bounds, config or self.config, self.plugins)
        self.runners.append(runner)
        runner.start(self._group)
        return runner

    @asynccontextmanager
    async def other(self, lines: Lines | None = None, bounds: FeedBounds | None = None) -> AsyncIterator[Process]:
        """One more process that runs no turns."""
        process = Process(lines or self.connect(), self._bounds, bounds)
        running = asyncio.create_task(process.run())
        try:
            yield process
        finally:
            running.cancel()
            await asyncio.wait([running])

    async def session(
        self,
        agent: str | None = None,
        *,
        policy: str | None = None,
        granted: Iterable[tuple[str, str | None]] = (),
    ) -> str:
        """A new session's id; ``granted``: what it may from the start."""
        name = agent or next(iter(self.config.agents))
        configured = self.config.agents.get(name)
        record = SessionRecord(
            id=ids.session_id(),
            agent=name,
            transport=configured.transport if configured else "none",
            cwd=configured.cwd if configured else "/",
            policy=policy,
        )
        return (await self.store.create_session(record, granted))[0].id

    async def send(self, session_id: str, text: str | list[Any] = "hello") -> Begun:
        """Begin a turn with words, or with the steps of a script, and ring for it."""
        words = text if isinstance(text, str) else json.dumps({"steps": text})
        begun = await self.store.begin(session_id, words)
        await self.work.ring((await self.store.session(session_id)).agent, session_id, begun.turn_id)
        return begun

    async def follow(self, begun: Begun, *, after: int = 0) -> AsyncGenerator[AnyEvent | Unknown, None]:
        """The turn's events as a subscriber gets them, to the end of the stream."""
        subscription = await self.feed.turn(begun.session_id, turn_id=begun.turn_id, after=after)
        assert subscription is not None, "a turn that has begun has a stream"  # noqa: S101
        async with subscription:
            while (frames := await subscription.read()) is not None:
                for event in decode_frames(frames):
                    yield event

    async def events(self, begun: Begun, *, within_s: float = _BOUND_S) -> list[AnyEvent | Unknown]:
        """All of the turn's events, once it has ended. Raises TimeoutError."""
        async with asyncio.timeout(within_s):
            return [event async for event in self.follow(begun)]

    async def ending(self, begun: Begun, *, within_s: float = _BOUND_S) -> Terminal:
        """The turn's terminal event. Raises TimeoutError."""
        last = (await self.events(begun, within_s=within_s))[-1]
        assert isinstance(last, Terminal), f"the stream ended with {last}"  # noqa: S101
        return last

    async def until(
        self, begun: Begun, seen: Callable[[Any], bool] | type[Any], *, within_s: float = _BOUND_S
    ) -> Any:
        """The turn's first event that ``seen`` is true of, or that is of this type. Raises TimeoutError."""

        def wanted(event: Any) -> bool:
            return isinstance(event, seen) if isinstance(seen, type) else seen(event)

        async with asyncio.timeout(within_s), aclosing(self.follow(begun)) as events:
            async for event in events:
                if wanted(event):
                    return event
        raise AssertionError("The turn ended without such an event.")

    async def run_turn(self, session_id: str, text: str | list[Any] = "hello") -> Terminal:
        """Send, and wait for the end."""
        return await self.ending(await self.send(session_id, text))


@asynccontextmanager
async def running_hub(
    config: Config | None = None,
    *,
    url: str | None = None,
    connect: Callable[[], Lines] | None = None,
    transports: Iterable[Transport] = (),
    hooks: Iterable[object] = (),
    runners: int = 1,
    bounds: Bounds | None = None,
    feed_bounds: FeedBounds | None = None,
) -> AsyncIterator[TestHub]:
    """A running hub over fakeredis, or over the store at ``url``. ``transports`` and ``hooks`` (objects with
    hook implementations) are there beside what the configuration enables."""
    config = config or hub_config()
    loaded = _loaded(config, transports, hooks)
    bounds = bounds or store_bounds(config.runner, ring_ms=200)
    async with asyncio.TaskGroup() as group:
        hub = TestHub(connect or _lines(url), config, loaded, group, bounds=bounds, feed_bounds=feed_bounds)
        task = group.create_task(hub.run())
        try:
            for _ in range(runners):
                hub.add_runner()
            yield hub
        finally:
            for runner in hub.runners:
                await runner.stop()
            task.cancel()


def _lines(url: str | None) -> Callable[[], Lines]:
    if url is not None:
        return lambda: Connections(url)
    import fakeredis  # noqa: PLC0415 - only tests have it

    make: Any = fakeredis.FakeServer
    server = make()
    return lambda: FakeLines(server)


def _loaded(config: Config, transports: Iterable[Transport], hooks: Iterable[object]) -> Plugins:
    loaded = plugins.load(config)
    for number, one in enumerate(hooks):
        loaded.manager.register(one, getattr(one, "name", f"hooks{number}"))
    distiller.hand_over(config, loaded)
    more = {transport.name: transport for transport in transports}
    return msgspec.structs.replace(loaded, transports={**loaded.transports, **more})
