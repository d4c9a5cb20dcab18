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

from typing import ClassVar

from hub.testing.contract_asks import AskContract
from hub.testing.contract_base import Scenarios
from hub.testing.contract_lifecycle import LifecycleContract
from hub.testing.contract_stops import StopContract
from hub.testing.contract_turns import TurnContract

__all__ = ["Scenarios", "TransportContract"]


class TransportContract(TurnContract, StopContract, AskContract, LifecycleContract):
    """Inherit it in a class whose name begins with ``Test`` and give it a fixture ``transport``. ``TELLING``: the
    tests that say most, for those who run all of them on a slow agent only now and then."""

    TELLING: ClassVar[frozenset[str]] = frozenset(
        {
            "test_a_session_can_be_opened_again",
            "test_steering",
            "test_an_edited_input_is_what_runs",
            "test_an_answer_reaches_the_agent",
            "test_a_withdrawn_call_does_not_run",
            "test_a_turn_runs_after_a_stopped_one",
            "test_cancellation_is_honoured",
            "test_connections_are_independent",
            "test_events_keep_the_rules",
            "test_an_agent_that_cannot_run_says_why",
            "test_wrong_options_are_a_mistake_in_the_configuration",
        }
    )
