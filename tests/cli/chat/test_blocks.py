"""Streams of Markdown, cut into finished blocks and a tail."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.cli.chat.blocks import BlockSplitter, shown_end

PLAIN = ("", " ", "word", "    code", "| a | b |", "|---|---|", "===", "---", "> said", "<div>", "\tcode")
LISTS = ("- item", "  more of it", "1. one", "  - inner", "- ```", "* * *")
FENCES = ("```", "```py", "    ```", "\t```", "~~~~", "~~~", "a `b` ```c```", "# Head")
LINES = st.sampled_from((*PLAIN, *LISTS, *FENCES))
TEXTS = st.lists(LINES).map("\n".join) | st.text(alphabet="a \n`~#-*1.>|\t\r\x85\u2028", max_size=80) | st.text()


def split(text: str, cuts: list[int]) -> tuple[list[str], str]:
    """The blocks and the tail of ``text`` that comes in pieces."""
    splitter = BlockSplitter()
    blocks: list[str] = []
    places = sorted({0, len(text), *(min(cut, len(text)) for cut in cuts)})
    for start, end in itertools.pairwise(places):
        blocks += splitter.feed(text[start:end])
        assert "".join(blocks) + splitter.tail == text[:end]
    return blocks, splitter.tail


@given(TEXTS, st.lists(st.integers(0, 300)))
def test_nothing_is_lost_or_reordered_and_cuts_make_no_difference(text: str, cuts: list[int]) -> None:
    """At every moment blocks and tail are what came in; the blocks are the same wherever the stream is cut."""
    blocks, tail = split(text, cuts)
    assert "".join(blocks) + tail == text
    assert (blocks, tail) == split(text, [])
    assert all(blocks)


@given(TEXTS)
def test_the_end_gives_the_rest(text: str) -> None:
    """And the splitter is as new."""
    splitter = BlockSplitter()
    blocks = splitter.feed(text)
    assert "".join((*blocks, splitter.finish())) == text
    assert (splitter.tail, splitter.fence, splitter.finish()) == ("", "", "")


@pytest.mark.parametrize(
    "blocks",
    [
        ["One.\n\n", "Two.\n\n", "Three.\n"],
        ["# Head\n", "Text.\n\n", "## Head\n", "Text.\n"],
        ["Text:\n", "```py\na\n\n# no head\nb\n```\n\n", "Text.\n"],
        ["- one\n\n- two\n\n  more of two\n\n", "Text.\n"],
        ["1. one\n\n   ```\n   code\n\n   ```\n\n2. two\n\n", "Text.\n"],
        ["- ```\n  never closed\n", "Text.\n"],
        ["~~~~\n~~~\n\nstill\n~~~~\n", "Text.\n"],
        ["| a |\n|---|\n| 1 |\n\n", "Text.\n"],
        ["> said\n\n", "Text.\n"],
        ["    code\n\n    more of it\n\n", "Text.\n"],
        ["Title\n===\n\n", "Text.\n"],
    ],
)
def test_blocks_are_whole(blocks: list[str]) -> None:
    """Code, lists and tables stay in one piece; what follows them does not wait for the end."""
    splitter = BlockSplitter()
    assert [*splitter.feed("".join(blocks)), splitter.finish()] == blocks


def test_the_end_of_long_code_is_shown_as_code() -> None:
    """It begins with the line that opens the code, in the middle of which the end begins."""
    splitter = BlockSplitter()
    assert splitter.feed("Text.\n\n```py\n" + "x\n" * 50) == ["Text.\n\n"]
    assert shown_end(splitter.tail, splitter.fence, 3) == "```py\nx\nx\n"
    assert shown_end("a\nb", "", 3) == "a\nb"
    assert shown_end("a\nb\nc\nd", "", 3) == "b\nc\nd"
