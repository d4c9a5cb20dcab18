"""Pure: one turn's messages of the SDK, made into the hub's events and, at the end, an ending."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from claude_agent_sdk import (
    AssistantMessage,
    Message,
    ResultMessage,
    StreamEvent,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)

from hub import AnyEvent, Ending, Failed, MessageDelivered, Status
from turnhub_sdk.blocks import Blocks
from turnhub_sdk.endings import Shown, ending_of, failure, whole
from turnhub_sdk.joining import Joining, uuids_of
from turnhub_sdk.texts import clean
from turnhub_sdk.tools import Tools

_SAID_LOCALLY: Final = re.compile(r"<local-command-(?:stdout|stderr)>(.*)</local-command-\w+>", re.DOTALL)
_SILENT: Final = "(The command gave no output.)"
_ANSI: Final = re.compile(r"\x1b\[[0-9;]*m")


class TurnMap:
    """Feed it every message since the prompt ``uuid`` was sent, in order.

    ``ending`` is set when the turn is over. ``login`` says how to log in, ``spent_usd`` what the session had cost
    before (None: not known), ``detail`` what has to be told with the message's delivery. Set ``stopping`` once the
    agent was told to stop. ``joining``: words that were given to the turn while it ran; the agent goes on to them
    when it is done with what it is at, or between two tools. ``command``: the message may be one of the
    agent's own commands.
    """

    def __init__(
        self,
        uuid: str,
        *,
        login: str = "",
        spent_usd: float | None = 0.0,
        detail: str | None = None,
        command: bool = False,
    ) -> None:
        self.tools = Tools()
        self.stopping = False
        self.ending: Ending | None = None
        self.session_id: str | None = None
        self.joining = Joining()
        self._uuid = uuid
        self._login = login
        self._spent = spent_usd
        self._detail = detail
        self._command = command
        self._delivered = False
        self._blocks = Blocks()
        self._state: str | None = None
        self._result: ResultMessage | None = None
        self._error: tuple[str, str] | None = None
        self._refused: str | None = None
        self._before: list[Ending] = []

    @property
    def delivered(self) -> bool:
        """Whether the agent has taken the message."""
        return self._delivered

    @property
    def sign(self) -> Failed | None:
        """The failure that the agent's last error means, where no word of the model followed it."""
        if self._error is None:
            return None
        return failure(self._shown(), self._error[1], None, None, self._login)

    @property
    def over(self) -> bool:
        """Whether the result is there: what still comes is only the agent's coming to rest."""
        return self._result is not None

    @property
    def busy(self) -> bool:
        """Whether a tool runs, which may take its time."""
        return bool(self.tools.running)

    def feed(self, message: Message, now: float) -> list[AnyEvent]:
        """The events that a message means. ``now``: monotonic seconds."""
        return [*self._acknowledged(message), *self._events(message, now)]

    def _acknowledged(self, message: Message) -> Iterator[AnyEvent]:
        if not self._delivered and self._uuid in uuids_of(message):
            self._delivered = True
            yield MessageDelivered(verdict="submitted", proof="sdk", detail=self._detail)
        for one in self.joining.take(message):
            if one.told:
                yield MessageDelivered(verdict="submitted", proof="sdk", message_id=one.message_id)

    def _events(self, message: Message, now: float) -> Iterator[AnyEvent]:
        match message:
            case StreamEvent(parent_tool_use_id=None):
                self._goes_on(message.event)
                yield from self._blocks.event(message.event, stopping=self.stopping)
            case StreamEvent():
                pass  # a helper's own words: its tools are shown, under the tool that it runs in
            case AssistantMessage():
                yield from self._assistant(message, now)
            case UserMessage():
                yield from self._blocks.release(stopping=self.stopping)
                yield from self._user(message, now)
            case ResultMessage():
                yield from self._blocks.release(stopping=self.stopping)
                yield from self._ended(message, now)
            case SystemMessage():
                yield from self._system(message.subtype, message.data)
            case _:
                pass

    # -- what the agent says -------------------------------------------------------------------------------

    def _assistant(self, message: AssistantMessage, now: float) -> Iterator[AnyEvent]:
        self.session_id = message.session_id or self.session_id
        if message.error is not None and message.parent_tool_use_id is None:
            yield from self._blocks.release(stopping=self.stopping)
            self._failed(message)
            return
        for block in message.content:
            match block:
                case ToolUseBlock():
                    yield from self._tool(block, message.parent_tool_use_id, now)
                case TextBlock() if message.parent_tool_use_id is None:
                    yield from self._whole("text", block.text, message)
                case ThinkingBlock() if message.parent_tool_use_id is None:
                    yield from self._whole("thinking", block.thinking, message)
                case _:
                    pass

    def _goes_on(self, event: dict[str, Any]) -> None:
        # An error after which the model speaks again was not the end: a stream, say, that broke behind a tool.
        if event.get("type") == "message_start":
            self._error = None

    def _whole(self, kind: Any, text: str, message: AssistantMessage) -> Iterator[AnyEvent]:
        yield from self._blocks.whole(kind, text, message.message_id, stopping=self.stopping)

    def _tool(self, block: ToolUseBlock, parent: str | None, now: float) -> Iterator[AnyEvent]:
        if parent is None:
            yield from self._blocks.release(stopping=self.stopping)
            self._blocks.forget()
        yield from self.tools.start(block, parent, now)

    def _failed(self, message: AssistantMessage) -> None:
        words = clean(" ".join(block.text for block in message.content if isinstance(block, TextBlock)))
        self._error = (str(message.error), words)

    def _shown(self) -> Shown:
        error, words = self._error or (None, None)
        blocks = self._blocks
        return Shown(
            spoke=blocks.spoke,
            reasoned=blocks.reasoned,
            broken=blocks.broken,
            error=error,
            words=words,
            refused=self._refused,
        )

    # -- what goes back to the agent -----------------------------------------------------------------------

    def _user(self, message: UserMessage, now: float) -> Iterator[AnyEvent]:
        if isinstance(message.content, str):
            if said := _SAID_LOCALLY.search(message.content):
                yield from self._blocks.say(_ANSI.sub("", said[1]).strip())
            return
        for block in message.content:
            if isinstance(block, ToolResultBlock):
                yield from self.tools.finish(block, now, stopping=self.stopping)

    # -- how it goes ---------------------------------------------------------------------------------------

    def _system(self, subtype: str, data: dict[str, Any]) -> Iterator[AnyEvent]:
        self.session_id = data.get("session_id") or self.session_id
        match subtype:
            case "status" if data.get("status") == "requesting":
                yield Status(state="thinking")
            case "status" if data.get("status") == "compacting":
                yield Status(state="thinking", detail="The agent is shortening the conversation.")
            case "api_retry":
                self._blocks.retry()
                yield Status(state="retrying", detail=_retry(data))
            case "informational" if told := data.get("prompt_submit_outcome"):
                self._refused = clean(str(told.get("reason") or "it gives no reason"))
            case "permission_denied":
                self.tools.denied.add(str(data.get("tool_use_id")))
            case "session_state_changed":
                self._state = str(data.get("state"))
                self._rest()

    def _ended(self, result: ResultMessage, now: float) -> Iterator[AnyEvent]:
        if not self._ours(result):
            return  # a helper in the background has come back: the turn that it woke is part of this one
        if (result.terminal_reason or "").startswith("aborted"):
            yield from self.tools.stop(now)
        if self._command and result.num_turns == 0 and not result.result and not self._blocks.spoke:
            yield from self._blocks.say(_SILENT)  # it did what it was told, and the model was not asked
        if self.joining:  # the agent goes on to what waits
            self._before.append(ending_of(result, self._shown(), self._login, self._spent))
            self._blocks.forget()
            self._error = self._refused = None
            return
        self._result = result
        self._rest()

    def _ours(self, result: ResultMessage) -> bool:
        told = uuids_of(result)
        ours = any(uuid == self._uuid or uuid in self.joining for uuid in told)
        return ours or (not told and _origin(result) in (None, "human"))

    def _rest(self) -> None:
        # "idle" says that nothing more is owed. It follows the result at once, unless a helper still works.
        if self._result is not None and self._state in (None, "idle"):
            self.finish()

    def finish(self) -> None:
        """Take the result as the end, whatever else may come."""
        if self._result is not None and self.ending is None:
            last = ending_of(self._result, self._shown(), self._login, self._spent)
            self.ending = whole([*self._before, last])


def _origin(result: ResultMessage) -> str | None:
    return result.origin["kind"] if result.origin else None


def _retry(data: dict[str, Any]) -> str:
    status = data.get("error_status")
    why = f"HTTP {status}" if status else "no connection"
    wait = float(data.get("retry_delay_ms") or 0) / 1000
    return f"The model failed ({why}): try {data.get('attempt')} of {data.get('max_retries')} in {wait:.1f} s."
