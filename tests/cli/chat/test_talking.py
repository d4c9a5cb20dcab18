"""The chat in a real terminal, with a real hub: what is said is shown, what is typed is kept, what is asked is
answered in place."""

from __future__ import annotations

import json
import re

from hub.client import Address, SyncClient
from tests.cli.chat.conftest import Attach
from tests.clihub import BASH, COLOUR, FAIL, HANG, CliHub, script

SLOWLY = "# Head\n\nSome *slanted* words.\n\nThen, slowly: " + "word " * 100 + "\n\nThe end."
READY = "/help says what there is"
ANSWER = "[d]eny (d WORDS says why): "


def test_an_answer_is_markdown_in_the_scrollback_and_grows_while_it_is_written(
    desk: CliHub, command: Attach
) -> None:
    """Finished blocks are there before the answer is, the tail and the activity stand above the input, which is
    free all the time; in the end everything is in the scrollback, once."""
    session = desk.new()
    with command("attach", session) as pane:
        pane.see(READY)
        desk.start(session, {"text": SLOWLY, "every_ms": 30})
        shown = pane.see("  Head", "Some slanted words.", "Then, slowly: word", "● writing", "\n>")
        assert "✓ done" not in shown
        pane.type("a draft")
        pane.bottom("> a draft")
        shown = pane.see("The end.", "✓ done", "> a draft")
        assert shown.count("Then, slowly:") == 2  # the message, which is a script, and the answer
        assert shown.count("  Head") == 1
        assert len(re.findall(r"\bword\b", shown.split("  Head")[1])) == 100


def test_what_is_typed_is_sent_and_answered(desk: CliHub, command: Attach) -> None:
    """By Enter; the input is empty then."""
    with command("attach", desk.new()) as pane:
        pane.see(READY)
        pane.enter("hello **there**")
        pane.see("> hello **there**", "Echo: hello there", "✓ done")
        pane.bottom(">")


def test_it_begins_with_the_last_exchanges(desk: CliHub, command: Attach) -> None:
    """The last two; what was before is named."""
    session = desk.new()
    for word in ("one", "two", "three"):
        desk.run("send", session, word)
    with command("attach", session) as pane:
        shown = pane.see("echo", f"turnhub show {session}", "> two", "Echo: two", "> three", "Echo: three", READY)
        assert "Echo: one" not in shown


def test_a_permission_is_answered_in_place(desk: CliHub, command: Attach) -> None:
    """By a letter; the call runs, and the answer's words never were a message."""
    session = desk.new()
    with command("attach", session) as pane:
        pane.see(READY)
        pane.enter(script(BASH, {"text": "Over."}))
        pane.see("? Bash asks for permission", "| ls -la", "● waits for your answer", ANSWER)
        pane.enter("nonsense")
        pane.see("Type one of:", ANSWER)
        for _ in "nonsense":
            pane.press("BSpace")
        pane.enter("a")
        pane.see("allowed by person primary", "✓ ok", "two files", "Over.", "✓ done")
        pane.bottom(">")


def test_questions_are_answered_one_after_the_other(desk: CliHub, command: Attach) -> None:
    """By number or in words; the agent gets both."""
    size = {"question": "Which size?", "header": "Size", "options": [], "multiSelect": False}
    with command("attach", desk.new()) as pane:
        pane.see(READY)
        pane.enter(script({"question": {"questions": [COLOUR, size]}}))
        pane.see("? Which colour?", "1. Red: warm", "2. Blue", "Which colour? number, or your own words: ")
        pane.enter("2")
        pane.see("Which size? your answer: ")
        pane.enter("rather large")
        pane.see("answered by person primary", "Blue", "rather large", "✓ done")


def test_an_ask_answered_elsewhere_goes_away_with_who_answered(desk: CliHub, command: Attach) -> None:
    """The input is the message's again. Words that were meant for the ask are no message: they have to be put
    away first."""
    session = desk.new()
    with command("attach", session) as pane:
        pane.see(READY)
        desk.start(session, BASH, BASH, HANG)
        pane.see("● waits for your answer", ANSWER)
        desk.run("answer", desk.asks(session)[0], "--allow")
        pane.see("allowed by person primary", "● waits for your answer", ANSWER)
        pane.type("d because")
        pane.see(f"{ANSWER}d because")
        desk.run("answer", desk.asks(session)[0], "--deny", "--message", "never")
        pane.see("denied by person primary: never", "No longer asked: denied by person primary", "d because")
        pane.press("Enter")
        pane.see("Not sent: d because")
        pane.until(lambda shown: "No longer asked" not in shown.split("Not sent:")[1], "the input is free")
        desk.run("interrupt", session)
        pane.see("■ interrupted by primary")


