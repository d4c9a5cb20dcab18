"""Words that were typed at the agent's own keyboard: one message, however often and by whom they are told of."""

from __future__ import annotations

import hashlib
from typing import Final

TYPED_THERE: Final = "Typed at its keyboard."


def keyboard_key(key: str) -> str:
    """The idempotency key of the prompt that the agent itself knows by ``key``."""
    return f"keyboard {hashlib.sha256(key.encode(errors='surrogatepass')).hexdigest()}"
