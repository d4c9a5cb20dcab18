"""A turn that goes on where another was cut off: persons are asked about calls whose outcome nobody knows, and its
agent is told."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import structlog

from hub import hooks
from hub.asks import Answered, AskRequest, Settlement
from hub.events import AnyEvent, Unknown
from hub.plugins import Plugins
from hub.resuming import CutOff, Doubt, cut_off, question_about, questions_of, told_to_go_on
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
        return msgspec.structs.replace(message, text=text, literal=True)

    async def _answers(self, cut: CutOff, harmless: Iterable[Doubt]) -> dict[str, str]:
        known = dict(cut.answered)
        tool_ids = {doubt.tool_id for doubt in harmless}
        open_ = [
            doubt
            for text, doubt in questions_of(cut.doubts).items()
            if doubt.tool_id not in tool_ids and text not in known
        ]
        request = question_about(open_)
        if request is None:
            return known
        answer = await self._asking.ask(request)
        if isinstance(answer, Answered):
            self.told = answer.ask_id
            known |= _told(request, answer.settlement)
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


def _told(request: AskRequest, settlement: Settlement) -> dict[str, str]:
    """What a person said of each call; one word about all of them is said of each."""
    if settlement.response is not None:
        person = settlement.by.kind == "person"
        return {one.question: settlement.response for one in request.questions} if person else {}
    return dict(settlement.answers or {})
