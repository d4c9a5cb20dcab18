"""Deliver, verify, clear, retype: once, for every transport that types.

Nothing is typed before the hub has looked, nothing is submitted before it has looked again, and nothing counts
as delivered without proof. Who proves is asked in order of trust (``verify_delivery``: hook, transcript, pane).
A text is typed a second time only on proof that the first one sits unsent, and never a third time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress

from msgspec.structs import replace

from hub.errors import StoreReadOnly, StoreUnavailable
from hub.runner.drafts import Draft, joined
from hub.runner.looking import Looking, Stopped, dead, success, unverified
from hub.transport import Message, Verdict
from hub.typist import Conveyed, Hold, PlaceLost, PlaceTaken, Sight, TerminalFailed, Typist

Verify = Callable[[Sight, Sight, Conveyed], Awaitable[Verdict | None]]
Lock = Callable[[str], AbstractAsyncContextManager[Hold]]
Mark = Callable[[], Awaitable[None]]
Clock = Callable[[], float]

_BLANK = Sight(holder="unknown")
_TIDY_S = 4.0


async def _no_mark() -> None:
    return


class Delivery:
    """One delivery of one message into one terminal. ``mark`` is awaited right before the first key; ``clock``
    counts seconds. Raises CannotConvey when it is made."""

    def __init__(
        self,
        typist: Typist,
        message: Message,
        verify: Verify,
        mark: Mark = _no_mark,
        *,
        clock: Clock | None = None,
    ) -> None:
        self._typist = typist
        self._pace = typist.pace
        self._conveyed = typist.convey(message)
        self._verify = verify
        self._mark = mark
        self._clock = clock or asyncio.get_running_loop().time
        self._before = _BLANK
        self._unsent = False  # something of ours may stand in the composer
        self._looking: Looking
        self._draft: Draft

    async def run(self, lock: Lock, *, resumed: bool = False) -> Verdict:
        """Deliver under the terminal's lock. ``resumed``: somebody began to, and did not live to tell; then the
        text is not typed again. When cancelled, what was not submitted is taken back."""
        try:
            async with lock(self._typist.place) as hold:
                self._looking = Looking(self._typist, hold, self._clock)
                self._draft = Draft(self._typist, self._looking, self._clock)
                verdict = await self._tidily(self._resume() if resumed else self._deliver())
        except (PlaceTaken, StoreUnavailable, StoreReadOnly) as error:
            return unverified(f"{error.detail} Nothing was typed.")
        if self._conveyed.changes and success(verdict):
            changes = "Changed: " + ", ".join(self._conveyed.changes)
            return replace(verdict, detail=joined(verdict.detail, changes))
        return verdict

    async def _tidily(self, delivering: Awaitable[Verdict]) -> Verdict:
        try:
            return await delivering
        except PlaceLost as error:
            return unverified(error.detail)
        except Stopped as stopped:
            return stopped.verdict
        except BaseException:  # cancelled, most of all; whoever is to blame, nothing is left lying about
            if self._unsent or self._draft.text:
                await _to_its_end(self._tidy())
            raise

    async def _deliver(self) -> Verdict:
        sight = await self._looking.usable()
        try:
            if sight.composer == "draft":
                ours = self._typist.staged(_BLANK, sight, self._conveyed.text)
                sight = await self._draft.set_aside(sight, ours=ours)
            await self._mark()
            verdict = await self._attempt(sight)
            if verdict.verdict == "staged":
                verdict = await self._once_more(verdict)
        except Stopped as stopped:
            verdict = stopped.verdict
        except PlaceLost as error:
            verdict = unverified(error.detail)
        return await self._draft.give_back(verdict)

    async def _resume(self) -> Verdict:
        """Find out what became of a text that was being typed. Only what surely sits there unsent is submitted."""
        sight = await self._looking.usable()
        verdict = await self._proof(sight)
        if verdict is not None and success(verdict):
            return verdict
        if self._typist.staged(_BLANK, sight, self._conveyed.text):
            await self._submit()
        return await self._proven()

    # Typing

    async def _attempt(self, sight: Sight) -> Verdict:
        await self._paste(sight)
        if not await self._submit():
            return await self._not_shown()
        return await self._proven()

    async def _paste(self, sight: Sight) -> None:
        deadline = self._clock() + self._pace.paste_s
        while True:
            self._before, self._unsent = sight, True
            if await self._looking.pressed(lambda seen: self._typist.paste(seen, self._conveyed.text), sight):
                return
            self._unsent = False
            await self._typist.change(self._pace.look_s)
            sight = await self._looking.usable()  # says what there is instead, also when time is up
            if sight.composer == "draft":
                raise Stopped(unverified("Somebody types in the composer just now, so nothing was typed."))
            if self._clock() >= deadline:
                raise Stopped(unverified("The screen does not hold still, so nothing was typed."))

    async def _submit(self) -> bool:
        """Wait until the text stands in the composer, alone, and press the key; whether it was pressed. What is
        seen there instead stops the delivery."""
        deadline = self._clock() + self._pace.paste_s
        while True:
            sight = await self._looking.look()
            # The last look has just been, and the terminal itself looks once more.
            if self._ready(sight) and await self._looking.pressed(self._typist.submit, sight):
                self._unsent = False
                return True
            if self._clock() >= deadline:
                return False
            await self._typist.change(self._pace.look_s)

    def _ready(self, sight: Sight) -> bool:
        """Whether the submit key would submit the text, and nothing else."""
        reaches = sight.holder == "agent" and not sight.scrolled
        return reaches and self._typist.staged(self._before, sight, self._conveyed.text)

    async def _not_shown(self) -> Verdict:
        """The text did not come to stand in the composer, alone: the submit key was not pressed."""
        sight = await self._looking.look()
        proof = await self._proof(sight)
        if proof is not None and success(proof):
            return proof
        if sight.holder == "unknown":
            raise Stopped(unverified("What runs in the terminal cannot be found out any more."))
        if sight.composer != "draft":
            raise Stopped(unverified("The text did not appear in the composer, so it was not submitted."))
        if _squeezed(sight.draft) in _squeezed(self._conveyed.text):
            self._looking.hold.check()
            cleared = await self._typist.clear(sight)
            what = "left there" if cleared == "kept" else "taken away"
            raise Stopped(
                unverified(f"Only a part of the text appeared in the composer; it was {what}, not submitted.")
            )
        raise Stopped(
            unverified("The composer shows other text than this message (somebody types?); it was not submitted.")
        )

    async def _once_more(self, staged: Verdict) -> Verdict:
        """The text sits there unsent: clear it, and type it a second time. Unless it went by itself."""
        sight = await self._looking.look()
        self._looking.hold.check()
        cleared = await self._typist.clear(sight)
        if cleared == "kept":
            return replace(staged, detail=joined(staged.detail, "It could not be cleared to be typed again"))
        if cleared == "gone":
            proof = await self._proven()
            if success(proof):
                return proof
            return unverified("The text went from the composer unseen, and nothing proves that the agent took it.")
        self._unsent = False
        sight = await self._looking.usable()
        proof_now = await self._proof(sight)
        if proof_now is not None and success(proof_now):
            return proof_now
        if sight.composer == "draft":
            return unverified("The text was not submitted; then somebody typed in the composer.")
        return await self._attempt(sight)

    # Proof

    async def _proof(self, sight: Sight) -> Verdict | None:
        return await self._verify(self._before, sight, self._conveyed)

    async def _proven(self) -> Verdict:
        """Wait for proof. That the text sits there unsent counts only at the end: the key may be slow. A dialog
        that is there now proves nothing: it may be the agent's answer."""
        deadline = self._clock() + self._pace.proof_s
        while True:
            sight = await self._typist.look()
            verdict = await self._proof(sight)
            if verdict is not None and success(verdict):
                return verdict
            if sight.holder in ("shell", "nothing"):
                return dead(sight)
            if self._clock() >= deadline:
                break
            await self._typist.change(self._pace.look_s)
        if verdict is not None and verdict.verdict == "staged":
            self._unsent = True
            return verdict
        if verdict is not None and verdict.verdict == "unverified" and verdict.detail:
            return verdict
        told = "Nothing proves that the agent took the message, and nothing that it did not"
        return unverified(f"{told}. A dialog is there now: {sight.dialog}" if sight.dialog else f"{told}.")

    async def _tidy(self) -> None:
        """Take back what was not submitted; give back what was set aside."""
        with suppress(PlaceLost, Stopped, TerminalFailed):
            sight = await self._looking.look()
            if self._unsent and self._typist.staged(self._before, sight, self._conveyed.text):
                self._looking.hold.check()
                await self._typist.clear(sight)
            await self._draft.give_back(unverified(""))


async def _to_its_end(tidying: Awaitable[None]) -> None:
    """Await it although we are cancelled, perhaps again and again; for some seconds at most."""
    task = asyncio.ensure_future(tidying)
    deadline = asyncio.get_running_loop().time() + _TIDY_S
    while not task.done():
        with suppress(asyncio.CancelledError):
            left = deadline - asyncio.get_running_loop().time()
            await asyncio.wait({task}, timeout=max(left, 0))
        if asyncio.get_running_loop().time() >= deadline:
            task.cancel()
            await asyncio.wait({task})


def _squeezed(text: str) -> str:
    return "".join(text.split())
