"""The group of all commands: quick to start, complete, open to plugins."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import hub
from hub.cli.main import Commands, turnhub

HEAVY = (
    "asyncio",
    "httpx",
    "msgspec",
    "pluggy",
    "prometheus_client",
    "prompt_toolkit",
    "redis",
    "rich",
    "starlette",
    "structlog",
    "uvicorn",
)


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_import_nothing_heavy(option: str) -> None:
    """They start at once: none of the libraries that commands use is imported for them."""
    program = (
        "import sys\nfrom hub.cli.main import main\n"
        f"try: main([{option!r}])\nexcept SystemExit as end: code = end.code\n"
        f"print('heavy:', [name for name in {HEAVY!r} if name in sys.modules], code)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "heavy: [] 0"
    assert "turnhub" in done.stdout


def test_the_version_is_that_of_the_package() -> None:
    """`turnhub --version` names program and version."""
    assert CliRunner().invoke(turnhub, ["--version"]).output == f"turnhub {hub.__version__}\n"


def test_every_command_of_the_contract_is_there_and_explains_itself() -> None:
    """All are listed by --help, and each has a --help of its own."""
    names = {"serve", "demo", "agents", "plugins", "sessions", "new", "send", "attach", "show", "asks", "answer"}
    names |= {"interrupt", "retry", "token", "doctor", "grants", "queue", "memory", "fork", "export", "import"}
    names |= {"top"}
    listed = CliRunner().invoke(turnhub, ["--help"]).output
    assert isinstance(turnhub, Commands)
    assert set(turnhub.list_commands(click.Context(turnhub))) == names
    for name in names:
        assert f"  {name} " in listed
        result = CliRunner().invoke(turnhub, [name, "--help"])
        assert result.exit_code == 0
        assert f"turnhub {name}" in result.output


def test_an_unknown_command_is_used_wrongly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 2, and the name."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "turnhub.toml").write_text("[plugins]\nenabled = []\n")
    result = CliRunner().invoke(turnhub, ["frobnicate"])
    assert result.exit_code == 2
    assert "No such command 'frobnicate'" in result.stderr


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed and enabled plugin; its module is yet to be written."""
    info = tmp_path / "plug_ext-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plug-ext\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[turnhub]\nplug = plug_ext\n")
    (tmp_path / "turnhub.toml").write_text('[plugins]\nenabled = ["plug"]\n')
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "plug_ext", raising=False)
    return tmp_path / "plug_ext.py"


def test_a_plugin_adds_a_command(plugin: Path) -> None:
    """It is found when it is called, though not imported for --help."""
    plugin.write_text(
        "import click, hub\n"
        "@hub.hookimpl\n"
        "def register_commands(group):\n"
        "    @group.command()\n"
        "    def hello(): click.echo('from the plugin')\n"
    )
    assert CliRunner().invoke(turnhub, ["hello"]).output == "from the plugin\n"
    assert CliRunner().invoke(turnhub, ["hullo"]).exit_code == 2


def test_a_plugin_that_fails_to_add_its_commands_is_named(plugin: Path) -> None:
    """One line, no traceback; what it added before is there all the same."""
    plugin.write_text(
        "import click, hub\n"
        "@hub.hookimpl\n"
        "def register_commands(group):\n"
        "    group.add_command(click.Command('early', callback=lambda: click.echo('there')))\n"
        "    raise RuntimeError('broken')\n"
    )
    result = CliRunner().invoke(turnhub, ["hello"])
    assert result.exit_code == 2
    assert "turnhub: plugin 'plug' could not add its commands: RuntimeError: broken\n" in result.stderr
    assert "No such command 'hello'" in result.stderr
    early = CliRunner().invoke(turnhub, ["early"])
    assert (early.stdout, early.stderr) == ("there\n", "")


def test_a_mistake_in_the_configuration_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever command reads it; exit code 2."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "turnhub.toml").write_text("[server]\nprot = 1\n")
    for args in (["sessions"], ["serve"], ["plugins"], ["token"], ["whatever"]):
        result = CliRunner().invoke(turnhub, args, env={"TURNHUB_URL": None, "TURNHUB_TOKEN": None})
        assert result.exit_code == 2
        assert len(result.stderr.splitlines()) == 1
        assert "did you mean `port`?" in result.stderr


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("turnhub at", ["attach"]),
        ("turnhub send --on", ["--on-busy"]),
        ("turnhub send ses_1 hello --on-busy ", ["reject", "attach", "queue", "steer", "interrupt"]),
    ],
)
def test_a_shell_completes_what_is_typed(words: str, offered: list[str], tmp_path: Path) -> None:
    """Commands, options, values; the script for the shell is printed by the same variable."""
    command = [sys.executable, "-c", "from hub.cli.main import main; main()"]
    environ = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(Path(hub.__file__).parents[1]), "HOME": str(tmp_path)}
    typed = {
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
        "_TURNHUB_COMPLETE": "bash_complete",
    }
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**environ, **typed})
    assert done.stdout.split() == [f"plain,{one}" for one in offered]


def test_a_disk_that_is_full_is_one_line() -> None:
    """No traceback, and no success."""
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "hub", "doctor", "--json"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert done.stderr == "turnhub: the system refused: No space left on device.\n"
