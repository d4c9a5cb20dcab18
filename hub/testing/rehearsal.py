"""The rehearsal: a scripted model that shows a person around, behind the real agent.

Nothing leaves the machine and no account is needed. The person writes a word, and the agent does what the word
stands for: it answers at length, asks for a permission, asks a question, fails and then works.
"""

from __future__ import annotations

from typing import Final

from hub.testing.model import ScriptedModel
from hub.testing.model_script import Answer, Exchange, Fail, Reply, Say, Use, ask_user, reply

COMMAND: Final = "bash -c 'echo This line was printed by a command that you allowed.'"
QUESTION: Final = "Which drink goes with a rehearsal?"
_LINES: Final = 40
_WORD_S: Final = 0.05

_HELP: Final = """\
This is a rehearsal: the real agent, with a script in place of the model. Nothing leaves your machine, and no \
account is used. Send one of these words:

- `slow`: I answer for about twenty seconds. Reload the page meanwhile, or attach from elsewhere: the answer \
goes on, and nothing of it is missing.
- `permission`: I want to run a harmless command, and wait until you allow it or deny it, from any device.
- `question`: I ask you something. Choose an answer, or write one of your own.
- `fail`: my turn fails, as a real one may. Then retry it, and it works.
- `help`: this text again."""

_PERMISSION: Final = "I would like to run a small, harmless command. It waits for your word: allow it, or deny it."
_ASKING: Final = "Here is a question. Take one of the options, or write an answer of your own."
_FAILURE: Final = "This failure is part of the rehearsal. Nothing is broken: retry the turn, and it works."
_RECOVERED: Final = (
    "This time it worked. Your message was sent once more and got this answer; nothing else ran twice."
)
_NEXT: Final = "Send `help` to see what else there is."


def rehearse(exchange: Exchange, pace: float = 1.0) -> Answer:
    """The script. It decides by the conversation alone, so any number of people can rehearse at once.
    ``pace`` stretches the slow answer: 1 is about 20 s."""
    match _word(exchange.text):
        case "slow":
            return reply(_slow(pace))
        case "permission":
            return _permission(exchange)
        case "question":
            return _question(exchange)
        case "fail":
            return _fail(exchange)
        case _:
            return reply(_HELP)


def _word(text: str) -> str:
    words = text.split()
    return words[0].strip("`'\"/.,:;!?").lower() if words else ""


def _slow(pace: float) -> Say:
    lines = [f"{n} of {_LINES}: this line came {_when(n)}, one word after the other." for n in range(1, _LINES)]
    lines.append(f"{_LINES} of {_LINES}: that was all. {_NEXT}")
    return Say("\n".join(lines), every_s=_WORD_S * pace)


def _when(number: int) -> str:
    return "first" if number == 1 else "behind the last one"


def _permission(exchange: Exchange) -> Reply:
    if not exchange.results:
        return reply(_PERMISSION, Use("Bash", {"command": COMMAND, "description": "Print one line"}))
    result = exchange.results[-1]
    if result.is_error:
        return reply(f"Nothing was run. I was told: {result.text.strip()}\n\n{_NEXT}")
    return reply(f"You allowed it, and it printed:\n\n    {result.text.strip()}\n\n{_NEXT}")


def _question(exchange: Exchange) -> Reply:
    if exchange.results:
        return reply(f"Your answer reached me like this: {exchange.results[-1].text.strip()}\n\n{_NEXT}")
    options = [
        {"label": "Coffee", "description": "Keeps everybody awake"},
        {"label": "Tea", "description": "Takes a little longer"},
        {"label": "Water", "description": "Always there"},
    ]
    return reply(_ASKING, ask_user({"question": QUESTION, "header": "Drink", "options": options}))


def _fail(exchange: Exchange) -> Answer:
    before = exchange.prompts[-2:-1] if exchange.unanswered > 1 else ()
    if before and _word(before[0]) == "fail":
        return reply(f"{_RECOVERED} {_NEXT}")
    return Fail(status=400, message=_FAILURE)


class RehearsalModel(ScriptedModel):
    """The rehearsal's model as an endpoint: an asynchronous context manager with a ``url``. It keeps no
    requests. ``pace`` as in :func:`rehearse`."""

    def __init__(self, *, pace: float = 1.0) -> None:
        super().__init__(lambda exchange: rehearse(exchange, pace), keep=0)
