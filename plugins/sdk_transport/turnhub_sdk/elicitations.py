"""What an agent's MCP servers ask their user (elicitations). Claude Code hands them on to its host; the SDK for
Python knows no such request and refuses it, whereupon the server is told that its user cancelled. Here they are
answered, in the SDK's own place for requests of Claude Code."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeAlias

import structlog
from claude_agent_sdk import ClaudeSDKClient

Elicit: TypeAlias = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]
"""Answers the elicitation of this name, with what was requested: ``{"action", "content"}``. Never raises."""

_HANDLER: Final = "_handle_control_request"


def answer_elicitations(sdk: ClaudeSDKClient, elicit: Elicit) -> None:
    """Have ``elicit`` answer elicitations from now on. Where the SDK is built another way than known, that is said
    in the log, and elicitations are cancelled as before."""
    query: Any = getattr(sdk, "_query", None)
    others = getattr(query, _HANDLER, None)
    transport = getattr(query, "transport", None)
    if others is None or transport is None:
        structlog.get_logger(__name__).warning("elicitations_unanswered", reason="unknown build of the SDK")
        return

    async def handle(request: dict[str, Any]) -> None:
        wanted = request["request"]
        if wanted.get("subtype") != "elicitation":
            await others(request)
            return
        name = request["request_id"]
        answer = await elicit(name, wanted)
        said = {"subtype": "success", "request_id": name, "response": answer}
        await transport.write(json.dumps({"type": "control_response", "response": said}) + "\n")

    setattr(query, _HANDLER, handle)
