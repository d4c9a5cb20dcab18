"""Real tmux, plain programs: panes are started, found, looked at and typed into, and nothing is guessed."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import anyio
import pytest
from msgspec.structs import replace
from turnhub_tmux.panes import server as panes_server
from turnhub_tmux.panes.pane import Gone, Look, Pane, Unknown, condition
from turnhub_tmux.panes.panes import Program, find, start, started
from turnhub_tmux.panes.server import Server, off_the_loop

from hub import AgentUnavailable, ConfigError, TerminalFailed

from .conftest import ENV, Start, showing, until

pytestmark = pytest.mark.anyio

SECRET = "do not show 8c1f"


async def looked(pane: Pane) -> Look:
    """A look that must succeed."""
    look = await pane.look()
    assert isinstance(look, Look), look
    return look


async def gone(pane: Pane) -> None:
    """Return when the pane is known to be gone."""
    with anyio.fail_after(20):
        while not isinstance(await pane.look(), Gone):  # noqa: ASYNC110 - tmux tells nobody
            await anyio.sleep(0.05)


# Starting


async def test_a_program_is_started_with_its_own_words_environment_place_and_size(
    begin: Start, tmp_path: Path
) -> None:
    """No shell sees them: quotes, dollars, blanks and line ends arrive as they are; nothing is inherited."""
    odd = "a 'b' \"c\" $HOME `id` ; #{pid}\nend"
    code = (
        "import os,sys,json\n"
        "print(json.dumps([sys.argv[1:],sorted(os.environ),os.getcwd(),list(os.get_terminal_size())]))\ninput()"
    )
    os.environ["TURNHUB_TEST_LEAK"] = "leaked"
    try:
        pane = await begin(sys.executable, "-c", code, odd, cwd=str(tmp_path), width=300, height=20)
        look = await showing(pane, "[300, 20]")
    finally:
        del os.environ["TURNHUB_TEST_LEAK"]
    shown = look.capture.decode()
    assert "$HOME `id` ; #{pid}\\nend" in shown
    assert str(tmp_path) in shown
    assert "LEAK" not in shown
    assert '"TMUX"' in shown
    assert (look.size, look.holder, look.attached) == ((300, 20), "agent", 0)


async def test_secrets_of_the_environment_are_in_no_command_line_and_no_file_stays(
    server: Server, tmp_path: Path
) -> None:
    """The file that carries them is private, and gone once it is read."""
    seen: list[int] = []
    folder = tmp_path / "state"
    real = server.ask

    def spied(command: tuple[str, ...], *rest: object, **options: object) -> panes_server.Answer:
        seen.extend(stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir())
        assert not [word for word in command if SECRET in word]
        return real(command, *rest, **options)  # type: ignore[arg-type]

    server.ask = spied  # type: ignore[method-assign]
    program = Program(argv=["sh", "-c", "echo got $KEY; cat"], env={**ENV, "KEY": SECRET}, cwd="/")
    pane = await start(server, "agent", program, folder)
    await showing(pane, f"got {SECRET}")
    assert seen[0] == 0o600
    assert list(folder.iterdir()) == []
    environment = await server.run("show-environment", "-g")
    assert SECRET.encode() not in environment.out


async def test_a_second_session_of_one_name_is_refused_and_the_first_stays(begin: Start) -> None:
    """Nothing is killed to make room."""
    pane = await begin("cat")
    with pytest.raises(AgentUnavailable, match="duplicate session"):
        await begin("cat")
    assert isinstance(await pane.look(), Look)


async def test_a_program_that_is_not_there_is_told_of_in_its_pane(begin: Start) -> None:
    """The pane stays, dead, with the reason."""
    pane = await begin("no-such-program")
    look = await until(pane, lambda look: look.dead)
    assert look.holder == "nothing"
    assert b"could not be started" in look.capture


@pytest.mark.parametrize(
    "program",
    [
        Program(argv=[], env={}, cwd="/"),
        Program(argv=["a\0b"], env={}, cwd="/"),
        Program(argv=["cat"], env={}, cwd="/", width=1),
        Program(argv=["cat"], env={}, cwd="/", height=100_000),
    ],
)
async def test_what_cannot_be_started_is_refused(server: Server, tmp_path: Path, program: Program) -> None:
    """Before tmux hears of it."""
    with pytest.raises(ConfigError):
        await start(server, "agent", program, tmp_path)


# Finding


async def test_a_pane_is_found_by_session_window_and_pane_exactly(server: Server, begin: Start) -> None:
    """A prefix of a name is another name."""
    pane = await begin("cat", name="work-long")
    await server.run("split-window", "-d", "-t", pane.ref.pane_id, "cat")
    for target in ("work-long", "work-long:0", "work-long:0.0"):
        found = await find(server, target)
        assert isinstance(found, Pane)
        assert found.ref == pane.ref
    other = await find(server, "work-long:0.1")
    assert isinstance(other, Pane)
    assert other.ref.pane_id != pane.ref.pane_id
    for target in ("work", "work-long:1", "work-long:0.7", "work-long:nope"):
        assert isinstance(await find(server, target), Gone), target


async def test_without_a_server_a_named_pane_is_gone(server: Server) -> None:
    """Nobody listens: there is no such pane."""
    assert isinstance(await find(server, "work"), Gone)


# Ours, and others'


@pytest.mark.parametrize("moved", ["not at all", "joined", "renamed"])
async def test_ending_a_pane_ends_nothing_that_a_person_has_beside_it(
    server: Server, begin: Start, moved: str
) -> None:
    """A person has split its window, moved it into a window of their own, or given its session another name: it
    is found wherever it is, and what runs beside it goes on."""
    pane = await begin("cat")
    other = await begin("cat", name="theirs")
    await server.run("split-window", "-t", pane.ref.pane_id, "-d", "cat")
    if moved == "joined":
        await server.run("join-pane", "-s", pane.ref.pane_id, "-t", other.ref.pane_id)
    if moved == "renamed":
        await server.run("rename-session", "-t", "=agent", "my own")
    found = await started(server, "agent")
    assert isinstance(found, Pane)
    assert found.ref == pane.ref
    panes = await server.run("list-panes", "-a", "-F", "#{pane_id}")
    await pane.kill()
    assert isinstance(await pane.look(), Gone)
    assert isinstance(await started(server, "agent"), Gone)
    left = await server.run("list-panes", "-a", "-F", "#{pane_id}")
    assert {*panes.lines} - {*left.lines} == {pane.ref.pane_id}
    assert len(left.lines) == 2
    assert isinstance(await other.look(), Look)


async def test_a_session_of_that_name_which_is_not_ours_is_left_alone(server: Server, begin: Start) -> None:
    """Somebody has restored the sessions of a tmux that is gone, with other programs in them: what is there is not
    taken for the agent, which is started beside it, under a name that is free."""
    await server.run("new-session", "-d", "-s", "agent", "cat")
    assert isinstance(await started(server, "agent"), Gone)
    pane = await begin("cat")
    look = await pane.look()
    assert isinstance(look, Look)
    assert look.session == "agent-2"
    found = await started(server, "agent")
    assert isinstance(found, Pane)
    assert found.ref == pane.ref
    await pane.kill()
    assert (await server.run("list-sessions", "-F", "#{session_name}")).lines == ["agent"]


async def test_the_pane_is_ours_whatever_a_hook_for_new_sessions_does(server: Server, begin: Start) -> None:
    """It splits the window, and the new pane is the current one."""
    await server.run("new-session", "-d", "-s", "first", "cat")
    await server.run("set-hook", "-g", "after-new-session", "split-window -h cat")
    pane = await begin("cat")
    found = await started(server, "agent")
    assert isinstance(found, Pane)
    assert found.ref == pane.ref


# Exists, gone, unknown


async def test_a_pane_that_was_killed_is_gone(server: Server, begin: Start) -> None:
    """tmux says so, and its server still answers."""
    pane = await begin("cat")
    await begin("cat", name="other")
    await pane.kill()
    assert isinstance(await pane.look(), Gone)
    assert isinstance(await find(server, "other"), Pane)


async def test_a_server_that_is_gone_with_its_programs_is_gone(server: Server, begin: Start) -> None:
    """And a new server that gives out the same ids has none of our panes."""
    pane = await begin("cat")
    await showing(pane, "")
    await server.run("kill-server")
    await gone(pane)
    again = await begin("cat")
    assert again.ref.pane_id == pane.ref.pane_id
    assert isinstance(await pane.look(), Gone)


async def test_a_socket_that_was_swept_away_under_a_living_server_proves_nothing(
    socket: str, begin: Start
) -> None:
    """The agent lives: unknown, not gone."""
    pane = await begin("cat")
    await showing(pane, "")
    os.rename(socket, f"{socket}2")  # noqa: PTH104
    try:
        assert isinstance(await pane.look(), Unknown)
    finally:
        os.rename(f"{socket}2", socket)  # noqa: PTH104
    assert isinstance(await pane.look(), Look)


async def test_a_server_that_hangs_is_unknown_in_bounded_time(
    begin: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SIGSTOP: no answer, no conclusion, and keys are not taken for pressed."""
    pane = await begin("cat")
    look = await showing(pane, "")
    real = pane.server.ask
    monkeypatch.setattr(pane.server, "ask", lambda command, given=None, within_s=0: real(command, given, 0.3))
    os.kill(pane.ref.server_pid, signal.SIGSTOP)
    try:
        begun = time.monotonic()
        assert isinstance(await pane.look(), Unknown)
        assert isinstance(await find(pane.server, "agent"), Unknown)
        with pytest.raises(TerminalFailed):
            await pane.press("Enter", look=look)
        assert time.monotonic() - begun < 10
    finally:
        os.kill(pane.ref.server_pid, signal.SIGCONT)
    monkeypatch.undo()
    assert isinstance(await pane.look(), Look)


