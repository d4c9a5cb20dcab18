"""The chat in a real terminal: what is said is shown, and what is typed is kept."""

from __future__ import annotations

from tests.cli.chat.conftest import Attach
from tests.clihub import BASH, FAIL, HANG, CliHub, script


def test_a_message_is_answered_and_shown_as_markdown(desk: CliHub, command: Attach) -> None:
    """The answer streams into the scrollback; the input is free again."""
    with command("attach", desk.new()) as pane:
        pane.see("/help says what there is")
        pane.enter("hello **there**")
        pane.see("> hello **there**", "Echo: hello there", "✓ done")
        pane.bottom(">")
