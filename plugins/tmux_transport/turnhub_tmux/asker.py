"""The asks of one turn, wherever they are seen: by the agent's hook, in its transcript, on its screen, by a
plugin. Each is one ask, answered by the hook that is held open for it, else by keys; answered at the keyboard it
is settled so."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Final

import structlog
from msgspec.structs import replace

from hub import (
    ELICITATION,
    Answer,
    Answered,
    AskRequest,
    HubError,
    Settlement,
    TurnContext,
)
from turnhub_tmux.bridge.decisions import Decision, took
from turnhub_tmux.bridge.facts import AskOver, PermissionAsked
from turnhub_tmux.bridge.listener import Bridge
from turnhub_tmux.digest import words
from turnhub_tmux.keys import Keys
from turnhub_tmux.open_asks import OpenAsk, begun, inherited, same
from turnhub_tmux.questions import ASKED, CALLS, call_of
from turnhub_tmux.requests import (
    START_UP,
    agreed,
    behind,
    by_keyboard,
    decision_of,
    is_about,
    is_another,
    refusals,
    reply_of,
    request_of,
)
from turnhub_tmux.screen.types import Dialog, Screen
from turnhub_tmux.story import Story
from turnhub_tmux.transcript.facts import Result, Used
from turnhub_tmux.typist import SEEN, PaneTypist, Seen

_HOOK_S: Final = 1.5
"""Seconds in which the hook of a dialog that is on the screen already is waited for."""
_REST_S: Final = 1.0
_SEEN_S: Final = 3.0
_ROW_S: Final = 0.4
"""Seconds in which a call may be named that a dialog is about, where no transcript is followed."""
_NAMED_S: Final = 3.0
"""The same, where one is followed. The screen alone knows one page of several, and not how the call ends."""
_REFUSED_S: Final = 1.0
"""Seconds in which the transcript may tell that a call was refused that was allowed by keys."""
_JUST_S: Final = 0.6
"""Seconds for which the agent may take to tell what became of a dialog that was on the screen."""
_CALLED: Final = frozenset({"permission", "question", "plan"})
"""The kinds of dialogs that are about a call."""
_TOLD_S: Final = 3.0
"""Seconds in which a dialog that went by itself may still be told of by hook or transcript."""


class Asker:
    """Asks for one turn. ``typist`` presses the keys, ``bridge`` (where there is one) holds the agent's hooks."""

    def __init__(
        self, turn: TurnContext, story: Story, typist: PaneTypist, bridge: Bridge | None, group: asyncio.TaskGroup
    ) -> None:
        self._turn = turn
        self._story = story
        self._typist = typist
        self._bridge = bridge
        self._group = group
        self._open: list[OpenAsk] = []
        self._asked: list[PermissionAsked] = []  # by hooks, and not yet an ask
        self._pending: tuple[Used, ...] = ()
        self._stands: tuple[str, float] | None = None
        self._shown: Seen | None = None  # what stands there long enough to be asked about
        self._unanswerable: set[str] = set()
        self._written = False
        self._dialog_at = -_JUST_S  # when the screen was last seen to show a dialog
        self._closed: bool | None = None  # whether somebody was being asked when it was closed
        self._news = asyncio.Event()
        self._sourcing = group.create_task(self._source())
        self._clock = asyncio.get_running_loop().time
        self._log = structlog.get_logger(__name__).bind(session=turn.session.id, turn=turn.turn_id)

    @property
    def waiting(self) -> bool:
        """Whether somebody is asked, or an answer is under way."""
        return bool(self._open or self._asked)

    @property
    def unanswered(self) -> bool:
        """Whether somebody is, or was just now, being asked: what the agent calls refused was refused there, else
        it was stopped while it ran. Of an adopted turn nobody knows: it counts as asked."""
        if self._closed is not None:
            return self._closed
        asks = any(not one.answering and not one.over.is_set() for one in self._open)
        shows = self._clock() - self._dialog_at < _JUST_S
        return self._turn.adopted or asks or bool(self._asked) or shows

    # Seen by hook

    def hear(self, asked: PermissionAsked) -> None:
        """The agent's hook asks."""
        self._asked.append(asked)
        self._news.set()

    def over(self, over: AskOver, *, alive: bool) -> None:
        """An ask is over, as the hooks tell. ``alive``: the agent is there still."""
        self._asked = [asked for asked in self._asked if asked.ask_id != over.ask_id]
        one = next((one for one in self._open if one.asked is not None and one.asked.ask_id == over.ask_id), None)
        if one is None:
            return
        one.end = over
        if over.ran is not True and not (over.answered and one.let):
            self._story.refused(one.request.tool_id or over.tool_use_id)
        if not over.answered:
            told = over.sign in ("tool", "batch") or (alive and one.request.kind == "permission")
            found = by_keyboard(one.request, allowed=bool(over.ran), output=over.output, given=over.input)
            self._elsewhere(one, found if told else None)
        one.over.set()

    # Seen in the transcript

    def result(self, result: Result) -> None:
        """A call has its result: an ask about it is over."""
        for one in self._open:
            if one.known.tool_id != result.tool_use_id or one.over.is_set():
                continue
            if one.answering:
                one.result = result
                one.told.set()
            else:
                self._elsewhere(one, _answered_by(one, result))
                one.over.set()

    # Seen on the screen

    def look(self, seen: Seen, pending: Iterable[Used] = (), *, hooked: bool, written: bool = False) -> None:
        """What the agent's screen shows now. ``hooked``: its hook is expected to tell of a dialog, too;
        ``written``: its transcript is. Sources are asked about it once it has stood there for a moment, and not
        again before it changes."""
        dialog, calls, self._written = seen.screen.dialog, tuple(pending), written
        if dialog is not None:
            self._dialog_at = self._clock()
        for one in self._open:
            self._name(one, calls)
            self._seen_again(one, dialog)
        if dialog is not None and self._is_known(dialog):
            self._stands = self._shown = None
            return
        looks = _looks(seen.screen)
        if self._stands is None or self._stands[0] != looks:
            self._stands, self._shown = (looks, self._clock()), None
        unnamed = written and dialog is not None and call_of(dialog, calls) is None
        patience = self._patience(dialog, hooked=hooked, unnamed=unnamed)
        if self._shown is None and self._clock() - self._stands[1] >= patience:
            self._shown, self._pending = seen, calls
            self._news.set()

    def _is_known(self, dialog: Dialog) -> bool:
        return (
            dialog.kind == "survey"
            or dialog.fingerprint in self._unanswerable
            or any(one.dialog is not None and one.dialog.fingerprint == dialog.fingerprint for one in self._open)
            or any(is_about(dialog, one.known) for one in self._open)
        )

    def _name(self, one: OpenAsk, calls: Iterable[Used]) -> None:
        """Name the call that an ask is about which the screen alone showed first."""
        if one.known.tool_id is None and one.dialog is not None:
            taken = {other.known.tool_id for other in self._open}
            one.call = call_of(one.dialog, (call for call in calls if call.tool_use_id not in taken))

    def _patience(self, dialog: Dialog | None, *, hooked: bool, unnamed: bool) -> float:
        if any(one.foreign for one in self._open) or (dialog is not None and dialog.kind in START_UP):
            return 0.0
        if unnamed and dialog is not None and dialog.kind in _CALLED:
            return _NAMED_S
        return _HOOK_S if hooked else _ROW_S

    # What the sources say

    async def _source(self) -> None:
        """Ask the sources whenever something has changed."""
        while True:
            await self._news.wait()
            self._news.clear()
            shown = self._shown
            held = (*(one.asked for one in self._open if one.asked is not None), *self._asked)
            seen: dict[str, Any] = {ASKED: held, CALLS: self._pending}
            if shown is not None:
                seen[SEEN] = shown
            found = await self._turn.sourced(seen)
            for request in found:
                self._sourced(request, shown)
            for asked in [asked for asked in self._asked if asked in held]:
                self._asked.remove(asked)  # a second call of the same words, which has no name
                self._begin(begun(_asked_by(asked), asked=asked))
            if shown is not None and shown is self._shown:
                self._miss(found)

    def _sourced(self, request: AskRequest, shown: Seen | None) -> None:
        """Take what the sources see: it is known, or it begins, or it is over already."""
        asked = next((one for one in self._asked if same(_asked_by(one), request)), None)
        known = next((one for one in self._open if _is_one(one, request, asked)), None)
        if asked is not None:
            self._asked.remove(asked)
        if known is not None:
            known.asked = known.asked or asked  # the screen was faster: from now on the hook takes the answer
        elif asked is not None:
            self._begin(begun(request, asked=asked))
        elif request.source != "hook" and shown is not None and shown is self._shown:
            dialog = shown.screen.dialog
            if dialog is not None and is_about(dialog, request):
                self._begin(begun(self._inherited(dialog) or request, dialog=dialog))
                self._follow(request, dialog)
            else:
                self._begin(_foreign(request))

    def _follow(self, request: AskRequest, dialog: Dialog) -> None:
        """The very same calls, made at once with this one, whose dialogs wait behind its dialog: they are asked
        about beside it, not after it."""
        like = [
            call
            for call in self._pending
            if (call.name, call.input) == (request.tool, request.input)
            and call.tool_use_id != request.tool_id
            and all(one.request.tool_id != call.tool_use_id for one in self._open)
        ]
        for call in like[: behind(dialog) if request.tool_id else 0]:
            self._begin(begun(replace(request, tool_id=call.tool_use_id)))

    def _miss(self, found: Iterable[AskRequest]) -> None:
        """What only a plugin sees is over when it does not see it any more."""
        for one in self._open:
            if one.foreign and not any(same(one.request, request) for request in found):
                self._elsewhere(one, None)
                one.over.set()

    def _inherited(self, dialog: Dialog) -> AskRequest | None:
        """The very ask that this turn had opened under another runner, where the dialog is its."""
        return next((request for request in inherited(self._turn) if is_about(dialog, request)), None)

    def _seen_again(self, one: OpenAsk, dialog: Dialog | None) -> None:
        if dialog is not None and is_about(dialog, one.known):
            one.dialog, one.gone_at = dialog, None
        elif one.dialog is not None and one.asked is None and not one.answering and not one.over.is_set():
            one.gone_at = one.gone_at or self._clock()
            if self._clock() - one.gone_at >= _TOLD_S:
                self._elsewhere(one, None)
                one.over.set()

    # Asking and answering

    def settle_what_is_gone(self, results: Mapping[str, Result]) -> None:
        """Asks of before that were answered at the keyboard while no hub was there, as the transcript tells."""
        for request in inherited(self._turn):
            for result in results.values():
                used = self._story.call(result.tool_use_id)
                if used is None or used.name != request.tool or used.input != request.input:
                    continue
                found = by_keyboard(request, allowed=not result.denied, output=result.detail)
                if found is not None:
                    one = begun(request)
                    self._begin(one)
                    self._elsewhere(one, found)
                    one.over.set()

    def _begin(self, one: OpenAsk) -> None:
        self._open.append(one)
        one.task = self._group.create_task(self._run(one))
        one.task.add_done_callback(lambda _: self._open.remove(one))

    def _elsewhere(self, one: OpenAsk, settlement: Settlement | None) -> None:
        """Settle it as the keyboard did; where nobody knows how, withdraw it."""
        if one.elsewhere.done():
            return
        if settlement is None:
            one.elsewhere.cancel()
            if one.task is not None and not one.answering:
                one.task.cancel()
        else:
            one.elsewhere.set_result(settlement)

    async def _run(self, one: OpenAsk) -> None:
        answer = await self._turn.ask(one.request, one.elsewhere)
        if isinstance(answer, Answered) and _there(answer.settlement):
            await self._turn.ask_delivered(answer.ask_id)
            return
        one.answering, one.let = True, agreed(answer)
        if not agreed(answer) and one.request.kind == "permission":
            self._story.refused(one.request.tool_id)
        if await self._give(one, answer) and isinstance(answer, Answered):
            await self._turn.ask_delivered(answer.ask_id, input=one.end.input if one.end else None)

    async def _give(self, one: OpenAsk, answer: Answer) -> bool:
        """Hand the answer to the agent; whether it took it."""
        if one.end is not None:
            return False
        if one.asked is not None and self._bridge is not None:
            decision = decision_of(one.asked, answer)
            if self._bridge.answer(one.asked.ask_id, decision):
                return await self._taken(one, decision)
        return await self._by_keys(one, answer)

    async def _taken(self, one: OpenAsk, decision: Decision) -> bool:
        await one.over.wait()
        return one.end is not None and took(decision, one.end) is True

    async def _by_keys(self, one: OpenAsk, answer: Answer) -> bool:
        def about(dialog: Dialog) -> bool:
            return is_about(dialog, one.known)

        try:
            keys = Keys(self._typist, about, lambda dialog: reply_of(dialog, one.request, answer))
            pressed = await keys.give(self._turn.exclusive)
        except HubError as error:
            self._log.warning("an answer could not be typed", error=type(error).__name__, reason=error.detail)
            self._ask_again(one, error.detail)
            return False
        if pressed and await self._was_faster(one, answer):
            with suppress(HubError):  # it is a draft, which the next delivery sets aside
                await keys.take_back(self._turn.exclusive)
            return False
        return pressed

    async def _was_faster(self, one: OpenAsk, answer: Answer) -> bool:
        """Whether the dialog went since somebody at the keyboard had answered it otherwise. The transcript tells
        at once, unless the call runs: where it was allowed here, only a refusal is waited for, for a moment."""
        if not self._written or one.known.tool_id is None:
            return False
        with suppress(TimeoutError):
            async with asyncio.timeout(_REFUSED_S if agreed(answer) else None):
                await one.told.wait()
        if one.result is None:
            return False
        return is_another(answer, one.known, _answered_by(one, one.result), denied=one.result.denied)

    def _ask_again(self, one: OpenAsk, reason: str) -> None:
        """Say that the answer did not reach the agent, by asking again, once: its dialog waits still."""
        if one.dialog is None:
            return
        if one.again:
            self._unanswerable.add(one.dialog.fingerprint)
            return
        told = f"The answer given before could not be typed: {reason}"
        request = replace(one.request, rationale=told, refuses=refusals(one.dialog))
        again = begun(request, dialog=one.dialog)
        again.again = True
        self._begin(again)

    async def rest(self) -> None:
        """Let what is over be told to its end, for a moment."""
        over = [one.task for one in self._open if one.task and (one.over.is_set() or one.elsewhere.done())]
        if over:
            await asyncio.wait(over, timeout=_REST_S)
        given = [one.task for one in self._open if one.task and one.answering]
        if given:  # the agent was faster than the look at what became of the keys
            await asyncio.wait(given, timeout=_SEEN_S)

    def forms(self) -> tuple[str, ...]:
        """What MCP servers ask and nobody has answered."""
        asked = [one.asked for one in self._open if one.asked is not None and not one.answering]
        return tuple(one.ask_id for one in (*asked, *self._asked) if one.tool == ELICITATION)

    def close(self) -> None:
        """The turn ends: what is still asked is withdrawn."""
        self._closed = self.unanswered
        self._sourcing.cancel()
        for one in self._open:
            if one.task is not None:
                one.task.cancel()


