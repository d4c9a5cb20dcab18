"""Finding, loading and explaining plugins, over real distribution metadata on the path."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from hub import hooks
from hub import plugins as hub_plugins
from hub.config import AgentConfig, Config, PluginsConfig, StoreConfig
from hub.discovery import Found
from hub.errors import ConfigError, PluginError
from hub.hookspecs import PolicyBundle
from hub.offers import bundle_faults, transport_faults
from hub.plugins import Plugins
from hub.testing.scripted import ScriptedTransport
from hub.transport import AgentInfo, Connection, SessionInfo, Transport

Install = Callable[..., None]

GOOD = """
    from hub.hookspecs import PolicyBundle, hookimpl
    from hub.testing.scripted import ScriptedTransport

    @hookimpl
    def register_transports(register):
        register(ScriptedTransport("good"))

    @hookimpl
    def register_policies(register):
        register(PolicyBundle(name="reads"))
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Installs a plugin: a module, and the metadata of a distribution that has it as its entry point."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    before = set(sys.modules)

    def write(name: str, source: str, *, distribution: str | None = None, target: str | None = None) -> None:
        module = f"plugin_{(distribution or name).replace('-', '_')}"
        (site / f"{module}.py").write_text(dedent(source))
        named = distribution or f"turnhub-{name}"
        info = site / f"{named.replace('-', '_')}-1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {named}\nVersion: 1.2\n")
        (info / "entry_points.txt").write_text(f"[turnhub]\n{name} = {module}{target or ''}\n")

    yield write
    for module in set(sys.modules) - before:
        if module.startswith("plugin_"):
            del sys.modules[module]


def load(*enabled: str) -> Plugins:
    return hub_plugins.load(Config(plugins=PluginsConfig(enabled=enabled)))


def record(loaded: Plugins, name: str) -> Found:
    (found,) = [one for one in loaded.found if one.name == name]
    return found


def imported(name: str) -> bool:
    return f"plugin_{name}" in sys.modules


def test_an_enabled_plugin_is_loaded(install: Install) -> None:
    """Its transports and bundles are there with its name, and the record tells where it comes from."""
    install("good", GOOD)
    loaded = load("good")
    assert record(loaded, "good") == Found(
        name="good",
        status="loaded",
        distribution="turnhub-good",
        version="1.2",
        hooks=("register_policies", "register_transports"),
        transports=("good",),
    )
    assert set(loaded.transports) == {"good", "scripted"}
    assert (loaded.givers["good"], loaded.givers["scripted"]) == ("good", "scripted")
    assert loaded.bundles["reads"] == PolicyBundle(name="reads")
    assert loaded.bundle_givers == {"reads": "good"}
    assert loaded.manager.has_plugin("good")


def test_scripted_is_always_there() -> None:
    """No configuration is needed for it."""
    loaded = load()
    assert record(loaded, "scripted").status == "loaded"
    assert record(loaded, "scripted").distribution == "turnhub"
    assert isinstance(loaded.transports["scripted"], ScriptedTransport)


def test_a_plugin_that_is_not_enabled_is_not_imported(install: Install) -> None:
    """It is shown as disabled, with what enables it."""
    install("quiet", "raise SystemExit('never')")
    loaded = load()
    found = record(loaded, "quiet")
    assert (found.status, found.version) == ("disabled", "1.2")
    assert "add 'quiet' to plugins.enabled" in (found.reason or "")
    assert not imported("quiet")


def test_plugins_that_are_not_installed_are_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    """An enabled plugin that is not installed is unavailable, with the command that installs it where it is one
    of the hub's own; for any other name there is no advice to install what a stranger may have published."""
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: ())
    found = record(load("permissions"), "permissions")
    assert (found.status, found.reason) == ("unavailable", "It is not installed.")
    assert found.install == "pip install turnhub-permissions"
    unknown = record(load("absent"), "absent")
    assert (unknown.status, unknown.install) == ("unavailable", None)
    assert "spelt right" in (unknown.reason or "")


