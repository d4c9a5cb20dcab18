"""Certificates for tests, made on the spot by an authority of their own."""

from __future__ import annotations

import ssl
from pathlib import Path

import trustme
from msgspec import Struct


class Issued(Struct, frozen=True):
    """A certificate's file, its key's, and what a client needs to believe it."""

    cert: Path
    key: Path
    authority: Path
    trusting: ssl.SSLContext


def issue(folder: Path, *names: str) -> Issued:
    """A certificate for ``names`` (``localhost`` and 127.0.0.1 without any), as files in ``folder``."""
    authority = trustme.CA()
    made = authority.issue_cert(*(names or ("localhost", "127.0.0.1")))
    folder.mkdir(exist_ok=True)
    cert, key, above = (folder / name for name in ("hub.pem", "hub.key", "authority.pem"))
    cert.write_bytes(b"".join(one.bytes() for one in made.cert_chain_pems))
    key.write_bytes(made.private_key_pem.bytes())
    authority.cert_pem.write_to_path(above)
    trusting = ssl.create_default_context(cafile=above)
    return Issued(cert, key, above, trusting)
