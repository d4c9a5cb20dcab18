"""Asking plugins: pluggy's order, one at a time, awaited, and always with the name of who answered.

Every hook of the hub has a test here whose name begins with ``test_hook_<name>``; tests/test_docs_plugins.py
enforces that.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Generator, Mapping
from types import ModuleType, SimpleNamespace
from typing import Any

import click
import pluggy
import pytest
from starlette.routing import BaseRoute, Route

from hub import hooks
from hub.asks import AskRecord, AskRequest
from hub.errors import PluginError
from hub.events import Ask, Distillate, Terminal, TurnCompleted
from hub.hookspecs import (
    Distilled,
    DistillerSettings,
    Evidence,
    FinishedTurn,
    Policies,
    PolicyBundle,
    Resolution,
    hookimpl,
)
from hub.testing import make_session
from hub.testing.scripted import ScriptedTransport
from hub.transport import Message, SessionInfo, Transport, Verdict

pytestmark = pytest.mark.anyio

SESSION = make_session()
MESSAGE = Message(id="msg_1", text="hello")
REQUEST = AskRequest(kind="permission", tool="Bash", subject="ls")
EVIDENCE = Evidence(session=SESSION, message=MESSAGE)
ENDING = TurnCompleted(stop_reason="end_turn", duration_ms=1)
FINISHED = FinishedTurn(session=SESSION, turn_id="trn_1", events=(), ending=ENDING)
RECORD = AskRecord(
    id="ask_1",
    session_id=SESSION.id,
    turn_id="trn_1",
    state="open",
    ask=Ask(id="ask_1", kind="permission", tool="Bash"),
    opened_at="2030-01-01T00:00:00.000Z",
)
ALLOW, DENY = Resolution(verdict="allow", rule="a"), Resolution(verdict="deny", rule="d")


def plugin(**implementations: Callable[..., Any]) -> ModuleType:
    """A plugin with these hooks; functions that bear no mark yet get ``@hookimpl``."""
    marked = {
        name: function if hasattr(function, "turnhub_impl") else hookimpl(function)
        for name, function in implementations.items()
    }
    one = ModuleType("a_plugin")
    vars(one).update(marked)
    return one


def manager(**plugins: object) -> pluggy.PluginManager:
    """A manager with these plugins, registered in this order."""
    made = hooks.new_manager()
    for name, one in plugins.items():
        made.register(one, name)
    return made


def says(value: Any) -> Callable[..., Any]:
    """A plain implementation that answers ``value``."""

    def implementation(session: SessionInfo, request: AskRequest) -> Any:
        return value

    return implementation


def says_later(value: Any) -> Callable[..., Awaitable[Any]]:
    """An async implementation that answers ``value`` after others had a chance to run."""

    async def implementation(session: SessionInfo, request: AskRequest) -> Any:
        await asyncio.sleep(0)
        return value

    return implementation


def breaks(session: SessionInfo, request: AskRequest) -> Any:
    """An implementation that breaks."""
    raise RuntimeError("kaboom")


async def ask_first(made: pluggy.PluginManager) -> hooks.Answer | None:
    return await hooks.first(made, "resolve_permission", session=SESSION, request=REQUEST)


async def ask_every(made: pluggy.PluginManager) -> list[hooks.Answer]:
    return await hooks.every(made, "resolve_permission", session=SESSION, request=REQUEST)


async def test_first_passes_over_async_none() -> None:
    """A coroutine whose answer is None is no answer: the next plugin is asked, and named."""
    made = manager(one=plugin(resolve_permission=says(ALLOW)), two=plugin(resolve_permission=says_later(None)))
    assert await ask_first(made) == hooks.Answer("one", ALLOW)


async def test_first_stops_at_an_answer() -> None:
    """Whoever comes after the first answer is not asked at all."""
    made = manager(one=plugin(resolve_permission=breaks), two=plugin(resolve_permission=says_later(ALLOW)))
    assert await ask_first(made) == hooks.Answer("two", ALLOW)


async def test_nobody_answers() -> None:
    """No implementation, or none with an answer: None and an empty list."""
    silent = manager(one=plugin(resolve_permission=says(None)))
    assert await ask_first(manager()) is None
    assert await ask_first(silent) is None
    assert await ask_every(silent) == []


async def test_order_is_pluggys_own() -> None:
    """Last registered first; ``tryfirst`` and ``trylast`` are respected, by what pluggy's own call does."""
    early, late = hookimpl(tryfirst=True), hookimpl(trylast=True)
    made = manager(
        a=plugin(resolve_permission=says(Resolution(verdict="ask", rule="a"))),
        b=plugin(resolve_permission=early(says(Resolution(verdict="ask", rule="b")))),
        c=plugin(resolve_permission=late(says(Resolution(verdict="ask", rule="c")))),
        d=plugin(resolve_permission=says(Resolution(verdict="ask", rule="d"))),
        e=plugin(resolve_permission=early(says(Resolution(verdict="ask", rule="e")))),
    )
    expected = [answer.rule for answer in made.hook.resolve_permission(session=SESSION, request=REQUEST)]
    assert [answer.plugin for answer in await ask_every(made)] == expected == ["e", "b", "d", "a", "c"]


