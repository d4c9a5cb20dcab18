"""Operations: each route is declared once, with what it takes and what it answers. The declaration serves the
requests and makes the OpenAPI document, so the two cannot drift apart."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack
from http import HTTPStatus
from typing import Any, Final, Generic, Literal, TypeAlias, TypeVar, cast

from msgspec import Struct
from starlette.datastructures import Headers, QueryParams
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from hub.config import ServerConfig
from hub.errors import HubError
from hub.events import to_json
from hub.front.admission import Admission
from hub.front.auth import require
from hub.front.body import check_media_type, parse_object, read_body, typed
from hub.front.headers import HARDENED
from hub.front.params import EVENT_STREAM, JSON, preferred
from hub.front.problems import MethodNotAllowed, Unexpected, problem
from hub.front.services import Services
from hub.front.sse import EventStream
from hub.ids import request_id
from hub.tokens import Token, TokenScope

log = logging.getLogger(__name__)

Method = Literal["GET", "POST", "PATCH", "DELETE"]


class Nothing(Struct, frozen=True, forbid_unknown_fields=True):
    """The body of a request that takes no fields."""


B = TypeVar("B")
Q = TypeVar("Q")
_LONG_BODY: Final = 10  # times as long as others
_NOBODY: Final = Token(name="nobody", scopes=frozenset())


class Reply(Struct, frozen=True):
    """One way in which an operation answers. ``kind`` is the type of the content, None for none."""

    status: int
    kind: Any = None
    media: str = JSON
    headers: Mapping[str, str] = {}


class Answer(Struct, frozen=True):
    """An answer: a value of the declared type, or that value as bytes already. ``media``: which of the declared
    ones, where there are several."""

    status: int
    value: Any = None
    headers: Mapping[str, str] = {}
    media: str | None = None


Outcome: TypeAlias = Answer | EventStream


class Call(Struct, Generic[B, Q], frozen=True):
    """What a handler is given. ``path`` holds the parameters of the path."""

    services: Services
    token: Token
    headers: Headers
    path: Mapping[str, str]
    params: QueryParams
    body: B
    query: Q


Handler: TypeAlias = Callable[[Call[Any, Any]], Awaitable[Outcome]]


class Operation(Struct, frozen=True, kw_only=True):
    """A route's declaration. ``scope`` None: open to everybody. ``body`` None: takes none; ``optional``: the
    body may be left out. ``raw``: the media types of a body that is taken as bytes, up to
    ``server.max_import_bytes``. ``errors`` are codes of :mod:`hub.front.problems` beyond the common ones."""

    method: Method
    path: str
    name: str
    about: str
    scope: TokenScope | None
    replies: tuple[Reply, ...]
    handler: Handler
    body: type[Any] | None = None
    shapes: tuple[type[Any], ...] = ()
    optional: bool = False
    raw: tuple[str, ...] = ()
    query: type[Any] | None = None
    takes: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()


def operation(
    method: Method,
    path: str,
    *replies: Reply,
    scope: TokenScope | None,
    body: type[B] | None = None,
    query: type[Q] | None = None,
    shapes: Sequence[type[Any]] = (),
    optional: bool = False,
    raw: Sequence[str] = (),
    takes: Sequence[str] = (),
    errors: Sequence[str] = (),
) -> Callable[[Callable[[Call[B, Q]], Awaitable[Outcome]]], Operation]:
    """Declare the function below as a route. Its docstring is the route's description. ``takes``: names of
    request headers that count. ``shapes``: what the body may be
    where the handler takes a free object."""

    def declare(handler: Callable[[Call[B, Q]], Awaitable[Outcome]]) -> Operation:
        return Operation(
            method=method,
            path=path,
            name=handler.__name__,
            about=" ".join((handler.__doc__ or "").split()),
            scope=scope,
            replies=replies,
            handler=cast(Handler, handler),
            body=body,
            shapes=tuple(shapes) or ((body,) if body else ()),
            optional=optional,
            raw=tuple(raw),
            query=query,
            takes=tuple(takes),
            errors=tuple(errors),
        )

    return declare


class Path:
    """All operations of one path, as an ASGI application. Answers HEAD and OPTIONS too."""

    def __init__(self, operations: Sequence[Operation], services: Services, admission: Admission) -> None:
        self._services = services
        self._admission = admission
        self._path = operations[0].path
        self._by_method = {one.method: one for one in operations}
        allowed = [*self._by_method, *(["HEAD"] if "GET" in self._by_method else []), "OPTIONS"]
        self._allow = ", ".join(sorted(allowed))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        with ExitStack() as held:
            response = await told(self._respond(scope, receive, held))
            self._services.metrics.request(self._path, response.status_code)
            if scope["method"] == "HEAD":
                response.body = b""  # the headers, with the length that GET would have, are made already
            await response(scope, receive, send)

    async def _respond(self, scope: Scope, receive: Receive, held: ExitStack) -> Response:
        method = scope["method"]
        found = self._by_method.get("GET" if method == "HEAD" else method)
        if found is not None:
            return _response(found, await found.handler(await self._call(found, scope, receive, held)))
        if method == "OPTIONS":
            return Response(status_code=204, headers={"Allow": self._allow})
        raise MethodNotAllowed(f"{method} is not for this route; it takes {self._allow}.", allow=self._allow)

    async def _call(self, found: Operation, scope: Scope, receive: Receive, held: ExitStack) -> Call[Any, Any]:
        headers, services = Headers(scope=scope), self._services
        token = _NOBODY
        if found.scope is not None:
            admitted = await self._admission.admit(scope)
            token = admitted.token
            require(token, found.scope)
            if _may_stream(found, headers):  # before anything is done, so that nothing is for nobody
                held.enter_context(self._admission.stream(admitted, scope))
        params = QueryParams(scope["query_string"])
        return Call(
            services=services,
            token=token,
            headers=headers,
            path=scope["path_params"],
            params=params,
            query=_query(found, params),
            body=await _body(found, headers, receive, services.config.server),
        )


def _may_stream(found: Operation, headers: Headers) -> bool:
    """Whether the answer may be a stream: one is declared, and the client likes it best."""
    media = list(dict.fromkeys(reply.media for reply in found.replies if reply.kind is not None))
    return EVENT_STREAM in media and preferred(headers, media) == EVENT_STREAM


async def told(response: Awaitable[Response]) -> Response:
    """The response; where making it raises, the problem document that tells why. What nobody expected is
    logged under a request id, which is all that the client sees of it."""
    try:
        return await response
    except HubError as error:
        if problem(error).status_code == 500:
            log.error("a request failed: %s: %s", error.code, error.detail)
        return problem(error)
    except Exception:  # the last line of defence: the client gets an answer, the log the whole story
        number = request_id()
        log.exception("request %s failed", number)
        return problem(
            Unexpected(f"The hub made a mistake. Its log tells more under {number}.", request_id=number)
        )


def _query(found: Operation, params: QueryParams) -> Any:
    if found.query is None:
        return None
    known = {field for field in found.query.__struct_fields__ if field in params}
    return typed({name: params[name] for name in known}, found.query, strict=False)


async def _body(found: Operation, headers: Headers, receive: Receive, server: ServerConfig) -> Any:
    if found.raw:
        check_media_type(headers, found.raw)
        return await read_body(headers, receive, server.max_import_bytes, _LONG_BODY * server.body_timeout_s)
    if found.body is None and found.method == "GET":
        return None
    raw = await read_body(headers, receive, server.max_body_bytes, server.body_timeout_s)
    if found.body is None:
        return typed(parse_object(raw), Nothing) if raw.strip() else Nothing()
    if found.optional and not raw.strip():
        raw = b"{}"
    else:
        check_media_type(headers)
    value = parse_object(raw)
    return value if found.body is dict else typed(value, found.body)


def _response(found: Operation, outcome: Outcome) -> Response:
    if isinstance(outcome, EventStream):
        _declared(found, 200, EVENT_STREAM)
        return outcome
    reply = _declared(found, outcome.status, outcome.media)
    headers = {**HARDENED, **outcome.headers}
    if reply.kind is None:
        return Response(status_code=outcome.status, headers=headers)
    content = outcome.value if isinstance(outcome.value, bytes) else to_json(outcome.value)
    return Response(content, outcome.status, headers, reply.media)


def _declared(found: Operation, status: int, media: str | None) -> Reply:
    for reply in found.replies:
        wanted = reply.media != EVENT_STREAM if media is None else reply.media == media
        if reply.status == status and wanted:
            return reply
    raise AssertionError(f"{found.name} answers {HTTPStatus(status)}, which it does not declare.")
