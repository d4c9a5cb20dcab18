"""What policy plugins say about a permission, before a person is asked."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import structlog
from msgspec import Struct

from hub import hooks
from hub.asks import AskRequest, Grant, Settlement
from hub.errors import PluginError
from hub.events import By, Decision
from hub.hooks import HookFailed
from hub.hookspecs import Resolution
from hub.plugins import Plugins
from hub.runner.sound import sound
from hub.transport import SessionInfo

_RANK = {"deny": 0, "ask": 1, "allow": 2}
_JUDGE_S = 10.0


class Judgement(Struct, frozen=True):
    """A plugin's resolution, and the plugin's name."""

    plugin: str
    resolution: Resolution

    @property
    def settlement(self) -> Settlement | None:
        """The settlement that it makes; None where a person is to be asked."""
        resolution = self.resolution
        if resolution.verdict == "ask":
            return None
        decision: Decision = resolution.verdict
        by = By(kind="policy", name=self.plugin, rule=resolution.rule)
        message = resolution.message or (f"Denied by rule {resolution.rule}." if decision == "deny" else None)
        return Settlement(by=by, decision=decision, scope="once", message=message)

    @property
    def asking(self) -> Judgement:
        """The same, where a person is to be asked whatever it says."""
        return Judgement(self.plugin, msgspec.structs.replace(self.resolution, verdict="ask"))


def granted(grant: Grant) -> Judgement:
    """What a session's grant says: allow, by the ask in which a person gave it, or by the agent's
    configuration."""
    return Judgement("grant", Resolution(verdict="allow", rule=grant.ask_id or grant.by.name))


async def judge(
    plugins: Plugins, session: SessionInfo, request: AskRequest, *, within_s: float = _JUDGE_S
) -> Judgement | None:
    """Any deny, then any ask, then any allow, whatever order plugins come in; None when none has an opinion. A
    plugin that fails, or takes longer than ``within_s`` seconds, has not allowed anything: a person is asked."""
    try:
        answers: Iterable[hooks.Answer] = await hooks.every(
            plugins.manager, "resolve_permission", within=within_s, session=session, request=request
        )
        judged = [_checked(answer) for answer in answers]
    except HookFailed as failed:
        structlog.get_logger("hub.asks").error("a policy plugin failed", plugins=failed.plugins)
        judged = [_checked(answer) for answer in failed.answers]
        judged += [_broken(plugin, failed.detail) for plugin in failed.plugins]
    return min(judged, key=lambda one: _RANK[one.resolution.verdict], default=None)


def _checked(answer: hooks.Answer) -> Judgement:
    try:
        return Judgement(answer.plugin, sound(answer.value, f"The resolution of plugin {answer.plugin!r}"))
    except PluginError as error:
        structlog.get_logger("hub.asks").error(
            "a policy plugin's resolution is no sound one", plugin=answer.plugin
        )
        return _broken(answer.plugin, error.detail)


def _broken(plugin: str, detail: str) -> Judgement:
    return Judgement(plugin, Resolution(verdict="ask", rule="plugin failed", danger=detail))
