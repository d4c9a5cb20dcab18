"""Whom the client believes behind an https address."""

from __future__ import annotations

import ssl

import httpx

from hub.client.discover import Address
from hub.client.errors import ClientError


def verification(address: Address) -> ssl.SSLContext | bool:
    """What httpx is to verify the hub by. A hub of this machine has noted its certificate in a directory of our
    own: that very one is believed, whatever names it is made for. Any other has to be vouched for by the
    machine's authorities, or those of SSL_CERT_FILE. Raises ClientError for a certificate that is none."""
    if httpx.URL(address.url).scheme != "https":
        return True
    if address.certificate is None:
        return httpx.create_ssl_context()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False  # it is known by itself, and not by a name
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        context.load_verify_locations(cadata=address.certificate)
    except ssl.SSLError as error:
        raise ClientError(f"The certificate that the hub has noted is none ({error.reason}).") from None
    return context
