"""Who is asking: a token from the Authorization header, or from the cookie that ``GET /?token=`` sets."""

from __future__ import annotations

import asyncio
from http.cookies import CookieError, SimpleCookie
from typing import Final
from urllib.parse import quote, unquote

from starlette.datastructures import Headers
from starlette.responses import Response

from hub.front.problems import MissingScope, Unauthorized
from hub.front.services import Keys
from hub.tokens import Token, TokenScope

_HOW: Final = "Send it as Authorization: Bearer <token>, or open /?token=<token> in the browser."


async def authenticate(headers: Headers, tokens: Keys) -> Token:
    """The token of a request. Raises Unauthorized."""
    secret = _bearer(headers) or _from_cookie(headers)
    if not secret:
        raise Unauthorized(f"This wants a token. {_HOW}")
    token = await asyncio.to_thread(tokens.verify, secret)
    if token is None:
        raise Unauthorized(f"This token is not known here. {_HOW}")
    return token


def require(token: Token, scope: TokenScope) -> None:
    """Raise MissingScope unless ``token`` has ``scope``."""
    if not token.may(scope):
        have = ", ".join(sorted(token.scopes))
        raise MissingScope(
            f"This wants a token with scope `{scope}`; {token.name!r} has {have or 'none'}.", scope=scope
        )


async def log_in(headers: Headers, secret: str, tokens: Keys, *, secure: bool) -> Response:
    """What ``GET /?token=`` answers: the cookie, and the way to ``/``. Raises Unauthorized."""
    if await asyncio.to_thread(tokens.verify, secret) is None:
        raise Unauthorized("This token is not known here. `turnhub token` shows the one that is.")
    response = Response(status_code=303, headers={"Location": "/", "Cache-Control": "no-store"})
    response.set_cookie(
        cookie_name(headers), quote(secret, safe=""), path="/", httponly=True, samesite="strict", secure=secure
    )
    response.headers["Referrer-Policy"] = "no-referrer"
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
        raise Unauthorized(f"The Authorization header is not understood. {_HOW}")
    return secret.strip()


def _from_cookie(headers: Headers) -> str | None:
    try:
        cookies = SimpleCookie("; ".join(headers.getlist("cookie")))
    except CookieError:
        return None
    found = cookies.get(cookie_name(headers))
    return unquote(found.value) if found else None
