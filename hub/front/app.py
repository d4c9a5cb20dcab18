"""The front as an ASGI application: the guard around the routes, the plugins' routes and the static files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from starlette.datastructures import Headers, QueryParams
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hub import __version__
from hub.errors import BadRequest, HubError, Invalid, NotFound, PluginError
from hub.events import to_json
from hub.front import openapi
from hub.front.admission import Admission
from hub.front.auth import require
from hub.front.guard import Guard
from hub.front.headers import hardened
from hub.front.operations import Answer, Call, Operation, Path, Reply, operation, told
from hub.front.problems import MethodNotAllowed, Unauthorized
from hub.front.proxies import Proxied, Trusted
from hub.front.routes import OPERATIONS
from hub.front.services import Services
from hub.front.static import Static

_PLUGINS: Final = "/plugins/"
_ASKS_FOR_TOKEN: Final = ("/v1/", _PLUGINS)
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
TOKEN: Final = "turnhub.token"  # noqa: S105 - where plugins' routes find who asks


def create_app(services: Services) -> ASGIApp:
    """The front. Raises PluginError where a plugin's route is not below ``/plugins/<its name>/``."""
    operations = (*OPERATIONS, describe(OPERATIONS))
    by_path: dict[str, list[Operation]] = {}
    for one in operations:
        by_path.setdefault(one.path, []).append(one)
    admission = Admission(services.tokens, services.config.server)
    routes = [Route(path, Path(found, services, admission)) for path, found in by_path.items()]
    rest = _Rest(services.routes, admission)
    server = services.config.server
    guarded = Guard(
        Router(routes, redirect_slashes=False, default=rest), server.allowed_hosts, server.allowed_origins
    )
    trusted = Trusted(server.trusted_proxies)
    return Proxied(guarded, trusted) if trusted else guarded


def describe(operations: Sequence[Operation]) -> Operation:
    """The route that tells of ``operations``, and of itself."""
    made: list[bytes] = []

    @operation("GET", "/openapi.json", Reply(200, dict[str, Any]), scope="read")
    async def openapi_document(_: Call[Any, Any]) -> Answer:
        """This interface, as an OpenAPI 3.1 document."""
        if not made:
            made.append(to_json(openapi.document((*operations, openapi_document), __version__)))
        return Answer(200, made[0])

    return openapi_document


class _Rest:
    """Everything that is no route of the hub's own: plugins, files, and what is not there."""

    def __init__(self, plugins: Sequence[BaseRoute], admission: Admission) -> None:
        self._admission = admission
        self._plugins = Router([_checked(route) for route in plugins], redirect_slashes=False)
        self._static = Static()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["path"].startswith(_PLUGINS):
            await self._plugin(scope, receive, send)
        else:
            response = await told(self._respond(scope))
            await response(scope, receive, send)

    async def _respond(self, scope: Scope) -> Response:
        headers, path = Headers(scope=scope), scope["path"]
        secret = QueryParams(scope["query_string"]).get("token") if path == "/" else None
        if secret and scope["method"] in {"GET", "HEAD"}:
            return await self._admission.log_in(scope, secret)
        if path.startswith(_ASKS_FOR_TOKEN):
            await self._admission.admit(scope)
        return self._static.response(scope["method"], path, headers)

    async def _plugin(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A plugin's route, behind the hub's own authentication; changing anything wants scope admin."""
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = True
            await send(hardened(message) if message["type"] == "http.response.start" else message)

        async def run() -> Response:
            try:
                token = (await self._admission.admit(scope)).token
                require(token, "read" if scope["method"] in _SAFE else "admin")
                await self._plugins({**scope, TOKEN: token, "app": self._plugins}, receive, watched)
            except HTTPException as error:
                raise _plain(error, scope) from None
            return Response()

        response = await told(run())
        if not started:
            await response(scope, receive, send)


def _plain(error: HTTPException, scope: Scope) -> HubError:
    """What a plugin's route raised in Starlette's own words, in the hub's."""
    detail = f"{error.detail}."
    match error.status_code:
        case 401:
            return Unauthorized(detail)
        case 404:
            return NotFound(f"There is nothing at {scope['path'][:200]!r}.")
        case 405:
            allow = (error.headers or {}).get("Allow", "")
            return MethodNotAllowed(f"{scope['method']} is not for this route; it takes {allow}.", allow=allow)
        case status if status < 500:
            return BadRequest(detail) if status == 400 else Invalid(detail)
        case _:
            return PluginError(detail)


def _checked(route: BaseRoute) -> BaseRoute:
    path = getattr(route, "path", "")
    name, _, rest = path.removeprefix(_PLUGINS).partition("/")
    if not path.startswith(_PLUGINS) or not name or (not rest and isinstance(route, Route)):
        raise PluginError(f"A plugin's route has to be below /plugins/<its name>/, not at {path!r}.")
    return route
