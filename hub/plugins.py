"""Loading the plugins that the configuration enables, and explaining the others.

What is wrong with one plugin stays with that plugin: it is *unavailable* (not installed, cannot be imported)
or *broken* (breaks a rule of the hub; none of its hooks counts then), with the reason and what mends it. Only
what no plugin can be blamed for alone stops the hub: two plugins of one name, two transports or policy bundles
of one name.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pluggy
from msgspec import Struct
from msgspec.structs import replace

from hub import discovery, hooks
from hub.config import AgentConfig, Config
from hub.discovery import Found
from hub.errors import ConfigError, PluginError
from hub.hookspecs import PolicyBundle
from hub.offers import bundle_faults, transport_faults
from hub.transport import AgentInfo, Transport

__all__ = ["AgentView", "Found", "Plugins", "agent_info", "agents", "load", "why_no_transport"]

log = logging.getLogger(__name__)


class Plugins(Struct, frozen=True, kw_only=True):
    """The plugins of one hub. ``givers`` and ``bundle_givers`` name the plugin behind each offer."""

    manager: pluggy.PluginManager
    found: tuple[Found, ...]
    transports: Mapping[str, Transport]
    givers: Mapping[str, str]
    bundles: Mapping[str, PolicyBundle]
    bundle_givers: Mapping[str, str]


class AgentView(Struct, frozen=True, kw_only=True):
    """An agent as ``GET /v1/agents`` shows it."""

    name: str
    transport: str
    policy: str | None
    available: bool
    reason: str | None
    capabilities: tuple[str, ...]


class _Loaded(Struct, frozen=True):
    found: Found
    transports: Sequence[hooks.Answer] = ()
    bundles: Sequence[hooks.Answer] = ()


def load(config: Config) -> Plugins:
    """Load the plugins that ``config`` enables, and ``scripted``.

    Raises PluginError, naming both, where two plugins, transports or policy bundles have one name.
    """
    manager = hooks.new_manager()
    points = discovery.entry_points()
    wanted = tuple(dict.fromkeys((*config.plugins.enabled, discovery.ALWAYS.name)))
    loaded = [_load(manager, name, points.get(name, [])) for name in wanted]
    manager.check_pending()
    others = [discovery.disabled(point) for name in sorted(points.keys() - set(wanted)) for point in points[name]]
    transports = _by_name("transport", [offer for one in loaded for offer in one.transports])
    bundles = _by_name("policy bundle", [offer for one in loaded for offer in one.bundles])
    return Plugins(
        manager=manager,
        found=(*(one.found for one in loaded), *others),
        transports={name: offer.value for name, offer in transports.items()},
        givers={name: offer.plugin for name, offer in transports.items()},
        bundles={name: offer.value for name, offer in bundles.items()},
        bundle_givers={name: offer.plugin for name, offer in bundles.items()},
    )


def agents(config: Config, plugins: Plugins) -> list[AgentView]:
    """The configured agents, and whether each can run here. A mistake in one leaves the others alone."""
    return [_view(config, plugins, agent) for agent in config.agents.values()]


def agent_info(config: Config, agent: AgentConfig) -> AgentInfo:
    """What a transport is told about ``agent``. Its directories are named, not made."""
    state = config.store.state.expanduser().absolute()
    return AgentInfo(
        name=agent.name,
        transport=agent.transport,
        cwd=str(Path(agent.cwd).expanduser().absolute()),
        policy=agent.policy,
        options=agent.options,
        state_dir=str(state / "agents" / agent.name),
        shared_dir=str(state / "transports" / agent.transport),
    )


def why_no_transport(plugins: Plugins, name: str) -> str:
    """Why there is no transport of this name, with what mends it."""
    for record in plugins.found:
        if record.name != name or record.status == "loaded":
            continue
        mend = f" Mend it with: {record.install}" if record.install else ""
        return f"Transport {name!r} is missing, since plugin {name!r} is {record.status}: {record.reason}{mend}"
    offered = ", ".join(sorted(plugins.transports)) or "none"
    return f"No enabled plugin offers transport {name!r}; there is {offered}."


def _load(manager: pluggy.PluginManager, name: str, points: Sequence[EntryPoint]) -> _Loaded:
    if not points:
        return _Loaded(discovery.missing(name))
    if len(points) > 1:
        owners = " and ".join(sorted(discovery.distribution(point) or "?" for point in points))
        raise PluginError(f"Two plugins are named {name!r}: {owners}. Uninstall one of them.")
    try:
        plugin = discovery.imported(points[0])
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a plugin's import may raise anything at all
        log.info("plugin %s cannot be imported: %s", name, type(error).__name__)
        return _Loaded(discovery.unimportable(points[0], error))
    return _admit(manager, plugin, discovery.described(points[0], "loaded"))


def _admit(manager: pluggy.PluginManager, plugin: object, found: Found) -> _Loaded:
    try:
        manager.register(plugin, found.name)
        found = _told(manager, plugin, found)
        _keeps_the_rules(manager, plugin, found)
        transports = _offers(manager, "register_transports", found.name, transport_faults)
        bundles = _offers(manager, "register_policies", found.name, bundle_faults)
    except (pluggy.PluginValidationError, ValueError, PluginError) as error:
        reason = " ".join(str(error).split())
        log.warning("plugin %s is not used: %s", found.name, reason)
        if manager.has_plugin(found.name):
            manager.unregister(name=found.name)
        return _Loaded(replace(found, status="broken", reason=reason))
    names = tuple(offer.value.name for offer in transports)
    return _Loaded(replace(found, transports=names), transports, bundles)


def _told(manager: pluggy.PluginManager, plugin: object, found: Found) -> Found:
    callers = manager.get_hookcallers(plugin) or []
    implemented = tuple(sorted(caller.name for caller in callers if caller.has_spec()))
    return replace(found, hooks=implemented, misspelt=tuple(hooks.misspelt(manager, plugin)))


def _keeps_the_rules(manager: pluggy.PluginManager, plugin: object, found: Found) -> None:
    _raise_first(hooks.faults(manager, plugin))
    if not found.hooks:
        raise PluginError("It implements no hook; are its functions marked with @hookimpl?")


def _offers(
    manager: pluggy.PluginManager, hook: str, plugin: str, check: Callable[[object], Iterable[str]]
) -> list[hooks.Answer]:
    offers = hooks.offered(manager, hook, plugin=plugin)
    names: set[str] = set()
    for offer in offers:
        _raise_first(check(offer.value))
        if offer.value.name in names:
            raise PluginError(f"It offers {offer.value.name!r} twice.")
        names.add(offer.value.name)
    return offers


def _raise_first(problems: Iterable[str]) -> None:
    for problem in problems:
        raise PluginError(problem)


def _by_name(kind: str, offers: Iterable[hooks.Answer]) -> dict[str, hooks.Answer]:
    named: dict[str, hooks.Answer] = {}
    for offer in offers:
        name: Any = offer.value.name
        if name in named:
            whose = " and ".join(repr(plugin) for plugin in (named[name].plugin, offer.plugin))
            raise PluginError(f"Two plugins offer {kind} {name!r}: {whose}. Take one out of plugins.enabled.")
        named[name] = offer
    return named


def _view(config: Config, plugins: Plugins, agent: AgentConfig) -> AgentView:
    transport = plugins.transports.get(agent.transport)
    reason = (
        why_no_transport(plugins, agent.transport)
        if transport is None
        else _checked(transport, plugins.givers[agent.transport], agent_info(config, agent))
    )
    return AgentView(
        name=agent.name,
        transport=agent.transport,
        policy=agent.policy,
        available=reason is None,
        reason=reason,
        capabilities=tuple(sorted(transport.capabilities)) if transport else (),
    )


def _checked(transport: Transport, plugin: str, agent: AgentInfo) -> str | None:
    try:
        return transport.check(agent)
    except ConfigError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - a transport's fault must not hide the other agents
        log.warning("transport %s of plugin %s raised %s in check()", transport.name, plugin, type(error).__name__)
        return f"Plugin {plugin!r} cannot tell whether this agent can run: {type(error).__name__}: {error}."
