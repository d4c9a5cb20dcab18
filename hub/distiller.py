"""The configuration of distillation, as plugins that distill are given it."""

from __future__ import annotations

from hub import hooks
from hub.config import Config
from hub.errors import ConfigError
from hub.hookspecs import DistillerSettings
from hub.plugins import Plugins


def hand_over(config: Config, plugins: Plugins) -> None:
    """Give ``[distiller]`` to the plugins that distill. Raises ConfigError where one of them finds a mistake,
    PluginError where one fails."""
    where = "the built-in defaults" if config.path is None else str(config.path)
    settings = DistillerSettings(where=where, values=config.distiller)
    try:
        hooks.tell(plugins.manager, "use_distiller", settings=settings)
    except hooks.HookFailed as failed:
        if isinstance(failed.__cause__, ConfigError):
            raise failed.__cause__ from None
        raise
