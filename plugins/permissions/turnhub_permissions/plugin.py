"""The plugin: offers its bundles, takes the policies at the start, judges permissions, adds ``turnhub policy``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from hub import AskRequest, ConfigError, Policies, PolicyBundle, Resolution, SessionInfo, hookimpl
from turnhub_permissions.builtin import builtin_bundles

if TYPE_CHECKING:
    import click

    from turnhub_permissions.engine import Engine
    from turnhub_permissions.judge import Judgement

_READS: Final = "reads"


class Permissions:
    """Judges what agents want to do by the policy of their session."""

    def __init__(self) -> None:
        self._engine: Engine | None = None

    @hookimpl
    def register_policies(self, register: Callable[[PolicyBundle], None]) -> None:
        """Offer the built-in bundles."""
        for bundle in builtin_bundles().values():
            register(bundle)

    @hookimpl
    def use_policies(self, policies: Policies) -> None:
        """Compile the policies. Raises ConfigError, naming file, key and rule."""
        from turnhub_permissions.engine import checked  # noqa: PLC0415 - the parser is loaded by hubs only

        self._engine = checked(policies)

    @hookimpl
    async def resolve_permission(self, session: SessionInfo, request: AskRequest) -> Resolution | None:
        """What the session's policy says; None where it has nothing to say."""
        if request.kind != "permission" or self._engine is None:
            return None
        return await asyncio.to_thread(resolution, self._engine, session, request)

    @hookimpl
    async def only_reads(self, session: SessionInfo, tool: str, input: Mapping[str, Any]) -> bool | None:
        """Whether the bundle ``reads`` allows the call; None without policies."""
        if self._engine is None:
            return None
        request = AskRequest(kind="permission", tool=tool, input=dict(input), source="hub")
        reading = replace(session, policy=_READS)
        found = await asyncio.to_thread(resolution, self._engine, reading, request)
        return found is not None and found.verdict == "allow"

    @hookimpl
    def register_commands(self, group: click.Group) -> None:
        """Add ``turnhub policy``."""
        from turnhub_permissions.commands import policy  # noqa: PLC0415 - only the command line needs it

        group.add_command(policy)


def resolution(engine: Engine, session: SessionInfo, request: AskRequest) -> Resolution | None:
    """What a session's policy makes of a request."""
    from turnhub_permissions.engine import only_seen  # noqa: PLC0415 - loaded when policies were given

    try:
        policy = engine.policy(session.policy)
    except ConfigError as error:
        return Resolution(verdict="ask", rule="unknown policy", danger=error.detail)
    given: Mapping[str, Any] = request.input
    judged = engine.judge(policy, request.tool, given, session.cwd, home=_home(session))
    if request.source == "pane" and request.tool_id is None:
        judged = only_seen(judged)
    return _resolution(judged)


def _resolution(judged: Judgement) -> Resolution | None:
    if not judged.decided:
        return None
    message = judged.why if judged.verdict == "deny" else None
    return Resolution(verdict=judged.verdict, rule=judged.rule, message=message, danger=judged.danger)


def _home(session: SessionInfo) -> str | None:
    """The home that the agent is given, where it is not the hub's."""
    environment = session.agent.options.get("env")
    home = environment.get("HOME") if isinstance(environment, Mapping) else None
    return home if isinstance(home, str) and PurePath(home).is_absolute() else None
