"""The store's calls about tools' whole outputs, which are kept for a while beside the log."""

from __future__ import annotations

from hub.store.common import StoreBase, check_fence
from hub.store.records import Claim
from hub.store.transactions import encode_text, transact


class Outputs(StoreBase):
    """Outputs are kept, and found again."""

    async def keep_output(self, claim: Claim, tool_id: str, text: str) -> None:
        """Keep what a tool of the running turn gave back: as much of its beginning as the bounds allow. Older ones
        of the session make room. Raises Fenced."""
        bounds = self.bounds
        if not bounds.output_keep_ms:
            return
        kept = _beginning(encode_text(text), min(bounds.output_most, bounds.outputs_most))
        limits = [bounds.output_keep_ms, bounds.outputs_most]
        answer = await transact(
            self.redis,
            "keep_output",
            claim.session_id,
            claim.turn_id,
            claim.fence,
            tool_id,
            kept,
            len(kept),
            *limits,
        )
        check_fence(claim, answer)

    async def output(self, session_id: str, turn_id: str, tool_id: str) -> str | None:
        """The kept output of a tool; None where it is kept no more."""
        status, *told = await transact(self.redis, "output", session_id, turn_id, tool_id)
        return told[0].decode() if status == "ok" else None


def _beginning(raw: bytes, most: int) -> bytes:
    """At most ``most`` bytes, no character cut in two."""
    return raw if len(raw) <= most else raw[:most].decode(errors="ignore").encode()
