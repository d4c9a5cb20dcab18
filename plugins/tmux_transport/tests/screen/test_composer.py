"""The composer: found by structure, its text told from ghosts by the state of each cell."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from turnhub_tmux.screen.manifest import Manifest
from turnhub_tmux.screen.reader import read

RULE = "─" * 60


def box(inside: str, footer: str = "  ? for shortcuts", above: str = "● earlier\n") -> str:
    """A screen of Claude Code with this between its rules."""
    return f"{above}{RULE}\n{inside}\n{RULE}\n{footer}"


@pytest.mark.parametrize(
    ("inside", "state", "text"),
    [
        ("❯ ", "empty", ""),
        ("❯\xa0\x1b[7m \x1b[0m", "empty", ""),
        ("❯ hello", "draft", "hello"),
        ("❯ \x1b[2mhello\x1b[0m", "ghost", "hello"),
        ("❯ \x1b[7mh\x1b[0;2mello\x1b[0m", "ghost", "hello"),
        ("❯ \x1b[7mh\x1b[27mello", "draft", "hello"),
        ("❯ \x1b[1m\x1b[0;2mhello\x1b[0m", "ghost", "hello"),
        ("❯ \x1b[38;5;244mhello\x1b[0m", "ghost", "hello"),
        ("❯ \x1b[38;5;232mhello\x1b[0m", "ghost", "hello"),
        ("❯ \x1b[90mhello\x1b[0m", "ghost", "hello"),
        ("❯ \x1b[38;5;8mhello\x1b[0m", "ghost", "hello"),
        ("❯ \x1b[38;2;153;153;153mhello\x1b[0m", "ghost", "hello"),
        ("❯ \x1b[38;5;33mhello\x1b[0m", "draft", "hello"),
        ("❯ \x1b[38;2;177;185;249m/help\x1b[0m", "draft", "/help"),
        ("❯ \x1b[38;2;255;255;255mhello\x1b[0m", "draft", "hello"),
        ("❯ \x1b[1mhello\x1b[0m", "draft", "hello"),
        ("❯ /mod\x1b[2mel\x1b[0m", "draft", "/mod"),
        ("\x1b[90m❯\x1b[39m hello", "draft", "hello"),
        ("\x1b[2m❯ \x1b[22mhello", "draft", "hello"),
        ("❯ one\n  $ two\n  > three\n  ❯ four\n  # five", "draft", "one\n$ two\n> three\n❯ four\n# five"),
        ("❯ 1. Yes\n  2. No", "draft", "1. Yes\n2. No"),
        ("❯ first\n\n  last", "draft", "first\n\nlast"),
        ("! ls", "draft", "!ls"),
        ("❯ a | b\n  | c |\n  │ d", "draft", "a | b\n| c |\n│ d"),
        ("❯ ╭──────╮\n  │ > hi │\n  ╰──────╯", "draft", "╭──────╮\n│ > hi │\n╰──────╯"),
    ],
)
def test_what_stands_between_the_rules(inside: str, state: str, text: str, claude: Manifest) -> None:
    """Empty, a ghost, or a draft, by how its cells are drawn; the prompt's own colour says nothing."""
    composer = read(box(inside), claude).composer
    assert (composer.state, composer.text) == (state, text)


@pytest.mark.parametrize(
    "footer",
    [
        "  ⏵⏵ accept edits on (shift+tab to cycle)",
        "  ⏵⏵ bypass permissions on (shift+tab to cycle)",
        "  ⏸ plan mode on",
        "  ❯ my own status line > with prompts",
        "  1. one\n  2. two",
        "  Do you want to proceed? Esc to cancel",
    ],
)
def test_a_footer_is_chrome(footer: str, claude: Manifest) -> None:
    """Whatever stands below the box is neither prompt nor dialog."""
    screen = read(box("❯ ", footer), claude)
    assert (screen.state, screen.composer.state, screen.dialog) == ("ready", "empty", None)


@pytest.mark.parametrize(
    "screen",
    [
        "╭──────────────────╮\n│ > hello          │\n╰──────────────────╯\n  ? for shortcuts",
        "╭──────────────────╮\n│ > hello\n╰──────────────────╯",
        "● x\n╭──────────────────╮\n│ ❯ hello          │\n╰──────────────────╯",
        "● x\n────────────\n❯ hello\n────────────",
        "────────────\n❯ hello",
        "❯ hello\n────────────\n  ? for shortcuts",
        "> hello",
        "── my session ──────────\n❯ hello\n────────────────────────",
    ],
)
def test_forms_of_the_frame(screen: str, claude: Manifest) -> None:
    """Rules, a box, half of either at the edge of a capture, a bare prompt, a name in the rule."""
    composer = read(screen, claude).composer
    assert (composer.state, composer.text) == ("draft", "hello")


