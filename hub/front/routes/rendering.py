"""Markdown of agents as HTML that is safe to show, for the web page."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from hub.front import views
from hub.front.operations import Answer, Call, Operation, Reply, operation
from hub.front.rendering import Rendering


def _operations() -> tuple[Operation, ...]:
    rendering, one_at_a_time = Rendering(), asyncio.Lock()

    @operation("POST", "/v1/render", Reply(200, views.Rendered), scope="read", body=views.ToRender)
    async def render(call: Call[views.ToRender, Any]) -> Answer:
        """Markdown as HTML: no tags but Markdown's own, no scripts, links to the web and to mail only, code with
        its words in classes. null where a text is too long to be rendered."""
        async with one_at_a_time:
            made = [await asyncio.to_thread(rendering.html, text) for text in call.body.texts]
        return Answer(200, views.Rendered(html=tuple(made)))

    return (render,)


OPERATIONS: Final[tuple[Operation, ...]] = _operations()
