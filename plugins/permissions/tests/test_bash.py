"""What bash runs is what was read: random texts are run by the real bash, with no program within its reach."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any, Final

import pytest
from turnhub_permissions.files import Files
from turnhub_permissions.paths import ground
from turnhub_permissions.shell import Shell
from turnhub_permissions.tables import load
from turnhub_permissions.words import UNKNOWN

CORPUS: Final[dict[str, Any]] = tomllib.loads((Path(__file__).parent / "corpus.toml").read_text(encoding="utf-8"))
# Nothing that bash itself could do harm with, wait for, or go on with for ever.
LEFT_OUT: Final = re.compile(
    r"git|kill|[/~:\x00]|HOME|PWD|\(\s*\)|exec|while|until|select|ulimit|suspend|coproc|wait|sleep|read|function|trap|logout"
    r"|[fb]g|umask|history|fc|BASH|SHELL|\d{3,}|\[\["
)
# Each call of a program ends here: a file of its own, with its words.
RECORD: Final = "() { printf '%s\\0' \"$@\" >$CALLS/$BASHPID.$RANDOM$RANDOM; }"
PIECES: Final = (
    *"rmlsab x-'\"\\$ \t\n;|<>{}()#=`*?!,12",
    *(
        "\\\n",
        "<<E\n",
        "\nE\n",
        "<<'E'\n",
        "\\ ",
        "\\m",
        "ls ",
        " if ",
        " then ",
        " fi ",
        " do ",
        " done ",
        " in ",
        " case ",
    ),
    *[
        "&&",
        "||",
        "<<",
        "<<<",
        "$(",
        "$'",
        "&>",
        "2>",
        "${",
        "'r'",
        "rm",
        "esac",
        ";;",
        "for",
        "time",
        "x)",
        "''",
        "{a,b}",
    ],
)
COMMANDS: Final = [
    command
    for group in CORPUS["group"]
    for command in group["commands"]
    if len(command) < 80 and not LEFT_OUT.search(command)
]

pytestmark = pytest.mark.skipif(not shutil.which("bash"), reason="bash is not installed")


def texts(seed: int, count: int) -> list[str]:
    """Random texts: pieces of shell in any order, and commands of the corpus with mistakes in them."""
    dice = random.Random(seed)
    found: list[str] = []
    while len(found) < count:
        if dice.random() < 0.5:
            text = "".join(dice.choice(PIECES) for _ in range(dice.randint(2, 14)))
        else:
            text = dice.choice(COMMANDS)
            for _ in range(dice.randint(1, 3)):
                at = dice.randrange(len(text) + 1)
                text = text[:at] + dice.choice((dice.choice(PIECES), "")) + text[at + dice.randint(0, 1) :]
        if not LEFT_OUT.search(text):
            found.append(text)
    return found


def calls_of(text: str, cwd: Path, record: Path) -> list[list[str]]:
    """The programs that bash would start, with their words."""
    environment = {
        "PATH": "/nonexistent",
        "HOME": "/nonexistent",
        "CALLS": str(record),
        "x": "val",
        "BASH_FUNC_command_not_found_handle%%": RECORD,
    }
    bash = shutil.which("bash") or "bash"
    subprocess.run(
        [bash, "-c", text],
        cwd=cwd,
        env=environment,
        capture_output=True,
        check=False,
        timeout=10,
        stdin=subprocess.DEVNULL,
    )
    return [file.read_bytes().decode(errors="replace").split("\0")[:-1] for file in record.iterdir()]


def alike(call: list[str], read: tuple[str, ...]) -> bool:
    """Whether a call is what was read; unknown words and wildcards may be anything."""
    if len(call) == len(read) and all(
        UNKNOWN in ours or bool(set(ours) & set("*?[")) or ours == theirs
        for ours, theirs in zip(read, call, strict=True)
    ):
        return True
    return call[0] == read[0] and any(UNKNOWN in word for word in read)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_bash_runs_what_was_read_and_nothing_else(seed: int, tmp_path: Path) -> None:
    """Every program that it starts and every file that it makes was foreseen, for all texts that can be read."""
    shell = Shell(load())
    readable = 0
    for number, text in enumerate(texts(seed, 300)):
        cwd, record = tmp_path / f"{number}.cwd", tmp_path / f"{number}.calls"
        acts = shell.acts(text, ground(str(cwd), "/nonexistent", Files()))
        if any(act.opaque for act in acts):
            continue
        cwd.mkdir()
        record.mkdir()
        readable += 1
        read = [act.words for act in acts if act.kind == "run"]
        for call in calls_of(text, cwd, record):
            assert any(alike(call, one) for one in read), f"{text!r} runs {call}, but {read} was read"
        foreseen = {place.named for act in acts if act.kind == "write" for place in act.places}
        assert {str(path) for path in cwd.iterdir()} <= foreseen, text
    assert readable > 30
