"""The OpenAPI 3.1 document, made from the operations' own declarations."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from hub.events import AnyEvent
from hub.front.operations import Operation, Reply
from hub.front.params import EVENT_STREAM, JSON
from hub.front.problems import MEDIA_TYPE, kind_of
from hub.front.views import Problem

_PARAMETER: Final = re.compile(r"{(\w+)}")
_REF: Final = "#/components/schemas/{name}"
_ALWAYS: Final = ("bad_host", "foreign_host", "foreign_origin", "internal_error")
_WITH_STORE: Final = ("store_unavailable", "store_read_only")
_WITH_TOKEN: Final = ("unauthorized", "missing_scope", "too_many_requests", "too_many_wrong_tokens")
_WITH_BODY: Final = ("bad_json", "body_too_slow", "body_too_large", "unsupported_media_type", "invalid")
_WITH_RAW_BODY: Final = ("body_too_slow", "body_too_large", "unsupported_media_type")
_HEADERS: Final[dict[str, dict[str, Any]]] = {
    "Idempotency-Key": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
    "Last-Event-ID": {"type": "integer", "minimum": 0},
}


def document(operations: Iterable[Operation], version: str) -> dict[str, Any]:
    """The document for ``operations``."""
    declared = tuple(operations)
    schemas = _Schemas(declared)
    paths: dict[str, dict[str, Any]] = {}
    for one in declared:
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(one, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "turnhub", "version": version, "description": "One honest door to all coding agents."},
        "paths": paths,
        "components": {
            "schemas": schemas.components,
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "cookie": {"type": "apiKey", "in": "cookie", "name": "turnhub_8420"},
            },
        },
        "security": [{"bearer": []}, {"cookie": []}],
    }


class _Schemas:
    """The JSON schemas of all declared types, by type."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        kinds: list[Any] = [Problem, AnyEvent]
        for one in operations:
            kinds += [reply.kind for reply in one.replies if reply.kind is not None]
            kinds += [*one.shapes, *([one.query] if one.query else [])]
        made, self.components = msgspec.json.schema_components(kinds, ref_template=_REF)
        self._by_kind = list(zip(kinds, made, strict=True))
        self.components["AnyEvent"] = self.of(AnyEvent)

    def of(self, kind: Any) -> dict[str, Any]:
        """The schema of ``kind``, usually a reference."""
        return next(schema for known, schema in self._by_kind if known == kind)

    def fields(self, kind: Any) -> list[tuple[str, dict[str, Any], bool]]:
        """Name, schema and necessity of each field of a struct."""
        found = self.components[kind.__name__]
        wanted = found.get("required", ())
        return [(name, schema, name in wanted) for name, schema in found["properties"].items()]


def _operation(one: Operation, schemas: _Schemas) -> dict[str, Any]:
    told: dict[str, Any] = {
        "operationId": one.name,
        "summary": one.about.partition(". ")[0].rstrip("."),
        "description": one.about,
        "parameters": _parameters(one, schemas),
        "responses": {**_replies(one, schemas), **_problems(one, schemas)},
    }
    if one.scope is None:
        told["security"] = []
    else:
        told["x-scope"] = one.scope
    if one.raw:
        told["requestBody"] = {
            "required": True,
            "content": {media: {"schema": {"type": "string"}} for media in one.raw},
        }
    elif one.body is not None:
        shapes = [schemas.of(kind) for kind in one.shapes]
        content = {JSON: {"schema": shapes[0] if len(shapes) == 1 else {"anyOf": shapes}}}
        told["requestBody"] = {"required": not one.optional, "content": content}
    return told


def _parameters(one: Operation, schemas: _Schemas) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in _PARAMETER.findall(one.path)
    ]
    if one.query is not None:
        for name, schema, wanted in schemas.fields(one.query):
            found.append({"name": name, "in": "query", "required": wanted, "schema": schema})
    found += [{"name": name, "in": "header", "schema": _HEADERS[name]} for name in one.takes if name in _HEADERS]
    return found


def _replies(one: Operation, schemas: _Schemas) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for reply in one.replies:
        told = found.setdefault(str(reply.status), {"description": _description(reply)})
        if reply.kind is not None:
            told.setdefault("content", {})[reply.media] = {"schema": schemas.of(reply.kind)}
        if reply.headers:
            told["headers"] = {
                name: {"description": about, "schema": {"type": "string"}} for name, about in reply.headers.items()
            }
    return found


def _description(reply: Reply) -> str:
    if reply.media == EVENT_STREAM:
        return "A stream of events (see AnyEvent): id, event and data lines; a comment every 15 s."
    if reply.kind is None:
        return "Done; nothing to say."
    told = getattr(reply.kind, "__doc__", None) if inspect.isclass(reply.kind) else None
    if told is None or not issubclass(reply.kind, msgspec.Struct):  # a list, a text: Python's own words for those
        return "The answer."
    return " ".join(told.split())


def _problems(one: Operation, schemas: _Schemas) -> dict[str, Any]:
    codes = [*_ALWAYS, *one.errors]
    if one.scope is not None:
        codes += [*_WITH_TOKEN, *_WITH_STORE]
    if one.body is not None:
        codes += _WITH_BODY
    if one.raw:
        codes += _WITH_RAW_BODY
    if one.query is not None:
        codes.append("invalid")
    if any(reply.media == EVENT_STREAM for reply in one.replies):
        codes.append("too_many_streams")
    by_status: dict[int, list[str]] = {}
    for code in dict.fromkeys(codes):
        by_status.setdefault(kind_of(code).status, []).append(code)
    return {
        str(status): {
            "description": ", ".join(f"`{code}`: {kind_of(code).title}" for code in found),
            "content": {MEDIA_TYPE: {"schema": schemas.of(Problem)}},
        }
        for status, found in sorted(by_status.items())
    }
