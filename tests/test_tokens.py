"""Tokens: made once, kept hashed, revoked at once; and the note of a running hub."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hub.errors import Invalid, NotFound
from hub.statedir import HubNote, private_dir, read_note, remove_note, write_note, write_private
from hub.tokens import SCOPES, BadTokens, Tokens


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_the_primary_token_is_made_once_and_is_private(tmp_path: Path) -> None:
    """The first use makes it; the next process reads the same one; nobody else may read it."""
    state = tmp_path / "state"
    secret = Tokens(state, {}).primary()
    assert Tokens(state, {}).primary() == secret
    assert len(secret) > 40
    assert (mode(state), mode(state / "token")) == (0o700, 0o600)


def test_processes_that_start_at_once_get_the_same_primary_token(tmp_path: Path) -> None:
    """The loser of the race takes the winner's."""
    got: list[str] = []
    start = threading.Barrier(8)

    def begin() -> None:
        start.wait()
        got.append(Tokens(tmp_path, {}).primary())

    threads = [threading.Thread(target=begin) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 8
    assert len(set(got)) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["token"]


def test_the_environment_gives_the_primary_token_and_nothing_is_written(tmp_path: Path) -> None:
    """TURNHUB_TOKEN wins over the file."""
    tokens = Tokens(tmp_path, {"TURNHUB_TOKEN": "mine"})
    assert tokens.primary() == "mine"
    assert list(tmp_path.iterdir()) == []
    found = tokens.verify("mine")
    assert found is not None
    assert (found.name, found.scopes) == ("primary", frozenset(SCOPES))


def test_a_new_token_works_with_its_scopes_and_is_kept_as_a_hash_only(tmp_path: Path) -> None:
    """The secret is shown once and stands in no file."""
    secret = Tokens(tmp_path, {}).new(["send", "read"], "phone")
    found = Tokens(tmp_path, {}).verify(secret)
    assert found is not None
    assert found.name == "phone"
    assert found.may("read")
    assert found.may("send")
    assert not found.may("approve")
    assert not found.may("admin")
    assert all(secret not in path.read_text() for path in tmp_path.iterdir())
    assert all(mode(path) == 0o600 for path in tmp_path.iterdir())


def test_a_secret_is_compared_with_all_digests_whichever_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In constant time, and never with less work for a right one: how long it takes tells nothing."""
    tokens = Tokens(tmp_path, {})
    secrets = [tokens.primary(), *(tokens.new(["read"], name) for name in ("a", "b", "c")), "wrong", ""]
    compared: list[tuple[int, int]] = []

    def compare(one: str, other: str) -> bool:
        compared.append((len(one), len(other)))
        return one == other

    monkeypatch.setattr("hub.tokens.hmac.compare_digest", compare)
    work = []
    for secret in secrets:
        tokens.verify(secret)
        work.append(tuple(compared))
        compared.clear()
    assert set(work) == {((64, 64),) * 4}


def test_a_revoked_token_is_worthless_at_once_in_a_running_hub(tmp_path: Path) -> None:
    """Another process revokes; this one notices with the next request. The others stay."""
    running = Tokens(tmp_path, {})
    first, second = (Tokens(tmp_path, {}).new(["read"], name) for name in ("a", "b"))
    assert running.verify(first) is not None
    Tokens(tmp_path, {}).revoke("a")
    assert running.verify(first) is None
    assert running.verify(second) is not None
    assert [one.name for one in running.list()] == ["b"]
    with pytest.raises(NotFound, match="no token 'a'"):
        running.revoke("a")


def test_tokens_made_at_once_are_all_kept(tmp_path: Path) -> None:
    """Changes wait for each other instead of overwriting each other."""
    names = [f"n{number}" for number in range(8)]
    threads = [threading.Thread(target=Tokens(tmp_path, {}).new, args=(["read"], name)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(one.name for one in Tokens(tmp_path, {}).list()) == names


@pytest.mark.parametrize(
    ("scopes", "name", "expected"),
    [
        ([], "a", "A token needs a scope; there are read, send, approve, admin."),
        (["root"], "a", "'root' is no scope"),
        (["read", "root"], "a", "'root' is no scope"),
        (["read"], "", "is no name"),
        (["read"], "a\nb", "is no name"),
        (["read"], "primary", "is no name"),
        (["read"], "taken", "There is a token 'taken' already"),
    ],
)
def test_a_wrong_wish_says_what_is_possible(tmp_path: Path, scopes: list[str], name: str, expected: str) -> None:
    """Nothing is made, and the line names what is wrong."""
    tokens = Tokens(tmp_path, {})
    tokens.new(["read"], "taken")
    with pytest.raises(Invalid, match=expected.replace(".", r"\.")):
        tokens.new(scopes, name)
    assert len(tokens.list()) == 1


@settings(deadline=None)
@given(secret=st.text())
def test_no_other_text_is_a_token(tmp_path_factory: pytest.TempPathFactory, secret: str) -> None:
    """Whatever is sent, in any characters, is refused without an error."""
    state = tmp_path_factory.getbasetemp() / "tokens"
    assert Tokens(state, {}).verify(secret) is None


def test_surrogates_in_a_header_are_refused_too(tmp_path: Path) -> None:
    """Bytes that are no UTF-8 come as surrogates; they are no token either."""
    assert Tokens(tmp_path, {}).verify("\udcff") is None


def test_damaged_files_let_nobody_in_and_are_named(tmp_path: Path) -> None:
    """An empty or unreadable file is an error that names it, never an open door."""
    tokens = Tokens(tmp_path, {})
    secret = tokens.new(["read"], "a")
    (tmp_path / "tokens.json").write_text("{")
    with pytest.raises(BadTokens, match=r"tokens\.json cannot be read"):
        tokens.verify(secret)
    (tmp_path / "token").write_text("\n")
    with pytest.raises(BadTokens, match=r"token is empty"):
        Tokens(tmp_path, {}).verify("")
    (tmp_path / "token").write_bytes(b"\xff")
    with pytest.raises(BadTokens, match=r"token cannot be read"):
        Tokens(tmp_path, {}).primary()


def test_the_state_directory_is_closed_to_others_even_if_it_was_open(tmp_path: Path) -> None:
    """A directory made by hand with wide rights is narrowed."""
    state = tmp_path / "state"
    state.mkdir(mode=0o755)
    assert mode(private_dir(state)) == 0o700


def test_a_private_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    """A failed write leaves the old content and no rest."""
    path = tmp_path / "x"
    assert write_private(path, b"1")
    assert not write_private(path, b"2", replace=False)
    assert path.read_bytes() == b"1"
    with pytest.raises(TypeError):
        write_private(path, "text")  # type: ignore[arg-type]
    assert [one.name for one in tmp_path.iterdir()] == ["x"]


def test_the_note_of_a_running_hub_is_found_and_only_its_own_process_takes_it_away(tmp_path: Path) -> None:
    """A hub that ends late does not remove the note of its successor."""
    note = HubNote(url="http://127.0.0.1:1", pid=os.getpid(), version="1")
    assert read_note(tmp_path) is None
    write_note(tmp_path, note)
    assert read_note(tmp_path) == note
    assert mode(tmp_path / "hub.json") == 0o600
    remove_note(tmp_path, note.pid + 1)
    assert read_note(tmp_path) == note
    remove_note(tmp_path, note.pid)
    assert read_note(tmp_path) is None
    (tmp_path / "hub.json").write_text("{")
    assert read_note(tmp_path) is None
