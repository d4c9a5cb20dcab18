"""Following a transcript: whole lines, from anywhere, through truncation and rotation, told by file events."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from turnhub_tmux.transcript import watch
from turnhub_tmux.transcript.facts import Prompt
from turnhub_tmux.transcript.tail import Row, Tail, size_of
from turnhub_tmux.transcript.watch import Watcher

pytestmark = pytest.mark.anyio


def line(text: str) -> bytes:
    """A row with a person's words."""
    return json.dumps({"type": "user", "message": {"content": text}, "promptSource": "typed"}).encode() + b"\n"


def add(path: Path, data: bytes) -> None:
    """Append, as the agent does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(data)


def words(rows: list[Row]) -> list[str]:
    """What was said in rows."""
    return [fact.text for row in rows for fact in row.facts if isinstance(fact, Prompt)]


async def test_only_whole_lines_are_read(tmp_path: Path) -> None:
    """A line that is being written waits for its end, also in the middle of a character."""
    path, tail = tmp_path / "t.jsonl", Tail(tmp_path / "t.jsonl")
    assert await tail.read() == []
    whole = line("héllo")
    cut = whole.index(b"\\u00e9") + 3
    add(path, whole[:cut])
    assert await tail.read() == []
    assert tail.offset == 0
    add(path, whole[cut:] + line("two")[:9])
    rows = await tail.read_all()
    assert words(rows) == ["héllo"]
    assert (rows[0].start, rows[0].end) == (0, len(whole))
    assert tail.offset == len(whole)


@given(st.lists(st.text(max_size=20), max_size=6), st.floats(0, 1))
async def test_from_any_offset_the_rows_after_it_are_read(texts: list[str], part: float) -> None:
    """An offset at the start of a line misses none; in the middle of one it skips the rest of that line."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path, lines = Path(folder) / "t.jsonl", [line(text) for text in texts]
        path.write_bytes(b"".join(lines))
        offset = round(part * size_of(path))
        starts = [sum(map(len, lines[:number])) for number in range(len(lines))]
        rows = await Tail(path, offset).read_all()
        assert words(rows) == [text for start, text in zip(starts, texts, strict=True) if start >= offset]
        assert [row.start for row in rows] == [start for start in starts if start >= offset]


async def test_a_file_that_is_begun_anew_is_read_anew(tmp_path: Path) -> None:
    """Shorter than before, or another file in its place: from its start, and the rows say so."""
    path = tmp_path / "t.jsonl"
    add(path, line("one") + line("two"))
    tail = Tail(path)
    assert words(await tail.read_all()) == ["one", "two"]
    path.write_bytes(line("three"))
    rows = await tail.read_all()
    assert (words(rows), rows[0].generation) == (["three"], 1)
    (tmp_path / "new").write_bytes(line("four") + line("five") + line("six"))
    (tmp_path / "new").replace(path)
    rows = await tail.read_all()
    assert (words(rows), rows[0].generation) == (["four", "five", "six"], 2)
    path.unlink()
    assert await tail.read_all() == []
    add(path, line("seven"))
    assert words(await tail.read_all()) == ["seven"]


async def test_a_line_that_is_too_long_is_passed_over(tmp_path: Path) -> None:
    """It is not kept in memory, and what comes after it is read."""
    path = tmp_path / "t.jsonl"
    add(path, line("one") + line("x" * 600_000) + line("two"))
    add(path, line("y" * 600_000)[:-1])
    tail = Tail(path, longest=10_000)
    assert words(await tail.read_all()) == ["one", "two"]
    add(path, b"\n" + line("three"))
    assert words(await tail.read_all()) == ["three"]


@pytest.fixture
async def watcher(tmp_path: Path) -> AsyncIterator[Watcher]:
    """Watches a folder that is not there yet."""
    async with Watcher(tmp_path / "projects") as made:
        yield made


async def test_rows_come_by_file_events(watcher: Watcher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long before anybody would look; the folder, the file and its session may come later."""
    monkeypatch.setattr(watch, "SURE_S", 60)
    path = tmp_path / "projects" / "-home-dev" / "s.jsonl"
    async with asyncio.timeout(30):
        stream = Tail(path).follow(watcher)
        add(path, line("one"))
        assert words(await anext(stream)) == ["one"]
        await watcher.listening()
        for text in ("two", "three"):
            upcoming = asyncio.ensure_future(anext(stream))
            await asyncio.sleep(0.05)
            add(path, line(text))
            assert words(await upcoming) == [text]
        await stream.aclose()


async def test_without_file_events_one_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the platform has none, or a file lies elsewhere."""
    monkeypatch.setattr(watch, "LOOK_S", 0.02)
    path = tmp_path / "elsewhere.jsonl"
    async with Watcher(tmp_path / "projects", events=False) as watcher, asyncio.timeout(10):
        stream = Tail(path).follow(watcher)
        upcoming = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0.05)
        add(path, line("one"))
        assert words(await upcoming) == ["one"]
        assert not watcher.live
        await stream.aclose()


async def test_a_platform_without_watches_is_told_and_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """No inotify instance is left: the log says so once, and rows come all the same."""

    def none_left(*_: object, **__: object) -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(watch, "awatch", none_left)
    monkeypatch.setattr(watch, "LOOK_S", 0.02)
    (tmp_path / "projects").mkdir()
    path = tmp_path / "projects" / "s.jsonl"
    with caplog.at_level(logging.WARNING):
        async with Watcher(tmp_path / "projects") as watcher, asyncio.timeout(10):
            stream = Tail(path).follow(watcher)
            add(path, line("one"))
            assert words(await anext(stream)) == ["one"]
            await asyncio.sleep(0.1)
            await stream.aclose()
    assert caplog.text.count("no file events") == 1