def test_lines_in_a_box(claude: Manifest) -> None:
    """Further lines of a draft in a box lose its borders and their indent."""
    screen = "╭────────────────╮\n│ > one          │\n│   $ two        │\n╰────────────────╯"
    assert read(screen, claude).composer.text == "one\n$ two"


def test_a_long_line_that_was_wrapped_is_one_line(claude: Manifest) -> None:
    """What had no room goes on; what ends early is a line of its own."""
    words = "word " * 11
    screen = f"{RULE}\n❯ {words.strip()}\n  longerword and the rest\n  next\n{RULE}"
    assert read(screen, claude).composer.text == f"{words}longerword and the rest\nnext"


@pytest.mark.parametrize("start", ["…and the tail", "… and the tail"])
def test_a_tail_is_marked_as_truncated(start: str, claude: Manifest) -> None:
    """The box shows only the end."""
    assert read(box(f"❯ {start}"), claude).composer.truncated


def test_a_draft_taller_than_its_box(claude: Manifest) -> None:
    """The rule says that rows are hidden; there is no prompt to be seen then."""
    screen = "● x\n─── ↑ 8 more ──────────\n  line 8\n  line 9\n───────────────────────\n  footer"
    composer = read(screen, claude).composer
    assert (composer.state, composer.text, composer.truncated) == ("draft", "line 8\nline 9", True)


@pytest.mark.parametrize(
    ("inside", "markers"),
    [
        ("❯ [Pasted text #1 +59 lines]", ("[Pasted text #1 +59 lines]",)),
        ("❯ [Pasted text #2]", ("[Pasted text #2]",)),
        (
            "❯ look: [Pasted text #1 +3 lines] and [Pasted text #12 +400 lines]",
            ("[Pasted text #1 +3 lines]", "[Pasted text #12 +400 lines]"),
        ),
        ("❯ [Pasted text]", ()),
    ],
)
def test_collapsed_pastes(inside: str, markers: tuple[str, ...], claude: Manifest) -> None:
    """Each marker, in order."""
    assert read(box(inside), claude).composer.markers == markers


@pytest.mark.parametrize(
    ("screen", "state"),
    [
        (f"● x\n\n✻ Baking…\n{RULE}\n❯ half a thought\n{RULE}\n  ⏸ manual mode on", "busy"),
        (
            f"● x\n\n✻ Fixing the parser… (12s · ↑ 1.2k tokens)\n  ⎿  Tip: x\n\n{RULE}\n❯ \n{RULE}\n  ⏸ manual",
            "busy",
        ),
        (f"● x\n\n* Baking… (esc to interrupt)\n  ⎿  ☐ one\n     ☐ two\n{RULE}\n❯ \n{RULE}", "busy"),
        (f"● x\n{RULE}\n❯ \n{RULE}\n  ⏵⏵ accept edits on · esc to interrupt", "busy"),
        (f"● x\n{RULE}\n❯ \n{RULE}\n  ⏵⏵ accept edits on · esc to interr…", "busy"),
        (f"● x\n\n* Baking…\n{RULE}\n❯ half a thought\n{RULE}\n  ⏸ manual mode on", "busy"),
        (f"● x\n\n· Baking…\n{RULE}\n❯ \n{RULE}\n  ⏸ manual mode on", "busy"),
        (f"● Let me see… (or not)\n{RULE}\n❯ \n{RULE}\n  ? for shortcuts", "ready"),
        (f"● I am thinking…\n{RULE}\n❯ \n{RULE}\n  ? for shortcuts", "ready"),
        (f"✻ Baking…\n\n● Done.\n{RULE}\n❯ \n{RULE}\n  ? for shortcuts", "ready"),
        (f"● x\n\n✻ Baked for 3s · done\n{RULE}\n❯ \n{RULE}\n  ? for shortcuts", "ready"),
        (f"● Press esc to interrupt me.\n{RULE}\n❯ \n{RULE}\n  ? for shortcuts", "ready"),
        (f"● x\n{RULE}\n❯ esc to interrupt\n{RULE}\n  ? for shortcuts", "ready"),
        ("● x\n\n✻ Baking…", "busy"),
        ("● only an answer", "unknown"),
        ("", "unknown"),
    ],
)
def test_busy_and_ready(screen: str, state: str, claude: Manifest) -> None:
    """A spinner that is last, or the footer; never a word in an answer or a draft."""
    assert read(screen, claude).state == state


