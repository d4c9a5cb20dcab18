"""Pure: the tools of a turn, from their start to their end."""

from __future__ import annotations

from collections.abc import Iterator

from claude_agent_sdk import ToolResultBlock, ToolUseBlock

from hub import AnyEvent, ToolFinished, ToolStarted, digest_of
from turnhub_sdk.digest import text_of
from turnhub_sdk.texts import clean_all


class Tools:
    """Keeps which tools run. Times are monotonic seconds."""

    def __init__(self) -> None:
        self.started: dict[str, ToolStarted] = {}
        self.denied: set[str] = set()
        self._running: dict[str, float] = {}

    @property
    def running(self) -> tuple[str, ...]:
        """Ids of the tools that have not finished, oldest first."""
        return tuple(self._running)

    def start(self, block: ToolUseBlock, parent: str | None, now: float) -> Iterator[AnyEvent]:
        """A tool call was made."""
        if block.id in self.started:
            return
        event = ToolStarted(tool_id=block.id, name=block.name, input=clean_all(block.input), parent_id=parent)
        self.started[block.id] = event
        self._running[block.id] = now
        yield event

    def finish(self, block: ToolResultBlock, now: float, *, stopping: bool) -> Iterator[AnyEvent]:
        """A tool call has its result."""
        began = self._running.pop(block.tool_use_id, None)
        if began is None:
            return
        failed = bool(block.is_error)
        output = text_of(clean_all(block.content))
        denied = block.tool_use_id in self.denied
        yield ToolFinished(
            tool_id=block.tool_use_id,
            status="denied" if denied else "interrupted" if failed and stopping else "error" if failed else "ok",
            digest=digest_of(output),
            output=output,
            duration_ms=round((now - began) * 1000),
        )

    def stop(self, now: float) -> Iterator[AnyEvent]:
        """What still runs was stopped."""
        for tool_id, began in self._running.items():
            yield ToolFinished(tool_id=tool_id, status="interrupted", duration_ms=round((now - began) * 1000))
        self._running.clear()
