"""Pure: the Anthropic Messages API as the agent's command line speaks it: requests read, answers written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Struct, field

from hub.testing.model_script import Cut, Exchange, Fail, Hold, Pause, Reply, Say, Stall, Think, ToolResult, Use

SECRETS: Final = frozenset({"x-api-key", "authorization", "cookie"})
_META = re.compile(
    r"\s*(<(system-reminder|local-command-caveat|local-command-stdout|command-name)>"
    r"|\[Request interrupted by user)"
)
_KINDS: Final[Mapping[int, str]] = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


class ModelRequest(Struct, frozen=True, kw_only=True):
    """A request that reached the model. ``headers`` have lower-case names and no credentials; ``body`` is the
    decoded JSON, empty where there was none. ``side``: it is no turn of a conversation, but housekeeping of the
    command line (a title, a quota probe)."""

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: dict[str, Any] = field(default_factory=dict)
    side: bool = False

    @property
    def prompts(self) -> tuple[str, ...]:
        """What persons said in this conversation, oldest first."""
        return tuple(_prompts(self.body.get("messages", ())))

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """All tool results in this conversation, oldest first."""
        return tuple(_results(self.body.get("messages", ())))

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of the tools that the model may call."""
        return tuple(str(tool.get("name")) for tool in self.body.get("tools") or ())


def _blocks(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())


def _texts(message: Mapping[str, Any]) -> Iterator[str]:
    blocks = _blocks(message)
    for number, block in enumerate(blocks, start=1):
        text = str(block.get("text", ""))
        if block.get("type") == "text" and text.strip() and not _META.match(text):
            # The command line puts a newline between texts that it merges into one message.
            yield text if number == len(blocks) else text.removesuffix("\n")


def _prompts(messages: Any) -> Iterator[str]:
    for message in messages:
        if message.get("role") == "user":
            yield from _texts(message)


def _text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content or () if part.get("type") == "text")


def _results(messages: Any) -> Iterator[ToolResult]:
    for message in messages:
        for block in _blocks(message):
            if block.get("type") == "tool_result":
                yield ToolResult(
                    tool_use_id=str(block.get("tool_use_id")),
                    text=_text_of(block.get("content")),
                    is_error=bool(block.get("is_error")),
                )


def session_of(request: ModelRequest) -> str:
    """What tells conversations apart: the command line's own session id, where it says one."""
    if told := request.headers.get("x-claude-code-session-id"):
        return told
    return str((request.body.get("metadata") or {}).get("user_id", ""))


def exchange_of(request: ModelRequest) -> Exchange:
    """What a script is told of a request; ``number`` is left at 0."""
    messages = list(request.body.get("messages", ()))
    since = _last_prompt(messages)
    prompts = request.prompts
    return Exchange(
        text=prompts[-1] if prompts else "",
        prompts=prompts,
        unanswered=max(1, len(list(_prompts(messages[_last_answer(messages) + 1 :])))),
        results=tuple(_results(messages[since:])),
        session=session_of(request),
    )


def _last_prompt(messages: list[dict[str, Any]]) -> int:
    found = [i for i, m in enumerate(messages) if m.get("role") == "user" and any(_texts(m))]
    return found[-1] if found else 0


def _last_answer(messages: list[dict[str, Any]]) -> int:
    found = [i for i, m in enumerate(messages) if m.get("role") == "assistant"]
    return found[-1] if found else -1


def is_side(request: ModelRequest) -> bool:
    """Whether a request is housekeeping of the command line: a quota probe, a title, a small helper's job."""
    body = request.body
    if not request.headers.get("user-agent", "").startswith("claude-cli") or body.get("tools"):
        return False
    formatted = bool((body.get("output_config") or {}).get("format"))
    helper = not body.get("stream") or "haiku" in str(body.get("model"))
    return body.get("max_tokens") == 1 or formatted or helper


# -- answers ---------------------------------------------------------------------------------------------

Frame: TypeAlias = bytes | Pause | Stall | Hold | Cut


