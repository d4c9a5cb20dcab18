"""Pure: what an agent asks for, as asks of the hub, wherever it is seen; and answers, as the agent takes them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from hub import (
    ELICITATION,
    Answered,
    AskRequest,
    By,
    Question,
    QuestionOption,
    Refusal,
    Settlement,
    WithdrawnAsk,
    elicitation_answers,
    elicitation_result,
    elicited,
)
from hub import Answer as HubAnswer
from turnhub_tmux.bridge.decisions import Allow, Decision, Deny, Fill, answered
from turnhub_tmux.bridge.facts import PermissionAsked
from turnhub_tmux.bridge.posts import questions_of
from turnhub_tmux.screen import answers
from turnhub_tmux.screen.text import folded
from turnhub_tmux.screen.types import Dialog

QUESTION: Final = "AskUserQuestion"
PLAN: Final = "ExitPlanMode"
START_UP: Final = frozenset({"trust", "onboarding", "update", "renderer", "api_key"})
NONE: Final = "None of these"
KEYBOARD: Final = By(kind="keyboard", name="terminal")
_UNABLE: Final = "No answer could be had. Take this as a no; do not try it another way."
_DENIED: Final = "The person said no. Do not try it another way; ask what they want instead."
_SUBJECTS: Final[Mapping[str, tuple[str, ...]]] = {
    "Bash": ("command",),
    "Read": ("file_path",),
    "Write": ("file_path",),
    "Edit": ("file_path",),
    "NotebookEdit": ("notebook_path",),
    "WebFetch": ("url",),
    "WebSearch": ("query",),
    "Skill": ("skill", "command"),
}
_CHAT: Final = "Chat about this"
_CLARIFIES: Final = "wants to clarify these questions"
_CALLS: Final = re.compile(r"(.+?) [—-] (.+?)(?: Tool)?:?(?: ?\(.*\))? ?\(MCP\)")
_COUNTER: Final = re.compile(r"\s{2,}(\d{1,3}) of (\d{1,3})$")
_TITLES: Final[Mapping[str, str]] = {"bash command": "Bash", "fetch": "WebFetch", "web search": "WebSearch"}


def request_of(tool: str, given: dict[str, Any], *, source: str, tool_id: str | None = None) -> AskRequest:
    """The ask that a tool call with this input makes, or what an MCP server asks with it."""
    if tool == ELICITATION:
        return elicited(given["server"], given["message"], given["schema"], source=source, url=given["url"])
    if tool == QUESTION:
        questions = questions_of(given)
        subject = " ".join(question.question for question in questions)
        return AskRequest(
            kind="question",
            tool=tool,
            subject=subject,
            input=given,
            questions=questions,
            source=source,
            tool_id=tool_id,
        )
    return AskRequest(
        kind="permission",
        tool=tool,
        subject=subject_of(tool, given),
        input=given,
        rationale=_rationale(given),
        source=source,
        tool_id=tool_id,
    )


def subject_of(tool: str, given: Mapping[str, Any]) -> str:
    """What a permission is about. Where that is not known it is the whole input: a consent to one call of an
    unknown tool must not be one to all."""
    for key in _SUBJECTS.get(tool, ()):
        if isinstance(given.get(key), str):
            return str(given[key])
    return json.dumps(given, sort_keys=True, ensure_ascii=False) if given else ""


def _rationale(given: Mapping[str, Any]) -> str | None:
    found = given.get("description")
    return found if isinstance(found, str) and found else None


def of_dialog(dialog: Dialog) -> AskRequest:
    """The ask that a dialog on the screen is, as far as the screen tells."""
    if dialog.kind in ("permission", "plan"):
        title = _COUNTER.sub("", dialog.title)
        tool = "ExitPlanMode" if dialog.kind == "plan" else _TITLES.get(folded(title), title or "permission")
        given = {"command": dialog.command} if dialog.command else {"shown": dialog.text}
        subject = dialog.command or dialog.text
        return AskRequest(
            kind="permission", tool=tool, subject=subject, input=given, source="pane", refuses=refusals(dialog)
        )
    question = Question(
        question=_words_of(dialog),
        header=dialog.title,
        options=_offered(dialog),
        multi_select=dialog.multi,
    )
    tool = QUESTION if dialog.kind == "question" else f"dialog:{dialog.kind}"
    given = {"shown": dialog.text, "fingerprint": dialog.fingerprint}
    return AskRequest(
        kind="question",
        tool=tool,
        subject=dialog.title,
        input=given,
        questions=(question,),
        source="pane",
        refuses=refusals(dialog),
    )


def _words_of(dialog: Dialog) -> str:
    """What it asks. One of the agent's own (which folder is to be trusted, say) is known by all that it says."""
    asked = dialog.question or dialog.title
    return asked or dialog.text if dialog.kind == "question" else dialog.text or asked


