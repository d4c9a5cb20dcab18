"""Asking a model, through pydantic-ai. Its libraries are imported here only, when a model is asked."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from hub import DistillFailure
from turnhub_distiller.prompt import INSTRUCTIONS, SCHEMA
from turnhub_distiller.settings import Route

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model, ModelRequestParameters

_TOOL: Final = "remember"
_NO_KEY: Final = "unused"  # a server of one's own wants none, and the library wants one


class Said(Struct, frozen=True, kw_only=True):
    """What a model answered: its text, or what it gave the tool; how much it thought (characters), which tokens it
    used, and whether the cap cut it off."""

    text: str
    thought: int
    tokens: int
    capped: bool
    refused: bool


class Turn(Struct, frozen=True):
    """Something said in a conversation with a model."""

    by: str
    text: str


class RouteFailed(Exception):
    """A route failed. ``again``: another attempt may go better."""

    def __init__(self, code: str, message: str, *, again: bool = False) -> None:
        super().__init__(message)
        self.failure = DistillFailure(code=code, message=message)
        self.again = again


async def ask(route: Route, turns: Sequence[Turn]) -> Said:
    """What the model of a route answers. Raises RouteFailed: timeout, unreachable, model_error, no_key, refused,
    bad_output."""
    try:
        async with _model(route) as model, asyncio.timeout(route.timeout_s):
            return await _asked(model, route, turns)
    except TimeoutError:
        raise RouteFailed(
            "timeout",
            f"Route {route.name!r} ({route.model}) gave no answer within {route.timeout_s:g} s. Raise "
            f"distiller.routes.{route.name}.timeout_s, or take a faster model.",
        ) from None


async def _asked(model: Model, route: Route, turns: Sequence[Turn]) -> Said:
    from pydantic_ai import exceptions  # noqa: PLC0415 - see above
    from pydantic_ai.direct import model_request  # noqa: PLC0415

    # Our own timeout comes first; the library's is there for a socket that never tells of it.
    settings: Any = {"max_tokens": route.cap, "timeout": route.timeout_s + 5}
    try:
        response = await model_request(
            model, _messages(turns), model_settings=settings, model_request_parameters=_parameters(route)
        )
    except exceptions.ModelHTTPError as error:
        raise _refused(route, error.status_code) from error
    except exceptions.ContentFilterError as error:
        raise RouteFailed(
            "refused", f"Route {route.name!r}: the model {route.model} refused to answer."
        ) from error
    except exceptions.ModelAPIError as error:
        status = getattr(error.__cause__, "status_code", None)
        if isinstance(status, int):  # a redirection that is not followed, say
            raise _refused(route, status) from error
        if isinstance(error.__cause__, ValueError):
            raise _unreadable(route) from error
        where = route.base_url or f"the server of {route.provider}"
        sentence = f"Route {route.name!r}: {where} cannot be reached ({type(error.__cause__ or error).__name__})."
        raise RouteFailed("unreachable", sentence, again=True) from error
    except exceptions.UnexpectedModelBehavior as error:
        raise _unreadable(route) from error
    except (exceptions.UserError, exceptions.AgentRunError) as error:
        sentence = f"Route {route.name!r}: {route.model} cannot be asked ({type(error).__name__}: {error})."
        raise RouteFailed("model_error", sentence) from error
    except Exception as error:  # the library stumbles over answers that it does not know
        raise _unreadable(route) from error
    return _said(response)


def _unreadable(route: Route) -> RouteFailed:
    """The server answered, but nothing that is a message."""
    sentence = f"Route {route.name!r}: what {route.model} answered cannot be read as a message."
    return RouteFailed("bad_output", sentence, again=True)


def _refused(route: Route, status: int) -> RouteFailed:
    """The server answered, but not with a message."""
    again = status in (408, 409, 429) or status >= 500
    sentence = f"Route {route.name!r} ({route.model}): the model's server answered with status {status}."
    return RouteFailed("model_error", sentence, again=again)


def _said(response: ModelResponse) -> Said:
    from pydantic_ai.messages import TextPart, ThinkingPart, ToolCallPart  # noqa: PLC0415

    calls = [part.args_as_json_str() for part in response.parts if isinstance(part, ToolCallPart)]
    texts = [part.content for part in response.parts if isinstance(part, TextPart)]
    return Said(
        text=calls[0] if calls else "".join(texts),
        thought=sum(len(part.content) for part in response.parts if isinstance(part, ThinkingPart)),
        tokens=response.usage.output_tokens or 0,
        capped=response.finish_reason == "length",
        refused=response.finish_reason == "content_filter",
    )


def _messages(turns: Sequence[Turn]) -> list[ModelMessage]:
    from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart  # noqa: PLC0415

    return [
        ModelRequest.user_text_prompt(turn.text, instructions=INSTRUCTIONS)
        if turn.by == "user"
        else ModelResponse(parts=[TextPart(turn.text)])
        for turn in turns
    ]


def _parameters(route: Route) -> ModelRequestParameters:
    """How the structure is asked for: as the input of a tool, or as the schema of the answer."""
    from pydantic_ai.models import ModelRequestParameters  # noqa: PLC0415
    from pydantic_ai.output import OutputObjectDefinition  # noqa: PLC0415
    from pydantic_ai.tools import ToolDefinition  # noqa: PLC0415

    if route.provider == "anthropic":
        tool = ToolDefinition(name=_TOOL, description="Keep this.", parameters_json_schema=SCHEMA)
        return ModelRequestParameters(output_mode="tool", output_tools=[tool], allow_text_output=False)
    shape = OutputObjectDefinition(json_schema=SCHEMA, name=_TOOL, strict=True)
    return ModelRequestParameters(output_mode="native", output_object=shape)


@asynccontextmanager
async def _model(route: Route) -> AsyncIterator[Model]:
    """The model of a route. A local one is reached without the proxies of the environment, and a redirection away
    from it is not followed: what is sent there stays there."""
    key = os.environ.get(route.api_key_env)
    if not key and route.base_url is None:
        raise RouteFailed(
            "no_key", f"Route {route.name!r}: the environment variable {route.api_key_env} is not set."
        )
    # In a thread: to import the libraries takes seconds, and turns run on this loop.
    client, model = await asyncio.to_thread(_made, route, key or _NO_KEY)
    async with client:
        yield model


def _made(route: Route, key: str) -> tuple[Any, Model]:
    import pydantic_ai.direct  # noqa: F401, PLC0415 - it is needed soon, where nothing may take long

    return _anthropic(route, key) if route.provider == "anthropic" else _openai(route, key)


def _guarded(route: Route) -> dict[str, Any]:
    return {"trust_env": False, "follow_redirects": False} if route.local else {}


def _anthropic(route: Route, key: str) -> tuple[Any, Model]:
    from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient  # noqa: PLC0415
    from pydantic_ai.models.anthropic import AnthropicModel  # noqa: PLC0415
    from pydantic_ai.providers.anthropic import AnthropicProvider  # noqa: PLC0415

    http = DefaultAsyncHttpxClient(**_guarded(route))
    client = AsyncAnthropic(api_key=key, base_url=route.base_url, max_retries=0, http_client=http)
    return client, AnthropicModel(route.model, provider=AnthropicProvider(anthropic_client=client))


def _openai(route: Route, key: str) -> tuple[Any, Model]:
    from openai import AsyncOpenAI, DefaultAsyncHttpxClient  # noqa: PLC0415
    from pydantic_ai.models.openai import OpenAIChatModel  # noqa: PLC0415
    from pydantic_ai.providers.openai import OpenAIProvider  # noqa: PLC0415

    http = DefaultAsyncHttpxClient(**_guarded(route))
    client = AsyncOpenAI(api_key=key, base_url=route.base_url, max_retries=0, http_client=http)
    return client, OpenAIChatModel(route.model, provider=OpenAIProvider(openai_client=client))
