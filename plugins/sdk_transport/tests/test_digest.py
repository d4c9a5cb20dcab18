"""A tool's output as text."""

from __future__ import annotations

from turnhub_sdk.digest import text_of
from turnhub_sdk.texts import clean, clean_all


def test_content_in_parts_is_joined() -> None:
    """Texts are joined; what is no text is named."""
    assert text_of([{"type": "text", "text": "a"}, {"type": "image", "source": {}}]) == "a\n[image]"
    assert text_of(None) == ""


def test_only_lone_surrogates_are_replaced() -> None:
    """Text stays as it is; half a character becomes the replacement character."""
    assert clean("aé😀") == "aé😀"
    assert clean("\ud83d\ude00 \ud83d") == "😀 \ufffd"
    assert clean_all({"\ud800": [1, None, "x"]}) == {"\ufffd": [1, None, "x"]}
