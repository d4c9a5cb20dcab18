"""Asking plugins over pluggy, awaiting where needed, and always knowing who answered.

pluggy's own calls cannot await, and a ``firstresult`` would take the first *coroutine* for an answer. So the
hub walks the implementations itself, in pluggy's order, one at a time. What a failing implementation means
depends on what is asked:

* :func:`first`, :func:`every`, :func:`collect` decide something. "I cannot tell" and "I broke" are different
  answers, so a failure is never taken for None: :class:`HookFailed` names plugin and hook. ``first`` stops
  there, since whoever comes later is less trusted. The other two ask everybody first, and the error carries
  the ``answers`` that did come: a deny among them still counts.
* :func:`notify` tells observers. What they raise is logged with the plugin's name and never felt; one that
  takes too long is stopped.
* :func:`offered` gathers what plugins register when the hub starts.

A failing implementation's cause is chained. Wrappers are refused when a plugin is loaded (:func:`faults`):
nobody would run them.
"""

from __future__ import annotations

import asyncio
import difflib
import inspect
import logging
import types
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

import pluggy
from msgspec import Struct

from hub import hookspecs
from hub.errors import PluginError

log = logging.getLogger(__name__)

_OBSERVER_S: Final = 5.0
_STOP_S: Final = 1.0


class Answer(Struct, frozen=True):
    """One plugin's answer: its name, and what it said."""

    plugin: str
    value: Any


class HookFailed(PluginError):
    """Implementations of a deciding hook failed. ``plugins`` names them; ``answers`` are the others'."""

    def __init__(self, hook: str, failures: list[tuple[str, Exception]], answers: list[Answer]) -> None:
        told = "; ".join(f"plugin {plugin!r}: {_said(error)}" for plugin, error in failures)
        super().__init__(f"Hook {hook} failed in {told}.")
        self.hook = hook
        self.plugins = tuple(plugin for plugin, _ in failures)
        self.answers = tuple(answers)


def new_manager() -> pluggy.PluginManager:
    """A plugin manager that knows the hub's hooks: one for each hub."""
    manager = pluggy.PluginManager("turnhub")
    manager.add_hookspecs(hookspecs)
    return manager


async def first(manager: pluggy.PluginManager, hook: str, /, **kwargs: Any) -> Answer | None:
    """The first answer that is not None, in pluggy's order; later implementations are not asked.

    Raises HookFailed when an implementation fails before anyone has answered.
    """
    for impl in _implementations(manager, hook, kwargs):
        try:
            value = await _call(hook, impl, kwargs)
        except Exception as error:
            raise HookFailed(hook, [(impl.plugin_name, error)], []) from error
        if value is not None:
            return Answer(impl.plugin_name, value)
    return None


async def every(
    manager: pluggy.PluginManager, hook: str, /, *, within: float | None = None, **kwargs: Any
) -> list[Answer]:
    """All answers that are not None, in pluggy's order.

    Raises HookFailed, after everybody was asked, when an implementation failed or took longer than ``within``
    seconds.
    """
    answers: list[Answer] = []
    failures: list[tuple[str, Exception]] = []
    for impl in _implementations(manager, hook, kwargs):
        try:
            async with asyncio.timeout(within) as limit:
                value = await _call(hook, impl, kwargs)
        except Exception as error:  # noqa: BLE001 - raised below, when the others have been asked
            late = limit.expired()
            failures.append((impl.plugin_name, PluginError(f"No answer within {within} s") if late else error))
            continue
        if value is not None:
            answers.append(Answer(impl.plugin_name, value))
    if failures:
        raise HookFailed(hook, failures, answers) from failures[0][1]
    return answers


async def collect(manager: pluggy.PluginManager, hook: str, /, **kwargs: Any) -> list[Answer]:
    """Like :func:`every` for hooks that answer with lists: an answer for each item, in order."""
    try:
        return _items(await every(manager, hook, **kwargs))
    except HookFailed as failed:
        failed.answers = tuple(_items(failed.answers))
        raise


async def notify(
    manager: pluggy.PluginManager, hook: str, /, *, within: float = _OBSERVER_S, **kwargs: Any
) -> None:
    """Tell observers, side by side. Returns when all are done, after ``within`` seconds at the latest (and a
    moment to stop those that are not). Their errors are logged; an error's own words only at level debug."""
    observers = {
        asyncio.create_task(_call(hook, impl, kwargs), name=impl.plugin_name): impl.plugin_name
        for impl in _implementations(manager, hook, kwargs)
    }
    if not observers:
        return
    try:
        done, late = await asyncio.wait(observers, timeout=within)
    except asyncio.CancelledError:
        await _stop(hook, observers)
        raise
    for task in done:
        _log_failure(hook, observers[task], task)
    if late:
        names = ", ".join(sorted(observers[task] for task in late))
        log.error("observers of %s took longer than %g s and were stopped: %s", hook, within, names)
        await _stop(hook, {task: observers[task] for task in late})


def offered(manager: pluggy.PluginManager, hook: str, /, *, plugin: str | None = None) -> list[Answer]:
    """What plugins (or only ``plugin``) hand to ``register`` in a ``register_...`` hook, with who gave it.

    Raises HookFailed when an implementation raises.
    """
    given: list[Answer] = []
    for impl in _implementations(manager, hook, {"register": None}):
        if plugin not in (None, impl.plugin_name):
            continue
        mine: list[Any] = []
        try:
            _invoke(impl, {"register": mine.append})
        except Exception as error:
            raise HookFailed(hook, [(impl.plugin_name, error)], given) from error
        given.extend(Answer(impl.plugin_name, value) for value in mine)
    return given


