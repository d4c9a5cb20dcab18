"""Where the hub is and what lets us in: what was given, else the environment, else the state directory."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct

from hub.client.errors import ClientError
from hub.config import Config, ServerConfig
from hub.configload import load
from hub.exposure import is_loopback
from hub.statedir import read_note


class Address(Struct, frozen=True, kw_only=True):
    """A hub's URL without a slash at its end, and the token for it (None when there is none to be found).
    ``certificate``: the one (PEM) that the hub is known to have, whatever name it is reached by; None: one that
    the machine's authorities (or SSL_CERT_FILE) vouch for."""

    url: str
    token: str | None = None
    certificate: str | None = None


def local_url(server: ServerConfig) -> str:
    """The URL of a hub on this machine that was started with ``server``."""
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(server.host, server.host)  # noqa: S104 - read, not bound
    scheme = "http" if server.tls_cert is None else "https"
    named = f"[{host}]" if ":" in host and "[" not in host else host
    return f"{scheme}://{named}:{server.port}"


def here(environ: Mapping[str, str] = os.environ) -> Address:
    """The hub that the command line would talk to in this folder: TURNHUB_URL and TURNHUB_TOKEN, else that of the
    state directory. Raises ConfigError for a mistake in ./turnhub.toml, and what :func:`discover` raises."""
    given = environ.get("TURNHUB_URL") and environ.get("TURNHUB_TOKEN")
    config = Config() if given else load(environ=environ)
    return discover(None, None, config.store.state, config.server, environ)


def discover(
    url: str | None, token: str | None, state: Path, server: ServerConfig, environ: Mapping[str, str]
) -> Address:
    """The hub to talk to: ``url``, else TURNHUB_URL, else what the hub of ``state`` noted, else ``server``.

    The token file of ``state`` is only used for hubs on this machine: it is sent to nobody else. Raises
    ClientError for a URL or a token that cannot be one.
    """
    note = read_note(state)
    url = url or environ.get("TURNHUB_URL") or (note.url if note else local_url(server))
    certificate = note.certificate if note and note.url == url.rstrip("/") else None
    host = _host(url)
    token = token or environ.get("TURNHUB_TOKEN") or (_stored(state) if is_loopback(host) else None)
    if token is not None and not (token.isascii() and token.isprintable()):
        raise ClientError("The token has characters that no token has; copy it again, without line breaks.")
    return Address(url=url.rstrip("/"), token=token, certificate=certificate)


def _host(url: str) -> str:
    expected = f"{url!r} is no address of a hub: expected http://HOST:PORT or https://HOST:PORT."
    try:
        parts = urlsplit(url)
        valid = parts.scheme in {"http", "https"} and parts.hostname and (parts.port is None or parts.port > 0)
    except ValueError:
        raise ClientError(expected) from None
    if not valid or not parts.hostname or parts.query or parts.fragment:
        raise ClientError(expected)
    return parts.hostname


def _stored(state: Path) -> str | None:
    try:
        return (state / "token").read_text(encoding="ascii").strip() or None
    except (OSError, UnicodeDecodeError):
        return None  # the hub's 401 says what is missing