async def test_implementations_are_awaited_one_at_a_time() -> None:
    """The second is not begun before the first has ended."""
    steps: list[str] = []

    def stepping(name: str) -> Callable[..., Awaitable[None]]:
        async def implementation(session: SessionInfo) -> None:
            steps.append(f"{name} begins")
            await asyncio.sleep(0)
            steps.append(f"{name} ends")

        return implementation

    made = manager(b=plugin(resolve_permission=stepping("b")), a=plugin(resolve_permission=stepping("a")))
    await ask_every(made)
    assert steps == ["a begins", "a ends", "b begins", "b ends"]


async def test_an_implementation_takes_only_what_it_wants() -> None:
    """Fewer parameters, none at all, defaults, methods and partial functions all work."""

    class Plugin:
        @hookimpl
        async def resolve_permission(self, request: AskRequest) -> Resolution:
            return Resolution(verdict="ask", rule=request.tool)

    def nothing() -> Resolution:
        return DENY

    def with_default(request: AskRequest, session: SessionInfo | None = None) -> Resolution:
        return Resolution(verdict="ask", rule=str(session and session.id))

    def awaitable(session: SessionInfo) -> Awaitable[Resolution]:
        return says_later(ALLOW)(session, REQUEST)

    made = manager(
        a=Plugin(),
        b=plugin(resolve_permission=nothing),
        c=plugin(resolve_permission=with_default),
        d=plugin(resolve_permission=awaitable),
    )
    answers = [(answer.plugin, answer.value.rule) for answer in await ask_every(made)]
    assert answers == [("d", "a"), ("c", SESSION.id), ("b", "d"), ("a", "Bash")]


async def test_first_names_a_plugin_that_breaks() -> None:
    """A failure is never taken for "no opinion": nobody after it is asked, and the cause is chained."""
    made = manager(one=plugin(resolve_permission=says(ALLOW)), two=plugin(resolve_permission=breaks))
    with pytest.raises(
        hooks.HookFailed, match="resolve_permission failed in plugin 'two': RuntimeError: kaboom"
    ) as got:
        await ask_first(made)
    assert isinstance(got.value.__cause__, RuntimeError)
    assert isinstance(got.value, PluginError)
    assert (got.value.hook, got.value.plugins, got.value.answers) == ("resolve_permission", ("two",), ())


