"""What ``turnhub doctor`` looks at. Each check gives findings; none changes anything."""

from __future__ import annotations

import errno
import os
import platform
import re
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from hub import __version__, distiller, plugins
from hub.client import Client, ClientError, HubNotReachable, ProblemError, discover
from hub.config import Config
from hub.configload import check_policies, load
from hub.errors import ConfigError, PluginError
from hub.exposure import check_exposure, is_loopback, warnings
from hub.front.tls import server_context
from hub.plugins import Plugins
from hub.policies import hand_over

_PATIENCE_S = 2.0
_GUESSABLE = 20
_SENTENCES = re.compile(r"(?<=[.!]) (?=[A-Z])")


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
    above = next(one for one in (state, *state.parents) if one.exists())
    reason = _not_writable(above)
    if above != state:
        if reason is None:
            yield ok(name, f"{state} is made at the first start")
        else:
            yield wrong(name, f"{state} cannot be made in {above}: {reason}", "name another one with --state")
        return
    if reason is not None:
        mend = f"sudo chown -R $USER {state}"
        if reason == os.strerror(errno.ENOSPC):
            mend = "free some space, or name another one with --state"
        elif not state.is_dir():
            mend = f"move {state} away, or name another one with --state"
        yield wrong(name, f"{state} cannot be used: {reason}", mend)
        return
    if state.stat().st_mode & 0o077:
        yield wrong(name, f"{state} is open to others", f"chmod 700 {state}")
        return
    yield ok(name, str(state))
    for file in ("token", "tokens.json"):
        path = state / file
        if path.exists() and path.stat().st_mode & 0o077:
            yield wrong(name, f"{path} is open to others", f"chmod 600 {path}")


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
    found = list(plugins.agents(config, loaded))
    # Nobody has asked for the agents of the defaults: where one can run, the other is worth a note.
    say = note if config.path is None and any(one.available for one in found) else wrong
    for one in found:
        if one.available:
            yield ok(f"agent {one.name}", f"by {one.transport}")
        else:
            yield say(f"agent {one.name}", *_told(one.reason or "it cannot run here"))


def _told(reason: str) -> tuple[str, str | None]:
    """A transport's reason as what is wrong, its first sentence, and what mends it, the others."""
    first, *rest = _SENTENCES.split(reason, maxsplit=1)
    return first, rest[0] if rest else None


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


def _not_writable(folder: Path) -> str | None:
    """Why nothing can be written in ``folder``; None where it can. It is tried, with a file without a name: rights
    alone do not tell of full disks and of what only looks like a directory."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(4096))
            file.flush()
    except OSError as error:
        return error.strerror or str(error)
    return None


async def running(config: Config, environ: Mapping[str, str]) -> Finding:
    """Whether a hub runs where clients would look for it, of which version, whether it knows our token and is
    ready; if none does, whether its port is free."""
    try:
        address = discover(None, None, config.store.state, config.server, environ)
        async with Client(address, timeout_s=_PATIENCE_S) as client:
            version = (await client.health()).get("version")
            if version != __version__:
                detail = f"{address.url} runs version {version}, installed is {__version__}"
                return wrong("hub", detail, "stop it and start it again: turnhub serve")
            await client.readiness()
    except ProblemError as problem:
        return _refused(address.url, problem)
    except HubNotReachable as error:
        if url := environ.get("TURNHUB_URL"):
            return wrong(
                "hub", f"none answers at TURNHUB_URL ({url}: {error.detail})", "start it, or unset TURNHUB_URL"
            )
        return _port(config.server.host, config.server.port)
    except ClientError as error:
        return wrong("hub", error.detail)
    return ok("hub", f"version {version} runs at {address.url}")


def _refused(url: str, problem: ProblemError) -> Finding:
    if problem.code in {"unauthorized", "missing_scope"}:
        mend = "set TURNHUB_TOKEN to what `turnhub token` shows on the hub's machine, or unset a wrong one"
        return wrong("hub", f"the hub at {url} does not know our token, or it may not read", mend)
    if problem.status == 503:
        return wrong("hub", f"the hub at {url} is not ready: {problem.detail}", "see its log")
    return wrong(
        "hub", f"what answers at {url} is no hub ({problem.detail})", "stop it, or choose another server.port"
    )


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
