"""One Claude Code process behind the SDK: started, pumped without a pause, stopped within bounds."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
import warnings
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Any, Final, TypeAlias

import structlog
from claude_agent_sdk import (
    CanUseToolShadowedWarning,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    Message,
    ProcessError,
    ResultMessage,
    SystemMessage,
)
from claude_agent_sdk._errors import MessageParseError
from msgspec import Struct

from hub import AgentUnavailable
from turnhub_sdk.cli import MINIMUM, too_old
from turnhub_sdk.elicitations import Elicit, answer_elicitations
from turnhub_sdk.joining import uuids_of

# This logger of the SDK puts words of the conversation into its errors, which are told by us, without them.
logging.getLogger("claude_agent_sdk._internal.query").setLevel(logging.CRITICAL + 1)
# Whoever configures a mode that asks nobody knows that nobody is asked.
warnings.filterwarnings("ignore", category=CanUseToolShadowedWarning)

_INTERRUPT_S: Final = 1.0
_SETTLE_S: Final = 1.5
_DISCONNECT_S: Final = 3.0
_KILL_S: Final = 2.0
_STDERR_LINES: Final = 20
_NO_WORDS: Final = "Error output: Check stderr output for details"
_LOST: Final = "No conversation found"


class Gone(Struct, frozen=True):
    """Stands in the stream of messages for the end of the process; ``why`` is a sentence."""

    why: str


class ConversationLost(Exception):
    """The agent does not have the conversation that was to be resumed."""


Item: TypeAlias = Message | Gone


class Client:
    """A connected Claude Code. ``spent_usd`` is what its session has cost so far, as last told (None: not known);
    ``prompt`` the uuid of the last prompt that it was given; ``forked`` whether it knows what was said in the
    session that this one was forked from."""

    def __init__(
        self, options: ClaudeAgentOptions, spent_usd: float | None = 0.0, elicit: Elicit | None = None
    ) -> None:
        self.spent_usd = spent_usd
        self.session_id = None if options.fork_session else options.resume
        self.forked = options.fork_session
        self.prompt: str | None = None
        self.gone: Gone | None = None
        self._log = structlog.get_logger(__name__)
        self._stderr: deque[str] = deque(maxlen=_STDERR_LINES)
        options.stderr = self._heard
        self._elicit = elicit
        self._sdk = ClaudeSDKClient(options)
        self._pump: asyncio.Task[None] | None = None
        self._pid: int | None = None
        self._leaving = False
        self._sink: Callable[[Item], None] | None = None
        self._owed: dict[str, None] = {}  # prompts that no result has answered
        self._at_rest = asyncio.Event()
        self._at_rest.set()

    async def connect(self, within_s: float) -> None:
        """Start the process. Raises ConversationLost, or AgentUnavailable with the agent's own words."""
        try:
            async with asyncio.timeout(within_s):
                await self._sdk.connect()
        except TimeoutError:
            raise AgentUnavailable(f"Claude Code did not start within {within_s:g} s.") from None
        except Exception as error:  # noqa: BLE001 - the SDK raises bare Exceptions too
            words = " ".join(str(error).split()).removesuffix(_NO_WORDS).rstrip()
            if _LOST in words:
                raise ConversationLost(words) from None
            raise AgentUnavailable(f"Claude Code did not start: {words}{self._last_words()}") from None
        if self._elicit is not None:
            answer_elicitations(self._sdk, self._elicit)
        self._pump = asyncio.create_task(self._run_pump())
        await self._examine()

    async def _examine(self) -> None:
        info = await self._sdk.get_server_info() or {}
        self._pid = info.get("pid")
        version = info.get("claude_code_version")
        if too_old(version):
            await self.close()
            wanted = ".".join(map(str, MINIMUM))
            raise AgentUnavailable(
                f"Claude Code {version or 'of an unknown version'} is too old: {wanted} or newer is needed. "
                "Update it, or leave out `cli_path` to use the one that the SDK brings along."
            )
        self._log.debug("agent_started", pid=self._pid, version=version)

    @property
    def pid(self) -> int | None:
        """The process id, where the agent told it."""
        return self._pid

    @property
    def alive(self) -> bool:
        """Whether the process is there, as far as is known."""
        return self._pump is not None and self.gone is None

    # -- what it says --------------------------------------------------------------------------------------

    def attach(self, sink: Callable[[Item], None] | None) -> None:
        """Give all further messages to ``sink``; None: to nobody."""
        self._sink = sink

    async def _run_pump(self) -> None:
        # It never waits for anybody: an SDK whose messages nobody takes stops asking and stops obeying.
        why = "Claude Code ended."
        try:
            while await self._drain():
                pass
        except ProcessError as error:
            why = f"Claude Code ended with exit code {error.exit_code}."
        except Exception as error:  # noqa: BLE001 - the SDK raises bare Exceptions too
            why = f"Claude Code cannot be understood any more ({type(error).__name__})."
        finally:
            self.gone = Gone(why + self._last_words())
            self._at_rest.set()
            self._hand_on(self.gone)

    async def _drain(self) -> bool:
        """Take messages until there are no more; True when one could not be read and there may be more."""
        try:
            async for message in self._sdk.receive_messages():
                self._take(message)
        except MessageParseError as error:
            self._log.warning("message_skipped", error=type(error).__name__)
            return True
        return False

    def _take(self, message: Message) -> None:
        if isinstance(message, ResultMessage):
            self.session_id = message.session_id
            self.spent_usd = self.spent_usd if message.total_cost_usd is None else message.total_cost_usd
            self._pay(message)
        elif isinstance(message, SystemMessage) and message.subtype == "init":
            self.session_id = message.data.get("session_id") or self.session_id
        self._hand_on(message)

    def _pay(self, result: ResultMessage) -> None:
        """The agent rests once nothing that it was given waits in its own queue any more."""
        for uuid in uuids_of(result) or list(self._owed)[:1]:
            self._owed.pop(uuid, None)
        if not self._owed:
            self._at_rest.set()

    def _hand_on(self, item: Item) -> None:
        if self._sink is not None:
            self._sink(item)

    def _heard(self, line: str) -> None:
        self._stderr.append(line)
        self._log.debug("agent_stderr", line=line)

    def _last_words(self) -> str:
        return f" Its last words: {self._stderr[-1]}" if self._stderr else ""

    # -- what it is told -----------------------------------------------------------------------------------

    async def send(self, text: str, uuid: str, *, literal: bool) -> None:
        """Give it a prompt. ``literal``: as words, without its own commands and file mentions.

        Raises an Exception of the SDK where the process is not there any more.
        """
        message: dict[str, Any] = {
            "type": "user",
            "message": {"role": "user", "content": text},
            "parent_tool_use_id": None,
            "uuid": uuid,
        }
        if literal:
            message["client_composed"] = True
        self._at_rest.clear()
        self._owed[uuid] = None
        await self._sdk.query(_once(message))

    async def interrupt(self) -> None:
        """Tell it to stop what it does. Returns soon, obeyed or not; harmless when it does nothing."""
        try:
            async with asyncio.timeout(_INTERRUPT_S):
                await self._sdk.interrupt()
        except Exception as error:  # noqa: BLE001 - a process that is gone has stopped, too
            self._log.debug("interrupt_failed", error=type(error).__name__)

    async def halt(self) -> None:
        """Have it come to rest: interrupted, or killed when it does not obey."""
        if self._at_rest.is_set():
            return
        await self.interrupt()
        try:
            async with asyncio.timeout(_SETTLE_S):
                await self._at_rest.wait()
        except TimeoutError:
            self.kill()

    def kill(self) -> None:
        """End the process at once."""
        # While it is let go its messages end before the process does: then it may still have to be killed.
        if self._pid is not None and (self.gone is None or self._leaving):
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL if sys.platform != "win32" else signal.SIGTERM)

    async def close(self) -> None:
        """Let the process go, within bounds. The conversation can be resumed by its id."""
        await self.halt()
        self._leaving = self.gone is None
        leaving = asyncio.create_task(self._sdk.disconnect())
        done, _ = await asyncio.wait([leaving], timeout=_DISCONNECT_S)
        if not done:
            self.kill()
            done, _ = await asyncio.wait([leaving], timeout=_KILL_S)
        if not done:
            leaving.cancel()
        (error,) = await asyncio.gather(leaving, return_exceptions=True)
        if error is not None:
            self._log.warning("agent_left_badly", error=type(error).__name__)
        if self._pump is not None:
            self._pump.cancel()
            await asyncio.gather(self._pump, return_exceptions=True)


async def _once(message: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
    yield message