async def test_a_server_that_may_not_be_asked_is_unknown(tmp_path: Path) -> None:
    """A socket that is none of ours to open says nothing about what is behind it."""
    answer = panes_server._answer(1, b"", "error connecting to /x (Permission denied)")
    assert answer.outcome == "unknown"
    for words in ("lost server", "server exited unexpectedly", "protocol version mismatch", ""):
        assert panes_server._answer(1, b"", words).outcome == "unknown"


# Looking


async def test_what_runs_is_seen_and_a_shell_is_a_shell(begin: Start) -> None:
    """A program under a shell is an agent, the shell alone is none, nor is one that was left."""
    pane = await begin("bash", "--norc", "--noprofile", "-i")
    look = await showing(pane, "$")
    assert (look.command, look.holder) == ("bash", "shell")
    assert await pane.paste("exec 3>&1; bash -c 'cat; true'", look)
    await pane.press("Enter", look=await showing(pane, "true'"))
    look = await until(pane, lambda look: look.holder == "agent")
    await pane.press("C-d", look=await showing(pane, "true'"))
    assert (await until(pane, lambda look: look.holder == "shell")).command == "bash"


async def test_an_ended_program_is_seen_as_dead_with_its_status(begin: Start) -> None:
    """The pane remains, so that the death is seen."""
    pane = await begin("sh", "-c", "exit 3")
    look = await until(pane, lambda look: look.dead)
    assert look.holder == "nothing"
    assert look.status in (3, None)  # tmux may know of the end before it knows how


