"""A turn that goes on where another was cut off: persons are asked about calls whose outcome nobody knows, and its
agent is told."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import structlog

from hub import hooks
from hub.asks import Answered
from hub.events import AnyEvent, Unknown
from hub.plugins import Plugins
from hub.resuming import CutOff, Doubt, answers_of, cut_off, question_about, told_to_go_on
from hub.runner.asking import Asking
from hub.transport import Message, SessionInfo

_JUDGE_S = 10.0


class Resuming:
    """Of one turn. ``told``: the ask whose answer the agent gets with the message, until it has it."""

    def __init__(self, plugins: Plugins, session: SessionInfo, asking: Asking) -> None:
        self.told: str | None = None
        self._plugins = plugins
        self._session = session
        self._asking = asking

    async def message(self, before: Iterable[AnyEvent | Unknown], message: Message) -> Message:
        """What the agent is to be given in the place of ``message``, whose earlier attempts are in ``before``: the
        message itself, where the agent never had it. May wait for a person."""
        cut = cut_off(before, message.id)
        if not cut.taken:
            return message
        harmless = [doubt for doubt in cut.doubts if await self._only_reads(doubt)]
        answers = await self._answers(cut, harmless)
        text = told_to_go_on(cut, harmless, answers, message.text)
        # What is only quoted has nothing in it that acts; what the person had meant to act (`@file`) does.
        return msgspec.structs.replace(message, text=text, origin="api")

    async def _answers(self, cut: CutOff, harmless: Iterable[Doubt]) -> dict[str, str]:
        known = dict(cut.answered)
        settled = {*known, *(doubt.tool_id for doubt in harmless)}
        request = question_about([doubt for doubt in cut.doubts if doubt.tool_id not in settled])
        if request is None:
            return known
        answer = await self._asking.ask(request)
        if isinstance(answer, Answered):
            self.told = answer.ask_id
            settlement = answer.settlement
            response = settlement.response if settlement.by.kind == "person" else None
            known |= answers_of(request.questions, request.input, settlement.answers, response)
        return known

    async def _only_reads(self, doubt: Doubt) -> bool:
        manager, given = self._plugins.manager, {"tool": doubt.name, "input": doubt.input}
        try:
            said = await hooks.every(manager, "only_reads", within=_JUDGE_S, session=self._session, **given)
        except hooks.HookFailed as failed:
            structlog.get_logger("hub.turn").error(
                "nobody knows whether a call only reads", plugins=failed.plugins
            )
            return False
        return bool(said) and all(one.value is True for one in said)
