"""Pure: the course of one agent's posts. What came before tells what a post means: whether a prompt was queued,
which tool call an ask is about, whether an ask is over, what is late and what was told before."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Hashable, Iterator
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hub import ELICITATION
from turnhub_tmux.bridge.facts import (
    AskOver,
    BatchDone,
    Displayed,
    Elicited,
    Fact,
    PermissionAsked,
    PromptSubmitted,
    SessionOver,
    SessionSeen,
    Sign,
    StopFailed,
    Stopped,
    ToolDone,
    ToolFailed,
    ToolStarting,
)
from turnhub_tmux.bridge.posts import Post

_ODD: Final = re.compile(r"[^A-Za-z0-9_-]")
_KEPT: Final = 4096
_PROMPTS: Final = 512
_ASKS: Final = 256


class _Open(Struct):
    """An ask whose dialog may be on the screen."""

    fact: PermissionAsked
    answered: bool = False


class Course:
    """What is known about one agent from its posts. Bounded: what is long over is forgotten."""

    def __init__(self, *, fresh: bool = True) -> None:
        """``fresh``: the agent starts now, so that its first post is the first that it ever sent."""
        self._fresh = fresh
        self._seen: OrderedDict[Hashable, None] = OrderedDict()
        self._prompts: OrderedDict[str, None] = OrderedDict()
        self._calls: OrderedDict[str, ToolStarting] = OrderedDict()
        self._asks: OrderedDict[str, _Open] = OrderedDict()
        self._current: str | None = None
        self._where: tuple[str, str, str] | None = None

    @property
    def asks(self) -> tuple[PermissionAsked, ...]:
        """The asks whose dialogs may still be there, oldest first."""
        return tuple(one.fact for one in self._asks.values())

    def answered(self, ask_id: str) -> None:
        """Our answer to this ask has gone out."""
        if ask_id in self._asks:
            self._asks[ask_id].answered = True

    def hung_up(self, ask_id: str) -> AskOver | None:
        """The agent closed the request of an ask: its dialog is gone, and nobody wants an answer any more. None
        where that is known already."""
        return None if ask_id not in self._asks else self._over(ask_id, "gone")

    def take(self, post: Post) -> list[Fact]:
        """The facts in a post, in the order in which they count. A repeated post gives none, but for a prompt,
        which is marked."""
        facts: list[Fact] = []
        where = (post.agent_session, post.transcript_path, post.cwd)
        known = post.prompt_id in self._prompts
        late = known and post.prompt_id != self._current
        if where != self._where and post.transcript_path and not late:
            self._where = where
            facts.append(SessionSeen(agent_session=where[0], transcript_path=where[1], cwd=where[2]))
        if post.prompt_id is not None and not known:
            facts += self._all_over("prompt", post.agent_session)
        if post.fact is not None:
            facts += self._meaning(replace(post.fact, late=late), known)
        if post.prompt_id is not None and not late:
            self._current = post.prompt_id
            _keep(self._prompts, post.prompt_id, None, _PROMPTS)
        self._fresh = True
        return facts

    def _meaning(self, fact: Fact, known: bool) -> Iterator[Fact]:
        again = self._again(fact)
        if isinstance(fact, PromptSubmitted):
            yield replace(fact, queued=known if self._fresh else None, repeated=again)
            return
        if again:
            return
        match fact:
            case ToolStarting():
                _keep(self._calls, fact.tool_use_id, fact, _KEPT)
                yield fact
            case PermissionAsked():
                yield from self._asked(fact)
            case _:
                yield fact
                yield from self._settled_by(fact)

    def _again(self, fact: Fact) -> bool:
        """Whether this was told before, as the agent's own ids say."""
        key = _key(fact)
        if key is None:
            return False
        if key in self._seen:
            return True
        _keep(self._seen, key, None, _KEPT)
        return False

    def _asked(self, fact: PermissionAsked) -> Iterator[PermissionAsked]:
        """An ask, with the call that it is about. The agent tells of a call before it asks: what asks about the
        words of a call that was asked about already, with no other call, is the same post again."""
        words = ("ask", fact.prompt_id, fact.agent, fact.tool, msgspec.json.encode(fact.input))
        call = fact.tool_use_id or self._call_of(fact)
        if call is None and words in self._seen:
            return
        if call is not None:
            _keep(self._seen, words, None, _KEPT)
        asked = replace(fact, tool_use_id=call)
        _keep(self._asks, asked.ask_id, _Open(asked), _ASKS)
        yield asked

    def _call_of(self, asked: PermissionAsked) -> str | None:
        """The first tool call of these words that nobody asked about yet, and that has not run."""
        taken = {one.fact.tool_use_id for one in self._asks.values()}
        for tool_use_id, call in self._calls.items():
            same = call.name == asked.tool and call.input == asked.input and call.agent == asked.agent
            if same and tool_use_id not in taken:
                return tool_use_id
        return None

    # Whether an ask is over

    def _settled_by(self, fact: Fact) -> Iterator[AskOver]:
        match fact:
            case ToolDone():
                yield from self._ran(fact.tool_use_id, fact.input, fact.output)
                yield from self._went_on(fact.name)
            case ToolFailed():
                yield from self._ran(fact.tool_use_id, fact.input, fact.error)
                if not fact.interrupted:
                    yield from self._went_on(fact.name)
            case BatchDone():
                for result in fact.results:
                    self._calls.pop(result.tool_use_id, None)
                    for ask_id in self._about(result.tool_use_id):
                        yield self._over(ask_id, "batch", output=result.output)
            case Elicited():
                yield from self._filled_in(fact)
            case Stopped() | StopFailed() if not fact.late:
                yield from self._all_over("stop", fact.agent_session)
            case SessionOver():
                yield from self._all_over("end", fact.agent_session)
            case _:
                return

    def _ran(self, tool_use_id: str, given: dict[str, Any], output: Any) -> Iterator[AskOver]:
        self._calls.pop(tool_use_id, None)
        for ask_id in self._about(tool_use_id):
            yield self._over(ask_id, "tool", ran=True, input=given, output=output)

    def _filled_in(self, fact: Elicited) -> Iterator[AskOver]:
        """The oldest ask of this server is over."""
        for ask_id, one in self._asks.items():
            if one.fact.tool == ELICITATION and one.fact.input.get("server") == fact.server:
                output = {"action": fact.action, "content": fact.content}
                yield self._over(ask_id, "tool", output=output)
                return

    def _went_on(self, tool: str) -> Iterator[AskOver]:
        """A tool of a server that had asked has come to its end: nobody but our answer can have let it go on."""
        for ask_id, one in list(self._asks.items()):
            server = _ODD.sub("_", str(one.fact.input.get("server")))
            if one.answered and one.fact.tool == ELICITATION and tool.startswith(f"mcp__{server}__"):
                yield self._over(ask_id, "tool")

    def _about(self, tool_use_id: str) -> list[str]:
        return [ask_id for ask_id, one in self._asks.items() if one.fact.tool_use_id == tool_use_id]

    def _all_over(self, sign: Sign, session: str) -> Iterator[AskOver]:
        """All asks of this session are over. A helper may go on in the background when the agent has stopped."""
        for ask_id, one in list(self._asks.items()):
            if one.fact.agent_session == session and (one.fact.agent is None or sign == "end"):
                yield self._over(ask_id, sign)

    def _over(self, ask_id: str, sign: Sign, **details: Any) -> AskOver:
        one = self._asks.pop(ask_id)
        if one.fact.tool_use_id is not None:  # an ask of the same words that comes later is about another call
            self._calls.pop(one.fact.tool_use_id, None)
        return AskOver(
            agent_session=one.fact.agent_session,
            prompt_id=one.fact.prompt_id,
            agent=one.fact.agent,
            ask_id=ask_id,
            sign=sign,
            answered=one.answered,
            tool_use_id=one.fact.tool_use_id,
            **details,
        )


def _key(fact: Fact) -> Hashable:
    match fact:
        case PromptSubmitted():
            return ("prompt", fact.prompt_id, fact.prompt) if fact.prompt_id else None
        case Displayed():
            return ("display", fact.message_id, fact.index)
        case ToolStarting():
            return ("starting", fact.tool_use_id)
        case ToolDone() | ToolFailed():
            return ("done", fact.tool_use_id)
        case BatchDone():
            return ("batch", *(result.tool_use_id for result in fact.results))
        case _:
            return None


K = TypeVar("K")
V = TypeVar("V")


def _keep(held: OrderedDict[K, V], key: K, value: V, most: int) -> None:
    held[key] = value
    held.move_to_end(key)
    while len(held) > most:
        held.popitem(last=False)
