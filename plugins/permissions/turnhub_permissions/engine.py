"""Judging on this machine: the policies of a hub, ready to be asked."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from hub import Policies
from turnhub_permissions.builtin import builtin_bundles
from turnhub_permissions.files import Files
from turnhub_permissions.judge import Judge, Judgement
from turnhub_permissions.paths import Resolver, ground
from turnhub_permissions.policies import OWN, Policy, Source, compiled, empty
from turnhub_permissions.shell import Shell
from turnhub_permissions.tables import load


def source_of(policies: Policies) -> Source:
    """Where policies come from. The built-in bundles are always there, also where the configuration does not
    enable this plugin."""
    own = {name: bundle for name, bundle in builtin_bundles().items() if name not in policies.offered}
    return Source(
        where=policies.where,
        configured=policies.configured,
        offered={**own, **policies.offered},
        givers={**dict.fromkeys(own, OWN), **policies.givers},
    )


class Engine:
    """Policies and what is needed to judge by them. Safe to use from several threads."""

    def __init__(self, source: Source, resolver: Resolver | None = None) -> None:
        tables = load()
        self.source = source
        self._judge = Judge(tables, Shell(tables).acts)
        self._resolver: Resolver = Files() if resolver is None else resolver
        self._policies: dict[str, Policy] = {}
        self._lock = threading.Lock()

    def policy(self, name: str | None, key: str = "policy") -> Policy:
        """The policy of that name, compiled once; without a name, one without rules. Raises ConfigError."""
        if name is None:
            return empty()
        if name not in self._policies:
            self._policies[name] = compiled(self.source, name, key)
        return self._policies[name]

    def judge(
        self,
        policy: Policy,
        tool: str,
        given: Mapping[str, Any],
        cwd: str,
        *,
        home: str | None = None,
        grant: str | None = None,
        explain: bool = False,
    ) -> Judgement:
        """What ``policy`` says of a call of ``tool`` with input ``given`` in the directory ``cwd``."""
        with self._lock:
            place = ground(cwd, home or str(Path.home()), self._resolver)
            return self._judge.judge(policy, tool, given, place, grant=grant, explain=explain)


def checked(policies: Policies) -> Engine:
    """An engine, every policy of the configuration and every one that is named somewhere checked. Raises
    ConfigError."""
    engine = Engine(source_of(policies))
    for key, name in policies.used.items():
        engine.policy(name, key)
    for name in policies.configured:
        engine.policy(name, f"policies.{name}")
    return engine


def only_seen(judgement: Judgement) -> Judgement:
    """The same, where the call is only known from a screen, which may have cut it: it is not allowed by that."""
    if judgement.verdict != "allow":
        return judgement
    why = f"{judgement.why} But it is only known from the screen, which may not show all of it; a person is asked."
    return replace(judgement, verdict="ask", rule="only seen on the screen", why=why)
