"""The policies that a hub hands to the plugins that judge by them."""

from __future__ import annotations

from pathlib import Path

import pytest

from hub import hooks
from hub.config import Config
from hub.configload import load
from hub.errors import ConfigError, PluginError
from hub.hookspecs import Policies, PolicyBundle, hookimpl
from hub.plugins import Plugins
from hub.policies import hand_over, policies_of, read_policies

TOML = """
[plugins]
enabled = []
[agents.a]
transport = "scripted"
policy = "mine"
[policies.mine]
extends = ["reads"]
deny = ["Bash(rm *)"]
"""


def plugins(judge: object) -> Plugins:
    manager = hooks.new_manager()
    manager.register(judge, "judge")
    bundles = {"reads": PolicyBundle(name="reads", allow=("Read",))}
    return Plugins(
        manager=manager, found=(), transports={}, givers={}, bundles=bundles, bundle_givers={"reads": "judge"}
    )


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """A configuration with one policy that extends a plugin's."""
    (tmp_path / "turnhub.toml").write_text(TOML)
    return load(tmp_path / "turnhub.toml", {})


def test_plugins_get_all_policies_and_where_they_are_named(config: Config) -> None:
    """Those of the configuration as bundles, those of plugins with their givers, and who uses which."""
    taken: list[Policies] = []

    class Judge:
        @hookimpl
        def use_policies(self, policies: Policies) -> None:
            taken.append(policies)

    hand_over(config, plugins(Judge()))
    assert taken == [policies_of(config, plugins(Judge()))]
    assert taken[0].where == str(config.path)
    assert taken[0].configured == {"mine": PolicyBundle(name="mine", extends=("reads",), deny=("Bash(rm *)",))}
    assert (taken[0].givers, taken[0].used) == ({"reads": "judge"}, {"agents.a.policy": "mine"})


def test_a_mistake_that_a_plugin_finds_is_a_mistake_of_the_configuration(config: Config) -> None:
    """Its one line is handed on as it is; any other failure names the plugin."""

    class Strict:
        @hookimpl
        def use_policies(self, policies: Policies) -> None:
            raise ConfigError("file: policies.mine.deny[0]: no rule")

    class Broken:
        @hookimpl
        def use_policies(self, policies: Policies) -> None:
            raise RuntimeError("oh")

    with pytest.raises(ConfigError, match=r"^file: policies\.mine\.deny\[0\]: no rule$"):
        hand_over(config, plugins(Strict()))
    with pytest.raises(PluginError, match="plugin 'judge': RuntimeError: oh"):
        hand_over(config, plugins(Broken()))


def test_policies_can_be_read_without_a_hub(config: Config) -> None:
    """For commands: the file's policies, with what its plugins offer."""
    found = read_policies(config.path)
    assert (set(found.configured), dict(found.offered)) == ({"mine"}, {})