def test_who_is_typing_a_message_does_not_answer_by_accident(desk: CliHub, command: Attach) -> None:
    """An ask leaves the input where words are; Tab goes to it and back, and the words stay."""
    session = desk.new()
    with command("attach", session) as pane:
        pane.see(READY)
        pane.type("yes")
        pane.bottom("> yes")
        desk.start(session, BASH)
        pane.see("(Tab): ", "> yes")
        pane.press("Enter")
        pane.see("A turn is running", "(Tab): ", "> yes")
        pane.press("Tab")
        pane.see(ANSWER)
        pane.enter("d not now")
        pane.see("denied by person primary: not now", "✓ done")
        pane.bottom("> yes")


def test_while_a_turn_runs_a_message_stays_in_the_input_and_can_wait(desk: CliHub, command: Attach) -> None:
    """It is said that a turn runs; /queue lists and takes words, Ctrl-Q takes what is typed; what waited begins by
    itself."""
    session = desk.new()
    with command("attach", session) as pane:
        pane.see(READY)
        desk.start(session, {"text": "Busy."}, BASH, FAIL)
        pane.see("● waits for your answer")
        pane.enter("me too")
        pane.see("A turn is running. What you have typed is still there", "> me too")
        pane.press("C-q")
        pane.see("waits: me too", "1 waiting")
        pane.bottom(">")
        pane.enter("/queue //and this")
        pane.see("waits: /and this", "2 waiting")
        pane.enter("/queue")
        pane.see("1. me too", "2. /and this")
        desk.run("answer", desk.asks(session)[0], "--allow")
        pane.see("✗ failed (agent_error)", "2 waiting in the queue", "/next goes on")
        pane.enter("/next")
        pane.see("> me too (it waited in the queue)", "Echo: me too", "> /and this", "Echo: /and this", "✓ done")


def test_what_waits_is_changed_taken_back_and_let_go_on(desk: CliHub, command: Attach) -> None:
    """By the numbers of the list, which mean the messages that were listed: one that has gone meanwhile is not
    mistaken for the one behind it."""
    session = desk.new()
    with command("attach", session) as pane:
        pane.see(READY)
        pane.enter("/next")
        pane.see("\nNo message waits in this session.")
        desk.start(session, BASH, FAIL)
        pane.see("● waits for your answer")
        for text in ("one", "two", "three"):
            desk.post(f"sessions/{session}/messages", text=text, on_busy="queue")
        pane.see("waits: three", ANSWER)
        pane.enter("/queue")
        pane.see("Type one of", "Tab goes there.")
        pane.press("C-u", "Tab")
        pane.see("(Tab): ")
        pane.enter("/queue")
        pane.see("1. one", "2. two", "3. three", "/edit N TEXT")
        pane.enter("/remove 1")
        pane.see("waits no longer: one")
        pane.enter("/edit 2 deux")
        pane.see("waits, changed: deux")
        pane.enter("/remove 1")
        pane.see("Message 1 does not wait (any more)")
        pane.enter("/edit 7 sept")
        pane.see("Message 7 does not wait", "> /edit 7 sept")
        for _ in "/edit 7 sept":
            pane.press("BSpace")
        desk.run("answer", desk.asks(session)[0], "--allow")
        pane.see("✗ failed (agent_error)", "2 waiting in the queue")
        pane.enter("/queue")
        pane.see("1. deux", "2. three", "It stands still")
        pane.enter("/next")
        pane.see("Echo: deux", "Echo: three", "✓ done")


def test_words_are_given_to_the_running_turn(desk: CliHub, command: Attach) -> None:
    """And the turn stays whose it is: Ctrl-C, then, leaves. Without a turn they begin one."""
    session = desk.new()
    with command("attach", session) as pane:
        pane.see(READY)
        pane.enter("/steer alone")
        pane.see("> alone", "Echo: alone", "✓ done")
        desk.start(session, {"text": "Theirs."}, BASH)
        pane.see("● waits for your answer", ANSWER)
        pane.press("Tab")
        pane.see("(Tab): ")
        pane.enter("/steer hurry")
        pane.see("Steered: hurry", "> hurry")
        pane.press("C-c")
        pane.see("The turn goes on; come back", "[exit 130]")
    desk.run("interrupt", session)


