"""Pure: what a person types into the chat, as what is to be done."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from msgspec import Struct

HELP: Final = """\
What you type is sent when you press Enter (Alt-Enter or Ctrl-J breaks the line). Commands begin with a slash:

  /retry           try the last message again, from its beginning
  /resume          go on where the last turn was cut off
  /interrupt       stop the running turn
  /steer TEXT      give TEXT to the running turn, where its agent takes words meanwhile
  /queue           list the messages that wait for the turn's end, with numbers
  /queue TEXT      let TEXT wait for the turn's end
  /edit N TEXT     change waiting message N
  /remove N        take waiting message N back
  /next            begin what waits first, where it stands still after a failure
  /agent /CLEAR    give the agent a command of its own, as at its keyboard
  //TEXT           send text that begins with a slash
  /help            this
  /quit            leave; the turn goes on

What an agent asks is answered below the conversation; Tab goes from the answer to your message and back.
Arrow up brings back what you have sent. Ctrl-Q puts what you have typed into the queue. Ctrl-C interrupts a turn
that you began, else it leaves, as Ctrl-D does; the turn goes on."""


class Mistake(Exception):
    """What was typed cannot be done; the text says what can."""


class Send(Struct, frozen=True):
    """Send ``text``; not ``literal``: as a command of the agent's own."""

    text: str
    literal: bool = True


class Queue(Struct, frozen=True):
    """Let ``message`` wait for the turn's end; None: list what waits."""

    message: Send | None = None


class Steer(Struct, frozen=True):
    """Give ``message`` to the running turn."""

    message: Send


class Edit(Struct, frozen=True):
    """Change the words of the waiting message with a ``number``."""

    number: int
    message: Send


class Remove(Struct, frozen=True):
    """Take the waiting message with a ``number`` back."""

    number: int


class Next(Struct, frozen=True):
    """Begin what waits first."""


class Retry(Struct, frozen=True):
    """Try the last message again."""

    mode: Literal["rerun", "resume"] = "rerun"


class Interrupt(Struct, frozen=True):
    """Stop the running turn."""


class Help(Struct, frozen=True):
    """Say what there is."""


class Quit(Struct, frozen=True):
    """Leave."""


Command: TypeAlias = Send | Queue | Steer | Edit | Remove | Next | Retry | Interrupt | Help | Quit
_ALONE: Final[dict[str, Command]] = {
    "/resume": Retry("resume"),
    "/next": Next(),
    "/interrupt": Interrupt(),
    "/help": Help(),
    "/quit": Quit(),
}
_WITH_TEXT: Final[dict[str, str]] = {
    "/agent": "Say which command of the agent: /agent /clear, for example.",
    "/steer": "Say what the running turn is to be told: /steer use the other file, for example.",
    "/edit": "Say which message, and its new words: /edit 1 then run the tests. /queue has the numbers.",
    "/remove": "Say which message: /remove 1. /queue has the numbers.",
}


def parse(typed: str) -> Command | None:
    """What ``typed`` says is to be done; None where it says nothing. Words are kept as they are. Raises
    Mistake."""
    if not typed.strip():
        return None
    if typed.startswith("//"):
        return Send(typed[1:])
    return _command(*_name_and_rest(typed)) if typed.startswith("/") else Send(typed)


def _command(name: str, rest: str) -> Command:
    if name in _ALONE:
        if rest:
            raise Mistake(f"{name} stands alone. Text that begins with a slash is sent with two: /{name} …")
        return _ALONE[name]
    if name in _WITH_TEXT and not rest:
        raise Mistake(_WITH_TEXT[name])
    found: Command
    match name, rest:
        case "/queue", _:
            found = Queue(_message(rest) if rest else None)
        case "/retry", "" | "rerun":
            found = Retry()
        case "/retry", "resume":
            found = Retry("resume")
        case "/retry", _:
            raise Mistake("It is /retry, or /resume to go on where it was cut off.")
        case "/agent", _:
            found = Send(rest, literal=False)
        case "/steer", _:
            found = Steer(_message(rest))
        case "/edit" | "/remove", _:
            found = _change(name, rest)
        case _:
            raise Mistake(
                f"There is no {name[:40]} here; /help says what there is. Text that begins with a slash is sent "
                "with two (//…), a command of the agent's own with /agent before it."
            )
    return found


def _change(name: str, rest: str) -> Edit | Remove:
    number, *text = rest.split(maxsplit=1)
    if not (number.isascii() and number.isdigit() and len(number) < 6) or bool(text) != (name == "/edit"):
        raise Mistake(_WITH_TEXT[name])
    return Edit(int(number), _message(text[0])) if text else Remove(int(number))


def _name_and_rest(typed: str) -> tuple[str, str]:
    name, *rest = typed.split(maxsplit=1)
    return name, rest[0].rstrip() if rest else ""


def _message(typed: str) -> Send:
    command = parse(typed)
    if not isinstance(command, Send):
        raise Mistake("What waits is a message: text, //text, or /agent /command.")
    return command