def _sse(kind: str, **data: Any) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (kind.encode(), json.dumps({"type": kind, **data}).encode())


def _pieces(text: str, chunk: int) -> list[str]:
    if chunk > 0:
        return [text[i : i + chunk] for i in range(0, len(text), chunk)]
    return re.findall(r"\s*\S+\s*$|\s*\S+|\s+", text)


def stop_reason(answer: Reply) -> str:
    """The stop reason of a reply."""
    return answer.stop or ("tool_use" if any(isinstance(p, Use) for p in answer.parts) else "end_turn")


def message_of(answer: Reply, model: str, message_id: str) -> dict[str, Any]:
    """The reply as one JSON message, as it goes to a request that does not stream."""
    head = _head(answer, model, message_id)
    content = [
        _block(p, f"{message_id}_{n}") for n, p in enumerate(answer.parts) if isinstance(p, Say | Think | Use)
    ]
    usage = {"input_tokens": answer.input_tokens, "output_tokens": answer.output_tokens}
    return {**head, "content": content, "stop_reason": stop_reason(answer), "usage": usage}


def _head(answer: Reply, model: str, message_id: str) -> dict[str, Any]:
    return {
        "id": message_id,
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {
            "input_tokens": answer.input_tokens,
            "output_tokens": 0,
            "cache_read_input_tokens": 0,
            "cache_creation_input_tokens": 0,
        },
    }


def _block(part: Say | Think | Use, unique: str) -> dict[str, Any]:
    match part:
        case Say():
            return {"type": "text", "text": part.text}
        case Think():
            return {"type": "thinking", "thinking": part.text, "signature": "c2NyaXB0ZWQ="}
        case Use():
            return {"type": "tool_use", "id": part.id or f"toolu_{unique}", "name": part.name, "input": part.input}


def frames(answer: Reply, model: str, message_id: str) -> Iterator[Frame]:
    """The reply as a stream: SSE frames, and where to wait, stall or cut."""
    yield _sse("message_start", message=_head(answer, model, message_id))
    yield _sse("ping")
    index = 0
    for number, part in enumerate(answer.parts):
        if isinstance(part, Pause | Stall | Hold | Cut):
            yield part
            continue
        yield from _block_frames(part, index, f"{message_id}_{number}")
        index += 1
    yield _sse(
        "message_delta",
        delta={"stop_reason": stop_reason(answer), "stop_sequence": None},
        usage={"output_tokens": answer.output_tokens},
    )
    yield _sse("message_stop")


def _block_frames(part: Say | Think | Use, index: int, unique: str) -> Iterator[Frame]:
    block = _block(part, unique)
    empty: dict[str, Any] = {"text": "", "thinking": "", "signature": "", "input": {}}
    start = {**block, **{key: value for key, value in empty.items() if key in block}}
    yield _sse("content_block_start", index=index, content_block=start)
    every_s = 0.0 if isinstance(part, Use) else part.every_s
    for delta in _deltas(part):
        if every_s:
            yield Pause(every_s)
        yield _sse("content_block_delta", index=index, delta=delta)
    if part.close:
        yield _sse("content_block_stop", index=index)


def _deltas(part: Say | Think | Use) -> Iterator[dict[str, Any]]:
    match part:
        case Say():
            for piece in _pieces(part.text, part.chunk):
                yield {"type": "text_delta", "text": piece}
        case Think():
            for piece in _pieces(part.text, part.chunk):
                yield {"type": "thinking_delta", "thinking": piece}
            if part.close:
                yield {"type": "signature_delta", "signature": "c2NyaXB0ZWQ="}
        case Use():
            for piece in _pieces(json.dumps(part.input), 40):
                yield {"type": "input_json_delta", "partial_json": piece}


def error_body(answer: Fail) -> bytes:
    """The body of an API error."""
    kind = answer.kind or _KINDS.get(answer.status, "api_error")
    return msgspec.json.encode({"type": "error", "error": {"type": kind, "message": answer.message}})
