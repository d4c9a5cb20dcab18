"""A transport that says everything again: the smallest whole plugin."""

from collections.abc import Callable

from hub import (
    AgentInfo,
    Completed,
    ConfigError,
    Connection,
    Ending,
    SessionInfo,
    Text,
    TextDelta,
    Transport,
    TurnContext,
    hookimpl,
)


class EchoConnection(Connection):
    """A session with somebody who repeats what he hears."""

    async def run(self, turn: TurnContext) -> Ending:
        """Say the message again, a word at a time."""
        words = turn.message.text.split(" ")
        for word in words[:-1]:
            await turn.emit(TextDelta(block=0, text=f"{word} "))
        await turn.emit(TextDelta(block=0, text=words[-1]))
        await turn.emit(Text(block=0, text=turn.message.text))
        return Completed()


class EchoTransport(Transport):
    """Opens echoes. An agent of it takes no options."""

    name = "echo"

    def check(self, agent: AgentInfo) -> str | None:
        """An echo can run anywhere. Raises ConfigError for any option."""
        if agent.options:
            raise ConfigError(f"agents.{agent.name}.{min(agent.options)}: unknown; an echo takes no options.")
        return None

    async def open(self, session: SessionInfo) -> Connection:
        """An echo for the session."""
        return EchoConnection()


@hookimpl
def register_transports(register: Callable[[Transport], None]) -> None:
    """Offer the transport ``echo``."""
    register(EchoTransport())