def _offered(dialog: Dialog) -> tuple[QuestionOption, ...]:
    """What can be chosen; of a list of the agent's own also nothing at all, which is to leave it."""
    rows = [option for option in dialog.options if option.means not in ("text", "chat", "submit", "next")]
    offered = tuple(QuestionOption(label=option.label, description=option.description) for option in rows)
    return (*offered, QuestionOption(label=NONE)) if dialog.multi and _is_own(dialog) else offered


def _is_own(dialog: Dialog) -> bool:
    """Whether it is a menu of the agent's own: no words answer it, and it can be left as it is."""
    return dialog.kind == "other" and dialog.option("text") is None


def behind(dialog: Dialog) -> int:
    """How many more dialogs wait behind this one, as its title counts them (``Read file   1 of 3``)."""
    found = _COUNTER.search(dialog.title)
    return 0 if found is None else max(0, int(found[2]) - int(found[1]))


def refusals(dialog: Dialog) -> tuple[Refusal, ...]:
    """What keys cannot convey to this dialog."""
    words = dialog.option("text") is not None
    if dialog.kind in ("permission", "plan"):
        return ("input", "lines") if words or dialog.amend else ("input", "message")
    pages = [tab for tab in dialog.tabs if folded(tab.label) != "submit"]
    several: tuple[Refusal, ...] = ("response",) if len(pages) > 1 else ()
    return (*several, "lines" if words else "words")


def is_about(dialog: Dialog, request: AskRequest) -> bool:
    """Whether a dialog on the screen asks what ``request`` does: by its kind and its words."""
    if request.kind == "permission":
        return _permits(dialog, request)
    if dialog.kind == "review":
        return request.tool == QUESTION
    if request.tool != QUESTION:
        return request.tool == f"dialog:{dialog.kind}" and (dialog.kind != "other" or _same_menu(dialog, request))
    shown = folded(f"{dialog.question} {dialog.text}")
    return dialog.kind == "question" and any(_found(one.question, shown) for one in request.questions)


def _same_menu(dialog: Dialog, request: AskRequest) -> bool:
    """A menu of the agent's own is about nothing but what it says of itself."""
    now = of_dialog(dialog).questions
    return [(one.header, one.question) for one in request.questions] == [(one.header, one.question) for one in now]


def _permits(dialog: Dialog, request: AskRequest) -> bool:
    """Whether a permission's dialog shows the words of this call."""
    if dialog.kind == "plan" or request.tool == "ExitPlanMode":
        return dialog.kind == "plan" and request.tool == "ExitPlanMode"
    if dialog.kind != "permission":
        return False
    if request.tool.startswith("mcp__"):
        return _calls_server(dialog, request)
    shown, command = _squeezed(dialog.text), _squeezed(dialog.command or "")
    wanted = request.input.get("command")
    if isinstance(wanted, str) and command:
        return _squeezed(wanted) == command
    last = _squeezed(request.subject.rstrip("/").rpartition("/")[2])
    return bool(last) and (request.subject == dialog.text or last in shown or _squeezed(request.tool) in shown)


