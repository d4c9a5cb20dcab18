"""Finding the hub: what wins, and whom the token of this machine is sent to."""

from __future__ import annotations

from pathlib import Path

import pytest

from hub.client import ClientError, discover
from hub.config import ServerConfig
from hub.statedir import HubNote, write_note

SERVER = ServerConfig(port=9000)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A state directory with a token."""
    (tmp_path / "token").write_text("th_local\n")
    return tmp_path


def test_what_is_given_wins_over_the_environment_over_the_note_over_the_configuration(state: Path) -> None:
    """One place after the other."""
    environ = {"TURNHUB_URL": "http://env:2", "TURNHUB_TOKEN": "envtoken"}
    assert discover(None, None, state, SERVER, {}).url == "http://127.0.0.1:9000"
    write_note(state, HubNote(url="http://127.0.0.1:3", pid=1, version="1"))
    assert discover(None, None, state, SERVER, {}).url == "http://127.0.0.1:3"
    assert discover(None, None, state, SERVER, environ).url == "http://env:2"
    found = discover("http://given:1/", "mine", state, SERVER, environ)
    assert (found.url, found.token) == ("http://given:1", "mine")
    assert discover("http://given:1", None, state, SERVER, environ).token == "envtoken"


def test_the_token_file_is_only_used_for_this_machine(state: Path) -> None:
    """Another machine does not get our token."""
    for url in ("http://127.0.0.1:1", "http://localhost:1", "http://[::1]:1", "http://127.9.9.9"):
        assert discover(url, None, state, SERVER, {}).token == "th_local"
    for url in ("http://example.org", "http://127.0.0.1.example.org", "https://localhost.example.org:1"):
        assert discover(url, None, state, SERVER, {}).token is None


def test_the_noted_certificate_is_for_the_noted_address_only(state: Path) -> None:
    """Found by the state directory or named, it is the same hub; any other has to be vouched for."""
    write_note(state, HubNote(url="https://127.0.0.1:3", pid=1, version="1", certificate="PEM"))
    for url in (None, "https://127.0.0.1:3", "https://127.0.0.1:3/"):
        assert discover(url, None, state, SERVER, {}).certificate == "PEM"
    assert discover(None, None, state, SERVER, {"TURNHUB_URL": "https://127.0.0.1:3"}).certificate == "PEM"
    for url in ("https://127.0.0.1:4", "https://hub.example", "http://127.0.0.1:3"):
        assert discover(url, None, state, SERVER, {}).certificate is None


def test_a_hub_with_tls_is_looked_for_by_https(tmp_path: Path) -> None:
    """Where no hub has left a note."""
    server = ServerConfig(port=9000, tls_cert=tmp_path / "hub.pem")
    assert discover(None, None, tmp_path, server, {}).url == "https://127.0.0.1:9000"


def test_without_a_token_file_there_is_no_token(tmp_path: Path) -> None:
    """The hub will say what is missing."""
    assert discover(None, None, tmp_path, SERVER, {}).token is None


@pytest.mark.parametrize(
    ("host", "url"),
    [("0.0.0.0", "http://127.0.0.1:9000"), ("::", "http://[::1]:9000"), ("::1", "http://[::1]:9000")],
)
def test_a_hub_that_listens_everywhere_is_reached_on_loopback(tmp_path: Path, host: str, url: str) -> None:
    """The address it binds is not always one to connect to."""
    assert discover(None, None, tmp_path, ServerConfig(host=host, port=9000), {}).url == url


@pytest.mark.parametrize(
    "url", ["localhost:8420", "ftp://x", "http://", "http://[::1", "http://x:99999", "http://x?a=1"]
)
def test_an_address_that_is_none_says_what_was_expected(state: Path, url: str) -> None:
    """One sentence with the form of an address."""
    with pytest.raises(ClientError, match="expected http://HOST:PORT"):
        discover(url, None, state, SERVER, {})


def test_a_token_with_a_line_break_is_refused_before_it_is_sent(state: Path) -> None:
    """It could otherwise end a header line."""
    with pytest.raises(ClientError, match="without line breaks"):
        discover(None, "a\r\nX: y", state, SERVER, {})