def test_missing_default_plugins_make_no_noise(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The default configuration names plugins that need not be installed."""
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: ())
    loaded = hub_plugins.load(Config())
    by_name = {found.name: found.status for found in loaded.found}
    missing = dict.fromkeys(("tmux", "sdk", "permissions", "distiller"), "unavailable")
    assert by_name == {**missing, "scripted": "loaded"}
    assert caplog.records == []


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("import a_package_that_nobody_has", "ModuleNotFoundError: No module named 'a_package_that_nobody_has'"),
        ("1 / 0", "ZeroDivisionError"),
        ("def broken(:", "SyntaxError"),
        ("raise SystemExit(3)", "SystemExit: 3"),
    ],
)
def test_a_plugin_that_cannot_be_imported_is_unavailable(install: Install, source: str, told: str) -> None:
    """Whatever its import raises stays with it: the others are loaded, and it is explained."""
    install("bad", source)
    install("good", GOOD)
    loaded = load("bad", "good")
    found = record(loaded, "bad")
    assert found.status == "unavailable"
    assert told in (found.reason or "")
    assert found.install == "pip install turnhub-bad"
    assert record(loaded, "good").status == "loaded"


CLASS = """
    from hub.hookspecs import PolicyBundle, hookimpl

    class Plugin:
        def __init__(self):
            self.name = "from a class"

        @hookimpl
        def register_policies(self, register):
            register(PolicyBundle(name="mine"))

    plugin = Plugin()
"""


@pytest.mark.parametrize("target", [":Plugin", ":plugin"])
def test_an_entry_point_may_be_a_class_or_an_object(install: Install, target: str) -> None:
    """Of a class one instance is made."""
    install("thing", CLASS, target=target)
    loaded = load("thing")
    assert (record(loaded, "thing").status, list(loaded.bundles)) == ("loaded", ["mine"])


def test_a_class_that_cannot_be_made_is_unavailable(install: Install) -> None:
    """Making the instance is part of importing the plugin."""
    install("thing", "class Plugin:\n    def __init__(self, needed): ...", target=":Plugin")
    assert "missing 1 required positional argument" in (record(load("thing"), "thing").reason or "")


MARK = "from hub.hookspecs import hookimpl\n"


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (
            "@hookimpl\ndef resolve_permision(session): ...",
            "hook resolve_permision: there is no such hook; did you mean resolve_permission?",
        ),
        ("@hookimpl\ndef resolve_permission(sesion): ...", "'sesion'} are declared in the hookimpl"),
        (
            "@hookimpl(wrapper=True)\ndef resolve_permission(session):\n    return (yield)",
            "plugin 'odd', hook resolve_permission: wrappers are not possible here",
        ),
        (
            "@hookimpl(hookwrapper=True)\ndef turn_started():\n    yield",
            "plugin 'odd', hook turn_started: wrappers",
        ),
        ("@hookimpl\nasync def register_transports(register): ...", "cannot be async"),
        ("@hookimpl\ndef register_transports(register):\n    1 / 0", "ZeroDivisionError"),
        ("@hookimpl\ndef register_transports(register):\n    register(3)", "int: `name` has to be"),
        ("@hookimpl\ndef register_policies(register):\n    register('reads')", "str is no PolicyBundle"),
        (
            "def register_transports(register): ...",
            "It implements no hook; are its functions marked with @hookimpl?",
        ),
        (
            dedent(GOOD).replace(
                'register(ScriptedTransport("good"))', "[register(ScriptedTransport('x')) for _ in 'ab']"
            ),
            "It offers 'x' twice.",
        ),
    ],
)
def test_a_plugin_that_breaks_a_rule_is_not_used(
    install: Install, caplog: pytest.LogCaptureFixture, source: str, reason: str
) -> None:
    """It is broken, with the reason; none of its hooks counts, and the hub goes on."""
    install("odd", MARK + source)
    loaded = load("odd")
    found = record(loaded, "odd")
    assert found.status == "broken"
    assert reason in (found.reason or "")
    assert "plugin odd is not used" in caplog.text
    assert not loaded.manager.has_plugin("odd")
    assert set(loaded.transports) == {"scripted"}


def test_a_misspelt_hook_is_shown_beside_the_right_ones(install: Install) -> None:
    """The whole plugin is out: a policy whose deny rules are misspelt must not seem to work."""
    install("odd", dedent(GOOD) + "\n@hookimpl\ndef resolve_permision(session): ...\n")
    loaded = load("odd")
    found = record(loaded, "odd")
    assert found.misspelt == ("resolve_permision",)
    assert found.hooks == ("register_policies", "register_transports")
    assert loaded.bundles == {}


def test_two_transports_of_one_name_name_both_plugins(install: Install) -> None:
    """Nobody can tell which one was meant, so the hub does not start."""
    install("one", GOOD.replace("reads", "a"))
    install("two", GOOD.replace("reads", "b"))
    with pytest.raises(PluginError, match="Two plugins offer transport 'good': 'one' and 'two'"):
        load("one", "two")


def test_two_policy_bundles_of_one_name_name_both_plugins(install: Install) -> None:
    """The same for policies."""
    install("one", GOOD.replace('"good"', '"a"'))
    install("two", GOOD.replace('"good"', '"b"'))
    with pytest.raises(PluginError, match="Two plugins offer policy bundle 'reads': 'one' and 'two'"):
        load("one", "two")


def test_two_distributions_with_a_plugin_of_one_name(install: Install) -> None:
    """Neither is imported: one might stand in for the other unseen."""
    install("one", GOOD, distribution="turnhub-one")
    install("one", GOOD, distribution="impostor")
    with pytest.raises(PluginError, match="Two plugins are named 'one': impostor and turnhub-one"):
        load("one")
    assert not imported("impostor")
    assert len([found for found in load().found if found.name == "one"]) == 2


def test_each_hub_has_a_manager_of_its_own() -> None:
    """Nothing is shared between two hubs of one process."""
    one, two = load(), load()
    assert one.manager is not two.manager
    assert one.transports["scripted"] is not two.transports["scripted"]


def test_plugins_come_in_the_order_in_which_they_are_enabled(install: Install) -> None:
    """pluggy's rule holds: the last one is asked first."""
    for name in ("one", "two"):
        install(name, GOOD.replace('"good"', f'"{name}"').replace('"reads"', f'"{name}"'))
    loaded = load("two", "one", "two")
    assert [found.name for found in loaded.found][:3] == ["two", "one", "scripted"]
    asked = hooks.offered(loaded.manager, "register_transports")
    assert [offer.plugin for offer in asked] == ["scripted", "one", "two"]


class Bare(Transport):
    """A transport as small as can be."""

    name = "bare"

    async def open(self, session: SessionInfo) -> Connection:
        raise NotImplementedError


async def other_open(session: SessionInfo) -> None:
    """An ``open`` that can be called and awaited."""


async def closes() -> None:
    """A ``close`` as it should be."""


def altered(**changes: Any) -> object:
    whole = {
        "name": "x",
        "capabilities": frozenset(),
        "open": other_open,
        "check": lambda agent: None,
        "close": closes,
    }
    return SimpleNamespace(**{key: value for key, value in {**whole, **changes}.items() if value is not None})


def test_transports_need_not_inherit() -> None:
    """What has the right shape is a transport; the base class only lends defaults."""
    assert list(transport_faults(Bare())) == []
    assert list(transport_faults(altered())) == []


@pytest.mark.parametrize(
    ("offer", "complaint"),
    [
        (Bare, "Bare is a class; register an instance: register(Bare())."),
        (altered(name=""), "transport '': `name` has to be letters, digits"),
        (altered(name="a b"), "transport 'a b': `name` has to be"),
        (altered(name=3), "SimpleNamespace: `name` has to be"),
        (altered(capabilities={"steer"}), "`capabilities` has to be a frozenset"),
        (altered(capabilities=frozenset({"fly"})), "there is no capability 'fly'; there are adopt, context, fork"),
        (altered(open=None), "it has no method `open`. Subclass hub.Transport"),
        (altered(open=lambda session: None), "`open` has to be `async def`"),
        (altered(open=closes), "`open` has to be callable as `open(self, session)`"),
        (altered(check=None), "it has no method `check`"),
        (altered(check=other_open), "`check` has to be a plain `def`"),
        (altered(close=lambda: None), "`close` has to be `async def`"),
        (altered(close=other_open), "`close` has to be callable as `close(self)`"),
    ],
)
def test_what_is_no_transport_is_told_so(offer: object, complaint: str) -> None:
    """Each mistake has a sentence that says what is expected."""
    (told,) = transport_faults(offer)
    assert complaint in told


def test_what_is_no_policy_bundle_is_told_so() -> None:
    """The same for bundles."""
    assert list(bundle_faults(PolicyBundle(name="ok"))) == []
    assert "has to be letters" in next(bundle_faults(PolicyBundle(name="a b")))
    assert "dict is no PolicyBundle" in next(bundle_faults({}))


class Picky(Bare):
    """A transport with something against every agent."""

    name = "picky"
    capabilities = frozenset({"steer", "interrupt"})

    def check(self, agent: AgentInfo) -> str | None:
        match agent.options.get("mood"):
            case "wrong":
                raise ConfigError(f"agents.{agent.name}.mood: expected a good one.")
            case "broken":
                raise RuntimeError("kaboom")
            case "absent":
                return "It is not installed: pip install picky"
        return None


def views(tmp_path: Path, **agents: AgentConfig) -> dict[str, hub_plugins.AgentView]:
    config = Config(
        agents=agents,
        plugins=PluginsConfig(enabled=("tmux",)),
        store=StoreConfig(state=tmp_path),
    )
    loaded = msgspec.structs.replace(
        load("tmux-that-is-absent"), transports={"picky": Picky()}, givers={"picky": "moody"}
    )
    return {view.name: view for view in hub_plugins.agents(config, loaded)}


def picky(name: str, mood: str) -> AgentConfig:
    return AgentConfig(name=name, transport="picky", policy="careful", options={"mood": mood})


def test_agents_tell_whether_they_can_run(tmp_path: Path) -> None:
    """One agent's wrong options, or a transport that breaks, do not take the others down."""
    seen = views(
        tmp_path,
        fine=picky("fine", "good"),
        wrong=picky("wrong", "wrong"),
        broken=picky("broken", "broken"),
        absent=picky("absent", "absent"),
    )
    assert seen["fine"] == hub_plugins.AgentView(
        name="fine",
        transport="picky",
        policy="careful",
        available=True,
        reason=None,
        capabilities=("interrupt", "steer"),
    )
    reasons = {name: view.reason for name, view in seen.items() if not view.available}
    assert reasons == {
        "wrong": "agents.wrong.mood: expected a good one.",
        "broken": "Plugin 'moody' cannot tell whether this agent can run: RuntimeError: kaboom.",
        "absent": "It is not installed: pip install picky",
    }


def test_an_agent_whose_transport_is_missing_is_explained(tmp_path: Path) -> None:
    """A plugin of that name is the likely giver: what is wrong with it is what is wrong with the agent."""
    seen = views(
        tmp_path,
        near=AgentConfig(name="near", transport="tmux-that-is-absent"),
        far=AgentConfig(name="far", transport="carrier-pigeon"),
    )
    assert seen["near"].reason == (
        "Transport 'tmux-that-is-absent' is missing, since plugin 'tmux-that-is-absent' is unavailable: "
        "Nothing that is installed offers a plugin of this name: is it spelt right in plugins.enabled?"
    )
    assert seen["far"].reason == "No enabled plugin offers transport 'carrier-pigeon'; there is picky."
    assert not seen["far"].available
    assert seen["far"].capabilities == ()


def test_agents_are_told_absolute_places(tmp_path: Path) -> None:
    """Working and state directories are absolute; looking at an agent makes no directory."""
    config = Config(store=StoreConfig(state=tmp_path / "state"))
    info = hub_plugins.agent_info(config, AgentConfig(name="a", transport="scripted", cwd="~/x", options={"k": 1}))
    assert info.cwd == os.path.expanduser("~/x")  # noqa: PTH111 - the other way round to get there
    assert info.state_dir == str(tmp_path / "state" / "agents" / "a")
    assert info.options == {"k": 1}
    assert not (tmp_path / "state").exists()
