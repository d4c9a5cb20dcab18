"""TLS of the front: the certificate and its key, read once at the start."""

from __future__ import annotations

import re
import ssl
from pathlib import Path
from typing import Final

from hub.errors import ConfigError

_PEM: Final = re.compile(r"-----BEGIN CERTIFICATE-----\n.+?\n-----END CERTIFICATE-----\n?", re.DOTALL)


def server_context(cert: Path, key: Path | None = None) -> ssl.SSLContext:
    """TLS 1.2 or newer with the certificate in ``cert`` and the key in ``key`` (else in the same file). Raises
    ConfigError, which names what cannot be read or does not fit together."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION
    _check_readable("server.tls_cert", cert)
    if key is not None:
        _check_readable("server.tls_key", key)
    try:
        context.load_cert_chain(cert, key, password=_no_password)
    except _Encrypted:
        raise ConfigError(
            f"server.tls_key: {key or cert} is encrypted, and nobody is there to type its password. Store it "
            "without one, readable by the hub's user only: openssl pkey -in KEY -out NEW-KEY."
        ) from None
    except ssl.SSLError as error:
        raise ConfigError(_why(error, cert, key)) from None
    return context


def leaf(cert: Path) -> str | None:
    """The first certificate in ``cert``, as PEM: the one that clients are shown. None where there is none."""
    found = _PEM.search(cert.read_text(encoding="ascii", errors="replace").replace("\r\n", "\n"))
    return found[0] if found else None


class _Encrypted(Exception):
    """The key wants a password."""


def _no_password() -> str:
    raise _Encrypted


def _check_readable(name: str, path: Path) -> None:
    try:
        with path.open("rb"):
            pass
    except OSError as error:
        raise ConfigError(f"{name}: {path} cannot be read ({error.strerror}).") from None


def _why(error: ssl.SSLError, cert: Path, key: Path | None) -> str:
    if error.reason == "KEY_VALUES_MISMATCH":
        return f"server.tls_key: {key or cert} is not the key of the certificate in {cert}."
    where = f"{cert} and {key}" if key is not None else f"{cert} (with no server.tls_key, the key has to be in it)"
    told = error.reason or "no PEM"
    return f"server.tls_cert: no certificate with its key can be read from {where}: {told}. Both are PEM files."
