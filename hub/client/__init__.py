"""A small Python client of the hub: what the command line itself uses.

``Client`` speaks to a hub over HTTP; its streams resume by cursor when a connection is lost. ``SyncClient`` is the
same for programs without an event loop. :func:`here` finds the hub
as the command line does::

    from hub.client import SyncClient, here

    with SyncClient(here()) as hub:
        session = hub.new_session("claude")["id"]
        with hub.send(session, "hello") as turn:
            for received in turn:
                print(received.event)
"""

from hub.client.discover import Address, discover, here
from hub.client.errors import ClientError, HubNotReachable, ProblemError
from hub.client.http import Client
from hub.client.stream import Patience, Received
from hub.client.streams import HintStream, LiveStream, SessionStream, TurnStream
from hub.client.sync import SyncClient, SyncStream

__all__ = [
    "Address",
    "Client",
    "ClientError",
    "HintStream",
    "HubNotReachable",
    "LiveStream",
    "Patience",
    "ProblemError",
    "Received",
    "SessionStream",
    "SyncClient",
    "SyncStream",
    "TurnStream",
    "discover",
    "here",
]
