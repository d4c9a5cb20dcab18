"""The plugin documents are so: the reference is the code's own, the examples run, and each hook has a test."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import get_args, get_type_hints

import pytest

import hub
from docs import generate
from hub import hooks, hookspecs
from hub.events import AnyEvent
from hub.testing import FakeTurn, allow, deny, withdraw
from hub.testing.rules import ALLOWED
from hub.transport import Connection

ROOT = Path(__file__).parent.parent
REFERENCE = (ROOT / "docs/plugins.md").read_text()
GUIDE = (ROOT / "docs/write-a-transport.md").read_text()


def blocks(page: str, language: str) -> list[str]:
    """The code blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def test_the_reference_is_up_to_date() -> None:
    """What docs/generate.py would write is what stands there: hooks, configuration, commands, events, routes."""
    assert generate.page(REFERENCE) == REFERENCE, "run: python -m docs.generate"
    # In a process of its own: what other tests have done to this one is not in the pages.
    command = [sys.executable, "-m", "docs.generate", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_page_without_marks_is_refused() -> None:
    """The generator never appends a second reference."""
    with pytest.raises(ValueError, match="lost the marks"):
        generate.page("# Plugins")


@pytest.mark.parametrize("hook", hooks.HOOKS)
def test_each_hook_is_documented_with_its_exact_signature(hook: str) -> None:
    """Parameters, their types and the answer's type, read back from the page by Python's own parser."""
    (shown,) = [block for block in blocks(REFERENCE, "python") if block.startswith(f"def {hook}(")]
    (function,) = ast.parse(f"{shown.strip()}: ...").body
    assert isinstance(function, ast.FunctionDef)
    assert function.returns is not None
    documented = {one.arg: ast.unparse(one.annotation) for one in function.args.args if one.annotation}
    spec = getattr(hookspecs, hook)
    assert {**documented, "return": ast.unparse(function.returns)} == spec.__annotations__
    assert list(documented) == list(inspect.signature(spec).parameters)
    assert (spec.__doc__ or "").strip().splitlines()[0].replace("``", "`") in REFERENCE


def test_nothing_is_documented_that_is_no_hook() -> None:
    """A hook that is gone is gone from the page."""
    assert re.findall(r"^def (\w+)\(", "".join(blocks(REFERENCE, "python")), re.MULTILINE) == list(hooks.HOOKS)


def functions_of(path: Path) -> set[str]:
    """The names of a file's test functions that assert something."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            checks = [one for one in ast.walk(node) if isinstance(one, ast.Assert | ast.Await)]
            found |= {node.name} if checks else set()
    return found


@pytest.mark.parametrize("hook", hooks.HOOKS)
def test_each_hook_has_a_test(hook: str) -> None:
    """tests/test_hooks.py has a test for each hook, by its name."""
    assert f"test_hook_{hook}" in functions_of(ROOT / "tests/test_hooks.py")


def test_all_types_of_the_hooks_are_public() -> None:
    """What a hook is given or answers with can be imported from ``hub``: plugins import from nowhere else."""
    words = set()
    for hook in hooks.HOOKS:
        for annotation in getattr(hookspecs, hook).__annotations__.values():
            words |= set(re.findall(r"\b[A-Z]\w+", annotation))
    elsewhere = {"Callable", "Awaitable", "Mapping", "None", "Group", "BaseRoute"}
    assert {word for word in words - elsewhere if not hasattr(hub, word)} == set()
    assert get_type_hints(hookspecs.resolve_permission)


def test_the_guide_names_all_events_that_a_transport_emits() -> None:
    """And no others."""
    table = GUIDE.split("## Events")[1].split("`seq`, `session_id`")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    named = set(re.findall(r"`(\w+)`", "".join(rows)))
    assert named == {kind.__name__ for kind in ALLOWED}
    assert set(ALLOWED) <= set(get_args(AnyEvent))


def test_the_transport_of_the_guide_is_as_short_as_it_says() -> None:
    """Thirty lines, empty ones apart."""
    assert len([line for line in blocks(GUIDE, "python")[0].splitlines() if line.strip()]) <= 30


def test_the_transport_of_the_guide_keeps_the_contract(tmp_path: Path) -> None:
    """Its code and its tests, copied as they stand into an empty folder, pass there."""
    code, _, tests = blocks(GUIDE, "python")
    (tmp_path / "turnhub_pipe.py").write_text(code)
    (tmp_path / "test_pipe.py").write_text(tests)
    (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\npythonpath = .\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout=60"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    assert 22 <= int(passed[1]) <= 28, "the guide says: some twenty-five tests"
    assert "skipped" not in done.stdout


def careful() -> Connection:
    """The connection of the guide that asks."""
    module = ModuleType("careful")
    exec(compile(blocks(GUIDE, "python")[1], "write-a-transport.md", "exec"), vars(module))
    made: Connection = module.Careful()
    return made


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("reply", "status", "text"),
    [
        (allow(), "ok", "Here ls would run."),
        (allow(input={"command": "pwd"}), "ok", "Here pwd would run."),
        (deny(), "denied", ""),
        (withdraw(), "interrupted", ""),
    ],
)
async def test_the_asking_transport_of_the_guide_takes_every_answer(reply: object, status: str, text: str) -> None:
    """Allow, edit, deny and withdrawal each have the effect that the guide tells."""
    turn = FakeTurn("ls", replies=[reply])  # type: ignore[list-item]
    await turn.play(careful())
    assert [finished.status for finished in turn.tools_finished] == [status]
    assert turn.text == text
    assert turn.problems == []


def test_the_packaging_of_the_guide_fits_its_code() -> None:
    """Entry point, enabled plugin, transport and options belong together."""
    project, config = (tomllib.loads(block) for block in blocks(GUIDE, "toml"))
    assert project["project"]["entry-points"]["turnhub"] == {"pipe": "turnhub_pipe"}
    assert config["plugins"]["enabled"] == ["pipe"]
    assert set(config["agents"]["parrot"]) == {"transport", "command"}