def test_sent_messages_come_back_and_lines_are_broken(desk: CliHub, command: Attach) -> None:
    """Arrow up has what was sent here and in earlier visits; Ctrl-J and Alt-Enter break a line; what is pasted
    keeps its lines and is sent by Enter only."""
    session = desk.new()
    desk.run("send", session, "earlier")
    with command("attach", session) as pane:
        pane.see(READY)
        pane.enter("now")
        pane.see("Echo: now", "✓ done")
        for text in ("now", "earlier"):
            pane.press("Up")
            pane.bottom(f"> {text}")
        pane.press("Down")
        pane.bottom("> now")
        pane.press("C-j")
        pane.type("two")
        pane.press("M-Enter")
        pane.type("three")
        pane.until(lambda shown: re.search(r"> now\s+two\s+three$", shown) is not None, "three lines")
        pane.press("Enter")
        pane.see("> now\n  two\n  three", "Echo: now", "two", "three", "✓ done")
        pane.tmux("set-buffer", "pasted\nwords\x1b[31m\n/quit\n")
        pane.tmux("paste-buffer", "-p")
        pane.until(lambda shown: re.search(r"> pasted\s+words.*\s+/quit$", shown) is not None, "what was pasted")
        pane.press("Enter")
        pane.see("> pasted\n  words\n  /quit", "Echo: pasted", "✓ done")


def test_commands_of_the_chat_and_of_the_agent(desk: CliHub, command: Attach) -> None:
    """Two slashes are text; /agent hands over a command as it would be typed at the agent; what is no command
    stays in the input."""
    session = desk.new()
    with command("attach", session) as pane:
        pane.see(READY)
        pane.enter("//etc is a folder")
        pane.see("> /etc is a folder", "Echo: /etc is a folder", "✓ done")
        pane.enter("/agent /clear")
        pane.see("> /clear", "Echo: /clear", "✓ done")
        pane.enter("/help")
        pane.see("/resume", "/steer TEXT", "/quit")
        pane.enter("/clear")
        pane.see("There is no /clear here", "> /clear")
        pane.bottom("> /clear")


def test_interrupt_and_ctrl_c(desk: CliHub, command: Attach) -> None:
    """/interrupt stops any turn; Ctrl-C one's own, and leaves without one."""
    session = desk.new()
    with command("attach", session) as pane:
        pane.see(READY)
        desk.start(session, {"text": "Theirs."}, HANG)
        pane.see("\nTheirs.", "● ")
        pane.enter("/interrupt")
        pane.see("■ interrupted by primary")
        pane.enter(script({"text": "Mine."}, HANG))
        pane.see("\nMine.", "● ")
        pane.press("C-c")
        pane.see("Interrupting. Ctrl-C again leaves", "■ interrupted by primary")
        pane.press("C-c")
        pane.see(f"Come back with: turnhub attach {session}", "[exit 130]")


def test_ctrl_c_leaves_a_turn_of_others_alone(desk: CliHub, command: Attach) -> None:
    """So does Ctrl-D; how to come back is said, and words that were not sent are shown."""
    session = desk.new()
    desk.start(session, {"text": "Theirs."}, HANG)
    for key, code in (("C-c", 130), ("C-d", 0)):
        with command("attach", session) as pane:
            pane.see("\nTheirs.", READY)
            pane.type("half a though")
            pane.bottom("> half a though")
            pane.press(key)
            pane.see("Not sent: half a though", f"The turn goes on; come back with: turnhub attach {session}")
            pane.see(f"[exit {code}]")
    assert "… running" in desk.run("show", session).stdout
    desk.run("interrupt", session)


def test_a_failure_says_what_to_do_and_retry_does_it(desk: CliHub, command: Attach) -> None:
    """With what happened, and the command."""
    with command("attach", desk.new()) as pane:
        pane.see(READY)
        pane.enter(script({"text": "Again."}, FAIL))
        pane.see("✗ failed (agent_error): It broke. Try again with: /retry")
        pane.enter("/retry")
        pane.see("✗ failed", "Again.", "✗ failed (agent_error)")
        pane.enter("/resume")
        pane.see("✗ failed", "✗ failed", "Go on where it stopped.", "✓ done")
        pane.enter("fine")
        pane.see("Echo: fine", "✓ done")
        pane.enter("/retry")
        pane.until(lambda shown: shown.split("Echo: fine")[1].count("\n") > 3, "why there is nothing to retry")