async def test_a_look_is_one_instant_in_colours_with_the_cursor(begin: Start) -> None:
    """Escapes are kept; a counter never shows two values; cursor and text belong together."""
    code = (
        "import sys\nn=0\nwhile True:\n n+=1\n"
        " sys.stdout.write('\\x1b[H\\x1b[31m'+'\\r\\n'.join([str(n%1000).zfill(3)]*5)+'\\x1b[0m')\n"
        " sys.stdout.flush()\n"
    )
    pane = await begin(sys.executable, "-c", code, width=40, height=10)
    look = await until(pane, lambda look: look.capture.count(b"\x1b[31m") > 0)
    for _ in range(20):
        look = await looked(pane)
        assert b"\x1b[31m" in look.capture
        assert look.cursor[0] <= 40


async def test_the_alternate_screen_and_modes_are_seen(server: Server, begin: Start) -> None:
    """Whoever scrolls is in a mode; leaving it is done only where there is one."""
    pane = await begin("sh", "-c", "printf '\\033[?1049hfull'; cat")
    look = await until(pane, lambda look: look.alternate)
    assert not look.scrolled
    assert not await pane.unscroll(look)
    await server.run("copy-mode", "-t", pane.ref.pane_id)
    look = await until(pane, lambda look: look.scrolled)
    assert await pane.unscroll(look)
    await until(pane, lambda look: not look.scrolled)


