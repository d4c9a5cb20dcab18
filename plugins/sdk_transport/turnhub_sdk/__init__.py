"""The transport ``sdk``: Claude Code through the Claude Agent SDK.

Importing this is cheap: the SDK itself is loaded when the first session of an agent is opened.
"""

from collections.abc import Callable

from hub import Transport, hookimpl
from turnhub_sdk.transport import SdkTransport

__all__ = ["SdkTransport", "register_transports"]


@hookimpl
def register_transports(register: Callable[[Transport], None]) -> None:
    """Offer the transport ``sdk``."""
    register(SdkTransport())
