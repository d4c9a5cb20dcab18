"""Making a memory by a route to a model: two attempts, and each failure by its name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from hub import Distilled
from turnhub_distiller import prompt
from turnhub_distiller.account import Account, one_line
from turnhub_distiller.models import RouteFailed, Said, Turn
from turnhub_distiller.settings import Route

_ATTEMPTS: Final = 2

Ask = Callable[[Route, Sequence[Turn]], Awaitable[Said]]


async def by_model(route: Route, account: Account, ask: Ask) -> Distilled:
    """What the model of a route makes of a turn. Raises RouteFailed for what it failed at in the end."""
    given = prompt.record(account)
    turns = [Turn("user", given)]
    for attempt in range(1, _ATTEMPTS + 1):
        last = attempt == _ATTEMPTS
        try:
            said = await ask(route, turns)
        except RouteFailed as failed:
            if failed.again and not last:
                continue
            raise
        try:
            answer = prompt.read(said.text)
        except ValueError as wrong:
            _give_up(route, said)
            if last:
                raise RouteFailed("bad_output", _bad(route, wrong)) from wrong
            turns = [*turns, Turn("model", said.text or "(nothing)"), Turn("user", prompt.again(str(wrong)))]
        else:
            distillate = prompt.checked(answer, account, given)
            return Distilled(
                distillate=distillate, route=route.name, model=route.model, title=answer.title or None
            )
    raise AssertionError("the last attempt returns or raises")


def _give_up(route: Route, said: Said) -> None:
    """Raise RouteFailed where another attempt would go the same way: the cap was hit, or the model refused."""
    if said.refused:
        raise RouteFailed("refused", f"Route {route.name!r}: the model {route.model} refused to answer.")
    if said.capped:
        raise RouteFailed("token_cap", _capped(route, said))


def _capped(route: Route, said: Said) -> str:
    cap = f"{route.cap} tokens ({route.answer_tokens} for the answer and {route.thinking_tokens} for reasoning)"
    key = f"distiller.routes.{route.name}"
    if said.text.strip():
        return (
            f"Route {route.name!r} ({route.model}) hit its cap of {cap} in the middle of the answer, after "
            f"{said.tokens} tokens. Raise {key}.answer_tokens."
        )
    return (
        f"Route {route.name!r} ({route.model}) hit its cap of {cap} in the middle of reasoning, after "
        f"{said.tokens} tokens, without a word of the answer. Raise {key}.thinking_tokens."
    )


def _bad(route: Route, wrong: ValueError) -> str:
    return (
        f"Route {route.name!r}: what {route.model} answered is not what was asked for, {_ATTEMPTS} times: "
        f"{one_line(str(wrong), 200)}."
    )