def tell(manager: pluggy.PluginManager, hook: str, /, **kwargs: Any) -> None:
    """Call a plain hook of every plugin, in pluggy's order. Raises HookFailed when one raises."""
    for impl in _implementations(manager, hook, kwargs):
        try:
            _invoke(impl, kwargs)
        except Exception as error:
            raise HookFailed(hook, [(impl.plugin_name, error)], []) from error


def faults(manager: pluggy.PluginManager, plugin: object) -> Iterator[str]:
    """Which rules of the hub a registered plugin breaks, a sentence each."""
    name = manager.get_name(plugin)
    for caller in manager.get_hookcallers(plugin) or []:
        for impl in caller.get_hookimpls():
            if impl.plugin is plugin:
                yield from _faults(name, caller, impl)


def misspelt(manager: pluggy.PluginManager, plugin: object) -> list[str]:
    """Names of a registered plugin's implementations of hooks that do not exist."""
    return [
        caller.name
        for caller in manager.get_hookcallers(plugin) or []
        if not caller.has_spec()
        and any(impl.plugin is plugin and not impl.optionalhook for impl in caller.get_hookimpls())
    ]


def _spec_functions() -> dict[str, Callable[..., Any]]:
    found = vars(hookspecs).items()
    return {name: value for name, value in found if hasattr(value, "turnhub_spec")}


HOOKS: Final[tuple[str, ...]] = tuple(_spec_functions())
AWAITED: Final[frozenset[str]] = frozenset(
    name for name, spec in _spec_functions().items() if "Awaitable" in str(spec.__annotations__["return"])
)


def _answer_type(hook: str) -> type | None:
    """The class of which an answer to an awaited hook has to be; None where it answers nothing."""
    hints = get_type_hints(_spec_functions()[hook])
    for option in get_args(hints["return"]):
        kind = get_origin(option) or option
        if kind not in (Awaitable, types.NoneType, Union) and isinstance(kind, type):
            return None if issubclass(kind, Awaitable) else kind
    return None


_ANSWERS: Final[dict[str, type | None]] = {name: _answer_type(name) for name in AWAITED}


def _implementations(
    manager: pluggy.PluginManager, hook: str, kwargs: dict[str, Any]
) -> Iterator[pluggy.HookImpl]:
    caller: pluggy.HookCaller = getattr(manager.hook, hook)
    assert caller.spec is not None, hook  # noqa: S101 - only the hub itself names hooks
    if missing := [name for name in caller.spec.argnames if name not in kwargs]:
        raise TypeError(f"hook {hook} wants the argument {missing[0]!r}")
    return reversed(caller.get_hookimpls())


def _invoke(impl: pluggy.HookImpl, kwargs: dict[str, Any]) -> Any:
    """Call an implementation with the arguments that it wants, and no others."""
    wanted = [kwargs[name] for name in impl.argnames]
    return impl.function(*wanted, **{name: kwargs[name] for name in impl.kwargnames if name in kwargs})


async def _call(hook: str, impl: pluggy.HookImpl, kwargs: dict[str, Any]) -> Any:
    try:
        value = _invoke(impl, kwargs)
        if inspect.isawaitable(value):
            value = await value
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        # Nobody stopped us: something inside the plugin was cancelled, which is the plugin's failure.
        raise PluginError("It was cancelled from within") from error
    except SystemExit as error:  # asyncio would let it end the process
        raise PluginError("It wanted to end the whole process") from error
    expected = _ANSWERS.get(hook)
    if value is not None and expected is not None and not isinstance(value, expected):
        raise PluginError(f"It answered with {type(value).__name__} where {expected.__name__} is expected")
    return value


def _items(answers: list[Answer] | tuple[Answer, ...]) -> list[Answer]:
    return [Answer(answer.plugin, item) for answer in answers for item in answer.value]


async def _stop(hook: str, observers: dict[asyncio.Task[Any], str]) -> None:
    for task in observers:
        task.cancel()
    done, stubborn = await asyncio.wait(observers, timeout=_STOP_S)
    for task in done:
        _log_failure(hook, observers[task], task)
    for task in stubborn:
        log.error("an observer of %s in plugin %s does not stop; it is left behind", hook, observers[task])


def _log_failure(hook: str, plugin: str, task: asyncio.Task[Any]) -> None:
    if task.cancelled() or (error := task.exception()) is None:
        return
    log.error("an observer of %s in plugin %s raised %s", hook, plugin, type(error).__name__)
    log.debug("that error of plugin %s", plugin, exc_info=error)


def _faults(plugin: str | None, caller: pluggy.HookCaller, impl: pluggy.HookImpl) -> Iterator[str]:
    where = f"plugin {plugin!r}, hook {caller.name}"
    if not caller.has_spec():
        if not impl.optionalhook:
            near = difflib.get_close_matches(caller.name, HOOKS, n=1)
            yield f"{where}: there is no such hook" + (f"; did you mean {near[0]}?" if near else ".")
        return
    if impl.wrapper or impl.hookwrapper:
        yield f"{where}: wrappers are not possible here, since the hub asks plugins one by one."
        return
    if caller.name not in AWAITED and inspect.iscoroutinefunction(impl.function):
        yield f"{where}: it is called without await, so it cannot be async."
    required = [
        name
        for name, parameter in inspect.signature(impl.function).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY and parameter.default is parameter.empty
    ]
    if required:
        yield f"{where}: pluggy passes no keyword-only parameters; take {required[0]!r} without the star."


def _said(error: Exception) -> str:
    text = str(error)
    return text if isinstance(error, PluginError) else f"{type(error).__name__}: {text}" if text else repr(error)
