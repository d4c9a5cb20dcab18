"""The Messages API, read and written."""

from __future__ import annotations

import json
from typing import Any

from hub.testing.model_script import Cut, Fail, Pause, Reply, Say, Think, ToolResult, Use, reply
from hub.testing.model_wire import ModelRequest, error_body, exchange_of, frames, is_side, message_of


def _request(*messages: tuple[str, Any], agent: str = "claude-cli/2", **body: Any) -> ModelRequest:
    listed = [{"role": role, "content": content} for role, content in messages]
    return ModelRequest(
        method="POST", path="/v1/messages", headers={"user-agent": agent}, body={"messages": listed, **body}
    )


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def _events(answer: Reply) -> list[dict[str, Any]]:
    stream = b"".join(f for f in frames(answer, "m", "msg_1") if isinstance(f, bytes)).decode()
    return [json.loads(part.split("data: ")[1]) for part in stream.split("\n\n") if part]


def test_prompts_are_what_persons_said() -> None:
    """Reminders and other words of the command line itself are no prompts, wherever they stand."""
    request = _request(
        ("user", [_text("<system-reminder>\nbe good\n</system-reminder>"), _text("first")]),
        ("system", "# Environment"),
        ("assistant", [_text("hello")]),
        ("user", [_text("[Request interrupted by user]")]),
        ("user", "second"),
    )
    assert request.prompts == ("first", "second")


def test_merged_prompts_lose_only_the_newline_between_them() -> None:
    """Texts that the command line merged into one message read as they were sent."""
    request = _request(("user", [_text("one\n"), _text("two\n")]))
    assert request.prompts == ("one", "two\n")


def test_an_exchange_tells_the_results_since_the_last_prompt() -> None:
    """Only tool results that came after the last prompt belong to it."""
    old = {"type": "tool_result", "tool_use_id": "t1", "content": "old"}
    new = {"type": "tool_result", "tool_use_id": "t2", "content": [_text("new")], "is_error": True}
    request = _request(
        ("user", "first"), ("user", [old]), ("user", "second"), ("assistant", [_text("x")]), ("user", [new])
    )
    exchange = exchange_of(request)
    assert exchange.text == "second"
    assert exchange.results == (ToolResult(tool_use_id="t2", text="new", is_error=True),)
    assert len(request.results) == 2


def test_prompts_without_an_answer_are_counted() -> None:
    """A prompt whose turn failed stands before the one that tries again."""
    request = _request(("user", "a"), ("assistant", [_text("b")]), ("user", [_text("fail\n"), _text("fail")]))
    assert exchange_of(request).unanswered == 2
    assert exchange_of(_request(("user", "a"))).unanswered == 1


def test_a_reply_streams_as_the_api_does() -> None:
    """Blocks start, grow and stop in order; the stop reason and the tokens come at the end."""
    events = _events(reply(Think("hm"), "Hello you", Use("Bash", {"command": "ls"})))
    assert [event["type"] for event in events if event["type"] != "content_block_delta"] == [
        "message_start",
        "ping",
        *["content_block_start", "content_block_stop"] * 3,
        "message_delta",
        "message_stop",
    ]
    deltas = [event["delta"] for event in events if event["type"] == "content_block_delta"]
    assert [d["text"] for d in deltas if d["type"] == "text_delta"] == ["Hello", " you"]
    assert json.loads("".join(d["partial_json"] for d in deltas if "partial_json" in d)) == {"command": "ls"}
    assert events[-2]["delta"]["stop_reason"] == "tool_use"


def test_an_open_block_is_not_stopped() -> None:
    """What is to be cut in the middle of a block gives no stop before the cut."""
    listed = list(frames(reply(Say("half", close=False), Cut()), "m", "msg_1"))
    cut = listed.index(Cut())
    assert not any(b"content_block_stop" in frame for frame in listed[:cut] if isinstance(frame, bytes))


def test_paced_text_waits_before_every_piece() -> None:
    """``every_s`` lies between the pieces; ``chunk`` says how long they are."""
    listed = list(frames(reply(Say("abcdef", chunk=2, every_s=0.5)), "m", "msg_1"))
    assert listed.count(Pause(0.5)) == 3


def test_whitespace_survives_being_cut_into_words() -> None:
    """A text is the same when its pieces are joined, whatever its whitespace."""
    text = "  a\n\n b\tc  "
    deltas = [e["delta"]["text"] for e in _events(reply(text)) if e["type"] == "content_block_delta"]
    assert "".join(deltas) == text


def test_a_reply_can_come_as_one_message() -> None:
    """A request that does not stream gets the same content as one JSON message."""
    message = message_of(reply("Hi", stop="max_tokens"), "m", "msg_1")
    assert message["content"] == [_text("Hi")]
    assert (message["stop_reason"], message["usage"]) == (
        "max_tokens",
        {"input_tokens": 10, "output_tokens": 5},
    )


def test_an_error_has_the_kind_of_its_status() -> None:
    """Errors look like the API's: a kind by the status, and the words given."""
    error = json.loads(error_body(Fail(status=529, message="busy")))["error"]
    assert error == {"type": "overloaded_error", "message": "busy"}


def test_housekeeping_of_the_command_line_is_told_from_turns() -> None:
    """Titles, quota probes and small helpers are side requests; a turn is not, with tools or without."""
    assert is_side(_request(("user", "quota"), max_tokens=1, stream=True))
    assert is_side(_request(("user", "x"), stream=True, output_config={"format": {"type": "json_schema"}}))
    assert is_side(_request(("user", "x"), stream=False, max_tokens=500))
    assert not is_side(_request(("user", "x"), stream=True, max_tokens=32000))
    assert not is_side(_request(("user", "x"), stream=False, tools=[{"name": "Bash"}]))
    assert not is_side(_request(("user", "x"), stream=False, agent="my-own-client/1"))
