"""Deliver, verify, clear, retype: once, for every transport that types.

Nothing is typed before the hub has looked, nothing is submitted before it has looked again, and nothing counts
as delivered without proof. Who proves is asked in order of trust (``verify_delivery``: hook, transcript, pane).
A text is typed a second time only on proof that the first one sits unsent, and never a third time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

from msgspec import Struct
from msgspec.structs import replace

from hub.transport import Message, Verdict
from hub.typist import Conveyed, Sight, Typist

Verify = Callable[[Sight, Sight, Conveyed], Awaitable[Verdict | None]]
Lock = Callable[[str], AbstractAsyncContextManager[object]]


class Pace(Struct, frozen=True, kw_only=True):
    """Seconds: how long a starting agent is waited for; how long a paste may take to show; how long proof may
    take after the submit key; how long between looks when nothing tells of a change."""

    start_s: float = 30.0
    paste_s: float = 5.0
    proof_s: float = 10.0
    look_s: float = 0.1


class _Stopped(Exception):
    """The delivery ends here, with this verdict."""

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict


class Delivery:
    """One delivery of one message into one terminal."""

    def __init__(self, typist: Typist, message: Message, verify: Verify, pace: Pace | None = None) -> None:
        self._typist = typist
        self._message = message
        self._verify = verify
        self._pace = pace or Pace()
        self._typed = False
        self._clock = asyncio.get_running_loop().time

    async def run(self, lock: Lock) -> Verdict:
        """Deliver under the terminal's lock. Raises CannotConvey, with nothing typed."""
        conveyed = self._typist.convey(self._message)
        async with lock(self._typist.place):
            try:
                verdict = await self._deliver(conveyed)
            except _Stopped as stopped:
                verdict = stopped.verdict
        return _with_changes(verdict, conveyed)

    async def _deliver(self, conveyed: Conveyed) -> Verdict:
        sight = await self._usable()
        draft = sight.draft if sight.composer == "draft" else ""
        if draft:
            sight = await self._set_aside(sight)
        verdict = await self._attempt(sight, conveyed)
        if verdict.verdict == "staged":
            sight = await self._emptied(verdict)
            verdict = await self._attempt(sight, conveyed)
        if draft:
            verdict = await self._give_back(draft, verdict)
        return verdict

    # Looking

    async def _usable(self) -> Sight:
        """The sight of a terminal that can be typed into. An agent that is only starting is waited for."""
        deadline = self._clock() + self._pace.start_s
        while True:
            sight = await self._typist.look()
            if sight.scrolled and sight.holder == "agent":
                await self._typist.unscroll()
                sight = await self._typist.look()
            if sight.dialog is not None and await self._typist.dismiss(sight):
                sight = await self._typist.look()
            waits = sight.holder == "unknown" or sight.starting or sight.scrolled or sight.composer == "absent"
            if not (waits and sight.dialog is None and sight.holder in ("agent", "unknown")):
                break
            if self._clock() >= deadline:
                break
            await self._typist.change(self._pace.look_s)
        self._check(sight)
        if sight.composer == "absent" or sight.scrolled:
            raise _Stopped(_unverified("The screen shows no place to type into, so nothing was typed."))
        return sight

    def _check(self, sight: Sight) -> None:
        """Stop where typing would reach somebody else than the agent's composer."""
        if sight.holder in ("shell", "nothing"):
            what = "a shell" if sight.holder == "shell" else "nothing"
            raise _Stopped(
                Verdict(verdict="dead", proof="pane", detail=f"The agent is gone: {what} is in its place.")
            )
        if sight.holder == "unknown":
            told = "What runs in the terminal could not be found out"
            raise _Stopped(
                _unverified(f"{told}, after typing." if self._typed else f"{told}, so nothing was typed.")
            )
        if sight.dialog is not None:
            raise _Stopped(Verdict(verdict="blocked", proof="pane", detail=sight.dialog))

    # Typing

    async def _attempt(self, before: Sight, conveyed: Conveyed) -> Verdict:
        await self._typist.paste(conveyed.text)
        self._typed = True
        if not await self._shows(before, conveyed):
            return await self._not_shown(before, conveyed)
        # The last look has just been: between it and the key there is no await but the key itself.
        await self._typist.submit()
        return await self._proven(before, conveyed)

    async def _shows(self, before: Sight, conveyed: Conveyed) -> bool:
        """Wait until the paste stands in the composer, alone. What else is seen there stops the delivery."""
        deadline = self._clock() + self._pace.paste_s
        while True:
            sight = await self._typist.look()
            if sight.scrolled and sight.holder == "agent":
                await self._typist.unscroll()
                sight = await self._typist.look()
            self._check(sight)
            if not sight.scrolled and self._typist.staged(before, sight, conveyed.text):
                return True
            if self._clock() >= deadline:
                return False
            await self._typist.change(self._pace.look_s)

    async def _not_shown(self, before: Sight, conveyed: Conveyed) -> Verdict:
        """The paste did not come to stand in the composer: the submit key is not pressed."""
        sight = await self._typist.look()
        self._check(sight)
        proof = await self._verify(before, sight, conveyed)
        if proof is not None and proof.verdict in ("submitted", "queued"):
            return proof
        if sight.composer == "draft":
            detail = (
                "The composer shows other text than this message (somebody else types?); it was not submitted."
            )
            return Verdict(verdict="blocked", proof="pane", detail=detail)
        return _unverified("The pasted text did not appear in the composer, so it was not submitted.")

    async def _proven(self, before: Sight, conveyed: Conveyed) -> Verdict:
        """Wait for proof. Proof of staging counts only at the end: the key may be slow."""
        deadline = self._clock() + self._pace.proof_s
        verdict: Verdict | None = None
        while self._clock() < deadline:
            await self._typist.change(self._pace.look_s)
            sight = await self._typist.look()
            verdict = await self._verify(before, sight, conveyed)
            if verdict is not None and verdict.verdict in ("submitted", "queued"):
                return verdict
            if sight.holder in ("shell", "nothing"):
                self._check(sight)
            if sight.dialog is not None and self._clock() + self._pace.look_s >= deadline:
                self._check(sight)
        return verdict or _unverified(
            "Nothing proves that the agent took the message, and nothing that it did not."
        )

    # Other people's drafts

    async def _set_aside(self, sight: Sight) -> Sight:
        if not sight.draft_whole:
            detail = "Somebody's unsent text is in the composer, and not all of it can be seen: it was left alone."
            raise _Stopped(Verdict(verdict="blocked", proof="pane", detail=detail))
        return await self._emptied(None)

    async def _emptied(self, staged: Verdict | None) -> Sight:
        """Empty the composer; where it does not empty, stop: with ``staged``, or as blocked."""
        await self._typist.clear()
        sight = await self._typist.look()
        self._check(sight)
        if sight.composer not in ("empty", "ghost"):
            detail = "Unsent text in the composer could not be cleared."
            raise _Stopped(staged or Verdict(verdict="blocked", proof="pane", detail=detail))
        return sight

    async def _give_back(self, draft: str, verdict: Verdict) -> Verdict:
        """Put a person's draft back where it was, if the composer is free."""
        sight = await self._typist.look()
        free = sight.holder == "agent" and sight.dialog is None and sight.composer in ("empty", "ghost")
        if not free or sight.scrolled:
            return replace(verdict, detail=_joined(verdict.detail, f"A draft could not be put back: {draft!r}"))
        await self._typist.paste(draft)
        return replace(verdict, detail=_joined(verdict.detail, "A draft was set aside and put back"))


def _unverified(detail: str) -> Verdict:
    return Verdict(verdict="unverified", proof=None, detail=detail)


def _with_changes(verdict: Verdict, conveyed: Conveyed) -> Verdict:
    """Say what was changed of the text, where it counts."""
    if not conveyed.changes or verdict.verdict not in ("submitted", "queued"):
        return verdict
    return replace(verdict, detail=_joined(verdict.detail, "Changed: " + ", ".join(conveyed.changes)))


def _joined(detail: str | None, more: str) -> str:
    return f"{detail.rstrip('.')}. {more}" if detail else more
