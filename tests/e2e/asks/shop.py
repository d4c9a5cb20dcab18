"""An MCP server over stdin and stdout that asks its user what to order, and tells what it was told."""

from __future__ import annotations

import json
import sys
from typing import Any, Final

FORM: Final = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": "Who orders", "maxLength": 20},
        "size": {"type": "string", "title": "Size", "enum": ["s", "l"], "enumNames": ["Small", "Large"]},
        "gift": {"type": "boolean", "title": "As a gift?"},
        "count": {"type": "integer", "title": "How many", "minimum": 1, "maximum": 9},
    },
    "required": ["name", "size"],
}
_TOOL: Final = {"name": "order", "description": "Order something", "inputSchema": {"type": "object"}}


def send(**message: Any) -> None:
    """One message."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def serve() -> None:
    """Until stdin ends."""
    call: Any = None
    for line in sys.stdin:
        message = json.loads(line)
        name, number = message.get("method"), message.get("id")
        match name:
            case "initialize":
                version = message["params"]["protocolVersion"]
                info = {"name": "shop", "version": "1"}
                send(
                    id=number,
                    result={"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info},
                )
            case "tools/list":
                send(id=number, result={"tools": [_TOOL]})
            case "tools/call":
                call = number
                asked = {"message": "What shall be ordered?", "requestedSchema": FORM}
                send(id="asked", method="elicitation/create", params=asked)
            case None if number == "asked":
                told = json.dumps(message.get("result", message.get("error")), sort_keys=True)
                send(id=call, result={"content": [{"type": "text", "text": f"Told: {told}"}]})
            case "ping":
                send(id=number, result={})
            case _ if number is not None and name is not None:
                send(id=number, error={"code": -32601, "message": "unknown"})


if __name__ == "__main__":
    serve()