def _asked_by(asked: PermissionAsked) -> AskRequest:
    return request_of(asked.tool, asked.input, source="hook", tool_id=asked.tool_use_id)


def _answered_by(one: OpenAsk, result: Result) -> Settlement | None:
    """What somebody answered at the keyboard, as the result of the call tells."""
    output = result.detail if isinstance(result.detail, dict) else words(result.content)
    return by_keyboard(one.known, allowed=not result.denied, output=output)


def _foreign(request: AskRequest) -> OpenAsk:
    """What only a plugin sees: no key could be checked against it, so it is to be answered in the terminal."""
    one = begun(replace(request, refuses=("answer",)))
    one.foreign = True
    return one


def _is_one(one: OpenAsk, request: AskRequest, asked: PermissionAsked | None) -> bool:
    """Whether an open ask is this request. Of two calls of the same words each has a hook of its own."""
    return (asked is None or one.asked is None) and same(one.request, request)


def _there(settlement: Settlement) -> bool:
    """Whether this very dialog was answered at the keyboard; not another one, whose answer counts for it, too."""
    return settlement.by.kind == "keyboard" and settlement.by.rule is None


def _looks(screen: Screen) -> str:
    """What tells one screen from another, however time goes by on it."""
    if screen.dialog is not None:
        return screen.dialog.fingerprint
    return _MOVING.sub("", "\n".join(screen.rows))


_MOVING: Final = re.compile(r"[0-9·✢✳✶✻✽∗⠀-⣿]")