# Typing


TEXTS = ["plain", "漢字 👍🏽 é", "'\"`$(id);#{pid}|&\\", "two\nlines", "-t foo", "x" * 5000, "tail;", "\\;"]


@pytest.mark.parametrize("text", TEXTS)
async def test_a_paste_arrives_byte_for_byte_in_one_bracketed_piece(
    begin: Start, tmp_path: Path, text: str
) -> None:
    """What the program reads is the text between the marks of a paste (line ends as a terminal sends them)."""
    out = tmp_path / "got"
    code = (
        "import os,sys,tty\ntty.setraw(0)\nsys.stdout.write('\\x1b[?2004hready');sys.stdout.flush()\n"
        "got=b''\nwhile not got.endswith(b'\\x1b[201~'): got+=os.read(0,65536)\n"
        f"open({str(out)!r},'wb').write(got)\n"
        "sys.stdout.write(' done');sys.stdout.flush();os.read(0,1)\n"
    )
    pane = await begin(sys.executable, "-c", code)
    assert await pane.paste(text, await showing(pane, "ready"))
    await showing(pane, "done")
    want = text.replace("\n", "\r").encode()
    assert out.read_bytes() == b"\x1b[200~" + want + b"\x1b[201~"


async def test_pastes_at_once_into_two_panes_are_not_swapped_and_leave_no_buffers(
    server: Server, begin: Start
) -> None:
    """Each has a buffer of its own."""
    panes = [await begin("cat", name=f"agent{number}") for number in range(4)]
    looks = [await showing(pane, "") for pane in panes]
    async with asyncio.TaskGroup() as group:
        for number, (pane, look) in enumerate(zip(panes, looks, strict=True)):
            group.create_task(pane.paste(f"for pane {number}", look))
    for number, pane in enumerate(panes):
        look = await showing(pane, f"for pane {number}")
        assert look.capture.count(b"for pane") == 1
    assert (await server.run("list-buffers")).out == b""


async def test_nothing_is_pressed_or_pasted_when_anything_has_changed(server: Server, begin: Start) -> None:
    """The server itself looks once more: text, cursor, mode, size, program, life."""
    pane = await begin("bash", "--norc", "--noprofile", "-c", "cat; cat; exec bash --norc --noprofile -i")
    old = await showing(pane, "")
    assert await pane.paste("typed", old)
    now = await showing(pane, "typed")
    assert not await pane.paste("stale", old)
    assert not await pane.press("Enter", look=old)
    await server.run("copy-mode", "-t", pane.ref.pane_id)
    assert not await pane.press("Enter", look=now)
    assert not await pane.paste("scrolled", now)
    await server.run("send-keys", "-t", pane.ref.pane_id, "-X", "cancel")
    assert await pane.press("Enter", look=await showing(pane, "typed"))
    await showing(pane, "typed\ntyped")
    look = await until(pane, lambda look: look.cursor[0] == 0)
    await server.run("send-keys", "-t", pane.ref.pane_id, "C-d", ";", "send-keys", "-t", pane.ref.pane_id, "C-d")
    shell = await until(pane, lambda look: look.holder == "shell" and look.cursor[0] > 0)
    assert not await pane.paste("for an agent that is gone", look)
    assert not await pane.press("Enter", look=look)
    after = await looked(pane)
    assert b"gone" not in after.capture
    assert b"stale" not in after.capture
    assert shell.command == "bash"


