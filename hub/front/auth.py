"""Who is asking: a token from the Authorization header, or from the cookie that ``GET /?token=`` sets. What is
done with it is the business of :mod:`hub.front.admission`."""

from __future__ import annotations

from http.cookies import CookieError, SimpleCookie
from typing import Final
from urllib.parse import quote, unquote

from msgspec import Struct
from starlette.datastructures import Headers
from starlette.responses import Response

from hub.front.headers import HARDENED
from hub.front.problems import MissingScope, Unauthorized
from hub.tokens import Token, TokenScope

HOW: Final = "Send it as Authorization: Bearer <token>, or open /?token=<token> in the browser."


class Admitted(Struct, frozen=True):
    """Somebody who was let in, and by what."""

    token: Token
    secret: str


def secret_of(headers: Headers) -> str:
    """The secret that a request brings. Raises Unauthorized where there is none."""
    secret = _bearer(headers) or _from_cookie(headers)
    if not secret:
        raise Unauthorized(f"This wants a token. {HOW}")
    return secret


def require(token: Token, scope: TokenScope) -> None:
    """Raise MissingScope unless ``token`` has ``scope``."""
    if not token.may(scope):
        have = ", ".join(sorted(token.scopes))
        raise MissingScope(
            f"This wants a token with scope `{scope}`; {token.name!r} has {have or 'none'}.", scope=scope
        )


def logged_in(headers: Headers, secret: str, *, secure: bool) -> Response:
    """What ``GET /?token=`` answers to a right token: the cookie, and the way to ``/``."""
    response = Response(status_code=303, headers={**HARDENED, "Location": "/"})
    response.set_cookie(
        cookie_name(headers), quote(secret, safe=""), path="/", httponly=True, samesite="strict", secure=secure
    )
    return response


def cookie_name(headers: Headers) -> str:
    """The cookie's name. Browsers share cookies between the ports of a host: it carries the port, so that two
    hubs on one machine do not log each other out."""
    port = headers.get("host", "").rpartition(":")[2]
    return f"turnhub_{port}" if port.isascii() and port.isdigit() else "turnhub"


def _bearer(headers: Headers) -> str | None:
    given = headers.getlist("authorization")
    if not given:
        return None
    scheme, _, secret = given[0].strip().partition(" ")
    if len(given) > 1 or scheme.lower() != "bearer" or not secret.strip():
        raise Unauthorized(f"The Authorization header is not understood. {HOW}")
    return secret.strip()


def _from_cookie(headers: Headers) -> str | None:
    try:
        cookies = SimpleCookie("; ".join(headers.getlist("cookie")))
    except CookieError:
        return None
    found = cookies.get(cookie_name(headers))
    return unquote(found.value) if found else None
