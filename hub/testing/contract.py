"""What every transport must keep, as tests that a plugin's own tests inherit.

.. code-block:: python

    class TestEcho(TransportContract):
        @pytest.fixture
        def transport(self) -> Transport:
            return EchoTransport()

That is all for a transport without capabilities. For each capability the contract needs a message that makes
the agent show it: override :meth:`Scenarios.endless`, :meth:`~Scenarios.permission`,
:meth:`~Scenarios.question`. No test is skipped: where a capability is missing, its test states the opposite.
"""

from __future__ import annotations

from hub.testing.contract_asks import AskContract
from hub.testing.contract_base import Scenarios
from hub.testing.contract_lifecycle import LifecycleContract
from hub.testing.contract_stops import StopContract
from hub.testing.contract_turns import TurnContract

__all__ = ["Scenarios", "TransportContract"]


class TransportContract(TurnContract, StopContract, AskContract, LifecycleContract):
    """Inherit it in a class whose name begins with ``Test`` and give it a fixture ``transport``."""
