"""TLS: what is served by it, what a certificate that cannot be used is told as, and what holds no connection."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import httpx
import pytest
from cryptography.hazmat.primitives import serialization

from hub.client import Address, Client, ClientError, HubNotReachable, discover
from hub.config import ServerConfig
from hub.errors import ConfigError
from hub.front.protocol import Limits
from hub.front.tls import leaf, server_context
from hub.statedir import HubNote, write_note
from tests.certificates import Issued, issue
from tests.front.door import Door
from tests.front.test_server import HEAD, answer, dialled, serving


@pytest.fixture
def issued(tmp_path: Path) -> Issued:
    """A certificate for this machine."""
    return issue(tmp_path / "tls")


@pytest.mark.anyio
async def test_the_page_and_its_cookie_come_by_tls(door: Door, issued: Issued) -> None:
    """The address says https, the login's cookie is Secure besides HttpOnly and SameSite=Strict, and lets in."""
    context = server_context(issued.cert, issued.key)
    async with (
        serving(door.app, tls=context) as server,
        httpx.AsyncClient(base_url=server.url, verify=issued.trusting) as browser,
    ):
        assert server.url == f"https://127.0.0.1:{server.port}"
        cookie = (await browser.get(f"/?token={door.tokens.primary()}")).headers["set-cookie"]
        for part in ("Secure", "HttpOnly", "SameSite=strict"):
            assert part in cookie
        assert (await browser.get("/v1/agents")).status_code == 200


@pytest.mark.anyio
async def test_streams_come_by_tls_and_end_cleanly_when_the_hub_stops(door: Door, issued: Issued) -> None:
    """As they do without."""
    sid = await door.session()
    await door.running(sid)
    headers = {"Authorization": door.client.headers["authorization"]}
    async with httpx.AsyncClient(verify=issued.trusting, headers=headers) as client:
        async with serving(door.app, tls=server_context(issued.cert, issued.key)) as server:
            request = client.build_request("GET", f"{server.url}/v1/sessions/{sid}/live")
            response = await client.send(request, stream=True)
            parts = response.aiter_text()
            seen = ""
            while "turn_started" not in seen:
                seen += await anext(parts)
            door.services.feed.drain()
        assert [part async for part in parts] == []


@pytest.mark.anyio
async def test_old_tls_and_no_tls_get_nothing(door: Door, issued: Issued) -> None:
    """TLS 1.1 is refused in the handshake; a request in the clear is not answered."""
    old = ssl.create_default_context(cafile=issued.authority)
    old.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        old.maximum_version = ssl.TLSVersion.TLSv1_1
    old.set_ciphers("ALL:@SECLEVEL=0")
    async with serving(door.app, tls=server_context(issued.cert, issued.key)) as server:
        with pytest.raises((ssl.SSLError, ConnectionResetError)):
            await asyncio.open_connection("127.0.0.1", server.port, ssl=old)
        old.maximum_version = ssl.TLSVersion.TLSv1_2
        _, writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=old)
        writer.close()
        async with dialled(server) as (reader, writer):
            writer.write(HEAD + b"\r\n")
            assert b"HTTP/" not in await answer(reader)


@pytest.mark.anyio
async def test_a_handshake_that_does_not_come_is_given_up(door: Door, issued: Issued) -> None:
    """In the time that a request's head has: silence, and half a hello."""
    async with serving(door.app, Limits(head_s=0.2), tls=server_context(issued.cert, issued.key)) as server:
        for said in (b"", b"\x16\x03\x01\x02\x00"):
            async with dialled(server) as (reader, writer):
                writer.write(said)
                assert await answer(reader) == b""


def refusal(cert: Path, key: Path | None = None) -> str:
    with pytest.raises(ConfigError) as caught:
        server_context(cert, key)
    assert "\n" not in caught.value.detail
    return caught.value.detail


def test_a_certificate_that_cannot_be_used_is_named_with_its_key(issued: Issued, tmp_path: Path) -> None:
    """Missing, no PEM, without its key, with another's key: one sentence that names configuration and file."""
    other = issue(tmp_path / "other")
    text = tmp_path / "text"
    text.write_text("no certificate")
    assert f"server.tls_cert: {tmp_path / 'none'} cannot be read" in refusal(tmp_path / "none")
    assert "server.tls_key" in refusal(issued.cert, tmp_path / "none")
    assert str(text) in refusal(text, issued.key)
    assert "no server.tls_key, the key has to be in it" in refusal(issued.cert)
    assert f"{other.key} is not the key of the certificate in {issued.cert}" in refusal(issued.cert, other.key)


def test_a_key_with_a_password_is_refused_instead_of_asked_for(issued: Issued, tmp_path: Path) -> None:
    """A hub that starts by itself has nobody who types it; what makes a key without one is said."""
    key = serialization.load_pem_private_key(issued.key.read_bytes(), None)
    locked = tmp_path / "locked.key"
    locked.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"secret"),
        )
    )
    assert "openssl pkey" in refusal(issued.cert, locked)


def test_certificate_and_key_may_stand_in_one_file(issued: Issued, tmp_path: Path) -> None:
    """As many tools write them."""
    both = tmp_path / "both.pem"
    both.write_bytes(issued.key.read_bytes() + issued.cert.read_bytes())
    server_context(both)
    found = leaf(both)
    assert found is not None
    assert "PRIVATE" not in found


@pytest.mark.anyio
async def test_clients_of_this_machine_believe_the_noted_certificate_and_no_other(
    door: Door, issued: Issued, tmp_path: Path
) -> None:
    """Whatever name it is made for and whoever made it; a hub that shows another one is not spoken to."""
    elsewhere = issue(tmp_path / "elsewhere", "hub.example")
    write_note(tmp_path, HubNote(url="https://x", pid=1, version="1", certificate=leaf(elsewhere.cert)))
    async with serving(door.app, tls=server_context(elsewhere.cert, elsewhere.key)) as server:
        noted = discover(None, door.tokens.primary(), tmp_path, ServerConfig(), {}).certificate
        async with Client(Address(url=server.url, token=door.tokens.primary(), certificate=noted)) as client:
            assert await client.agents()
        for unknown in (None, leaf(issued.cert)):
            async with Client(Address(url=server.url, certificate=unknown)) as client:
                with pytest.raises(HubNotReachable, match=r"not believed: .*; SSL_CERT_FILE names"):
                    await client.health()
    with pytest.raises(ClientError, match="noted is none"):
        Client(Address(url="https://x", certificate="x"))


@pytest.mark.anyio
async def test_an_authority_of_ones_own_is_named_by_ssl_cert_file(
    door: Door, issued: Issued, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For hubs elsewhere, whose certificate is not noted here."""
    monkeypatch.setenv("SSL_CERT_FILE", str(issued.authority))
    async with (
        serving(door.app, tls=server_context(issued.cert, issued.key)) as server,
        Client(Address(url=server.url)) as client,
    ):
        assert (await client.health())["version"]
