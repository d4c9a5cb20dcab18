"""Whether what plugins offer can be used at all: checked when it is offered, not when a turn needs it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any, Final, get_args

from hub.hookspecs import PolicyBundle
from hub.transport import AgentInfo, Capability, SessionInfo

CAPABILITIES: Final[frozenset[str]] = frozenset(get_args(Capability))
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_NAME_RULE: Final = "letters, digits, dots, dashes and underscores, 64 at most"
_SESSION: Final = SessionInfo(id="", agent=AgentInfo(name="", transport="", cwd="/"), cwd="/")


def transport_faults(offer: object) -> Iterator[str]:
    """Why ``offer`` is no transport, a sentence each; nothing when it is one."""
    if inspect.isclass(offer):
        yield f"{offer.__name__} is a class; register an instance: register({offer.__name__}())."
        return
    name = getattr(offer, "name", None)
    told = f"transport {name!r}" if isinstance(name, str) else type(offer).__name__
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        yield f"{told}: `name` has to be {_NAME_RULE}."
    capabilities = getattr(offer, "capabilities", None)
    if not isinstance(capabilities, frozenset):
        yield f"{told}: `capabilities` has to be a frozenset. {_SUBCLASS}"
    elif unknown := sorted(map(str, capabilities - CAPABILITIES)):
        yield f"{told}: there is no capability {unknown[0]!r}; there are {', '.join(sorted(CAPABILITIES))}."
    yield from _method(offer, told, "open", (_SESSION,), awaited=True)
    yield from _method(offer, told, "check", (_SESSION.agent,), awaited=False)
    if hasattr(offer, "forget"):  # of transports that were written before there was one, nothing is kept here
        yield from _method(offer, told, "forget", (_SESSION,), awaited=True)
    yield from _method(offer, told, "close", (), awaited=True)


def bundle_faults(offer: object) -> Iterator[str]:
    """Why ``offer`` is no policy bundle, a sentence each; nothing when it is one."""
    if not isinstance(offer, PolicyBundle):
        yield f"{type(offer).__name__} is no PolicyBundle."
    elif not _NAME.fullmatch(offer.name):
        yield f"policy bundle {offer.name!r}: its name has to be {_NAME_RULE}."


_SUBCLASS: Final = "Subclass hub.Transport to get the defaults of the optional parts."


def _method(offer: object, told: str, name: str, arguments: tuple[Any, ...], *, awaited: bool) -> Iterator[str]:
    method: Callable[..., Any] | None = getattr(offer, name, None)
    if not callable(method):
        yield f"{told}: it has no method `{name}`. {_SUBCLASS}"
        return
    if inspect.iscoroutinefunction(method) is not awaited:
        yield f"{told}: `{name}` has to be {'`async def`' if awaited else 'a plain `def`'}."
    try:
        inspect.signature(method).bind(*arguments)
    except TypeError:
        takes = ", ".join(("self", *("agent" if name == "check" else "session" for _ in arguments)))
        yield f"{told}: `{name}` has to be callable as `{name}({takes})`."