async def test_a_pane_of_another_server_with_the_same_id_gets_nothing(server: Server, begin: Start) -> None:
    """The first server was killed, a second one has given out ``%0`` again."""
    first = await begin("cat")
    look = await showing(first, "")
    await server.run("kill-server")
    await gone(first)
    second = await begin("cat")
    assert second.ref.pane_id == first.ref.pane_id
    before = await showing(second, "")
    assert not await first.paste("lost", look)
    assert not await first.press("Enter", look=look)
    await first.kill()
    assert (await looked(second)).capture == before.capture


async def test_a_cancelled_paste_is_done_or_not_begun_when_the_cancellation_is_felt(begin: Start) -> None:
    """Whoever has the lock next finds nothing on its way."""
    pane = await begin("cat")
    look = await showing(pane, "")
    task = asyncio.create_task(pane.paste("once", look))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await showing(pane, "once")).capture.count(b"once") == 1


async def test_a_thread_is_waited_for_however_often_one_is_cancelled() -> None:
    """The call has ended when the caller goes on."""
    ended: list[bool] = []

    def slow() -> None:
        time.sleep(0.3)
        ended.append(True)

    task = asyncio.create_task(off_the_loop(slow))
    for _ in range(3):
        await asyncio.sleep(0.02)
        task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == [True]


async def test_keys_are_pressed_as_often_as_told_and_others_refused(begin: Start) -> None:
    """Only keys of the list."""
    pane = await begin("cat")
    look = await showing(pane, "")
    assert await pane.press("a", "b", look=look, times=3)
    look = await showing(pane, "ababab")
    assert await pane.press("BSpace", look=look, times=2)
    look = await until(pane, lambda look: look.cursor[0] == 4)
    with pytest.raises(ValueError, match="no key"):
        await pane.press("a ; kill-server", look=look)


async def test_words_are_never_logged_nor_in_any_command_line(
    begin: Start, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even at the finest level."""
    caplog.set_level(logging.DEBUG)
    pane = await begin("cat")
    look = await showing(pane, "")
    words: list[str] = []
    real = subprocess.Popen

    def spied(command: list[str], **options: Any) -> Any:
        words.extend(command)
        return real(command, **options)

    monkeypatch.setattr(subprocess, "Popen", spied)
    assert await pane.paste(SECRET, look)
    await showing(pane, SECRET)
    assert words
    assert not [word for word in words if SECRET in word]
    assert SECRET not in caplog.text


async def test_a_programs_name_that_is_no_plain_word_stays_out_of_formats(begin: Start) -> None:
    """It is foreign text."""
    look = await showing(await begin("cat"), "")
    assert "pane_current_command},cat" in condition(look)
    assert "pane_current_command" not in condition(replace(look, command="x},#{pid}"))


# People


async def test_a_pane_that_a_person_is_attached_to_keeps_its_size_and_stays_theirs(
    socket: str, server: Server, begin: Start
) -> None:
    """Looking, pasting and pressing change neither size nor who is attached."""
    pane = await begin("cat", width=100, height=30)
    await showing(pane, "")
    person = await begin(
        "sh",
        "-c",
        f"TMUX= exec tmux -S '{socket}' attach -t =agent:",
        name="person",
        settled=False,
        width=70,
        height=20,
    )
    look = await until(pane, lambda look: look.attached == 1)
    size = look.size
    look = await showing(pane, "")
    assert await pane.paste("hello", look)
    await showing(pane, "hello")
    look = await looked(pane)
    assert (look.size, look.attached) == (size, 1)
    assert isinstance(await person.look(), Look)
