"""Carries Claude Code's requests to the hub's turn and the answers back; knows when an answer was taken."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import structlog
from claude_agent_sdk import PermissionResultAllow, PermissionResultDeny, ToolPermissionContext
from msgspec import Struct

from hub import Answered, Settlement, TurnContext, elicitation_result
from turnhub_sdk.asking import NO_TURN, QUESTION, UNABLE, Result, elicitation_of, request_of, result_of
from turnhub_sdk.tools import Tools

_SHOWN_S: Final = 1.0


class _Taken(Struct, frozen=True):
    """An answer on its way. ``runs``: the input that Claude Code runs the call with, once it took it
    (measured)."""

    ask_id: str
    runs: dict[str, Any] | None


class Broker:
    """The ``can_use_tool`` of one agent process, over all its turns.

    The SDK calls it in tasks of its own. It never raises anything but a cancellation: the text of an
    exception would be shown to the model.
    """

    def __init__(self) -> None:
        self._log = structlog.get_logger(__name__)
        self._turn: TurnContext | None = None
        self._tools: Tools | None = None
        self._waiting: set[asyncio.Task[Any]] = set()
        self._taken: dict[str, _Taken] = {}
        self._shown: frozenset[str] = frozenset()
        self._changed = asyncio.Condition()

    @property
    def waits(self) -> bool:
        """Whether somebody is being asked."""
        return bool(self._waiting)

    def begin(self, turn: TurnContext, tools: Tools) -> None:
        """From now on ask in ``turn``, whose tools are ``tools``."""
        self._turn, self._tools = turn, tools
        self._taken.clear()
        self._shown = frozenset()

    async def end(self) -> None:
        """Ask in no turn any more. Whatever still waits is withdrawn."""
        self._turn = self._tools = None
        await self.cancel()

    async def cancel(self) -> None:
        """Withdraw whatever waits: a dead agent takes no answers, and the SDK does not cancel for it."""
        waiting = tuple(self._waiting)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    async def can_use_tool(self, tool: str, given: dict[str, Any], context: ToolPermissionContext) -> Result:
        """What the SDK calls when Claude Code needs somebody's word."""
        turn, tools = self._turn, self._tools
        if turn is None or tools is None:
            return PermissionResultDeny(message=NO_TURN)
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a coroutine that runs has a task
        self._waiting.add(task)
        try:
            return await self._ask(turn, tools, tool, given, context)
        except Exception as error:  # noqa: BLE001 - its text would be shown to the model
            self._log.error("ask_failed", tool=tool, error=type(error).__name__)
            return PermissionResultDeny(message=UNABLE)
        finally:
            self._waiting.discard(task)

    async def _ask(
        self, turn: TurnContext, tools: Tools, tool: str, given: dict[str, Any], context: ToolPermissionContext
    ) -> Result:
        tool_id = context.tool_use_id or ""
        await self._until_shown(tool_id)
        shown = tools.started.get(tool_id)
        # The callback for a plan has no input: the plan stands in the tool call itself.
        request = request_of(tool, given or (shown.input if shown else {}), context)
        answer = await turn.ask(request)
        result = result_of(request, given, answer)
        if isinstance(result, PermissionResultDeny) and tool_id:
            tools.denied.add(tool_id)
        if isinstance(answer, Answered) and tool_id and _conveyed(tool, answer.settlement, result):
            runs = result.updated_input if isinstance(result, PermissionResultAllow) else None
            self._taken[tool_id] = _Taken(answer.ask_id, runs)
        return result

    async def elicit(self, name: str, given: dict[str, Any]) -> dict[str, Any]:
        """What a server of the agent (MCP) is answered that wants something of its user: ``given`` is the request
        ``name`` of Claude Code. Raises nothing but a cancellation."""
        turn = self._turn
        if turn is None:
            return {"action": "cancel"}
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a coroutine that runs has a task
        self._waiting.add(task)
        try:
            request = elicitation_of(given)
            answer = await turn.ask(request)
            if isinstance(answer, Answered):
                self._taken[name] = _Taken(answer.ask_id, None)
            return elicitation_result(request, answer)
        except Exception as error:  # noqa: BLE001 - its text would be told to a stranger's server
            self._log.error("elicitation_failed", error=type(error).__name__)
            return {"action": "cancel"}
        finally:
            self._waiting.discard(task)

    async def _until_shown(self, tool_id: str) -> None:
        # The call's own message is on its way through the turn; an ask has to come behind it.
        try:
            async with asyncio.timeout(_SHOWN_S), self._changed:
                await self._changed.wait_for(lambda: tool_id in self._shown)
        except TimeoutError:
            self._log.debug("ask_without_call", tool_id=tool_id)

    async def note(self, finished: tuple[str, ...] = (), *, running: bool = False) -> None:
        """Tell what the agent did: tools that ``finished``; ``running`` again after it had waited. Both show
        that it took the answers it was given, which is then told to the turn."""
        async with self._changed:
            self._shown = frozenset(self._tools.started if self._tools else ())
            self._changed.notify_all()
        taken = tuple(self._taken) if running and not self._waiting else finished
        for tool_id in taken:
            one = self._taken.pop(tool_id, None)
            if one is not None and self._turn is not None:
                await self._turn.ask_delivered(one.ask_id, input=one.runs)


def _conveyed(tool: str, settlement: Settlement, result: Result) -> bool:
    """Whether the settlement itself goes to the agent: an answer that did not fit was not delivered."""
    answers = settlement.answers is not None or settlement.response is not None
    return not (tool == QUESTION and answers and isinstance(result, PermissionResultDeny))