async def test_every_asks_the_others_before_it_raises() -> None:
    """A deny counts even when another plugin broke: the error carries the answers that came."""
    made = manager(
        one=plugin(resolve_permission=says(DENY)),
        two=plugin(resolve_permission=breaks),
        three=plugin(resolve_permission=breaks),
    )
    with pytest.raises(hooks.HookFailed, match=r"plugin 'three': .*plugin 'two': ") as got:
        await ask_every(made)
    assert got.value.answers == (hooks.Answer("one", DENY),)
    assert got.value.plugins == ("three", "two")


async def test_an_answer_of_a_wrong_type_is_a_failure() -> None:
    """``True`` is no Resolution; the plugin is named and told what is expected."""
    made = manager(one=plugin(resolve_permission=says_later(True)))
    with pytest.raises(hooks.HookFailed, match="plugin 'one': It answered with bool where Resolution is expected"):
        await ask_first(made)


async def test_an_implementation_that_is_cancelled_from_within_has_failed() -> None:
    """A CancelledError that nobody asked for is the plugin's failure, not the caller's end."""

    async def stray(session: SessionInfo) -> None:
        raise asyncio.CancelledError

    made = manager(one=plugin(resolve_permission=stray))
    with pytest.raises(hooks.HookFailed, match="cancelled from within"):
        await ask_first(made)


async def test_every_is_bounded_when_asked_to_be() -> None:
    """A plugin that takes longer than ``within`` has failed; the others are asked still."""

    async def forever(session: SessionInfo) -> None:
        await asyncio.Event().wait()

    made = manager(one=plugin(resolve_permission=says(DENY)), two=plugin(resolve_permission=forever))
    with pytest.raises(hooks.HookFailed, match=r"plugin 'two': No answer within 0\.01 s") as got:
        await hooks.every(made, "resolve_permission", within=0.01, session=SESSION, request=REQUEST)
    assert got.value.answers == (hooks.Answer("one", DENY),)


async def test_a_plugin_cannot_end_the_process() -> None:
    """``sys.exit`` in an implementation is a failure like any other."""

    async def leaves(session: SessionInfo) -> None:
        raise SystemExit(3)

    with pytest.raises(hooks.HookFailed, match="plugin 'one': It wanted to end the whole process"):
        await ask_first(manager(one=plugin(resolve_permission=leaves)))


async def test_cancelling_the_caller_goes_through() -> None:
    """Whoever waits for plugins can be cancelled as usual."""
    reached = asyncio.Event()

    async def forever(session: SessionInfo) -> None:
        reached.set()
        await asyncio.Event().wait()

    asking = asyncio.create_task(ask_first(manager(one=plugin(resolve_permission=forever))))
    await reached.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking


async def test_a_missing_argument_is_the_callers_mistake() -> None:
    """The hub itself has to give all arguments of the specification."""
    with pytest.raises(TypeError, match="resolve_permission wants the argument 'request'"):
        await hooks.first(manager(), "resolve_permission", session=SESSION)


async def test_collect_flattens_lists() -> None:
    """Each item has the name of the plugin that gave it; order is kept."""
    one, two = REQUEST, AskRequest(kind="question", tool="AskUserQuestion")

    def both(session: SessionInfo) -> list[AskRequest]:
        return [one, two]

    async def single(session: SessionInfo) -> list[AskRequest]:
        return [two]

    made = manager(a=plugin(source_questions=both), b=plugin(source_questions=single))
    found = await hooks.collect(made, "source_questions", session=SESSION, seen={})
    assert found == [hooks.Answer("b", two), hooks.Answer("a", one), hooks.Answer("a", two)]


async def test_collect_carries_what_came_when_one_breaks() -> None:
    """The error's answers are flat too."""

    def broken(session: SessionInfo) -> None:
        raise OSError

    made = manager(a=plugin(source_questions=lambda session: [REQUEST]), b=plugin(source_questions=broken))
    with pytest.raises(hooks.HookFailed, match=r"plugin 'b': OSError\(\)") as got:
        await hooks.collect(made, "source_questions", session=SESSION, seen={})
    assert got.value.answers == (hooks.Answer("a", REQUEST),)


