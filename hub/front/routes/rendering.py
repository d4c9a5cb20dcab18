"""Markdown of agents as HTML that is safe to show, for the web page."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from hub.front import views
from hub.front.operations import Answer, Call, Operation, Reply, operation
from hub.front.rendering import Rendering


def _operations() -> tuple[Operation, ...]:
    # One thread: of a request whose client has gone, the text at hand is still worked on.
    rendering, thread = Rendering(), ThreadPoolExecutor(max_workers=1, thread_name_prefix="render")

    @operation("POST", "/v1/render", Reply(200, views.Rendered), scope="read", body=views.ToRender)
    async def render(call: Call[views.ToRender, Any]) -> Answer:
        """Markdown as HTML: no tags but Markdown's own, no scripts, links to the web and to mail only, code with
        its words in classes. null where a text is too long to be rendered."""
        loop = asyncio.get_running_loop()
        made = [await loop.run_in_executor(thread, rendering.html, text) for text in call.body.texts]
        return Answer(200, views.Rendered(html=tuple(made)))

    return (render,)


OPERATIONS: Final[tuple[Operation, ...]] = _operations()
