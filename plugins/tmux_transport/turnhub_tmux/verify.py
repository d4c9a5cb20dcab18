"""Whether the agent has the message: its hooks, its transcript and its screen are asked, in that order.

What they judge is what the typist put into :attr:`hub.Sight.seen` at its looks before and after: the pane
(:class:`~turnhub_tmux.typist.Seen`) and the record of what the agent took (:class:`~turnhub_tmux.traces.Traces`).
Only what is new since the look before counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from hub import Evidence, Verdict
from turnhub_tmux.screen.readback import readback
from turnhub_tmux.traces import Taking, Traces, Witness, is_for_agent
from turnhub_tmux.typist import SEEN, Seen

TRANSPORT: Final = "tmux"
TRACES: Final = "traces"
"""Where the record stands in :attr:`hub.Sight.seen`."""
_OTHER: Final = "The screen shows the message, but the agent told that it took a prompt of other words."


def verify(evidence: Evidence) -> Verdict | None:
    """The verdict of the first that can tell; None where nobody can, or the session is none of ours."""
    if evidence.session.agent.transport != TRANSPORT:
        return None
    verdicts = (verifier(evidence) for verifier in VERIFIERS)
    return next((verdict for verdict in verdicts if verdict is not None), None)


def by_hook(evidence: Evidence) -> Verdict | None:
    """What the agent's hooks say."""
    return _by_record(evidence, "hook")


def by_transcript(evidence: Evidence) -> Verdict | None:
    """What the agent's transcript says."""
    return _by_record(evidence, "transcript")


def by_line(evidence: Evidence) -> Verdict | None:
    """What the agent's own list of submitted lines says of a command, which nothing else may tell of. Only of an
    agent that was at rest: one at work may have put it into its queue."""
    before, now, then = _pane(evidence.before), _traces(evidence.after), _traces(evidence.before)
    if before is None or before.screen.state != "ready" or now is None or then is None:
        return None
    if not is_for_agent(evidence.text) or now.entered(evidence.text) <= then.entered(evidence.text):
        return None
    return Verdict(verdict="submitted", proof="transcript")


def by_pane(evidence: Evidence) -> Verdict | None:
    """What the screen says, by position; None where it proves nothing, or where somebody who knows the words is
    still to be heard, or has told of other words."""
    before, after = _pane(evidence.before), _pane(evidence.after)
    if after is None:
        return None
    now = _traces(evidence.after) or Traces()
    capture = None if before is None else before.look.capture
    if is_for_agent(evidence.text) and _opened(before, after):
        return Verdict(verdict="submitted", proof="pane")
    found = readback(evidence.text, capture, after.look.capture, after.manifest)
    if found.queued or found.submitted:
        if now.prompts > (_traces(evidence.before) or now).prompts:
            return Verdict(verdict="unverified", detail=_OTHER)
        verdict = Verdict(verdict="queued" if found.queued else "submitted", proof="pane")
        return None if now.awaited else verdict
    return Verdict(verdict="staged", proof="pane") if found.staged else None


def _opened(before: Seen | None, after: Seen) -> bool:
    """Whether the agent, which was ready, shows a panel or a dialog in the place of its composer now: a command of
    its own has opened it."""
    return (
        before is not None
        and before.screen.state == "ready"
        and after.screen.state == "waiting"
        and after.screen.composer.state == "absent"
    )


VERIFIERS: Final[tuple[Callable[[Evidence], Verdict | None], ...]] = (by_hook, by_transcript, by_line, by_pane)
"""In order of how far they can be trusted."""


def _by_record(evidence: Evidence, witness: Witness) -> Verdict | None:
    now = _traces(evidence.after)
    if now is None:
        return None
    then = _traces(evidence.before)
    if then is None and not now.whole:
        return None  # nobody knows what of it is new
    after = now.of(evidence.text)
    before = (then or Traces()).of(evidence.text)
    if after.taken.get(witness, 0) <= before.known:
        return None
    queued = _only_queued(before, after, witness)
    return Verdict(verdict="queued" if queued else "submitted", proof=witness)


def _only_queued(before: Taking, after: Taking, witness: Witness) -> bool:
    """Whether all that is new went into the queue, and has not come out of it yet."""
    new = after.taken.get(witness, 0) - before.taken.get(witness, 0)
    new_in_queue = after.queued.get(witness, 0) - before.queued.get(witness, 0)
    came_out = after.worked - before.worked > before.waiting
    return new_in_queue >= new and not came_out


def _traces(sight: Mapping[str, Any]) -> Traces | None:
    found = sight.get(TRACES)
    return found if isinstance(found, Traces) else None


def _pane(sight: Mapping[str, Any]) -> Seen | None:
    found = sight.get(SEEN)
    return found if isinstance(found, Seen) else None
