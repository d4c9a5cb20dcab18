"""One session's line to its Claude Code: one process at most, resumed by id whenever it has to be new."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import structlog
from claude_agent_sdk import ClaudeAgentOptions
from claude_agent_sdk.types import SystemPromptPreset

from hub import (
    AgentUnavailable,
    Connection,
    Ending,
    Failed,
    Interrupted,
    Message,
    SessionInfo,
    Status,
    SteerUnsupported,
    TurnContext,
    Verdict,
)
from turnhub_sdk.broker import Broker
from turnhub_sdk.cli import config_folder, find_cli, not_logged_in
from turnhub_sdk.client import Client, ConversationLost, Gone
from turnhub_sdk.costs import spent_before
from turnhub_sdk.options import Options
from turnhub_sdk.run import Run, dead

_BUFFER: Final = 64 * 2**20
_FORGOTTEN: Final = (
    "The agent has lost its own memory of this conversation (its transcript is gone): it begins anew, and "
    "knows nothing of what was said before."
)


class SdkConnection(Connection):
    """Runs the turns of one session. ``environment`` gives the variables for a new process."""

    def __init__(
        self, session: SessionInfo, options: Options, environment: Callable[[], Mapping[str, str]]
    ) -> None:
        self._session = session
        self._options = options
        self._environment = environment
        self._broker = Broker()
        self._client: Client | None = None
        self._starting: asyncio.Task[tuple[Client, str | None]] | None = None
        self._idle: asyncio.Task[None] | None = None
        self._wanted: asyncio.Event | None = None
        self._run_now: Run | None = None
        self._at_work: asyncio.Future[None] | None = None  # of the running turn: done once there is a run of it
        self._log = structlog.get_logger(__name__).bind(session=session.id)

    @property
    def pid(self) -> int | None:
        """The process id of the agent, while there is one."""
        return self._client.pid if self._client is not None and self._client.alive else None

    async def run(self, turn: TurnContext) -> Ending:
        """Run one turn to its end."""
        await self._stop_idling()
        wanted = self._wanted = asyncio.Event()
        at_work = self._at_work = asyncio.get_running_loop().create_future()
        notice = asyncio.create_task(_noticed(turn, wanted))
        try:
            return await self._run(turn, wanted)
        finally:
            self._wanted = self._run_now = self._at_work = None
            if not at_work.done():
                at_work.set_result(None)
            notice.cancel()
            self._idle = asyncio.create_task(self._idle_out())
            await asyncio.gather(notice, return_exceptions=True)

    async def _run(self, turn: TurnContext, wanted: asyncio.Event) -> Ending:
        try:
            ending = await self._try(turn, wanted)
            if isinstance(ending, Gone):  # it died while it was idle, perhaps: a new one resumes
                ending = await self._try(turn, wanted)
        except AgentUnavailable as error:
            return Failed(code="agent_unavailable", message=error.detail)
        return dead(ending) if isinstance(ending, Gone) else ending

    async def _try(self, turn: TurnContext, wanted: asyncio.Event) -> Ending | Gone:
        ready = await self._ready(turn, wanted)
        if ready is None:
            return Interrupted(by=turn.cancelled.by or "person")
        client, detail = ready
        login = not_logged_in(self._options)
        run = Run(client, self._broker, turn, wanted, stall_s=self._options.stall_s, login=login, detail=detail)
        self._run_now = run
        if self._at_work is not None and not self._at_work.done():
            self._at_work.set_result(None)
        return await run.play()

    async def steer(self, message: Message) -> Verdict:
        """Give words to the running turn: the agent takes them between two tools, or when it is done. Raises
        SteerUnsupported where no turn is at work any more."""
        if self._at_work is not None:
            await asyncio.shield(self._at_work)
        if self._run_now is None:
            raise SteerUnsupported("No turn is at work here.")
        return await self._run_now.steer(message)

    async def interrupt(self) -> None:
        """Stop the running turn, if there is one."""
        if self._wanted is not None:
            self._wanted.set()

    async def close(self) -> None:
        """Let go of the process. The session can be opened again, here or elsewhere."""
        await self._stop_idling()
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.gather(self._starting, return_exceptions=True)
            self._starting = None
        await self._drop()

    # -- the process ---------------------------------------------------------------------------------------

    async def _ready(self, turn: TurnContext, wanted: asyncio.Event) -> tuple[Client, str | None] | None:
        """A process that knows the conversation, and what has to be said about it; None where the turn is to
        be stopped before there is one."""
        if self._client is not None and (not self._client.alive or self._is_stale(turn)):
            await self._drop()
        if self._client is not None:
            return self._client, None
        await turn.emit(Status(state="starting"))
        if self._starting is None:
            self._starting = asyncio.create_task(self._start(turn.session))
        stop = asyncio.create_task(wanted.wait())
        try:
            await asyncio.wait([self._starting, stop], return_when=asyncio.FIRST_COMPLETED)
        finally:
            stop.cancel()
        if not self._starting.done():
            return None  # it is kept for the next turn
        started, self._starting = self._starting, None
        self._client, detail = started.result()
        return self._client, detail

    def _is_stale(self, turn: TurnContext) -> bool:
        # Another process has had a turn of this session since: this one does not know of it.
        last = turn.session.memory.get("sdk_prompt")
        return self._client is not None and last is not None and last != self._client.prompt

    async def _start(self, session: SessionInfo) -> tuple[Client, str | None]:
        memory = session.memory
        resume = memory.get("sdk_session")
        if resume is None:
            return await self._begin(session.inherited), None
        try:
            client = await self._connect(resume, await asyncio.to_thread(self._spent, resume))
        except ConversationLost:
            self._log.warning("conversation_lost", agent_session=resume)
            return await self._connect(None, 0.0), _FORGOTTEN
        client.forked = "sdk_forked" in memory
        return client, None

    async def _begin(self, inherited: Mapping[str, str]) -> Client:
        """A process for a new conversation: a fork of the agent's own where it has one to fork."""
        origin = inherited.get("sdk_session")
        if origin is not None:
            try:
                return await self._connect(origin, 0.0, fork=True)  # a fork counts its costs from nothing
            except ConversationLost:  # then it is told what was said, as any other agent is
                self._log.warning("conversation_not_forked", agent_session=origin)
        return await self._connect(None, 0.0)

    def _spent(self, resume: str) -> float | None:
        return spent_before(config_folder(self._options, {**os.environ, **self._environment()}), resume)

    async def _connect(self, resume: str | None, spent_usd: float | None, *, fork: bool = False) -> Client:
        client = Client(self._sdk_options(resume, fork=fork), spent_usd, self._broker.elicit)
        try:
            await client.connect(self._options.connect_s)
        except BaseException:
            await client.close()
            raise
        return client

    def _sdk_options(self, resume: str | None, *, fork: bool) -> ClaudeAgentOptions:
        options = self._options
        return ClaudeAgentOptions(
            can_use_tool=self._broker.can_use_tool,
            cli_path=find_cli(options),
            cwd=Path(self._session.cwd),
            env=dict(self._environment()),
            fork_session=fork,
            include_partial_messages=True,
            max_buffer_size=_BUFFER,
            mcp_servers=Path(options.mcp_config).expanduser() if options.mcp_config else {},
            model=options.model,
            permission_mode=options.permission_mode,
            resume=resume,
            setting_sources=list(options.setting_sources),
            system_prompt=_system_prompt(options),
            tools={"type": "preset", "preset": "claude_code"} if options.tools == "all" else list(options.tools),
        )

    async def _drop(self) -> None:
        client, self._client = self._client, None
        await self._broker.cancel()
        if client is not None:
            await client.close()

    # -- idling --------------------------------------------------------------------------------------------

    async def _idle_out(self) -> None:
        await asyncio.sleep(self._options.idle_s)
        self._log.debug("idle_agent_closed")
        await self._drop()

    async def _stop_idling(self) -> None:
        idle, self._idle = self._idle, None
        if idle is not None:
            idle.cancel()
            await asyncio.gather(idle, return_exceptions=True)


async def _noticed(turn: TurnContext, wanted: asyncio.Event) -> None:
    await turn.cancelled.wait()
    wanted.set()


def _system_prompt(options: Options) -> str | SystemPromptPreset:
    if options.system_prompt is not None:
        return options.system_prompt
    preset: SystemPromptPreset = {"type": "preset", "preset": "claude_code"}
    if options.append_system_prompt is not None:
        preset["append"] = options.append_system_prompt
    return preset
