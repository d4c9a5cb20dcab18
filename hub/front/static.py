"""The files of the web page, read once. Served to everybody: they hold no secret."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

from msgspec import Struct
from starlette.datastructures import Headers
from starlette.responses import Response

from hub.errors import NotFound
from hub.front.problems import MethodNotAllowed

_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
    ".woff2": "font/woff2",
    ".png": "image/png",
}
_HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
        "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types turnhub"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
_ALLOW: Final = "GET, HEAD, OPTIONS"


class _File(Struct, frozen=True):
    content: bytes
    media: str
    etag: str


class Static:
    """All files below ``hub/front/static``; ``/`` is ``index.html``."""

    def __init__(self) -> None:
        self._files = dict(_walk(files("hub.front") / "static", ""))
        self._files["/"] = self._files["/index.html"]

    def response(self, method: str, path: str, headers: Headers) -> Response:
        """The file at ``path``. Raises NotFound, MethodNotAllowed."""
        found = self._files.get(path)
        if found is None:
            raise NotFound(f"There is nothing at {path[:200]!r}.")
        if method == "OPTIONS":
            return Response(status_code=204, headers={"Allow": _ALLOW})
        if method not in {"GET", "HEAD"}:
            raise MethodNotAllowed(f"{method} is not for this file; it takes {_ALLOW}.", allow=_ALLOW)
        known = {tag.strip().removeprefix("W/") for tag in headers.get("if-none-match", "").split(",")}
        described = {**_HEADERS, "ETag": found.etag}
        if found.etag in known:
            return Response(status_code=304, headers=described)
        response = Response(found.content, headers={**described, "Content-Type": found.media})
        if method == "HEAD":
            response.body = b""
        return response


def _walk(folder: Traversable, above: str) -> list[tuple[str, _File]]:
    found: list[tuple[str, _File]] = []
    for entry in folder.iterdir():
        path = f"{above}/{entry.name}"
        if entry.is_dir():
            found += _walk(entry, path)
        elif media := _TYPES.get(path[path.rfind(".") :]):
            content = entry.read_bytes()
            etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
            found.append((path, _File(content, media, etag)))
    return found
