"""All policies of a hub, as plugins that judge by them are given them."""

from __future__ import annotations

from pathlib import Path

from hub import hooks
from hub.config import Config
from hub.configload import load
from hub.errors import ConfigError
from hub.hookspecs import Policies, PolicyBundle
from hub.plugins import Plugins
from hub.plugins import load as load_plugins


def policies_of(config: Config, plugins: Plugins) -> Policies:
    """The policies of the configuration, and the bundles that plugins offer."""
    configured = {
        name: PolicyBundle(name=name, extends=one.extends, allow=one.allow, deny=one.deny, ask=one.ask)
        for name, one in config.policies.items()
    }
    used = {f"agents.{agent.name}.policy": agent.policy for agent in config.agents.values() if agent.policy}
    return Policies(
        where="the built-in defaults" if config.path is None else str(config.path),
        configured=configured,
        offered=plugins.bundles,
        givers=plugins.bundle_givers,
        used=used,
    )


def hand_over(config: Config, plugins: Plugins) -> None:
    """Give the policies to the plugins that judge by them. Raises ConfigError where one of them finds a mistake,
    PluginError where one fails."""
    try:
        hooks.tell(plugins.manager, "use_policies", policies=policies_of(config, plugins))
    except hooks.HookFailed as failed:
        if isinstance(failed.__cause__, ConfigError):
            raise failed.__cause__ from None
        raise


def read_policies(path: Path | None = None) -> Policies:
    """The policies of the configuration in ``path``, else of ``turnhub.toml`` here, else the defaults; with the
    bundles of the plugins that it enables. Raises ConfigError, PluginError."""
    config = load(path)
    return policies_of(config, load_plugins(config))
