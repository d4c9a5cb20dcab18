"""Copies of sessions: forked from any point, exported, imported."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from hub import archive, ids, markdown
from hub.archive import About, read_archive
from hub.config import AgentConfig, allowlisted
from hub.events import ForkedFrom, SessionCreated, decode, line_of, now
from hub.fold import fold
from hub.forking import cut_after, fork_lines, runs
from hub.front import views
from hub.front.auth import require
from hub.front.instant import last_seq
from hub.front.operations import Answer, Call, Operation, Reply, operation
from hub.front.params import asked, idempotency_key, session_id
from hub.front.problems import UnknownAgent
from hub.front.services import Services
from hub.store.records import Entry, SessionRecord

_LOCATION: Final = {"Location": "The session."}
_FILE: Final = {"Content-Disposition": "A name for the file."}


@operation(
    "POST",
    "/v1/sessions/{id}/fork",
    Reply(201, views.SessionView, headers=_LOCATION),
    scope="send",
    body=views.NewFork,
    optional=True,
    takes=["Idempotency-Key"],
    errors=["not_found", "bad_cursor", "unknown_agent", "idempotency_mismatch", "bad_idempotency_key"],
)
async def fork_session(call: Call[views.NewFork, Any]) -> Answer:
    """Make a new session that goes on from any point of this one. It shows what was said up to there; its agent
    is told it with the first message, or forks its own memory where it can. Neither queue nor grants are taken
    over. A policy that is not the agent's own is taken over with scope approve only."""
    services, body, name = call.services, call.body, session_id(call.path["id"])
    key = idempotency_key(call.headers)
    origin = await services.store.session(name)
    stands = await last_seq(services.store, name)
    log = [one for one in await services.store.whole_log(name) if one.seq <= stands]
    upto = cut_after(log, body.after, stands)
    agent = _agent(services, body.agent or origin.agent)
    same = agent.name == origin.agent
    policy = origin.policy if same else agent.policy
    if policy != agent.policy:
        require(call.token, "approve")
    forked = ForkedFrom(session_id=name, seq=upto)
    created = SessionCreated(agent=agent.name, transport=agent.transport, policy=policy)
    new_id = ids.session_id(key)
    lines = await asyncio.to_thread(_fork_lines, log, created, forked, new_id)
    whole = same and upto == stands and not runs(log)
    record = SessionRecord(
        id=new_id,
        agent=agent.name,
        transport=agent.transport,
        policy=policy,
        title=body.title if body.title is not None else origin.title,
        cwd=origin.cwd if same else _directory(agent),
        sensitive=origin.sensitive,
        copied=lines[-1].seq if len(lines) > 1 else 0,
        forked_from=forked,
        inherited=origin.memory if whole else {},
        asked=asked(f"fork {name}", body),
    )
    granted = [allowlisted(entry) for entry in agent.approval_allowlist]
    made, _ = await services.store.copy_session(record, lines, granted)
    return Answer(201, views.session_view(made), {"Location": f"/v1/sessions/{made.id}"})


def _agent(services: Services, name: str) -> AgentConfig:
    agents = services.config.agents
    if (agent := agents.get(name)) is None:
        known = ", ".join(sorted(agents)) or "none"
        raise UnknownAgent(f"No agent {name!r} is configured. There is: {known}.", agents=sorted(agents))
    return agent


def _directory(agent: AgentConfig) -> str:
    return str(Path(agent.cwd).expanduser().absolute())


def _fork_lines(
    log: Sequence[Entry], created: SessionCreated, forked: ForkedFrom, new_id: str
) -> tuple[archive.Line, ...]:
    return fork_lines((line_of(one.frame) for one in log), created, forked, session_id=new_id, at=now())


@operation(
    "GET",
    "/v1/sessions/{id}/export",
    Reply(200, str, archive.MEDIA, headers=_FILE),
    Reply(200, str, markdown.MEDIA, headers=_FILE),
    scope="read",
    query=views.ExportQuery,
    errors=["not_found"],
)
async def export_session(call: Call[Any, views.ExportQuery]) -> Answer:
    """The session as a file: lines of JSON, a header and every event, or Markdown for people. Secrets are masked
    unless `mask=false`: tokens, keys, passwords, as far as they can be told from other words."""
    name, wanted = session_id(call.path["id"]), call.query
    record = await call.services.store.session(name)
    log = await call.services.store.whole_log(name)
    make = _markdown if wanted.format == "markdown" else _jsonl
    content = await asyncio.to_thread(make, _about(record), log, masked=wanted.mask)
    media, ending = (markdown.MEDIA, "md") if wanted.format == "markdown" else (archive.MEDIA, "jsonl")
    headers = {"Content-Disposition": f'attachment; filename="{name}.{ending}"'}
    return Answer(200, content, headers, media)


def _about(record: SessionRecord) -> About:
    return About(**{name: getattr(record, name) for name in About.__struct_fields__})


def _jsonl(about: About, log: Sequence[Entry], *, masked: bool) -> bytes:
    return b"".join(archive.export_lines(about, (line_of(one.frame) for one in log), masked=masked))


def _markdown(about: About, log: Sequence[Entry], *, masked: bool) -> bytes:
    lines = [line_of(one.frame) for one in log]
    if masked:
        about, lines = archive.masked_about(about), [archive.masked_line(line) for line in lines]
    return markdown.markdown(about, fold(map(decode, lines))).encode()


@operation(
    "POST",
    "/v1/sessions/import",
    Reply(201, views.SessionView, headers=_LOCATION),
    scope="admin",
    raw=(archive.MEDIA, "application/jsonl"),
    errors=["bad_archive", "invalid"],
)
async def import_session(call: Call[bytes, Any]) -> Answer:
    """Make a session of an export, for looking at it: with a new id, archived. Each line is checked; the first
    that is wrong is named, and nothing is imported then."""
    new_id = ids.session_id()
    found = await asyncio.to_thread(read_archive, call.body, new_id)
    told = {name: getattr(found.about, name) for name in About.__struct_fields__ if name != "id"}
    record = SessionRecord(
        **told, id=new_id, archived=True, imported_from=found.about.id, copied=found.lines[-1].seq
    )
    made, _ = await call.services.store.copy_session(record, found.lines)
    return Answer(201, views.session_view(made), {"Location": f"/v1/sessions/{made.id}"})


OPERATIONS: Final[tuple[Operation, ...]] = (fork_session, export_session, import_session)