def test_nothing_of_the_agents_steers_the_terminal(desk: CliHub, command: Attach) -> None:
    """Not its words, its Markdown, its tools, its questions, nor what others said: no title, no clipboard, no
    colours, no hyperlinks, nothing cleared, nothing rung."""
    evil = "\x1b]0;owned\x07\x1b]52;c;b3duZWQ=\x07\x1b[2J\x1b[31m\x9b1;1H\x07\x01\x1b[41m\x02"
    text = f"A{evil}B\n\n`C{evil}D` [E{evil}](https://x.example/{evil}F) &#27;[2J &#x202e;\n\n"
    text += f"```sh\nG{evil}H\n```\n\n"
    tool = {**BASH, "tool": f"Ba{evil}sh", "input": {"command": f"x{evil}y"}, "result": f"r{evil}s"}
    session = desk.new()
    desk.run("send", session, f"first{evil}line")
    with command("attach", session) as pane:
        pane.see("> firstline", READY)
        title = pane.tmux("display-message", "-p", "#{pane_title}")
        desk.start(session, {"text": text}, tool)
        pane.see("AB", "CD", "E (https://x.example/", "GH", "▸ Bash xy", "? Bash asks", "| xy", ANSWER)
        pane.enter("a")
        pane.see("rs", "✓ done")
        raw = pane.tmux("capture-pane", "-p", "-e", "-S", "-5000")
        assert "\x1b]8" not in raw
        assert not re.findall(r"\x1b\[(?:\d+;)*4[1-7]m", raw)
        assert "\u202e" not in raw
        assert pane.tmux("display-message", "-p", "#{pane_title}") == title
        assert "owned" not in pane.tmux("list-buffers")
        assert pane.tmux("display-message", "-p", "#{window_bell_flag}").strip() == "0"


def test_it_is_plain_where_it_is_asked_to_be_or_no_terminal_is_there(desk: CliHub, command: Attach) -> None:
    """Into a pipe, out of one, and with --plain: the running turn, to its end."""
    session = desk.new()
    desk.start(session, {"text": "**Words**."}, HANG)
    with command("attach", session, "--plain") as pane:
        pane.see("**Words**.")
        piped = desk.run("attach", "--help")
        assert "--plain" in piped.stdout
        desk.run("interrupt", session)
        shown = pane.see("■ interrupted", "[exit 1]")
        assert "/help" not in shown


def test_what_is_typed_survives_a_resize_and_a_flood(desk: CliHub, command: Attach) -> None:
    """Hundreds of lines come while a person types letter by letter, and the window changes its size."""
    session = desk.new()
    lines = "\n\n".join(f"Line {number} of many." for number in range(200))
    words = "these words are kept"
    with command("attach", session) as pane:
        pane.see(READY)
        desk.start(session, {"text": lines, "every_ms": 2})
        for count, letter in enumerate(words):
            pane.type(letter)
            if count == 10:
                pane.tmux("resize-window", "-x", "61", "-y", "17")
        shown = pane.see("Line 199 of many.", "✓ done")
        pane.bottom(f"> {words}")
        answer = shown[shown.rindex("Line 0 of many.") :]
        assert [int(number) for number in re.findall(r"Line (\d+) of many\.", answer)] == list(range(200))


def test_a_session_that_is_deleted_ends_the_chat_and_the_draft_is_shown(desk: CliHub, command: Attach) -> None:
    """What was typed is there to be copied, and why it ends is said."""
    session = desk.new()
    with command("attach", session) as pane:
        pane.see(READY)
        pane.type("half a though")
        pane.bottom("> half a though")
        with SyncClient(Address(url=desk.url, token=desk.token)) as client:
            client.delete_session(session)
        pane.see("Not sent: half a though", f"turnhub: There is no session '{session}'.", "[exit 2]")


def test_what_is_pasted_is_seen_in_the_order_in_which_it_is_sent(desk: CliHub, command: Attach) -> None:
    """Marks that turn text around, and sequences, do nothing in the input; the words are sent as they are."""
    session = desk.new()
    pasted = "rm \u202eolleh\u202c \x1b]0;owned\x07\x1b[2J end"
    with command("attach", session) as pane:
        pane.see(READY)
        title = pane.tmux("display-message", "-p", "#{pane_title}")
        pane.tmux("set-buffer", pasted)
        pane.tmux("paste-buffer", "-p")
        pane.see("> rm \ufffdolleh\ufffd", "end")
        assert not {"\u202e", "\u202c"} & set(pane.shown)
        assert pane.tmux("display-message", "-p", "#{pane_title}") == title
        pane.press("Enter")
        pane.see("Echo: rm olleh", "✓ done")
    items = json.loads(desk.run("show", session, "--json").stdout)["items"]
    assert items[0]["text"] == pasted
