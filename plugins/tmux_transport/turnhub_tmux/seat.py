"""Where a session's agent sits: its pane, found again or started anew, and what is known about its own session."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from hub import AgentUnavailable, SessionInfo
from turnhub_tmux.bridge.access import user_key
from turnhub_tmux.bridge.listener import Bridge
from turnhub_tmux.bridge.settings import write_settings
from turnhub_tmux.options import CLAUDE, Options
from turnhub_tmux.panes import panes
from turnhub_tmux.panes.pane import Gone, Look, Pane, PaneRef, Unknown
from turnhub_tmux.panes.process import in_front
from turnhub_tmux.panes.server import Server, off_the_loop
from turnhub_tmux.program import environment, executable, reason_against
from turnhub_tmux.transcript.facts import Entered
from turnhub_tmux.transcript.locate import config_folder, entered_lines, session_of, sessions, transcript_path
from turnhub_tmux.transcript.tail import Tail, size_of

_RESUMED_BY: Final = ("--resume", "-r", "--continue", "-c", "--session-id")


class Seat(Struct, frozen=True, kw_only=True):
    """An agent in its pane. ``agent_session``: the agent's own session id, where it is known; ``fresh``: it was
    started just now; ``ours``: it was started here, and so may be ended here; ``key``: under which its hooks are
    told, where they may be."""

    pane: Pane
    agent_session: str | None
    fresh: bool
    ours: bool
    key: str | None = None


class Seats:
    """Finds and starts the agent of one session. ``folder``: private files of the session."""

    def __init__(self, session: SessionInfo, options: Options, bridge: Bridge | None, folder: Path) -> None:
        self._session = session
        self._options = options
        self._bridge = bridge
        self._folder = folder
        self._env = environment(options)

    @property
    def name(self) -> str:
        """The tmux session's name."""
        return f"turnhub-{self._session.id}"

    @property
    def config(self) -> Path:
        """The agent's configuration folder."""
        return config_folder(self._env)

    async def take(self, memory: Mapping[str, str], *, adopted: bool) -> Seat:
        """The session's agent: the one that runs, else (unless its turn is adopted) a new one. Raises
        AgentUnavailable where there is none, or it cannot be found out."""
        server = await off_the_loop(lambda: Server(self._options.socket))
        if self._options.target is not None:
            return await self._pane_of_a_person(server, self._options.target, memory)
        found = await self._running(server, memory)
        if isinstance(found, Pane):
            look = await found.look()
            if isinstance(look, Unknown):
                raise AgentUnavailable(f"What runs in the agent's pane could not be found out: {look.why}.")
            alive = isinstance(look, Look) and look.holder not in ("nothing", "shell")
            if alive or adopted:
                return await self._ours(found, memory)
            await found.kill()
        elif isinstance(found, Unknown):
            raise AgentUnavailable(f"Whether the agent still runs could not be found out: {found.why}.")
        if adopted:
            raise AgentUnavailable("The agent's pane is gone, and its turn with it. Try again.")
        return await self._start(server, memory.get("tmux_agent"))

    async def find(self, memory: Mapping[str, str]) -> Seat | None:
        """The session's agent, where it runs; nothing is started. None where it does not, or nobody can tell."""
        try:
            server = await off_the_loop(lambda: Server(self._options.socket))
            if self._options.target is not None:
                return await self._pane_of_a_person(server, self._options.target, memory)
        except AgentUnavailable:
            return None
        found = await self._running(server, memory)
        look = await found.look() if isinstance(found, Pane) else None
        if not isinstance(found, Pane) or not isinstance(look, Look) or look.holder in ("nothing", "shell"):
            return None
        return await self._ours(found, memory)

    async def pane(self, memory: Mapping[str, str]) -> Pane | None:
        """The session's pane, whatever runs in it; None where there is none, or nobody can tell. Raises
        AgentUnavailable where a person's own is not to be had."""
        server = await off_the_loop(lambda: Server(self._options.socket))
        if self._options.target is not None:
            return (await self._pane_of_a_person(server, self._options.target, memory)).pane
        found = await self._running(server, memory)
        return found if isinstance(found, Pane) else None

    async def end(self, memory: Mapping[str, str]) -> bool:
        """End the agent, if it was started here and nobody looks at its terminal; whether none is left."""
        if self._options.target is not None:
            return True  # a person's own pane is none of ours to end
        try:
            server = await off_the_loop(lambda: Server(self._options.socket))
        except AgentUnavailable:
            return True
        found = await self._running(server, memory)
        look = await found.look() if isinstance(found, Pane) else found
        if isinstance(found, Pane) and isinstance(look, Look) and not look.attached:
            await found.kill()
            look = await found.look()
        return isinstance(look, Gone)

    async def _ours(self, pane: Pane, memory: Mapping[str, str]) -> Seat:
        told = await self._told(pane) or memory.get("tmux_agent")
        return Seat(pane=pane, agent_session=told, fresh=False, ours=True, key=self._session.id)

    async def _told(self, pane: Pane) -> str | None:
        """The session that the agent in a pane is at, by its own note."""
        if self._options.kind != CLAUDE:
            return None
        pid, config = pane.ref.pane_pid, self.config
        return await off_the_loop(lambda: session_of(config, [pid, *(one.pid for one in in_front(pid))]))

    async def _pane_of_a_person(self, server: Server, target: str, memory: Mapping[str, str]) -> Seat:
        found = await panes.find(server, target)
        if not isinstance(found, Pane):
            raise AgentUnavailable(
                f"The pane {target!r} is not to be had: {found.why}. Start it, or correct `target`."
            )
        told = await self._told(found)
        if told is None and memory.get("tmux_pane") == kept(found):
            told = memory.get("tmux_agent")
        key = None if told is None else user_key(told)
        return Seat(pane=found, agent_session=told, fresh=False, ours=False, key=key)

    async def _running(self, server: Server, memory: Mapping[str, str]) -> Pane | Gone | Unknown:
        kept = memory.get("tmux_pane")
        if kept is not None:
            pane = Pane(server, msgspec.json.decode(kept, type=PaneRef))
            look = await pane.look()
            if not isinstance(look, Gone):
                return look if isinstance(look, Unknown) else pane
        return await panes.started(server, self.name)

    async def _start(self, server: Server, agent_session: str | None) -> Seat:
        if (reason := reason_against(self._options)) is not None:
            raise AgentUnavailable(reason)
        program = executable(self._options, self._env)
        words = self._options.argv[1:]
        argv = [program or self._options.argv[0], *words]
        if self._options.kind == CLAUDE and not any(word.split("=")[0] in _RESUMED_BY for word in words):
            resumable = agent_session is not None and await off_the_loop(lambda: self._kept(agent_session))
            agent_session = agent_session if resumable else str(uuid.uuid4())
            argv += ["--resume" if resumable else "--session-id", str(agent_session)]
        else:
            agent_session = None
        if self._bridge is not None:
            access = await self._bridge.admit(self._session.id)
            argv += ["--settings", str(await off_the_loop(lambda: write_settings(self._folder, access)))]
        size = {"width": self._options.width, "height": self._options.height}
        pane = await panes.start(
            server,
            self.name,
            panes.Program(argv=argv, env=self._env, cwd=self._session.cwd, **size),
            self._folder,
        )
        return Seat(pane=pane, agent_session=agent_session, fresh=True, ours=True, key=self._session.id)

    def _kept(self, agent_session: str | None) -> bool:
        return (
            agent_session is not None and transcript_path(self.config, self._session.cwd, agent_session).is_file()
        )

    def sizes(self, seat: Seat) -> dict[Path, int] | None:
        """How long the transcripts are now that may be the agent's; None where it is known which is."""
        if seat.agent_session is not None or self._options.kind != CLAUDE:
            return None
        return {path: size_of(path) for path in sessions(self.config, self._session.cwd)}

    def lines(self) -> Tail | None:
        """The agent's list of all lines that are submitted to it from now on."""
        if self._options.kind != CLAUDE:
            return None
        path = entered_lines(self.config)
        return Tail(path, size_of(path))

    def is_of(self, seat: Seat, line: Entered) -> bool:
        """Whether a line was submitted to the agent in this seat."""
        if seat.agent_session is not None:
            return line.session == seat.agent_session
        return os.path.realpath(line.project) == os.path.realpath(self._session.cwd)

    def transcript(self, seat: Seat, since: float) -> Path | None:
        """Where the agent's transcript is, or will be; None where that is not known (yet). Of an agent that a
        person started it is the one of its folder that has changed since ``since`` (seconds, wall clock)."""
        if self._options.kind != CLAUDE:
            return None
        if seat.agent_session is not None:
            return transcript_path(self.config, self._session.cwd, seat.agent_session)
        newest = next(iter(sessions(self.config, self._session.cwd)), None)
        return newest if newest is not None and newest.stat().st_mtime >= since else None


def kept(pane: Pane) -> str:
    """A pane, as text to be remembered."""
    return msgspec.json.encode(pane.ref).decode()
