"""The store's typed calls. Each call is one transaction or one read; nothing is cached here."""

from __future__ import annotations

from hub.store.asking import Asks
from hub.store.common import Bounds
from hub.store.copying import Copies
from hub.store.distilling import Distillations
from hub.store.outputs import Outputs
from hub.store.owned import OwnedTurns
from hub.store.queueing import Queueing
from hub.store.reading import Reading
from hub.store.sessions import Sessions
from hub.store.turns import Turns

__all__ = ["Bounds", "Store"]


class Store(Sessions, Turns, Queueing, OwnedTurns, Asks, Reading, Distillations, Copies, Outputs):
    """Everything that is kept, over one Redis. All methods raise StoreUnavailable or StoreReadOnly."""