def _calls_server(dialog: Dialog, request: AskRequest) -> bool:
    """Whether the dialog is about this call of an MCP server, which it names by the server and the tool's title
    (``shop — Order Tool: (MCP)``); of a title that is not the tool's name the call's own words tell."""
    found = next((match for row in dialog.text.splitlines() if (match := _CALLS.match(row.strip()))), None)
    server, _, tool = request.tool.removeprefix("mcp__").partition("__")
    if found is None or _plain(found[1]) != _plain(server):
        return False
    shown = _squeezed(dialog.text)
    said = (str(value) for value in request.input.values() if isinstance(value, str | int))
    return _plain(found[2]) == _plain(tool) or all(_squeezed(words) in shown for words in said)


def _plain(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _found(question: str, shown: str) -> bool:
    return "".join(folded(question).split()) in "".join(shown.split())


def decision_of(asked: PermissionAsked, answer: HubAnswer) -> Decision:
    """An answer, as the hook of the agent takes it."""
    if asked.tool == ELICITATION:
        request = request_of(asked.tool, asked.input, source="hook")
        return msgspec.convert(elicitation_result(request, answer), Fill)
    if isinstance(answer, WithdrawnAsk):
        return Deny(message=_UNABLE)
    settlement = answer.settlement
    if asked.tool == QUESTION:
        return _told(asked, settlement)
    if settlement.decision != "allow":
        return Deny(message=settlement.message or _DENIED)
    if asked.tool == PLAN:
        # Its dialog is only answered by an allow that says what with; and one that says no more than that lets the
        # agent edit without being asked, which nobody allowed.
        edited = settlement.input
        return Allow(input=edited or asked.input, mode="default", same=edited is None)
    return Allow(input=settlement.input)


def _told(asked: PermissionAsked, settlement: Settlement) -> Decision:
    """An answer to questions: one to each, or words that answer no single one, which is a denial to the agent."""
    words = settlement.response or _UNABLE
    if settlement.answers is not None:
        return answered(asked, settlement.answers)
    if len(asked.questions) == 1:
        return answered(asked, {asked.questions[0].question: words})
    return Deny(message=words)


def reply_of(dialog: Dialog, request: AskRequest, answer: HubAnswer) -> answers.Answer:
    """An answer, for one page of a dialog. Raises CannotAnswerError where this page cannot take it."""
    if isinstance(answer, WithdrawnAsk):
        return _unanswered(dialog)
    settlement = answer.settlement
    if request.kind == "permission":
        return _decided(dialog, settlement)
    if dialog.kind == "review":
        _reviewed(dialog, (settlement.answers or {}).values())
        return answers.Mean("submit")
    if settlement.response is not None:
        return _choice(dialog, settlement.response)
    if settlement.answers is None:
        return _unanswered(dialog)
    return _choice(dialog, _answer_to(dialog, request, settlement.answers))


def _decided(dialog: Dialog, settlement: Settlement) -> answers.Answer:
    if settlement.input is not None:
        raise answers.CannotAnswerError("At the keyboard a call can be allowed as it is, not changed.")
    if settlement.decision == "allow":
        return answers.Mean("yes")
    if dialog.option("no") is None and dialog.option("text") is not None:
        return answers.Words(settlement.message or _DENIED)
    return answers.Mean("no", words=settlement.message or "")


def _unanswered(dialog: Dialog) -> answers.Answer:
    """The safe way out of a dialog that nobody may answer any more."""
    if dialog.option("no") is not None:
        return answers.Mean("no")
    if dialog.kind == "plan" and dialog.option("text") is not None:
        return answers.Words(_UNABLE)
    return answers.Mean("cancel") if dialog.option("cancel") is not None else answers.Leave()


def _reviewed(dialog: Dialog, given: Iterable[str]) -> None:
    """Raises CannotAnswerError where the page that reviews the answers shows others: somebody else chose, too."""
    shown = _squeezed(dialog.text).casefold()
    if any(_squeezed(part).casefold() not in shown for words in given for part in words.split(", ")):
        raise answers.CannotAnswerError("The page before the last step shows other answers than the ones given.")


def _answer_to(dialog: Dialog, request: AskRequest, given: Mapping[str, str]) -> str:
    if len(request.questions) == 1 and len(given) == 1:
        return next(iter(given.values()))
    shown = folded(f"{dialog.question} {dialog.text}")
    found = [one.question for one in request.questions if one.question in given and _found(one.question, shown)]
    if len(found) != 1:
        raise answers.CannotAnswerError("Which of the questions this page asks cannot be told.")
    return given[found[0]]


def _choice(dialog: Dialog, words: str) -> answers.Answer:
    """Options by their labels, else own words."""
    chat = dialog.option("chat")
    if chat is not None and folded(words) == folded(chat.label):
        return answers.Talk()
    labels = {folded(option.label): option.label for option in dialog.options if option.means in _CHOICES}
    if folded(words) in labels:
        return answers.Choose((labels[folded(words)],))
    chosen, own = _several(words.split(", "), labels) if dialog.multi else ((), words)
    if not chosen and _is_own(dialog):
        return answers.Leave()
    return answers.Choose(chosen, words=own) if dialog.multi else answers.Words(words)


def _several(parts: Sequence[str], labels: Mapping[str, str]) -> tuple[tuple[str, ...], str]:
    """The labels in an answer of several parts, which may have commas themselves, and the rest: own words."""
    chosen: list[str] = []
    own: list[str] = []
    while parts:
        found = next((n for n in range(len(parts), 0, -1) if folded(", ".join(parts[:n])) in labels), None)
        if found is None:
            own.append(parts[0])
        else:
            chosen.append(labels[folded(", ".join(parts[:found]))])
        parts = parts[found or 1 :]
    return tuple(chosen), ", ".join(own)


_CHOICES: Final = frozenset({"yes", "yes_always", "no", "choose", "toggle", "cancel"})


def by_keyboard(request: AskRequest, *, allowed: bool, output: Any = None, given: Any = None) -> Settlement | None:
    """What somebody answered at the keyboard, as its consequences tell; None where they do not tell it."""
    if request.kind == "permission":
        return Settlement(by=KEYBOARD, decision="allow" if allowed else "deny", scope="once")
    if request.tool == ELICITATION:
        return _filled_in(request, output)
    if not allowed:
        talks = isinstance(output, str) and _CLARIFIES in output
        return Settlement(by=KEYBOARD, response=_CHAT) if talks else None
    for source in (output, given):
        found = source.get("answers") if isinstance(source, Mapping) else None
        if isinstance(found, Mapping) and found:
            return Settlement(by=KEYBOARD, answers={str(key): str(value) for key, value in found.items()})
    return None


def is_another(answer: HubAnswer, request: AskRequest, found: Settlement | None, *, denied: bool) -> bool:
    """Whether the agent tells of another answer than this one, namely of ``found``, as somebody at the keyboard
    gave it. ``denied``: its call was refused, or left."""
    if isinstance(answer, WithdrawnAsk):
        return False
    given = answer.settlement
    if request.kind == "permission":
        return (given.decision == "allow") == denied
    if found is None:
        return denied and (given.answers is not None or given.response is not None)
    said = {key: _parts(words) for key, words in (found.answers or {}).items()}
    if given.answers is not None:
        return not said or any(
            said.get(key, _parts(words)) != _parts(words) for key, words in given.answers.items()
        )
    words = _parts(given.response or "")
    return words not in said.values() and words != _parts(found.response or "")


def _parts(words: str) -> set[str]:
    """The parts of an answer, as far as any composer leaves them as they are."""
    return {_plain(part) for part in words.split(",")}


def _filled_in(request: AskRequest, output: Any) -> Settlement | None:
    """What somebody made of a form, as its server was told."""
    told = output if isinstance(output, Mapping) else {}
    if told.get("action") == "accept":
        return Settlement(by=KEYBOARD, answers=elicitation_answers(request, told.get("content") or {}))
    return Settlement(by=KEYBOARD, response=str(told["action"])) if told.get("action") else None


def agreed(answer: HubAnswer) -> bool:
    """Whether the answer lets a tool run."""
    return isinstance(answer, Answered) and answer.settlement.decision == "allow"
