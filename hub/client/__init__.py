"""A small Python client of the hub: what the command line itself uses.

``Client`` speaks to a hub over HTTP; its streams resume by cursor when a connection is lost.
"""

from hub.client.discover import Address, discover
from hub.client.errors import ClientError, HubNotReachable, ProblemError
from hub.client.http import Client
from hub.client.stream import Patience, Received
from hub.client.streams import HintStream, LiveStream, SessionStream, TurnStream

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
    "TurnStream",
    "discover",
]
