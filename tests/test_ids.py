"""Identifiers: unique, ordered by time, and telling what they name."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub import ids

MAKERS = {
    "ses": ids.session_id,
    "trn": ids.turn_id,
    "msg": ids.message_id,
    "req": ids.request_id,
    "run": ids.runner_id,
}


@pytest.mark.parametrize("prefix", MAKERS)
def test_an_id_says_what_it_names(prefix: str) -> None:
    """Each kind has its prefix; the rest is safe in URLs, keys and file names."""
    made = MAKERS[prefix]()
    assert made.startswith(f"{prefix}_")
    body = made.removeprefix(f"{prefix}_")
    assert len(body) == 26
    assert set(body) <= set("0123456789abcdefghjkmnpqrstvwxyz")


def test_ids_sort_by_time_and_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids of later milliseconds are greater as plain strings; ids of one millisecond still differ."""
    made = []
    for millisecond in (0, 1, 31, 32, 10**12, 2**48 - 1):
        monkeypatch.setattr(time, "time_ns", lambda at=millisecond: at * 1_000_000)
        made.append(ids.ulid())
    assert made == sorted(made)
    assert len({ids.ulid() for _ in range(1000)}) == 1000


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_key_always_gives_the_same_session(key: str) -> None:
    """An idempotency key names one session, in every process, and its id looks like any other."""
    made = ids.session_id(key)
    assert made == ids.session_id(key)
    assert ids.is_session_id(made)
    assert made != ids.session_id(key + "x")


def test_an_ask_names_its_session() -> None:
    """An answer finds its session from the ask's id alone."""
    session = ids.session_id()
    assert ids.session_of_ask(ids.ask_id(session)) == session
    assert ids.ask_id(session) != ids.ask_id(session)


@given(st.text() | st.from_regex(r"(ask|ses)_[0-9a-z]{0,27}(_[0-9a-z]{26})?\n?", fullmatch=True))
def test_other_text_is_no_ask_and_no_session(text: str) -> None:
    """What people type into a URL is judged whole: no newline, no odd letter, no wrong length gets through."""
    body = "[0-9abcdefghjkmnpqrstvwxyz]{26}"
    assert ids.is_session_id(text) == bool(re.fullmatch(f"ses_{body}", text))
    assert (ids.session_of_ask(text) is not None) == bool(re.fullmatch(f"ask_{body}_{body}", text))
