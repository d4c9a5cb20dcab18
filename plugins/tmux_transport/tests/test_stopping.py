"""What an agent puts back into its composer is taken away; what a person typed beside it is not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from turnhub_tmux.stopping import give_back, is_of, rest_of

from hub import Sight


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


class Composer:
    """A composer of which looks and pastes may fail: ``refused`` pastes find another screen than was looked at,
    ``swallowed`` ones are never shown, ``busy`` looks see no composer at first."""

    place = "a pane"

    def __init__(self, *, busy: int = 0, refused: int = 0, swallowed: int = 0, draft: str = "") -> None:
        self.draft = draft
        self.pastes = 0
        self._busy, self._refused, self._swallowed = busy, refused, swallowed

    async def look(self) -> Sight:
        await asyncio.sleep(0)
        if self._busy:
            self._busy -= 1
            return Sight(holder="agent", composer="absent")
        return Sight(holder="agent", composer="draft" if self.draft else "empty", draft=self.draft)

    async def paste(self, sight: Sight, text: str) -> bool:
        self.pastes += 1
        if self._refused:
            self._refused -= 1
            return False
        if self._swallowed:
            self._swallowed -= 1
            return True
        self.draft += text
        return True


class OneTurn:
    """Whose terminal nobody else types into."""

    @asynccontextmanager
    async def exclusive(self, place: str) -> AsyncIterator[Any]:
        class Hold:
            def check(self) -> None:
                return

        yield Hold()


@pytest.mark.anyio
@pytest.mark.parametrize(
    "trouble", [{}, {"busy": 5}, {"refused": 3}, {"swallowed": 1}, {"busy": 2, "refused": 2, "swallowed": 1}]
)
async def test_a_draft_is_given_back_until_it_stands_there(trouble: dict[str, Any]) -> None:
    """One look at a screen that is being drawn, or a paste that was refused or swallowed, loses nothing; and it
    stands there once."""
    composer: Any = Composer(**trouble)
    turn: Any = OneTurn()
    await give_back(turn, composer, "my own")
    assert composer.draft == "my own"


@pytest.mark.anyio
async def test_what_somebody_writes_meanwhile_is_left_alone() -> None:
    """Nothing is pasted into words that stand there by then."""
    composer: Any = Composer(draft="something new")
    turn: Any = OneTurn()
    await give_back(turn, composer, "my own")
    assert (composer.draft, composer.pastes) == ("something new", 0)
