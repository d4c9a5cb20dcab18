"""Load the configuration: a TOML file, environment variables over it, command line options over those.

A mistake is one :class:`~hub.errors.ConfigError` line that names where the value came from, the key and what
was expected. Nothing is guessed and nothing is skipped: an unknown key is a mistake too.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Final, Literal, TypeVar, get_args, get_origin

import msgspec
from msgspec import Struct

from hub.config import (
    AgentConfig,
    Config,
    PluginsConfig,
    PolicyConfig,
    RunnerConfig,
    ServerConfig,
    StoreConfig,
    allowlisted,
)
from hub.configtree import Leaf, Tree, from_environment, from_options, plain
from hub.errors import ConfigError

FILE_NAME: Final = "turnhub.toml"
SCHEMES: Final = ("redis", "rediss", "redis+sentinel", "redis+cluster", "unix")
_SECTIONS: Final = ("server", "store", "plugins", "runner", "agents", "policies", "distiller")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_YEAR_S: Final = 31_536_000.0
_SECONDS: Final = (0.0, _YEAR_S, "a number of seconds from 0 to 31536000")
_POSITIVE_SECONDS: Final = (0.01, _YEAR_S, "a number of seconds from 0.01 to 31536000")
_BOUNDS: Final[Mapping[str, tuple[float, float, str]]] = {
    "server.port": (0, 65_535, "a whole number from 0 (any free port) to 65535"),
    "server.max_body_bytes": (1, 1 << 40, "a number of bytes, 1 or more"),
    "server.max_import_bytes": (1, 1 << 40, "a number of bytes, 1 or more"),
    "server.max_head_bytes": (1 << 10, 1 << 24, "a number of bytes from 1024 to 16777216"),
    "server.head_timeout_s": _POSITIVE_SECONDS,
    "server.body_timeout_s": _POSITIVE_SECONDS,
    "server.idle_timeout_s": _POSITIVE_SECONDS,
    "server.max_connections": (1, 1 << 20, "a whole number from 1 to 1048576"),
    "server.max_connections_per_address": (1, 1 << 20, "a whole number from 1 to 1048576"),
    "server.max_streams_per_token": (1, 1 << 20, "a whole number from 1 to 1048576"),
    "server.requests_per_s": (0, 1e6, "a number of requests per second from 0 (no limit) to 1000000"),
    "server.request_burst": (1, 1 << 20, "a whole number from 1 to 1048576"),
    "server.max_wrong_tokens_per_minute": (0, 1 << 20, "a whole number from 0 (no limit) to 1048576"),
    "runner.lease_s": _POSITIVE_SECONDS,
    "runner.interrupt_grace_s": _SECONDS,
    "runner.shutdown_grace_s": _SECONDS,
    "runner.stall_s": _POSITIVE_SECONDS,
    "runner.batch_ms": (0, 60_000, "a number of milliseconds from 0 to 60000"),
    "runner.live_grace_s": _SECONDS,
    "runner.output_keep_s": _SECONDS,
    "runner.output_most_bytes": (1, 1 << 28, "a number of bytes from 1 to 268435456"),
    "runner.outputs_most_bytes": (1, 1 << 40, "a number of bytes, 1 or more"),
    "runner.live_limit": (1, 1 << 40, "a number of events, 1 or more"),
    "runner.distill_at_once": (1, 64, "a whole number from 1 to 64"),
    "runner.distill_backlog": (1, 1 << 40, "a number of turns, 1 or more"),
    "ask_timeout_s": _POSITIVE_SECONDS,
}
_WORDS: Final[Mapping[Any, str]] = {
    int: "a whole number",
    float: "a number",
    str: "a string",
    bool: "true or false",
    Path: "a path",
}
_S = TypeVar("_S", bound=Struct)


def load(
    path: Path | None = None,
    environ: Mapping[str, str] = os.environ,
    cwd: Path | None = None,
    options: Mapping[str, tuple[str, Any]] | None = None,
) -> Config:
    """The configuration in ``path``, else in ``turnhub.toml`` in ``cwd``, else the defaults.

    ``environ`` overrides the file (``TURNHUB_<SECTION>__<KEY>``), ``options`` override both: what was given
    on the command line, by its name, as (dotted key, value). Without an ``agents`` section there are two
    agents, ``claude`` and ``rehearsal``. Raises ConfigError for any mistake, in one line.
    """
    here = Path.cwd() if cwd is None else cwd
    file = _find(path, here)
    where = "the built-in defaults" if file is None else str(file)
    raw = {} if file is None else _read(file)
    raw.setdefault("agents", _default_agents())
    tree = from_environment(Tree(where, raw), environ)
    tree = from_options(tree, options or {})
    return _Loader(tree, file, here if file is None else file.parent, environ).config()


def check_policies(config: Config, bundles: Collection[str]) -> None:
    """Raise ConfigError where an agent or a policy names a policy that neither the configuration nor a plugin
    (``bundles``) has. Only known once the plugins are loaded, so it is no part of :func:`load`."""
    known = {*config.policies, *bundles}
    named = [(f"agents.{agent.name}.policy", agent.policy) for agent in config.agents.values() if agent.policy]
    named += [(f"policies.{name}.extends", base) for name, one in config.policies.items() for base in one.extends]
    where = "the built-in defaults" if config.path is None else str(config.path)
    for key, name in named:
        if name not in known:
            offer = ", ".join(sorted(known)) or "there are none"
            raise ConfigError(f"{where}: {key}: expected the name of a policy ({offer}), got {name!r}.")


def _default_agents() -> dict[str, Any]:
    return {"claude": {"transport": "sdk"}, "rehearsal": {"transport": "sdk", "rehearsal": True}}


def _find(path: Path | None, cwd: Path) -> Path | None:
    if path is not None:
        return (cwd / path).absolute()
    found = cwd / FILE_NAME
    return found.absolute() if found.exists() else None


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read ({error.strerror}); expected a TOML file.") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file}: is not UTF-8 text (byte {error.start}); expected a TOML file.") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{file}: is not valid TOML: {' '.join(str(error).split())}.") from None


def _meant(key: str, known: Collection[str]) -> str:
    close = get_close_matches(key, known, 1, 0.6)
    return f"did you mean `{close[0]}`?" if close else f"expected one of {', '.join(sorted(known))}."


def _expected(kind: Any) -> str:
    if get_origin(kind) is tuple:
        return f"an array of {_expected(get_args(kind)[0]).removeprefix('a ')}s"
    if get_origin(kind) is Literal or any(get_origin(one) is Literal for one in get_args(kind)):
        words = [word for one in (kind, *get_args(kind)) if get_origin(one) is Literal for word in get_args(one)]
        return " or ".join(f'"{word}"' for word in words)
    inner = [one for one in get_args(kind) if one is not type(None)] or [kind]
    return " or ".join(_WORDS[one] for one in inner)


def _shape(value: Any) -> str:
    """What kind of value stands there. Never the value itself: it may be a password."""
    names = {dict: "a table", list: "an array", str: "a string", bool: "true or false", int: "a whole number"}
    return names.get(type(value), f"a {type(value).__name__}")


def _to_path(kind: type, value: Any) -> Any:
    if kind is Path and isinstance(value, str) and value:
        return Path(value)
    raise TypeError("expected a path")


class _Loader:
    def __init__(self, tree: Tree, file: Path | None, base: Path, environ: Mapping[str, str]) -> None:
        self._tree = tree
        self._file = file
        self._base = base
        self._environ = environ

    def config(self) -> Config:
        data = self._tree.data
        for name, value in data.items():
            if name not in _SECTIONS:
                raise self._mistake(value, name, f"is no section; {_meant(name, _SECTIONS)}")
        store = self._record(StoreConfig, "store", data.get("store", {}))
        self._check_url(store.url, data.get("store", {}))
        return Config(
            server=self._server(data.get("server", {})),
            store=msgspec.structs.replace(store, state=self._absolute(str(store.state))),
            plugins=self._record(PluginsConfig, "plugins", data.get("plugins", {})),
            runner=self._record(RunnerConfig, "runner", data.get("runner", {})),
            agents={name: self._agent(name, one) for name, one in self._named("agents").items()},
            policies={
                name: self._record(PolicyConfig, f"policies.{name}", one)
                for name, one in self._named("policies").items()
            },
            distiller=plain(self._table("distiller", data.get("distiller", {}))),
            path=self._file,
        )

    def _mistake(self, value: Any, key: str, what: str) -> ConfigError:
        shown = key if key.isprintable() else ascii(key)  # one line, whatever a key is called
        return ConfigError(f"{self._tree.origin(value)}: {shown}: {what}")

    def _table(self, key: str, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self._mistake(value, key, f"expected a table, got {_shape(plain(value))}.")
        return value

    def _named(self, section: str) -> dict[str, Any]:
        table = self._table(section, self._tree.data.get(section, {}))
        for name, value in table.items():
            if not _NAME.fullmatch(name):
                expected = "expected a name of letters, digits, `.`, `_` and `-`, 64 at most"
                raise self._mistake(value, f"{section}.{name!r}", f"{expected}.")
        return table

    def _record(self, kind: type[_S], key: str, value: Any) -> _S:
        table = self._table(key, value)
        fields = {one.name: one.type for one in msgspec.structs.fields(kind)}
        for name, entry in table.items():
            if name not in fields:
                raise self._mistake(entry, f"{key}.{name}", f"is no key of this section; {_meant(name, fields)}")
        return kind(**{name: self._value(f"{key}.{name}", fields[name], entry) for name, entry in table.items()})

    def _value(self, key: str, kind: Any, entry: Any) -> Any:
        bounds = _BOUNDS.get(key) or _BOUNDS.get(key.rpartition(".")[2])
        expected = bounds[2] if bounds else _expected(kind)
        candidates = entry.candidates if isinstance(entry, Leaf) else (plain(entry),)
        for candidate in candidates:
            try:
                value = msgspec.convert(candidate, kind, dec_hook=_to_path)
            except msgspec.ValidationError:
                continue
            if bounds and not bounds[0] <= value <= bounds[1]:
                raise self._mistake(entry, key, f"expected {expected}, got {value}.")
            return value
        raise self._mistake(entry, key, f"expected {expected}, got {_shape(candidates[0])}.")

    def _agent(self, name: str, value: Any) -> AgentConfig:
        table = dict(self._table(f"agents.{name}", value))
        known: dict[str, Any] = {
            "transport": str, "policy": str, "cwd": str, "approval_allowlist": tuple[str, ...]
        }  # fmt: skip
        given = {
            key: self._value(f"agents.{name}.{key}", known[key], table.pop(key)) for key in known if key in table
        }
        if not given.get("transport"):
            close = get_close_matches("transport", table, 1, 0.6)
            hint = f"; did you mean it with `{close[0]}`?" if close else "."
            expected = "expected the name of a transport (sdk, tmux, scripted), got none"
            raise self._mistake(value, f"agents.{name}.transport", expected + hint)
        for entry in given.get("approval_allowlist", ()):
            try:
                allowlisted(entry)
            except ValueError as error:
                raise self._mistake(
                    value, f"agents.{name}.approval_allowlist", f"{error}, got {entry!r}."
                ) from None
        given["cwd"] = str(self._absolute(given.get("cwd", ".")))
        return AgentConfig(name=name, options=plain(table), **given)

    def _server(self, section: Any) -> ServerConfig:
        server = self._record(ServerConfig, "server", section)
        if server.tls_key is not None and server.tls_cert is None:
            raise self._mistake(section["tls_key"], "server.tls_key", "is of no use without server.tls_cert.")
        for entry in server.trusted_proxies:
            try:
                ip_network(entry)
            except ValueError as error:
                expected = "expected an address or a network, as 127.0.0.1 or 10.0.0.0/8"
                raise self._mistake(
                    section["trusted_proxies"], "server.trusted_proxies", f"{expected}; {error}."
                ) from None
        return msgspec.structs.replace(
            server,
            tls_cert=None if server.tls_cert is None else self._absolute(str(server.tls_cert)),
            tls_key=None if server.tls_key is None else self._absolute(str(server.tls_key)),
        )

    def _check_url(self, url: str, section: Any) -> None:
        scheme, found, _ = url.partition("://")
        if url != "embedded" and not (found and scheme in SCHEMES):
            expected = f"expected `embedded` or a URL of {', '.join(f'{one}://' for one in SCHEMES)}"
            got = f"{scheme}://" if found else "no such URL"
            raise self._mistake(section.get("url"), "store.url", f"{expected}; got {got}.")

    def _absolute(self, text: str) -> Path:
        """``text`` with ``~`` expanded, absolute; relative paths start at the file's directory."""
        if (text == "~" or text.startswith("~/")) and (home := self._environ.get("HOME")):
            text = home + text[1:]
        return Path(os.path.normpath(self._base / Path(text).expanduser()))
