"""Pure: what a server of an agent (MCP) asks its user, as an ask of the hub, and the answer as the server takes
it. An answer to each field accepts; the responses ``decline`` and ``cancel`` are what they say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from hub import forms
from hub.asks import ELICITATION, SKIPPED, Answer, Answered, AskRequest
from hub.errors import Invalid

_HOW: Final = "Asked by the MCP server {server!r}. Answer its fields, or respond `decline` or `cancel`."


def elicited(
    server: str, message: str, schema: Mapping[str, Any] | None, *, source: str, url: str | None = None
) -> AskRequest:
    """The ask that an elicitation makes; ``url``: where it sends its user, instead of having a form filled in."""
    asked = f"{message} {url}" if url else message
    form = dict(schema or {})
    return AskRequest(
        kind="question",
        tool=ELICITATION,
        subject=f"{server}: {asked}",
        input={"server": server, "message": asked, "schema": form},
        questions=forms.questions_of(asked, form),
        rationale=_HOW.format(server=server),
        source=source,
    )


def elicitation_result(request: AskRequest, answer: Answer) -> dict[str, Any]:
    """``{"action", "content"}`` as MCP has it. What nobody answered is cancelled, never accepted."""
    if not isinstance(answer, Answered):
        return {"action": "cancel"}
    settlement = answer.settlement
    if settlement.answers is None:
        declined = (settlement.response or "").strip().casefold() == "decline"
        return {"action": "decline" if declined else "cancel"}
    told = {text: words for text, words in settlement.answers.items() if words != SKIPPED}
    try:
        content = forms.values_of(request.input["message"], request.input["schema"], told)
    except Invalid:  # an answer that is no person's: those are checked before they are taken
        return {"action": "cancel"}
    return {"action": "accept", "content": content}


def elicitation_answers(request: AskRequest, content: Mapping[str, Any]) -> dict[str, str]:
    """The answers that give these values: what somebody filled in where the agent itself asks."""
    return forms.answers_of(request.input["message"], request.input["schema"], content)
