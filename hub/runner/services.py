"""What a runner works with, in one record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from hub.config import Config
from hub.metrics import Metrics
from hub.plugins import Plugins, agent_info, why_no_transport
from hub.store.doorbell import Doorbell
from hub.store.exclusive import Exclusive
from hub.store.overview import Overview
from hub.store.records import SessionRecord
from hub.store.store import Store
from hub.store.work import Work
from hub.transport import AgentInfo, SessionInfo, Transport


class Services(Struct, frozen=True, kw_only=True):
    """The store, the doorbell, the locks, the plugins, the configuration; ``runner_id`` is this process's."""

    runner_id: str
    config: Config
    plugins: Plugins
    store: Store
    overview: Overview
    work: Work
    doorbell: Doorbell
    exclusive: Exclusive
    metrics: Metrics

    @property
    def agents(self) -> Mapping[str, AgentInfo]:
        """The configured agents, as transports are told of them."""
        return {name: agent_info(self.config, agent) for name, agent in self.config.agents.items()}

    def transport_of(self, agent: str) -> Transport | str:
        """The transport of an agent, or the reason why there is none."""
        configured = self.config.agents.get(agent)
        if configured is None:
            known = ", ".join(sorted(self.config.agents)) or "none"
            return f"There is no agent {agent!r} in the configuration; there is {known}."
        found = self.plugins.transports.get(configured.transport)
        return found or why_no_transport(self.plugins, configured.transport)

    def session_info(self, record: SessionRecord) -> SessionInfo:
        """A session as its transport sees it. A session keeps its own working directory and policy."""
        agent = self.agents.get(record.agent)
        if agent is None:
            agent = AgentInfo(name=record.agent, transport=record.transport, cwd=record.cwd)
        return SessionInfo(
            id=record.id,
            agent=agent,
            cwd=record.cwd or agent.cwd,
            title=record.title,
            policy=record.policy or agent.policy,
            memory=record.memory,
            inherited=record.inherited,
        )

    def option_s(self, agent: str, name: str, default: float) -> float:
        """A number of seconds among an agent's own options, or the runner's default."""
        configured = self.config.agents.get(agent)
        value = configured.options.get(name) if configured else None
        return float(value) if isinstance(value, int | float) and value > 0 else default

    def ask_timeout_s(self, policy: str | None) -> float | None:
        """How long an ask waits under a policy; None: as long as its turn."""
        found: float | None = self._policy_says(policy, "ask_timeout_s")
        return found

    def drains_after_failure(self, policy: str | None) -> bool:
        """Whether messages that wait begin after a turn that failed, under a policy."""
        return bool(self._policy_says(policy, "on_failure") == "continue")

    def unattended(self, policy: str | None) -> bool:
        """Whether nobody is there to answer under a policy."""
        return bool(self._policy_says(policy, "unattended"))

    def sensitive(self, policy: str | None) -> bool:
        """Whether a policy keeps its turns from models elsewhere."""
        return bool(self._policy_says(policy, "sensitive"))

    def _policy_says(self, policy: str | None, name: str) -> Any:
        """What a policy says, else the first of those that it extends that says something."""
        waiting, seen = [policy], set[str | None]()
        while waiting:
            one = waiting.pop(0)
            configured = self.config.policies.get(one or "")
            if configured is None or one in seen:
                continue
            seen.add(one)
            if (found := getattr(configured, name)) is not None:
                return found
            waiting += configured.extends
        return None
