"""Playing one turn of a script: text, tools, asks, faults."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from msgspec import UNSET

from hub.asks import Answered, AskRequest
from hub.digests import digest_of
from hub.events import (
    MessageDelivered,
    Reasoning,
    ReasoningDelta,
    Status,
    Text,
    TextDelta,
    ToolFinished,
    ToolStarted,
    ToolStatus,
)
from hub.testing import script
from hub.transport import TurnContext
from hub.turn import Completed, Ending, Failed

_ATTEMPT: Final = 1_000_000  # numbers of blocks and tools that one attempt may use


class Player:
    """Plays one turn. ``runs`` counts the session's tool runs; the connection keeps it from turn to turn."""

    def __init__(self, turn: TurnContext, runs: dict[str, int], *, adopts: bool) -> None:
        self._turn = turn
        self._runs = runs
        self._adopts = adopts
        self._blocks = 0
        self._tools = 0
        self._open_tools: dict[str, float] = {}

    async def play(self, steps: Callable[[], tuple[script.Step, ...]]) -> Ending:
        """Play ``steps()`` to their end. Raises BadScript where they cannot be read."""
        begin = await self._begin()
        for number, step in enumerate(steps()):
            if number < begin:
                continue
            if self._adopts:
                await self._turn.remember(at=f"{self._turn.turn_id}:{number}")
            if (ending := await self._step(step)) is not None:
                return ending
        return Completed()

    async def close_tools(self) -> None:
        """Finish what a stopped script left open."""
        for tool_id in tuple(self._open_tools):
            await self._finish(tool_id, "interrupted")

    async def say(self, text: str, deltas: int | None = None, every_ms: float = 0) -> None:
        """Stream a block of text."""
        block = self._next_block()
        await self._stream(TextDelta, block, script.pieces(text, deltas), every_ms)
        await self._turn.emit(Text(block=block, text=text))

    async def _begin(self) -> int:
        """The number of the step to begin with: not the first where an earlier runner got further."""
        turn, _, step = self._turn.session.memory.get("at", "").partition(":")
        if not (self._adopts and self._turn.adopted and turn == self._turn.turn_id):
            context = await self._turn.context()
            await self._turn.emit(MessageDelivered(verdict="submitted", proof="sdk"))
            if context:
                await self.say(f"Told before: {context}")
            return 0
        # What the interrupted step streamed or began counts no more: it is played again under new numbers.
        self._blocks = self._tools = self._turn.attempt * _ATTEMPT
        await self._turn.emit(Status(state="retrying", detail="the hub came back"))
        return int(step)

    async def _step(self, step: script.Step) -> Ending | None:
        match step:
            case script.Say():
                await self.say(step.text, step.deltas, step.every_ms)
            case script.Think():
                await self._think(step)
            case script.Tool():
                await self._tool(step)
            case script.Parallel():
                async with asyncio.TaskGroup() as group:
                    for tool in step.parallel:
                        group.create_task(self._tool(tool))
            case script.AskQuestion():
                await self._question(step)
            case script.Recall(recall=True):
                known = await self._turn.memory()
                await self.say("\n".join(one.summary for one in known) or "Nothing is known.")
            case script.Sleep():
                await asyncio.sleep(step.sleep_ms / 1000)
            case _:
                return await self._last(step)
        return None

    async def _last(self, step: script.Step) -> Ending | None:
        match step:
            case script.Fail(fail=failure):
                return Failed(code=failure.code, message=failure.message, retryable=failure.retryable)
            case script.Incomplete(incomplete=True):
                return Failed(code="incomplete")
            case script.Hang(hang=True):
                await asyncio.get_running_loop().create_future()
            case script.Raise():
                raise RuntimeError(step.message)
            case _:
                pass
        return None

    async def _think(self, step: script.Think) -> None:
        block = self._next_block()
        await self._stream(ReasoningDelta, block, script.pieces(step.reasoning, step.deltas), step.every_ms)
        await self._turn.emit(Reasoning(block=block, text=step.reasoning))

    async def _stream(
        self, delta: type[TextDelta | ReasoningDelta], block: int, parts: list[str], every_ms: float
    ) -> None:
        for number, part in enumerate(parts):
            if number and every_ms:
                await asyncio.sleep(every_ms / 1000)
            await self._turn.emit(delta(block=block, text=part))

    async def _tool(self, step: script.Tool) -> None:
        self._tools += 1
        tool_id = f"tool_{self._tools}"
        self._open_tools[tool_id] = time.monotonic()
        await self._turn.emit(ToolStarted(tool_id=tool_id, name=step.tool, input=step.input))
        edited: dict[str, Any] | None = None
        if step.ask:
            refusal, edited = await self._permission(step, tool_id)
            if refusal is not None:
                await self._finish(tool_id, *refusal)
                return
        runs = await self._count(step.tool, step.input if edited is None else edited)
        await asyncio.sleep(step.ms / 1000)
        status, text = _outcome(step.result)
        if edited is not None:
            text += f"\nran with {msgspec.json.encode(edited).decode()}"
        await self._finish(tool_id, status, text, runs)

    async def _permission(
        self, step: script.Tool, tool_id: str
    ) -> tuple[tuple[ToolStatus, str | None] | None, dict[str, Any] | None]:
        """Why the tool may not run (its status and the words for it), and the input that it may run with."""
        answer = await self._turn.ask(
            AskRequest(
                kind="permission",
                tool=step.tool,
                subject=script.subject_of(step.input),
                input=step.input,
                source="sdk",
                tool_id=tool_id,
            )
        )
        if not isinstance(answer, Answered):
            return ("interrupted", f"withdrawn: {answer.reason}"), None
        await self._turn.ask_delivered(answer.ask_id)
        if answer.settlement.decision != "allow":
            return ("denied", answer.settlement.message), None
        return None, answer.settlement.input

    async def _question(self, step: script.AskQuestion) -> None:
        raw = step.question if isinstance(step.question, dict) else {"questions": step.question}
        answer = await self._turn.ask(
            AskRequest(kind="question", tool="AskUserQuestion", input=raw, questions=step.questions, source="sdk")
        )
        if not isinstance(answer, Answered):
            return
        await self._turn.ask_delivered(answer.ask_id)
        await self.say(_echoed(answer.settlement.answers, answer.settlement.response))

    async def _count(self, tool: str, tool_input: Mapping[str, Any]) -> int:
        """How often the session has run this very call, this time included. Kept before the tool runs, so
        that a run which the hub did not survive counts too."""
        call = msgspec.json.encode([tool, tool_input], order="sorted")
        key = f"runs_{hashlib.sha256(call).hexdigest()[:16]}"
        known = max(self._runs.get(key, 0), int(self._turn.session.memory.get(key, "0")))
        self._runs[key] = runs = known + 1
        await self._turn.remember(**{key: str(runs)})
        return runs

    async def _finish(
        self, tool_id: str, status: ToolStatus, text: str | None = None, runs: int | None = None
    ) -> None:
        began = self._open_tools.pop(tool_id)
        await self._turn.emit(
            ToolFinished(
                tool_id=tool_id,
                status=status,
                digest=None if text is None else digest_of(text, runs),
                output=UNSET if text is None else text,
                duration_ms=round((time.monotonic() - began) * 1000),
            )
        )

    def _next_block(self) -> int:
        self._blocks += 1
        return self._blocks - 1


def _outcome(result: Any) -> tuple[ToolStatus, str]:
    if isinstance(result, dict) and set(result) == {"error"}:
        return "error", str(result["error"])
    return "ok", result if isinstance(result, str) else msgspec.json.encode(result).decode()


def _echoed(answers: Mapping[str, str] | None, response: str | None) -> str:
    given = answers or {}
    if response is not None or len(given) <= 1:
        return response or "".join(given.values())
    return "\n".join(f"{question} {answer}" for question, answer in given.items())