RULE = "─" * 60
COLOURLESS = f"{RULE}\n❯\xa0{{}}\n{RULE}\n  ⏸ manual mode on"
CARET = "\x1b[7m{}\x1b[27m"


@pytest.mark.parametrize(
    ("typed", "composer", "text"),
    [
        (f"/clear {CARET.format(' ')}[name]", "draft", "/clear"),
        ("/clear  [name]", "draft", "/clear"),
        (f"/compact {CARET.format(' ')}<optional custom instructions>", "draft", "/compact"),
        (f"/clear [name]{CARET.format(' ')}", "draft", "/clear [name]"),
        (f"/clear {CARET.format(' ')}name", "draft", "/clear  name"),
        (f"see  [name]{CARET.format(' ')}", "draft", "see  [name]"),
        (f'{CARET.format("T")}ry "fix lint errors"', "ghost", 'Try "fix lint errors"'),
        (f"{CARET.format('R')}esend your message to try again", "ghost", "Resend your message to try again"),
        (f"{CARET.format('R')}un /rewind to go back", "ghost", "Run /rewind to go back"),
        (f"run /rewind{CARET.format(' ')}", "draft", "run /rewind"),
        (f"fix{CARET.format(' ')}it", "draft", "fix it"),
        (CARET.format(" "), "empty", ""),
    ],
)
def test_without_colours_a_commands_arguments_are_told_by_their_form(
    typed: str, composer: str, text: str, claude: Manifest
) -> None:
    """An agent with `NO_COLOR` or `CI` in its environment draws nothing dim, only its cursor: what it says of a
    command's arguments, and its placeholder, are no draft; what was typed is one, brackets and all."""
    seen = read(COLOURLESS.format(typed), claude)
    assert (seen.state, seen.composer.state, seen.composer.text) == ("ready", composer, text)


def boxed(*rows: str) -> str:
    """Rows in a box of 40 columns."""
    inside = "\n".join(f"│{row:<38}│" for row in rows)
    return f"╭{'─' * 38}╮\n{inside}\n╰{'─' * 38}╯\n ~/x  no sandbox"


GEMINI_HINT = "Type your message or @path/to/file"
GHOST = "\x1b[2mExplain this codebase\x1b[0m"
BARRED = "  answer\n\n  ┃\n  ┃  {}\n  ┃\n  ┃  Build  model\n  ╹▀▀▀▀▀\n  {}"


@pytest.mark.parametrize(
    ("kind", "screen", "state", "composer", "text"),
    [
        ("codex", f"• Done.\n\n› {GHOST}\n\n  ? for shortcuts", "ready", "ghost", "Explain this codebase"),
        ("codex", "› Ask Codex to do anything\n\n  model · /path", "ready", "ghost", "Ask Codex to do anything"),
        ("codex", "› one\n\n• Done.\n\n› two\n  $ three\n\n  gpt-5 · 98% left", "ready", "draft", "two\n$ three"),
        ("codex", "• Working (3s • esc to interrupt)\n\n› hello\n\n  ? for shortcuts", "busy", "draft", "hello"),
        ("codex", "› one\n\n• Done.", "unknown", "absent", ""),
        ("gemini", boxed(f" >   {GEMINI_HINT}"), "ready", "ghost", GEMINI_HINT),
        ("gemini", f"⠏ Pondering (esc to cancel, 3s)\n\n{boxed(' > hello')}", "busy", "draft", "hello"),
        ("gemini", f"✦ Done.\n\n{boxed(' > hello', '   there')}", "ready", "draft", "hello\nthere"),
        ("opencode", BARRED.format("hello there", "esc interrupt"), "busy", "draft", "hello there"),
        ("opencode", BARRED.format("Ask anything...", "tab agents"), "ready", "ghost", "Ask anything..."),
    ],
)
def test_other_agents(
    kind: str,
    screen: str,
    state: str,
    composer: str,
    text: str | None,
    manifest_of: Callable[[str], Manifest],
) -> None:
    """The composers of Codex, Gemini and opencode by their manifests."""
    seen = read(screen, manifest_of(kind))
    assert (seen.state, seen.composer.state) == (state, composer)
    if text is not None:
        assert seen.composer.text == text


def test_a_drawn_composer_inside_an_answer_is_none(claude: Manifest) -> None:
    """The last one on the pane is the real one."""
    above = f"● It looks so:\n  {RULE[:20]}\n  ❯ example\n  {RULE[:20]}\n\n"
    assert read(box("❯ real", above=above), claude).composer.text == "real"
