"""The configuration: ``turnhub.toml``, overridden by ``TURNHUB_<SECTION>__<KEY>`` in the environment."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

from msgspec import Struct, field

_ALLOWLISTED: Final = re.compile(r"(?P<tool>[A-Za-z_][A-Za-z0-9_.:-]*)(?:\((?P<subject>.*)\))?", re.DOTALL)


class ServerConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the front listens, whom it believes, and how much it takes from anybody.

    ``tls_cert``: a PEM file with the certificate and those between it and its authority; ``tls_key``: its key,
    None where it stands in the same file. ``insecure_bind``: listen beyond this machine without TLS.
    ``trusted_proxies``: addresses and networks whose ``X-Forwarded-For`` and ``X-Forwarded-Proto``
    are believed.
    ``requests_per_s`` and ``request_burst``: what one token may ask for in the long run and at once (0 requests
    per second: as much as it likes); ``max_streams_per_token``: its open streams;
    ``max_wrong_tokens_per_minute``: what an address of another machine may guess (0: as much as it likes).
    Connections, heads and bodies are bounded for everybody, before any token is known.
    """

    host: str = "127.0.0.1"
    port: int = 8420
    tls_cert: Path | None = None
    tls_key: Path | None = None
    insecure_bind: bool = False
    allowed_hosts: tuple[str, ...] = ("localhost", "127.0.0.1", "[::1]")
    allowed_origins: tuple[str, ...] = ()
    trusted_proxies: tuple[str, ...] = ()
    max_body_bytes: int = 1 << 20
    max_import_bytes: int = 64 << 20
    max_head_bytes: int = 64 << 10
    head_timeout_s: float = 10.0
    body_timeout_s: float = 30.0
    idle_timeout_s: float = 30.0
    max_connections: int = 10_000
    max_connections_per_address: int = 1_000
    max_streams_per_token: int = 4_000
    requests_per_s: float = 500.0
    request_burst: int = 5_000
    max_wrong_tokens_per_minute: int = 30


class StoreConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the truth lives. ``url``: embedded, redis://, rediss://, redis+sentinel://, redis+cluster://,
    unix://. ``state``: a directory for the token, the embedded store and the transports' own files."""

    url: str = "embedded"
    state: Path = Path("~/.local/state/turnhub")


class PluginsConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which plugins are loaded, by entry point name. ``scripted`` is always there."""

    enabled: tuple[str, ...] = ("tmux", "sdk", "permissions", "distiller")


class RunnerConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Bounds of the runner, in seconds unless named otherwise. ``distill_at_once``: how many ended turns are
    distilled side by side; ``distill_backlog``: how many may wait for it in each of the store's 64 parts.
    ``output_keep_s``: how long the whole output of a tool can be fetched (0: never); at most ``output_most_bytes``
    of one and ``outputs_most_bytes`` of a session are kept."""

    lease_s: float = 10.0
    idle_s: float = 600.0
    interrupt_grace_s: float = 5.0
    shutdown_grace_s: float = 5.0
    stall_s: float = 300.0
    batch_ms: float = 4.0
    live_grace_s: float = 300.0
    live_limit: int = 20_000
    output_keep_s: float = 3600.0
    output_most_bytes: int = 1 << 20
    outputs_most_bytes: int = 16 << 20
    distill_at_once: int = 2
    distill_backlog: int = 1_000


class AgentConfig(Struct, frozen=True, kw_only=True):
    """One ``[agents.NAME]``. ``approval_allowlist``: what its sessions are granted from the start, each
    ``Tool(subject)`` literally. ``options`` are all other keys; the transport checks them."""

    name: str
    transport: str
    policy: str | None = None
    cwd: str = "."
    approval_allowlist: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)


class PolicyConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One ``[policies.NAME]``. ``ask_timeout_s``: how long an ask waits before it is denied; ``unattended``:
    nobody is there to answer, so what would be asked is denied at once; ``sensitive``: what its turns say goes to
    no model elsewhere for distillation. What a policy leaves out holds as in those that it extends."""

    extends: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    ask_timeout_s: float | None = None
    unattended: bool | None = None
    on_failure: Literal["pause", "continue"] | None = None
    sensitive: bool | None = None


class Config(Struct, frozen=True, kw_only=True):
    """The whole configuration; ``path`` is the file it came from, None when there was none. ``distiller`` is
    handed to the distiller plugin as it stands."""

    server: ServerConfig = field(default_factory=ServerConfig)
    store: StoreConfig = field(default_factory=StoreConfig)
    plugins: PluginsConfig = field(default_factory=PluginsConfig)
    runner: RunnerConfig = field(default_factory=RunnerConfig)
    agents: Mapping[str, AgentConfig] = field(default_factory=dict)
    policies: Mapping[str, PolicyConfig] = field(default_factory=dict)
    distiller: Mapping[str, Any] = field(default_factory=dict)
    path: Path | None = None


def allowlisted(entry: str) -> tuple[str, str | None]:
    """Tool and literal subject of an allow-list's ``Tool(subject)``; of a bare ``Tool`` there is no subject.
    Raises ValueError."""
    found = _ALLOWLISTED.fullmatch(entry)
    if found is None:
        raise ValueError("expected Tool or Tool(subject)")
    return found["tool"], found["subject"]