def watches(seen: list[str], name: str) -> Callable[..., Awaitable[None]]:
    async def observer(turn_id: str) -> None:
        await asyncio.sleep(0)
        seen.append(f"{name} {turn_id}")

    return observer


async def told(made: pluggy.PluginManager, within: float = 5.0) -> None:
    await hooks.notify(
        made,
        "turn_started",
        session=SESSION,
        turn_id="trn_1",
        message=Message(id="m", text="secret"),
        within=within,
    )


async def test_notify_reaches_all_and_logs_who_broke(caplog: pytest.LogCaptureFixture) -> None:
    """An observer's error is logged with the plugin's name and never felt; its words, which may hold a message,
    are only logged at level debug."""
    seen: list[str] = []

    def broken(message: Message) -> None:
        raise ValueError(message.text)

    made = manager(
        one=plugin(turn_started=watches(seen, "one")),
        two=plugin(turn_started=broken),
        three=plugin(turn_started=watches(seen, "three")),
    )
    with caplog.at_level(logging.INFO):
        await told(made)
    assert sorted(seen) == ["one trn_1", "three trn_1"]
    assert "plugin two raised ValueError" in caplog.text
    assert "secret" not in caplog.text


async def test_notify_stops_a_slow_observer(caplog: pytest.LogCaptureFixture) -> None:
    """Observers are bounded in time, side by side: a slow one takes nothing from the others."""
    seen: list[str] = []
    stopped = asyncio.Event()

    async def slow(turn_id: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    made = manager(one=plugin(turn_started=watches(seen, "one")), two=plugin(turn_started=slow))
    await told(made, within=0.02)
    assert seen == ["one trn_1"]
    assert stopped.is_set()
    assert "longer than 0.02 s and were stopped: two" in caplog.text


async def test_notify_leaves_an_observer_that_cannot_be_stopped(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An observer that swallows its cancellation is named and left behind: the turn is not held up."""
    monkeypatch.setattr(hooks, "_STOP_S", 0.02)
    release, ended = asyncio.Event(), asyncio.Event()

    async def stubborn(turn_id: str) -> None:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        ended.set()

    await told(manager(one=plugin(turn_started=stubborn)), within=0.02)
    assert "plugin one does not stop" in caplog.text
    release.set()
    await ended.wait()


async def test_cancelling_notify_stops_the_observers() -> None:
    """Nothing is left behind when the notifier is cancelled."""
    reached, stopped = asyncio.Event(), asyncio.Event()

    async def slow(turn_id: str) -> None:
        reached.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    telling = asyncio.create_task(told(manager(one=plugin(turn_started=slow))))
    await reached.wait()
    telling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await telling
    assert stopped.is_set()


async def test_notify_without_observers_is_nothing() -> None:
    """No observer, no work."""
    await told(manager())


async def test_offers_say_who_gave_them() -> None:
    """What plugins register comes with their names; one plugin's offers can be asked for alone."""

    def two_bundles(register: Callable[[PolicyBundle], None]) -> None:
        register(PolicyBundle(name="x"))
        register(PolicyBundle(name="y"))

    made = manager(
        a=plugin(register_policies=two_bundles),
        b=plugin(register_policies=lambda register: register(PolicyBundle(name="z"))),
    )
    everything = hooks.offered(made, "register_policies")
    assert [(offer.plugin, offer.value.name) for offer in everything] == [("b", "z"), ("a", "x"), ("a", "y")]
    assert [offer.value.name for offer in hooks.offered(made, "register_policies", plugin="b")] == ["z"]


async def test_a_plugin_that_breaks_while_it_registers_is_named() -> None:
    """The cause is chained."""
    made = manager(a=plugin(register_policies=lambda register: register(1 / 0)))
    with pytest.raises(hooks.HookFailed, match="register_policies failed in plugin 'a': ZeroDivisionError"):
        hooks.offered(made, "register_policies")


def complaints(one: object) -> list[str]:
    made = manager(mine=one)
    return list(hooks.faults(made, one))


@pytest.mark.parametrize("kind", ["wrapper", "hookwrapper"])
async def test_wrappers_are_refused(kind: str) -> None:
    """pluggy would run them around its own call, which the hub does not use: they would silently do nothing."""

    def wrapping(session: SessionInfo) -> Generator[None, Any, Any]:
        return (yield)

    mark = hookimpl(wrapper=True) if kind == "wrapper" else hookimpl(hookwrapper=True)
    (complaint,) = complaints(SimpleNamespace(resolve_permission=mark(wrapping)))
    assert complaint.startswith("plugin 'mine', hook resolve_permission: wrappers are not possible")


async def test_async_is_refused_where_nobody_awaits() -> None:
    """A coroutine of ``register_transports`` would never run."""

    async def later(register: Callable[[Transport], None]) -> None:
        register(ScriptedTransport())

    (complaint,) = complaints(plugin(register_transports=later))
    assert complaint.startswith("plugin 'mine', hook register_transports: it is called without await")


async def test_keyword_only_parameters_are_refused() -> None:
    """pluggy does not see them, so the call would fail when it matters."""

    def starred(*, session: SessionInfo) -> None:
        return None

    (complaint,) = complaints(plugin(resolve_permission=starred))
    assert "take 'session' without the star" in complaint


async def test_misspelt_hooks_are_found() -> None:
    """A marked function that is no hook is named, with the hook that was meant."""
    one = plugin(resolve_permision=says(ALLOW), zzz=says(None))
    made = manager(mine=one)
    assert sorted(hooks.misspelt(made, one)) == ["resolve_permision", "zzz"]
    assert sorted(hooks.faults(made, one)) == [
        "plugin 'mine', hook resolve_permision: there is no such hook; did you mean resolve_permission?",
        "plugin 'mine', hook zzz: there is no such hook.",
    ]


async def test_a_hook_of_a_later_version_may_be_marked_optional() -> None:
    """``optionalhook`` says that the plugin knows."""
    one = plugin(hook_of_tomorrow=hookimpl(optionalhook=True)(says(None)))
    made = manager(mine=one)
    assert (hooks.misspelt(made, one), list(hooks.faults(made, one))) == ([], [])


async def test_deciding_hooks_and_observers_are_awaited_and_register_hooks_are_not() -> None:
    """Read off the specifications, so that a new hook is on the right side by itself."""
    assert set(hooks.HOOKS) - hooks.AWAITED == {
        "register_transports",
        "register_policies",
        "use_policies",
        "use_distiller",
        "register_commands",
        "register_routes",
    }


# Each hook, as a plugin would implement it and as the hub asks it.


async def test_hook_register_transports() -> None:
    """A plugin offers a transport."""

    class Plugin:
        @hookimpl
        def register_transports(self, register: Callable[[Transport], None]) -> None:
            register(ScriptedTransport("mine"))

    (offer,) = hooks.offered(manager(one=Plugin()), "register_transports")
    assert (offer.plugin, offer.value.name) == ("one", "mine")


async def test_hook_verify_delivery() -> None:
    """The first verdict wins; one that cannot tell is passed over."""

    class Screen:
        @hookimpl(trylast=True)
        def verify_delivery(self, evidence: Evidence) -> Verdict | None:
            return Verdict(verdict="staged", proof="pane")

    class Transcript:
        @hookimpl
        async def verify_delivery(self, evidence: Evidence) -> Verdict | None:
            return Verdict(verdict="submitted", proof="transcript") if evidence.after else None

    made = manager(transcript=Transcript(), screen=Screen())
    seen = Evidence(session=SESSION, message=MESSAGE, after={"line": 1})
    got = [await hooks.first(made, "verify_delivery", evidence=evidence) for evidence in (EVIDENCE, seen)]
    assert [answer and answer.plugin for answer in got] == ["screen", "transcript"]


async def test_hook_source_questions() -> None:
    """All plugins are asked what waits in what the transport has seen; one may look at the session alone."""

    class Plugin:
        @hookimpl
        async def source_questions(self, session: SessionInfo) -> list[AskRequest] | None:
            return [REQUEST]

    class Reader:
        @hookimpl
        def source_questions(self, seen: Mapping[str, Any]) -> list[AskRequest] | None:
            return [AskRequest(kind="question", tool=seen["dialog"])] if seen else None

    made = manager(one=Plugin(), two=Reader())
    found = await hooks.collect(made, "source_questions", session=SESSION, seen={"dialog": "trust"})
    shown = AskRequest(kind="question", tool="trust")
    assert [(answer.plugin, answer.value) for answer in found] == [("two", shown), ("one", REQUEST)]
    found = await hooks.collect(made, "source_questions", session=SESSION, seen={})
    assert [answer.plugin for answer in found] == ["one"]


async def test_hook_resolve_permission() -> None:
    """All plugins judge; their words come with their names and rules."""

    class Rules:
        @hookimpl
        async def resolve_permission(self, session: SessionInfo, request: AskRequest) -> Resolution | None:
            return DENY if request.tool == "Bash" else None

    found = await ask_every(manager(lax=plugin(resolve_permission=says(ALLOW)), rules=Rules()))
    assert found == [hooks.Answer("rules", DENY), hooks.Answer("lax", ALLOW)]


async def test_hook_register_policies() -> None:
    """A plugin offers a policy bundle."""

    class Plugin:
        @hookimpl
        def register_policies(self, register: Callable[[PolicyBundle], None]) -> None:
            register(PolicyBundle(name="reads", allow=("Read(**)",)))

    (offer,) = hooks.offered(manager(one=Plugin()), "register_policies")
    assert offer == hooks.Answer("one", PolicyBundle(name="reads", allow=("Read(**)",)))


async def test_hook_use_policies() -> None:
    """A plugin is given all policies, once; what it raises names it."""
    taken: list[Policies] = []

    class Plugin:
        @hookimpl
        def use_policies(self, policies: Policies) -> None:
            taken.append(policies)

    policies = Policies(where="here", configured={}, offered={}, givers={}, used={})
    hooks.tell(manager(one=Plugin()), "use_policies", policies=policies)
    assert taken == [policies]
    with pytest.raises(hooks.HookFailed, match="use_policies failed in plugin 'two'"):
        hooks.tell(manager(two=plugin(use_policies=lambda policies: 1 / 0)), "use_policies", policies=policies)


async def test_hook_use_distiller() -> None:
    """A plugin is given what the configuration says of distillation."""
    taken: list[DistillerSettings] = []

    class Plugin:
        @hookimpl
        def use_distiller(self, settings: DistillerSettings) -> None:
            taken.append(settings)

    settings = DistillerSettings(where="here", values={"route": "extractive"})
    hooks.tell(manager(one=Plugin()), "use_distiller", settings=settings)
    assert taken == [settings]


async def test_hook_judge_sensitive() -> None:
    """Whoever knows why a turn is sensitive says so; the others say nothing."""

    class Plugin:
        @hookimpl
        def judge_sensitive(self, session: SessionInfo, message: Message) -> str | None:
            return "salaries" if "salary" in message.text else None

    made = manager(one=Plugin(), two=plugin(judge_sensitive=lambda message: None))
    asked = [
        await hooks.every(made, "judge_sensitive", session=SESSION, message=Message(id="msg_1", text=text))
        for text in ("the salary list", "the weather")
    ]
    assert asked == [[hooks.Answer("one", "salaries")], []]


async def test_hook_only_reads() -> None:
    """Whoever knows the tool says so, also that it does more than read."""

    class Plugin:
        @hookimpl
        def only_reads(self, tool: str, input: dict[str, Any]) -> bool | None:
            return {"Read": True, "Write": False}.get(tool)

    made = manager(one=Plugin())
    said = [
        await hooks.every(made, "only_reads", session=SESSION, tool=tool, input={})
        for tool in ("Read", "Write", "Odd")
    ]
    assert said == [[hooks.Answer("one", True)], [hooks.Answer("one", False)], []]


async def test_hook_distill_turn() -> None:
    """The first memory wins."""
    made_by = Distilled(distillate=Distillate(summary="said hello"), route="extractive")

    class Plugin:
        @hookimpl
        async def distill_turn(self, turn: FinishedTurn) -> Distilled | None:
            return made_by

    assert await hooks.first(manager(one=Plugin()), "distill_turn", turn=FINISHED) == hooks.Answer("one", made_by)


async def test_hook_turn_started() -> None:
    """An observer sees session, turn and message."""
    seen: list[Any] = []

    class Plugin:
        @hookimpl
        def turn_started(self, session: SessionInfo, turn_id: str, message: Message) -> None:
            seen.append((session, turn_id, message))

    made = manager(one=Plugin())
    await hooks.notify(made, "turn_started", session=SESSION, turn_id="trn_1", message=MESSAGE)
    assert seen == [(SESSION, "trn_1", MESSAGE)]


async def test_hook_turn_ended() -> None:
    """An observer sees the terminal event."""
    seen: list[Any] = []

    class Plugin:
        @hookimpl
        async def turn_ended(self, session: SessionInfo, turn_id: str, ending: Terminal) -> None:
            seen.append((session, turn_id, ending))

    await hooks.notify(manager(one=Plugin()), "turn_ended", session=SESSION, turn_id="trn_1", ending=ENDING)
    assert seen == [(SESSION, "trn_1", ENDING)]


@pytest.mark.parametrize("hook", ["ask_opened", "ask_settled"])
async def test_ask_observers_see_the_record(hook: str) -> None:
    """Both observers of asks may be async or plain and get the ask as HTTP shows it."""
    seen: list[Any] = []

    async def later(session: SessionInfo, ask: AskRecord) -> None:
        seen.append((session, ask))

    def plain(ask: AskRecord) -> None:
        seen.append(ask)

    made = manager(one=plugin(**{hook: later}), two=plugin(**{hook: plain}))
    await hooks.notify(made, hook, session=SESSION, ask=RECORD)
    assert seen == [RECORD, (SESSION, RECORD)]


async def test_hook_ask_opened() -> None:
    """Called with an ask that waits."""
    await test_ask_observers_see_the_record("ask_opened")


async def test_hook_ask_settled() -> None:
    """Called with an ask that is settled."""
    await test_ask_observers_see_the_record("ask_settled")


async def test_hook_register_commands() -> None:
    """A plugin adds a command; one that breaks is named."""

    class Plugin:
        @hookimpl
        def register_commands(self, group: click.Group) -> None:
            group.add_command(click.Command("hello"))

    group = click.Group()
    hooks.tell(manager(one=Plugin()), "register_commands", group=group)
    assert list(group.commands) == ["hello"]
    broken = manager(two=plugin(register_commands=lambda group: group.nothing))
    with pytest.raises(hooks.HookFailed, match="plugin 'two'"):
        hooks.tell(broken, "register_commands", group=group)


async def test_hook_register_routes() -> None:
    """A plugin offers a route."""

    class Plugin:
        @hookimpl
        def register_routes(self, register: Callable[[BaseRoute], None]) -> None:
            register(Route("/plugins/one/hello", endpoint=lambda request: None))

    (offer,) = hooks.offered(manager(one=Plugin()), "register_routes")
    assert (offer.plugin, offer.value.path) == ("one", "/plugins/one/hello")
