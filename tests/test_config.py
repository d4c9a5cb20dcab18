"""Loading the configuration: what it reads, what overrides what, and how it names a mistake."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import fields

from hub.config import Config, ServerConfig
from hub.configload import SCHEMES, check_policies, load
from hub.errors import ConfigError

ROOT = Path(__file__).parent.parent


def write(folder: Path, text: str) -> Path:
    file = folder / "turnhub.toml"
    file.write_text(text)
    return file


def read(folder: Path, text: str, environ: Mapping[str, str] | None = None) -> Config:
    write(folder, text)
    return load(None, environ or {}, folder)


def mistake(folder: Path, text: str, environ: Mapping[str, str] | None = None) -> str:
    with pytest.raises(ConfigError) as caught:
        read(folder, text, environ)
    assert "\n" not in caught.value.detail
    return caught.value.detail


def test_without_a_file_there_are_defaults_and_two_agents(tmp_path: Path) -> None:
    """With no file, `claude` and `rehearsal` are there, both by the SDK; the second one rehearses."""
    config = load(None, {"HOME": "/home/ada"}, tmp_path)
    assert config.path is None
    assert config.server.port == 8420
    assert config.store.state == Path("/home/ada/.local/state/turnhub")
    assert {name: (one.transport, one.options) for name, one in config.agents.items()} == {
        "claude": ("sdk", {}),
        "rehearsal": ("sdk", {"rehearsal": True}),
    }
    assert config.agents["claude"].cwd == str(tmp_path)


def test_the_example_file_is_valid_and_has_all_sections() -> None:
    """The example at the root loads as it stands."""
    config = load(ROOT / "turnhub.example.toml", {}, ROOT)
    assert set(config.agents) == {"claude", "rehearsal", "pane"}
    assert config.policies["careful"].ask_timeout_s == 600
    assert config.distiller == {"route": "extractive"}
    assert config.runner.lease_s == 15


def test_the_example_file_shows_the_defaults_of_the_server() -> None:
    """What a person copies changes nothing, and every key of the section stands there."""
    text = (ROOT / "turnhub.example.toml").read_text()
    assert load(ROOT / "turnhub.example.toml", {}, ROOT).server == ServerConfig()
    section = text.split("[server]")[1].split("\n[")[0]
    assert {line.lstrip("# ").split(" ")[0] for line in section.splitlines() if "=" in line} == {
        one.name for one in fields(ServerConfig)
    }


def test_a_file_without_agents_still_has_the_two_default_ones(tmp_path: Path) -> None:
    """Who only changes the port keeps the agents; an empty table of agents means none."""
    assert set(read(tmp_path, "[server]\nport = 1").agents) == {"claude", "rehearsal"}
    assert read(tmp_path, "[agents]").agents == {}


def test_the_environment_overrides_the_file_and_options_override_both(tmp_path: Path) -> None:
    """Command line over environment over file."""
    file = write(tmp_path, '[server]\nport = 1\nhost = "a"\nallowed_hosts = ["x"]')
    environ = {"TURNHUB_SERVER__PORT": "2", "TURNHUB_SERVER__HOST": "127.0.0.2"}
    config = load(file, environ, tmp_path, {"--port": ("server.port", 3)})
    assert (config.server.port, config.server.host, config.server.allowed_hosts) == (3, "127.0.0.2", ("x",))


@pytest.mark.parametrize(
    ("text", "value"),
    [("true", True), ("12", 12), ('["a", "b"]', ["a", "b"]), ("claude-x", "claude-x"), ('"12"', "12"), ("", "")],
)
def test_environment_values_are_toml_values_else_strings(tmp_path: Path, text: str, value: Any) -> None:
    """`12` is a number, `["a"]` a list, and what is no TOML value is a string."""
    config = load(None, {"TURNHUB_AGENTS__CLAUDE__MODEL": text}, tmp_path)
    assert config.agents["claude"].options["model"] == value


def test_a_string_that_looks_like_a_number_is_a_string_where_one_is_expected(tmp_path: Path) -> None:
    """`TURNHUB_AGENTS__CLAUDE__POLICY=7` names a policy, it is no number."""
    environ = {"TURNHUB_AGENTS__CLAUDE__POLICY": "7", "TURNHUB_STORE__STATE": "1"}
    config = load(None, environ, tmp_path)
    assert config.agents["claude"].policy == "7"
    assert config.store.state == tmp_path / "1"


def test_the_environment_finds_names_with_capitals_and_dashes(tmp_path: Path) -> None:
    """`MY_AGENT` means the agent `My-agent` that the file has, and no second one."""
    text = '[agents.My-agent]\ntransport = "sdk"\n[agents.My-agent.env]\nPath = "x"'
    environ = {
        "TURNHUB_AGENTS__MY_AGENT__MODEL": "m",
        "TURNHUB_AGENTS__MY_AGENT__ENV__API_URL": "u",
        "TURNHUB_AGENTS__NEW__TRANSPORT": "scripted",
    }
    config = read(tmp_path, text, environ)
    assert config.agents["My-agent"].options == {"model": "m", "env": {"Path": "x", "API_URL": "u"}}
    assert config.agents["new"].transport == "scripted"


def test_a_whole_table_can_come_from_the_environment(tmp_path: Path) -> None:
    """An inline table is a table, and longer names set keys in it."""
    environ = {
        "TURNHUB_AGENTS__X": '{transport = "scripted", model = "a"}',
        "TURNHUB_AGENTS__X__MODEL": "b",
        "TURNHUB_DISTILLER__ROUTES__CHEAP__ANSWER_TOKENS": "5",
    }
    config = read(tmp_path, "", environ)
    assert config.agents["x"].options == {"model": "b"}
    assert config.distiller == {"routes": {"cheap": {"answer_tokens": 5}}}


def test_other_variables_of_ours_are_no_configuration(tmp_path: Path) -> None:
    """TURNHUB_URL and TURNHUB_TOKEN belong to the client."""
    load(None, {"TURNHUB_URL": "x", "TURNHUB_TOKEN": "y", "OTHER__KEY": "z"}, tmp_path)


def test_an_environment_value_cannot_smuggle_in_other_keys(tmp_path: Path) -> None:
    """A line break in a value makes a string of it."""
    config = load(None, {"TURNHUB_AGENTS__CLAUDE__MODEL": "1\nother = 2"}, tmp_path)
    assert config.agents["claude"].options == {"model": "1\nother = 2"}


def test_relative_paths_start_at_the_file(tmp_path: Path) -> None:
    """An agent's directory and the state are absolute: from the file's directory, `~` from HOME."""
    sub = tmp_path / "etc"
    sub.mkdir()
    agents = '[agents.a]\ntransport = "t"\ncwd = "../work"\n[agents.b]\ntransport = "t"\ncwd = "~/w"'
    text = '[store]\nstate = "s"\n' + agents
    config = load(write(sub, text), {"HOME": "/home/ada"}, Path("/"))
    assert config.agents["a"].cwd == str(tmp_path / "work")
    assert config.agents["b"].cwd == "/home/ada/w"
    assert config.store.state == sub / "s"
    assert load(Path("etc/turnhub.toml"), {}, tmp_path).path == sub / "turnhub.toml"


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_store_scheme_of_the_contract_is_taken(tmp_path: Path, scheme: str) -> None:
    """Redis alone, by TLS, by Sentinel, as a cluster, by a socket."""
    assert read(tmp_path, f'[store]\nurl = "{scheme}://x/0"').store.url == f"{scheme}://x/0"


@pytest.mark.parametrize(
    ("text", "key", "expected"),
    [
        (
            '[server]\nport = "x"',
            "server.port:",
            "expected a whole number from 0 (any free port) to 65535, got a string",
        ),
        ("[server]\nport = true", "server.port:", "got true or false"),
        ("[server]\nport = 70000", "server.port:", "to 65535, got 70000"),
        ("[server]\nport = -1", "server.port:", "got -1"),
        ('[server]\ntls_key = "k"', "server.tls_key:", "is of no use without server.tls_cert"),
        ("[server]\ntls_cert = 1", "server.tls_cert:", "expected a path, got a whole number"),
        ("[server]\ninsecure_bind = 1", "server.insecure_bind:", "expected true or false, got a whole number"),
        ("[server]\nrequests_per_s = -1", "server.requests_per_s:", "from 0 (no limit) to 1000000, got -1"),
        ("[server]\nrequests_per_s = nan", "server.requests_per_s:", "got nan"),
        ("[server]\nmax_head_bytes = 0", "server.max_head_bytes:", "from 1024 to 16777216, got 0"),
        ("[server]\nhead_timeout_s = 0", "server.head_timeout_s:", "seconds from 0.01 to 31536000, got 0"),
        ("[server]\nallowed_hosts = [1]", "server.allowed_hosts:", "expected an array of strings, got an array"),
        ("[server]\nprot = 1", "server.prot:", "is no key of this section; did you mean `port`?"),
        (
            '[server]\ntrusted_proxies = ["10.0.0.1/8"]',
            "server.trusted_proxies:",
            "expected an address or a network, as 127.0.0.1 or 10.0.0.0/8; 10.0.0.1/8 has host bits set.",
        ),
        (
            '[server]\ntrusted_proxies = ["proxy.example"]',
            "server.trusted_proxies:",
            "expected an address or a network",
        ),
        ("[server]\nzzz = 1", "server.zzz:", "expected one of allowed_hosts, "),
        ("[sever]\nport = 1", "sever:", "is no section; did you mean `server`?"),
        ("port = 1", "port:", "is no section"),
        ("server = 1", "server:", "expected a table, got a whole number"),
        ("[agents]\na = 1", "agents.a:", "expected a table"),
        ('[agents.a]\ntransprot = "sdk"', "agents.a.transport:", "got none; did you mean it with `transprot`?"),
        ("[agents.a]\ntransport = 1", "agents.a.transport:", "expected a string, got a whole number"),
        ('[agents."a b"]\ntransport = "sdk"', "agents.'a b':", "expected a name of letters"),
        ('[store]\nurl = "http://x"', "store.url:", "expected `embedded` or a URL of redis://"),
        ('[store]\nurl = "localhost:6379"', "store.url:", "got no such URL"),
        ("[store]\nstate = 1", "store.state:", "expected a path, got a whole number"),
        ("[runner]\nlease_s = 0", "runner.lease_s:", "expected a number of seconds from 0.01"),
        ("[runner]\nstall_s = nan", "runner.stall_s:", "got nan"),
        ("[policies.p]\nallow = 'x'", "policies.p.allow:", "expected an array of strings, got a string"),
        ("[policies.p]\nalow = []", "policies.p.alow:", "did you mean `allow`?"),
        ("[policies.p]\nask_timeout_s = -1", "policies.p.ask_timeout_s:", "got -1"),
        ("distiller = 1", "distiller:", "expected a table"),
    ],
)
def test_a_mistake_names_file_key_and_what_was_expected(
    tmp_path: Path, text: str, key: str, expected: str
) -> None:
    """One line, whatever is wrong."""
    line = mistake(tmp_path, text)
    assert line.startswith(f"{tmp_path / 'turnhub.toml'}: {key}")
    assert expected in line


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("TURNHUB_SERVER__PORT", "x", "server.port: expected a whole number"),
        ("TURNHUB_SERVER__PROT", "1", "server.prot: is no key of this section; did you mean `port`?"),
        ("TURNHUB_SEVER__PORT", "1", "sever: is no section; did you mean `server`?"),
        ("TURNHUB_AGENTS__NEW__MODEL", "m", "agents.new.transport: expected the name of a transport"),
        ("TURNHUB_SERVER__PORT__X", "1", "server.port: is a value, not a table"),
        ("TURNHUB_SERVER__", "1", "expected TURNHUB_<SECTION>__<KEY>."),
        ("TURNHUB_PLUGINS__ENABLED", "sdk", "plugins.enabled: expected an array of strings, got a string."),
        ("TURNHUB_STORE__URL", "http://x", "store.url: expected `embedded`"),
    ],
)
def test_a_mistake_in_the_environment_names_the_variable(
    tmp_path: Path, name: str, value: str, expected: str
) -> None:
    """Who reads the line knows that the file is not to blame."""
    line = mistake(tmp_path, "[server]\nport = 1", {name: value})
    assert line.startswith(f"environment variable {name}: ")
    assert expected in line


def test_a_mistake_on_the_command_line_names_the_option(tmp_path: Path) -> None:
    """The option is named as it was typed."""
    with pytest.raises(ConfigError, match=r"^--port: server\.port: expected a whole number"):
        load(None, {}, tmp_path, {"--port": ("server.port", 70_000)})


def test_a_mistake_never_shows_a_password(tmp_path: Path) -> None:
    """A URL that is refused is not repeated."""
    assert "secret" not in mistake(tmp_path, '[store]\nurl = "http://:secret@x"')
    assert "secret" not in mistake(tmp_path, "", {"TURNHUB_SERVER__PORT": "secret"})


def test_broken_toml_names_the_line(tmp_path: Path) -> None:
    """The file and the line of the mistake."""
    line = mistake(tmp_path, "[server]\nport = = 1")
    assert str(tmp_path / "turnhub.toml") in line
    assert "line 2" in line


def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    """A missing file that was asked for, a directory, and bytes that are no text."""
    with pytest.raises(ConfigError, match=r"none\.toml: cannot be read \(No such file"):
        load(tmp_path / "none.toml", {}, tmp_path)
    with pytest.raises(ConfigError, match=r"cannot be read \(Is a directory"):
        load(tmp_path, {}, tmp_path)
    (tmp_path / "turnhub.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="is not UTF-8 text"):
        load(None, {}, tmp_path)


def test_policies_are_checked_once_the_plugins_are_known(tmp_path: Path) -> None:
    """A name that neither the file nor a plugin has is a mistake that lists what there is."""
    text = '[agents.a]\ntransport = "t"\npolicy = "mine"\n[policies.mine]\nextends = ["reads"]'
    config = read(tmp_path, text)
    check_policies(config, {"reads"})
    with pytest.raises(ConfigError, match=r"policies\.mine\.extends: .* \(mine\), got 'reads'"):
        check_policies(config, ())
    text = '[agents.a]\ntransport = "t"\npolicy = "gone"'
    with pytest.raises(ConfigError, match=r"agents\.a\.policy: .* \(there are none\), got 'gone'"):
        check_policies(read(tmp_path, text), ())


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)


def lines_of_mistake(environ: Mapping[str, str], options: Mapping[str, tuple[str, Any]]) -> int:
    try:
        load(None, environ, Path("/nowhere"), options)
    except ConfigError as error:
        return len(error.detail.splitlines())
    return 0


@settings(deadline=None)
@given(
    name=st.sampled_from(("SERVER__PORT", "AGENTS__A", "STORE", "PLUGINS", "POLICIES__P__ALLOW")), value=st.text()
)
def test_any_environment_value_loads_or_is_one_line(name: str, value: str) -> None:
    """Whatever somebody exports, there is no traceback."""
    assert lines_of_mistake({f"TURNHUB_{name}": value}, {}) <= 1


@settings(deadline=None)
@given(section=st.sampled_from(("server", "store", "agents", "policies", "runner", "plugins")), value=VALUES)
def test_any_option_value_loads_or_is_one_line(section: str, value: Any) -> None:
    """Whatever stands in a section, there is no traceback."""
    assert lines_of_mistake({}, {"--x": (section, value)}) <= 1
