"""Pure: one row of a transcript -> the facts in it. Rows and fields that are not known are passed over, so one
parser reads the sessions of the terminal and of the SDK, and those of later versions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from hub import Usage
from turnhub_tmux.convey import ESCAPES
from turnhub_tmux.transcript.facts import (
    Absorbed,
    Blocked,
    CommandSaid,
    Compacted,
    Entered,
    HookDecided,
    Interrupted,
    Operation,
    Prompt,
    Queue,
    Result,
    RowFact,
    Said,
    Spent,
    Thought,
    TurnOver,
    Used,
)

Row = Mapping[str, Any]

_OPERATIONS: Final[Mapping[str, Operation]] = {
    "enqueue": "enqueue",
    "dequeue": "dequeue",
    "remove": "remove",
    "popAll": "pop_all",
}
_INTERRUPTED: Final = re.compile(r"\[Request interrupted by user( for tool use)?\]")
# What the agent itself writes in a person's place: commands and their output, notes, what became of a helper.
_NOT_SAID: Final = re.compile(r"\s*<(command-|local-command-|bash-|task-notification|system-reminder)")
_PRINTED: Final = re.compile(r"<local-command-std(?:out|err)>(.*?)</local-command-std(?:out|err)>", re.DOTALL)
# The words for a prompt that a hook in the agent's own settings has refused.
_BLOCKED: Final = re.compile(
    r"(?P<said>UserPromptSubmit operation blocked by hook.*?)\s+Original prompt: (?P<prompt>.*)", re.DOTALL
)
# The words with which a tool call is refused at the keyboard; newer versions mark it (`toolDenialKind`).
_REJECTED: Final = "user-rejected"
_REFUSED: Final = "The user doesn't want to proceed with this tool use."


def facts(line: bytes | str) -> tuple[RowFact, ...]:
    """The facts in one line, in order; none where it is no row that matters here."""
    try:
        row = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return ()
    reader = _READERS.get(_text(row, "type")) if isinstance(row, dict) else None
    if reader is None:
        return ()
    uuid, at, aside = _text(row, "uuid"), _text(row, "timestamp"), row.get("isSidechain") is True
    return tuple(replace(fact, uuid=uuid, at=at, aside=aside) for fact in reader(row))


# -- a person's rows ----------------------------------------------------------------------------------------------


def _user(row: Row) -> Iterator[RowFact]:
    content = _object(row, "message").get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else _blocks(content)
    for block in blocks:
        if block.get("type") == "tool_result" and _text(block, "tool_use_id"):
            yield _result(row, block)
    texts = [_text(block, "text") for block in blocks if block.get("type") == "text"]
    if not texts:
        return
    text = "\n".join(texts)
    stopped = _INTERRUPTED.fullmatch(text.strip())
    if stopped and _text(row, "promptSource") == "":
        yield Interrupted(tool=stopped.group(1) is not None)
    elif _text(row, "promptSource") == "" and _PRINTED.fullmatch(text.strip()):  # before 2.1
        yield from _printed(text)
    elif _is_said(row, text):
        source = _text(row, "promptSource") or None
        yield Prompt(text=text, prompt_id=_text(row, "promptId") or None, source=source)


def _is_said(row: Row, text: str) -> bool:
    """Whether a person said it: rows of this kind also hold what the agent tells its model by itself."""
    if row.get("isMeta") is True or row.get("isCompactSummary") is True:
        return False
    if _text(row, "promptSource"):
        return True
    return not _text(row, "rowSource") and "toolUseResult" not in row and not _NOT_SAID.match(text)


def _result(row: Row, block: Row) -> Result:
    content, error = block.get("content"), block.get("is_error") is True
    words, kind = content if isinstance(content, str) else "", _text(row, "toolDenialKind")
    refused = error and words.startswith(_REFUSED)
    return Result(
        tool_use_id=_text(block, "tool_use_id"),
        content=content,
        error=error,
        denied=bool(kind) or refused,
        rejected=kind == _REJECTED or (not kind and refused),
        detail=row.get("toolUseResult"),
    )


# -- the agent's rows ---------------------------------------------------------------------------------------------


def _assistant(row: Row) -> Iterator[RowFact]:
    message = _object(row, "message")
    message_id, error = _text(message, "id"), row.get("isApiErrorMessage") is True
    kind = _text(row, "error") if error else ""
    first, cut = _number(row, "apiBlockIndex"), row.get("isAbortedMidStream") is True
    for number, block in enumerate(_blocks(message.get("content"))):
        place = None if first is None else first + number
        match block.get("type"):
            case "text":
                text = _text(block, "text")
                yield Said(message_id=message_id, block=place, text=text, cut=cut, error=error, kind=kind)
            case "thinking":
                yield Thought(message_id=message_id, block=place, text=_text(block, "thinking"), cut=cut)
            case "tool_use" if _text(block, "id"):
                yield Used(
                    message_id=message_id,
                    block=place,
                    tool_use_id=_text(block, "id"),
                    name=_text(block, "name"),
                    input=_object(block, "input"),
                )
            case _:
                continue
    if message.get("usage") is not None and not error:
        yield _spent(message_id, message)


def _spent(message_id: str, message: Row) -> Spent:
    usage = _object(message, "usage")
    return Spent(
        message_id=message_id,
        usage=Usage(
            input_tokens=_number(usage, "input_tokens"),
            output_tokens=_number(usage, "output_tokens"),
            cache_read_tokens=_number(usage, "cache_read_input_tokens"),
            cache_creation_tokens=_number(usage, "cache_creation_input_tokens"),
        ),
        stop_reason=_text(message, "stop_reason") or None,
        model=_text(message, "model") or None,
    )


def _system(row: Row) -> Iterator[RowFact]:
    match _text(row, "subtype"):
        case "turn_duration" if (duration := _number(row, "durationMs")) is not None:
            yield TurnOver(duration_ms=duration)
        case "compact_boundary":
            yield Compacted()
        case "local_command":
            yield from _printed(_text(row, "content"))
        case "informational" if blocked := _BLOCKED.fullmatch(_text(row, "content")):
            yield Blocked(text=blocked["said"], prompt=blocked["prompt"])
        case "informational" if "promptSubmitEnding" in row:
            yield Blocked(text=_text(row, "content"), kept=True)
        case "informational" if _text(row, "content"):
            yield CommandSaid(text=_text(row, "content"))
        case _:
            return


def _printed(content: str) -> Iterator[CommandSaid]:
    for text in _PRINTED.findall(content):
        if (plain := ESCAPES.sub("", text).strip("\n")).strip():
            yield CommandSaid(text=plain)


# -- the others ---------------------------------------------------------------------------------------------------


def _queue(row: Row) -> Iterator[RowFact]:
    operation = _OPERATIONS.get(_text(row, "operation"))
    if operation is not None:
        content = row.get("content")
        text = content if isinstance(content, str) else None
        yield Queue(operation=operation, text=text, reason=_text(row, "reason") or None)


def _attachment(row: Row) -> Iterator[RowFact]:
    attached = _object(row, "attachment")
    match _text(attached, "type"):
        case "queued_command" if _text(attached, "commandMode") in ("prompt", ""):
            prompt = attached.get("prompt")
            text = prompt if isinstance(prompt, str) else "\n".join(_text(b, "text") for b in _blocks(prompt))
            yield Absorbed(text=text)
        case "hook_permission_decision" if _text(attached, "toolUseID"):
            yield HookDecided(tool_use_id=_text(attached, "toolUseID"), decision=_text(attached, "decision"))
        case _:
            return


def _entered(row: Row) -> Iterator[RowFact]:
    """A row of the list of all lines: it has no type."""
    text, session = _text(row, "display"), _text(row, "sessionId")
    if text and session:
        yield Entered(text=text, session=session, project=_text(row, "project"))


_READERS: Final[Mapping[str, Callable[[Row], Iterator[RowFact]]]] = {
    "user": _user,
    "assistant": _assistant,
    "system": _system,
    "queue-operation": _queue,
    "attachment": _attachment,
    "": _entered,
}


def _text(row: Row, key: str) -> str:
    found = row.get(key)
    return found if isinstance(found, str) else ""


def _number(row: Row, key: str) -> int | None:
    found = row.get(key)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def _object(row: Row, key: str) -> dict[str, Any]:
    found = row.get(key)
    return found if isinstance(found, dict) else {}


def _blocks(content: Any) -> list[dict[str, Any]]:
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
