"""Pure: the words that an agent was given in a turn, by the ids under which its messages tell of them."""

from __future__ import annotations

from claude_agent_sdk import Message, SystemMessage
from msgspec import Struct


def uuids_of(message: Message) -> list[str]:
    """The prompts that a message of the agent's is about."""
    if isinstance(message, SystemMessage):
        told = message.data.get("user_message_uuids")
        return list(told) if isinstance(told, list) else []
    many = getattr(message, "user_message_uuids", None) or []
    one = getattr(message, "user_message_uuid", None)
    return [*many, one] if one else list(many)


class Joined(Struct, eq=False):
    """Words for a running turn. ``told``: the hub knows that they wait, so that news of them are an event of their
    own; ``taken``: the agent has gone on to them."""

    message_id: str
    told: bool = False
    taken: bool = False


class Joining:
    """The words that were given to one turn while it ran, and that wait in the agent's own queue."""

    def __init__(self) -> None:
        self._waiting: dict[str, Joined] = {}
        self._all: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def __contains__(self, uuid: object) -> bool:
        return uuid in self._all

    def add(self, uuid: str, message_id: str) -> Joined:
        """They are about to be given to the agent."""
        one = self._waiting[uuid] = Joined(message_id)
        self._all.add(uuid)
        return one

    def drop(self, uuid: str) -> None:
        """The agent does not get them."""
        self._waiting.pop(uuid, None)
        self._all.discard(uuid)

    def take(self, message: Message) -> list[Joined]:
        """Those that the agent goes on to with this message."""
        found = [one for uuid in uuids_of(message) if (one := self._waiting.pop(uuid, None)) is not None]
        for one in found:
            one.taken = True
        return found
