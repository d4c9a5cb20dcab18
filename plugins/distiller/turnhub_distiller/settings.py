"""``[distiller]``: its keys, and what they have to be."""

from __future__ import annotations

import difflib
import importlib.util
import ipaddress
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, Struct

from hub import ConfigError, DistillerSettings
from turnhub_distiller.secrecy import Rules, Spot

EXTRACTIVE: Final = "extractive"
LOCAL: Final = "local"
_CLOUD_S: Final = 30.0
_LOCAL_S: Final = 90.0
_INSTALL: Final = "pip install 'turnhub-distiller[models]'"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

Tokens = Annotated[int, Meta(ge=1, le=1_000_000)]
Words = Annotated[str, Meta(min_length=1)]
Provider = Literal["anthropic", "openai"]


class _Route(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    provider: Provider
    model: Words
    base_url: Annotated[str, Meta(pattern=r"^https?://[^\s/]+")] | None = None
    api_key_env: Annotated[str, Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] | None = None
    answer_tokens: Tokens = 500
    thinking_tokens: Annotated[int, Meta(ge=0, le=1_000_000)] = 1500
    timeout_s: Annotated[float, Meta(gt=0, le=3600)] | None = None
    local: bool | None = None


class Route(Struct, frozen=True, kw_only=True):
    """A model route. ``cap``: the most tokens that one answer may take, reasoning included. ``local``: what is
    sent stays on machines of one's own."""

    name: str
    provider: Provider
    model: str
    base_url: str | None
    api_key_env: str
    answer_tokens: int
    thinking_tokens: int
    timeout_s: float
    local: bool

    @property
    def cap(self) -> int:
        """The answer's budget and the reasoning's."""
        return self.answer_tokens + self.thinking_tokens


class Settings(Struct, frozen=True, kw_only=True):
    """What the configuration says. A route of None is the extractive one. ``fallback``: what a route fails at is
    made by the extractive one."""

    route: Route | None = None
    sensitive_route: Route | None = None
    fallback: bool = True
    rules: Rules = Rules()


_EXPECTED: Final[Mapping[str, str]] = {
    "route": '"extractive" or the name of a route below [distiller.routes]',
    "sensitive_route": '"extractive" or the name of a local route below [distiller.routes]',
    "fallback": '"extractive" or "none"',
    "sensitive": "a table with lists `paths` and `content`",
    "routes": "a table of routes",
}
_EXPECTED_OF_ROUTE: Final[Mapping[str, str]] = {
    "provider": '"anthropic" or "openai" (which speaks to every server with that interface)',
    "model": "a model's name in quotes",
    "base_url": "an address that begins with http:// or https://",
    "api_key_env": "the name of an environment variable",
    "answer_tokens": "a whole number from 1 to 1000000",
    "thinking_tokens": "a whole number from 0 to 1000000",
    "timeout_s": "a number of seconds above 0, 3600 at most",
    "local": "true or false",
}


def settings_of(given: DistillerSettings) -> Settings:
    """The settings. Raises ConfigError, naming file and key and what was expected, in one line."""
    where, values = given.where, given.values
    _check_keys(where, "distiller", values, _EXPECTED)
    routes = _routes(where, values.get("routes", {}))
    fallback = values.get("fallback", EXTRACTIVE)
    if fallback not in (EXTRACTIVE, "none"):
        raise _mistake(where, "distiller.fallback", _EXPECTED["fallback"], fallback)
    made = Settings(
        route=_chosen(where, "route", values.get("route", EXTRACTIVE), routes),
        sensitive_route=_sensitive_route(where, values.get("sensitive_route", LOCAL), routes),
        fallback=fallback == EXTRACTIVE,
        rules=_rules(where, values.get("sensitive", {})),
    )
    _check_installed(where, "route", made.route)
    _check_installed(where, "sensitive_route", made.sensitive_route)
    return made


def _routes(where: str, tables: Any) -> dict[str, Route]:
    if not isinstance(tables, Mapping):
        raise _mistake(where, "distiller.routes", _EXPECTED["routes"], tables)
    return {name: _route(where, name, table) for name, table in tables.items()}


def _route(where: str, name: str, table: Any) -> Route:
    key = f"distiller.routes.{name}"
    if not _NAME.fullmatch(name) or name in (EXTRACTIVE, "none"):
        expected = "expected a name of letters, digits, `.`, `_` and `-`, not `extractive` or `none`"
        raise ConfigError(f"{where}: distiller.routes.{name!r}: {expected}.")
    if not isinstance(table, Mapping):
        raise _mistake(where, key, "a table", table)
    _check_keys(where, key, table, _EXPECTED_OF_ROUTE)
    for needed in ("provider", "model"):
        if needed not in table:
            raise ConfigError(f"{where}: {key}.{needed}: expected {_EXPECTED_OF_ROUTE[needed]}, got nothing.")
    try:
        read = msgspec.convert(table, _Route)
    except msgspec.ValidationError as error:
        found = re.search(r"`\$\.(\w+)", str(error))
        wrong = found[1] if found else "provider"
        raise _mistake(where, f"{key}.{wrong}", _EXPECTED_OF_ROUTE[wrong], table[wrong]) from None
    local = read.local if read.local is not None else _at_home(read.base_url)
    return Route(
        name=name,
        provider=read.provider,
        model=read.model,
        base_url=read.base_url,
        api_key_env=read.api_key_env or f"{read.provider.upper()}_API_KEY",
        answer_tokens=read.answer_tokens,
        thinking_tokens=read.thinking_tokens,
        timeout_s=read.timeout_s or (_LOCAL_S if local else _CLOUD_S),
        local=local and read.base_url is not None,
    )


def _at_home(base_url: str | None) -> bool:
    """Whether an address is one of this machine, or a private one of a network of one's own."""
    host = (urlsplit(base_url).hostname or "") if base_url else ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or (address.is_private and not address.is_unspecified)


def _chosen(where: str, key: str, name: Any, routes: Mapping[str, Route]) -> Route | None:
    if name == EXTRACTIVE:
        return None
    if not isinstance(name, str) or name not in routes:
        raise _mistake(where, f"distiller.{key}", f"{_EXPECTED[key]}{_offer(routes)}", name)
    return routes[name]


def _sensitive_route(where: str, name: Any, routes: Mapping[str, Route]) -> Route | None:
    """Without a route called ``local`` there is no local route, which is no mistake."""
    if name == LOCAL and LOCAL not in routes:
        return None
    route = _chosen(where, "sensitive_route", name, routes)
    if route is not None and not route.local:
        raise ConfigError(
            f"{where}: distiller.sensitive_route: expected a local route (its base_url on this machine or a "
            f"private network, or `local = true` beside a base_url), got {name!r}, which sends it elsewhere."
        )
    return route


def _rules(where: str, table: Any) -> Rules:
    key = "distiller.sensitive"
    if not isinstance(table, Mapping):
        raise _mistake(where, key, _EXPECTED["sensitive"], table)
    _check_keys(where, key, table, {"paths": "", "content": ""})
    lists: dict[str, tuple[str, ...]] = {}
    for name in ("paths", "content"):
        given = table.get(name, [])
        if not isinstance(given, list | tuple) or not all(isinstance(one, str) and one for one in given):
            raise _mistake(where, f"{key}.{name}", "a list of texts", given)
        lists[name] = tuple(given)
    patterns = []
    for number, text in enumerate(lists["content"]):
        try:
            patterns.append(re.compile(text))
        except re.error as error:
            raise ConfigError(
                f"{where}: {key}.content[{number}]: expected a regular expression, got {text!r} ({error})."
            ) from None
    spots = [Spot.of(str(Path(one).expanduser()) if one.startswith("~") else one) for one in lists["paths"]]
    return Rules(paths=tuple(spots), content=tuple(patterns))


def _check_installed(where: str, key: str, route: Route | None) -> None:
    if route is None:
        return
    for module in ("pydantic_ai", route.provider):
        if importlib.util.find_spec(module) is None:
            raise ConfigError(
                f"{where}: distiller.{key}: {route.name!r} is a route to a model, and {module} is not installed; "
                f"mend it with: {_INSTALL}"
            )


def _check_keys(where: str, section: str, table: Mapping[str, Any], known: Mapping[str, str]) -> None:
    for key in table:
        if key not in known:
            close = difflib.get_close_matches(key, known, n=1)
            meant = f"did you mean `{close[0]}`?" if close else f"expected one of {', '.join(sorted(known))}."
            shown = key if key.isprintable() else ascii(key)
            raise ConfigError(f"{where}: {section}.{shown}: is no key of this section; {meant}")


def _mistake(where: str, key: str, expected: str, got: Any) -> ConfigError:
    names = {
        dict: "a table",
        list: "a list",
        str: f"{got!r}",
        bool: "true or false",
        int: f"{got}",
        float: f"{got}",
    }
    return ConfigError(f"{where}: {key}: expected {expected}, got {names.get(type(got), type(got).__name__)}.")


def _offer(routes: Mapping[str, Route]) -> str:
    return f" ({', '.join(sorted(routes))})" if routes else " (there is none)"
