"""What an agent puts back into its composer is taken away; what a person typed beside it is not."""

from __future__ import annotations

import pytest
from turnhub_tmux.stopping import is_of, rest_of


@pytest.mark.parametrize(
    ("draft", "rest"),
    [
        ("never mind", ""),
        ("never mind\nand this", ""),
        ("and this never\nmind", ""),  # as the box wraps it
        ("never", ""),  # all that is seen of it
        ("never mindhello", "hello"),
        ("hello\nnever mind", "hello"),
        ("never\nmindhello", None),  # where theirs begins cannot be told for sure
        ("hello", None),
        ("never minding", "ing"),
    ],
)
def test_what_is_theirs_is_given_back(draft: str, rest: str | None) -> None:
    """Our words, however many and however wrapped, go; other words stay, or all is left as it is."""
    assert rest_of(draft, ["and this", "never mind"], whole=True) == rest


@pytest.mark.parametrize(
    ("draft", "ours"),
    [
        ("never mind", True),
        ("and this\nnever\nmind", True),
        ("never", False),
        ("never mind, or", False),
        ("n", False),
        ("", False),
    ],
)
def test_only_what_is_all_ours_is_taken_back_later(draft: str, ours: bool) -> None:
    """Of what stands there at the next message nobody saw how it came: a part of our words may be a person's."""
    assert is_of(draft, ["and this", "never mind"]) is ours


def test_a_block_of_which_one_sees_no_words_is_what_was_put_back() -> None:
    """It was not there before, and came back by the key that stops."""
    marker = "[Pasted text #1 +40 lines]"
    assert rest_of(marker, ["and this"], blocks=[marker]) == ""


@pytest.mark.parametrize(
    ("draft", "blocks", "rest"),
    [
        ("[Pasted text #1 +40 lines]my own", 1, "my own"),
        ("never mind[Pasted text #1 +40 lines]my own", 1, "my own"),
        ("and this never mind[Pasted text #1 +40 lines]", 1, None),
        ("[Pasted text #1 +40 lines] [Pasted text #1 +40 lines] [Pasted text #1 +40 lines]", 3, None),
    ],
)
def test_a_persons_words_beside_a_block_are_theirs(draft: str, blocks: int, rest: str | None) -> None:
    """The block is ours only where words of ours are not there to be seen; a person's block is left alone."""
    marker = "[Pasted text #1 +40 lines]"
    assert rest_of(draft, ["and this", "never mind"], blocks=[marker] * blocks) == rest
