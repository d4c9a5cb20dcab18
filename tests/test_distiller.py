"""What the configuration says of distillation, as plugins are given it."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from hub import hooks
from hub import plugins as hub_plugins
from hub.config import Config, PluginsConfig
from hub.distiller import hand_over
from hub.errors import ConfigError, PluginError
from hub.hookspecs import DistillerSettings, hookimpl
from hub.plugins import Plugins
from hub.testing.process import hub_process

CONFIG = Config(distiller={"route": "mine"}, path=Path("turnhub.toml"), plugins=PluginsConfig(enabled=()))


def plugins(one: object) -> Plugins:
    """Plugins of which one is ``one``."""
    manager = hooks.new_manager()
    manager.register(one, "distills")
    return replace(hub_plugins.load(CONFIG), manager=manager)


def test_a_plugin_is_given_the_table_as_it_stands() -> None:
    """And where it stands."""
    taken: list[DistillerSettings] = []

    class Plugin:
        @hookimpl
        def use_distiller(self, settings: DistillerSettings) -> None:
            taken.append(settings)

    hand_over(CONFIG, plugins(Plugin()))
    hand_over(replace(CONFIG, path=None), plugins(Plugin()))
    assert [one.where for one in taken] == ["turnhub.toml", "the built-in defaults"]
    assert taken[0].values == {"route": "mine"}


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ConfigError("turnhub.toml: distiller.route: no route"), r"^turnhub\.toml: distiller\.route: no route$"),
        (RuntimeError("oh"), "plugin 'distills': RuntimeError: oh"),
    ],
)
def test_what_a_plugin_cannot_use_is_a_mistake_of_the_configuration(error: Exception, told: str) -> None:
    """Its one line is handed on as it is; any other failure names the plugin."""

    class Plugin:
        @hookimpl
        def use_distiller(self, settings: DistillerSettings) -> None:
            raise error

    with pytest.raises(ConfigError if isinstance(error, ConfigError) else PluginError, match=told):
        hand_over(CONFIG, plugins(Plugin()))


@pytest.mark.slow
def test_a_hub_with_such_a_mistake_does_not_start() -> None:
    """It says so in one line, with file and key."""
    config = '[plugins]\nenabled = ["distiller"]\n[distiller]\nroute = "cheap"\n'
    with pytest.raises(RuntimeError, match=r"turnhub\.toml: distiller\.route: expected"), hub_process(config):
        pass
