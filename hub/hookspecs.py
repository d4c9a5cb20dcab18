"""The seams of the hub. These docstrings are the plugin reference.

A plugin is a module (or object) behind an entry point of the group ``turnhub``. It implements any of the
hooks below with ``@hookimpl``; an implementation takes only the parameters that it wants. Hooks that decide
something may be plain or ``async``; the hub asks them through :mod:`hub.hooks`, one at a time, in pluggy's
order (last registered first, ``tryfirst`` and ``trylast`` respected). Wrappers are refused on those.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import pluggy
from msgspec import Struct, field

from hub.asks import AskRecord, AskRequest
from hub.events import AnyEvent, Distillate, Terminal
from hub.transport import Message, SessionInfo, Transport, Verdict

if TYPE_CHECKING:  # only named in signatures: the seams import no web framework and no command line
    import click
    from starlette.routing import BaseRoute

hookspec = pluggy.HookspecMarker("turnhub")
hookimpl = pluggy.HookimplMarker("turnhub")


class Resolution(Struct, frozen=True, kw_only=True):
    """A plugin's word on a permission. ``rule`` is the rule that gave it; ``message`` goes to the agent with
    a deny. Any deny beats any allow, whatever order plugins come in."""

    verdict: Literal["allow", "deny", "ask"]
    rule: str
    message: str | None = None
    danger: str | None = None


class PolicyBundle(Struct, frozen=True, kw_only=True):
    """A named set of permission rules, as a plugin offers it; the same keys as ``[policies.NAME]``."""

    name: str
    extends: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    description: str = ""


class Policies(Struct, frozen=True, kw_only=True):
    """All policies of a hub: those of the configuration, which stands in ``where``, and those that plugins
    offer; ``givers`` names the plugin behind each of these. A name that both have is the configuration's.
    ``used``: which policy is named where (``agents.NAME.policy``)."""

    where: str
    configured: Mapping[str, PolicyBundle]
    offered: Mapping[str, PolicyBundle]
    givers: Mapping[str, str]
    used: Mapping[str, str]


class Evidence(Struct, frozen=True, kw_only=True):
    """What a verifier is given about a delivery: the message and what was seen around it.

    ``text`` is the message in the form in which the agent takes it. ``before`` and ``after`` are what the typist
    saw (:attr:`Sight.seen`) before it typed, and now; ``before`` is empty when nobody knows any more.
    """

    session: SessionInfo
    message: Message
    text: str = ""
    before: Mapping[str, Any] = field(default_factory=dict)
    after: Mapping[str, Any] = field(default_factory=dict)


class FinishedTurn(Struct, frozen=True, kw_only=True):
    """A turn that has ended, for those who look back at it. ``events``: those that are kept for good; ``message``:
    what it answers. ``sensitive``: nothing of it may be sent to anybody elsewhere; this was decided when the turn
    was taken, and only ever becomes true."""

    session: SessionInfo
    turn_id: str
    events: tuple[AnyEvent, ...]
    ending: Terminal
    message: Message | None = None
    sensitive: bool = False


class DistillFailure(Struct, frozen=True, kw_only=True):
    """What kept a route from making a memory: a code (letters, digits, ``_``), and a sentence for a person."""

    code: str
    message: str


class Distilled(Struct, frozen=True, kw_only=True):
    """What came of a distillation: a distillate with the route and model that made it, or the failure; or both,
    where a lesser route stood in for the one that failed. ``title``: for a session that has none yet."""

    distillate: Distillate | None = None
    route: str = ""
    model: str | None = None
    failure: DistillFailure | None = None
    title: str | None = None


class DistillerSettings(Struct, frozen=True, kw_only=True):
    """``[distiller]`` of the configuration as it stands, and ``where`` it stands."""

    where: str
    values: Mapping[str, Any]


@hookspec
def register_transports(register: Callable[[Transport], None]) -> None:
    """Offer transports: call ``register(transport)`` for each.

    Called once when the hub starts. Two transports of one name are an error that names both plugins.
    """


@hookspec
def verify_delivery(evidence: Evidence) -> Awaitable[Verdict | None] | Verdict | None:
    """Say what is known about a delivered message, or None when you cannot tell.

    The first verdict wins; order is by trust: hook, transcript, pane. May be ``async``.
    """


@hookspec
def source_questions(
    session: SessionInfo, seen: Mapping[str, Any]
) -> Awaitable[list[AskRequest] | None] | list[AskRequest] | None:
    """The questions and permissions that you can see waiting in ``session``, or None when you see nothing.

    ``seen`` is what the session's transport has seen of its agent; what is in it is the transport's to say. All
    plugins are asked, whenever something has changed. The same question seen by several is one ask: by its tool
    call, else by kind, tool and subject. The word of the most trusted source holds (``AskRequest.source``: hook,
    transcript, pane, others), a less trusted one fills in what is missing. What raises, or takes longer than 2 s,
    is logged and passed over. May be ``async``.
    """


@hookspec
def resolve_permission(
    session: SessionInfo, request: AskRequest
) -> Awaitable[Resolution | None] | Resolution | None:
    """Judge a permission before a person is asked, or None when you have no opinion.

    All plugins are asked. Any deny wins, then any ask, then any allow; without an opinion a person is asked.
    May be ``async``.
    """


@hookspec
def only_reads(session: SessionInfo, tool: str, input: Mapping[str, Any]) -> Awaitable[bool | None] | bool | None:
    """Say whether a call of a tool only reads, so that it may run twice, or None when you cannot tell.

    Asked about calls that were cut off, of which nobody knows whether they ran. One only reads when somebody says
    True and nobody says False; a person is asked about all others. May be ``async``.
    """


@hookspec
def register_policies(register: Callable[[PolicyBundle], None]) -> None:
    """Offer policy bundles: call ``register(bundle)`` for each.

    Called once when the hub starts. The configuration names and extends them.
    """


@hookspec
def use_policies(policies: Policies) -> None:
    """Take the policies to judge by: those of the configuration and those that plugins offer.

    Called once when the hub starts, after all plugins are loaded. Raise ConfigError for a policy that cannot be
    used, naming file, key and rule: the hub does not start then.
    """


@hookspec
def use_distiller(settings: DistillerSettings) -> None:
    """Take the configuration's ``[distiller]``.

    Called once when the hub starts. Raise ConfigError for what cannot be used, naming file and key: the hub does
    not start then.
    """


@hookspec
def judge_sensitive(session: SessionInfo, message: Message) -> Awaitable[str | None] | str | None:
    """Say why a turn that begins is sensitive, or None when nothing speaks for it.

    Asked when a runner takes the turn, where somebody distills turns; a policy or the session may have said it
    already. The turn is sensitive when any plugin says so, or fails to tell within 2 s. The words are for the log.
    May be ``async``.
    """


@hookspec
def distill_turn(turn: FinishedTurn) -> Awaitable[Distilled | None] | Distilled | None:
    """Make the small structured memory of a turn that has ended, or None when it is not yours to make.

    The first answer wins. Called once for each turn over all runners, after the turn's slot is free; once more
    where a runner died meanwhile. What raises is written as ``distill_failed``, and so is what takes longer than
    10 minutes. May be ``async``.
    """


@hookspec
def turn_started(session: SessionInfo, turn_id: str, message: Message) -> Awaitable[None] | None:
    """Observe that a runner has taken a turn. May be ``async``; what it raises is logged, never felt."""


@hookspec
def turn_ended(session: SessionInfo, turn_id: str, ending: Terminal) -> Awaitable[None] | None:
    """Observe a turn's terminal event, after it is stored. May be ``async``; errors are logged."""


@hookspec
def ask_opened(session: SessionInfo, ask: AskRecord) -> Awaitable[None] | None:
    """Observe an ask that now waits for somebody. May be ``async``; errors are logged."""


@hookspec
def ask_settled(session: SessionInfo, ask: AskRecord) -> Awaitable[None] | None:
    """Observe the settlement of an ask. May be ``async``; errors are logged."""


@hookspec
def register_commands(group: click.Group) -> None:
    """Add commands to the command line: ``group.add_command(...)``.

    Called while the command line is built; keep imports inside the commands.
    """


@hookspec
def register_routes(register: Callable[[BaseRoute], None]) -> None:
    """Add HTTP routes: call ``register(route)`` for each. They stand behind the hub's own authentication.

    The path has to start with ``/plugins/<your plugin>/``.
    """
