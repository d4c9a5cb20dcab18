"""What the log keeps of a tool's output."""

from __future__ import annotations

import hashlib

from turnhub_sdk.digest import KEPT, digest_of
from turnhub_sdk.texts import clean, clean_all


def test_a_digest_knows_the_whole_output() -> None:
    """Only the beginning is kept, but size and hash are those of all of it, in bytes."""
    text = "ü" * (KEPT + 1)
    digest = digest_of(text)
    assert (digest.text, digest.bytes, digest.truncated) == ("ü" * KEPT, 2 * (KEPT + 1), True)
    assert digest.sha256 == hashlib.sha256(text.encode()).hexdigest()


def test_content_in_parts_is_joined() -> None:
    """Texts are joined; what is no text is named."""
    assert digest_of([{"type": "text", "text": "a"}, {"type": "image", "source": {}}]).text == "a\n[image]"
    assert digest_of(None).bytes == 0


def test_only_lone_surrogates_are_replaced() -> None:
    """Text stays as it is; half a character becomes the replacement character."""
    assert clean("aé😀") == "aé😀"
    assert clean("\ud83d\ude00 \ud83d") == "😀 \ufffd"
    assert clean_all({"\ud800": [1, None, "x"]}) == {"\ufffd": [1, None, "x"]}
