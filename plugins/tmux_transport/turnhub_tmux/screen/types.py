"""What a screen says, as the reader found it. Everything here is data."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

State: TypeAlias = Literal["ready", "busy", "waiting", "unknown"]
ComposerState: TypeAlias = Literal["empty", "ghost", "draft", "absent"]
DialogKind: TypeAlias = Literal[
    "permission",
    "question",
    "review",
    "plan",
    "trust",
    "onboarding",
    "update",
    "renderer",
    "survey",
    "api_key",
    "other",
]
Means: TypeAlias = Literal[
    "yes", "yes_always", "no", "text", "chat", "submit", "cancel", "choose", "toggle", "next"
]


class Composer(Struct, frozen=True, kw_only=True):
    """The box where one types. ``text`` is the draft, or the ghost text in its place. ``truncated``: the box
    shows only the end of a longer draft. ``markers``: the collapsed pastes in it, as they stand."""

    state: ComposerState
    text: str = ""
    truncated: bool = False
    markers: tuple[str, ...] = ()


class Option(Struct, frozen=True, kw_only=True):
    """A row that can be chosen. ``key`` is the number in front of it, None where it has none. ``checked`` is
    None unless the row is a check box; ``selected``: the cursor stands on it."""

    key: str | None
    label: str
    means: Means
    description: str = ""
    checked: bool | None = None
    selected: bool = False


class Tab(Struct, frozen=True, kw_only=True):
    """One page of a dialog with several: its name, whether it is answered, whether it is the one shown."""

    label: str
    done: bool = False
    current: bool = False


class Dialog(Struct, frozen=True, kw_only=True):
    """Something that holds the keyboard. ``title`` heads it, ``text`` is what it says (the command, the diff),
    ``question`` the sentence right above the options, ``command`` what would run where that can be told.

    ``fingerprint`` is the same for the same dialog wherever its cursor stands and whatever is ticked, and another
    for every other content. ``digits``: a number selects its row at once (the manifest says so). ``amend``: it
    says that the row with the cursor can be given words, as the one-time yes and no can, where this can be at all.
    """

    kind: DialogKind
    title: str
    text: str
    options: tuple[Option, ...]
    fingerprint: str
    question: str = ""
    command: str | None = None
    multi: bool = False
    tabs: tuple[Tab, ...] = ()
    digits: bool = True
    amend: bool = False

    def option(self, means: Means) -> Option | None:
        """The first option that means this, or None."""
        return next((option for option in self.options if option.means == means), None)


class Screen(Struct, frozen=True, kw_only=True):
    """One look at a pane.

    ``rows`` are the lines as text; ``above`` those of them above the composer (or above the dialog; all of them
    where there is neither). ``markers`` are the collapsed pastes above the composer, in order. ``queue_hint``:
    the agent says that messages wait in its own queue. ``shell``: the pane ends at a bare shell's prompt.
    ``panel``: a panel of the agent's own (its settings, its help) holds the keyboard until Escape closes it.
    ``why`` are the reasons for ``state``, for a person.
    """

    state: State
    composer: Composer
    dialog: Dialog | None = None
    rows: tuple[str, ...] = ()
    above: tuple[str, ...] = ()
    markers: tuple[str, ...] = ()
    queue_hint: bool = False
    shell: bool = False
    panel: bool = False
    why: tuple[str, ...] = ()


class Readback(Struct, frozen=True, kw_only=True):
    """Where a text is, by position. None: the screen proves it neither way.

    ``submitted``: above the composer, newly so. ``queued``: above it, in the agent's own queue (then not
    ``submitted``). ``staged``: in the composer, not sent.
    """

    submitted: bool | None
    queued: bool | None
    staged: bool | None


class Key(Struct, frozen=True):
    """A key by tmux's name for it: ``Enter``, ``Down``, ``Tab``, ``1``."""

    name: str


class Paste(Struct, frozen=True):
    """Text that is typed literally, as words."""

    text: str


Stroke: TypeAlias = Key | Paste
