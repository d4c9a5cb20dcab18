"""The repository keeps its own promises: pins, links, names, the rules of who may import whom."""

from __future__ import annotations

import ast
import configparser
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
PROJECTS = sorted(
    path.parent for pattern in ("plugins/*", "examples/*") for path in ROOT.glob(f"{pattern}/pyproject.toml")
)
# Where packages come from and where somebody works is no business of the tree.
HOSTS = re.compile(r"pypi\.\w|pythonhosted\.|npmjs\.|deb\.debian\.|anaconda\.\w", re.IGNORECASE)
PLACES = re.compile(r"(?<![\w.~$}])/(?:work|root)/\w|\.\./(?:shared)/")
TEST = re.compile(r"`([\w/.]+\.py)::(?:\w+::)?(\w+)`")


def files(*suffixes: str) -> list[Path]:
    """The repository's files, those not committed yet included, what git ignores left out."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    paths = [ROOT / name for name in listed.split("\0") if name]
    return [path for path in paths if path.is_file() and (not suffixes or path.suffix in suffixes)]


def texts() -> Iterator[tuple[str, str]]:
    """Name and content of every text file."""
    for path in files():
        try:
            yield str(path.relative_to(ROOT)), path.read_text()
        except UnicodeDecodeError:
            continue


@pytest.mark.parametrize("pattern", [HOSTS, PLACES], ids=["registry hosts", "places on one machine"])
def test_the_tree_names_no_place_it_was_made_at(pattern: re.Pattern[str]) -> None:
    """No file names a package registry's host or a directory of the machine it was written on."""
    found = [f"{name}: {match[0]}" for name, text in texts() for match in pattern.finditer(text)]
    assert found == []


def test_links_between_documents_lead_somewhere() -> None:
    """Every relative link in a Markdown file names a file that exists."""
    broken = []
    for path in files(".md"):
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", path.read_text()):
            if "://" not in target and not (path.parent / target).exists():
                broken.append(f"{path.relative_to(ROOT)}: {target}")
    assert broken == []


@pytest.mark.parametrize(
    ("page", "heading"),
    [
        ("README.md", "## What is guaranteed"),
        ("docs/security.md", "## What is protected, and by what"),
    ],
)
def test_every_guarantee_names_a_test_that_exists(page: str, heading: str) -> None:
    """Each row of a table of guarantees points at tests, and every one of them is there."""
    rows = table_below(page, heading)
    assert rows
    for row in rows:
        tests = TEST.findall(row)
        assert tests, f"no test is named in: {row}"
        for name, function in tests:
            assert f"def {function}(" in (ROOT / name).read_text(), f"{name}::{function}"


def table_below(page: str, heading: str) -> list[str]:
    """The rows of the tables below the heading, headers and rules left out."""
    section = (ROOT / page).read_text().split(f"{heading}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    rules = {number for number, line in enumerate(lines) if set(line) <= set("|- ")}
    return [line for number, line in enumerate(lines) if number not in rules and number + 1 not in rules]


def test_the_documents_name_only_commands_that_exist() -> None:
    """`make x` in a Markdown file is a target of the Makefile, and each target explains itself."""
    makefile = (ROOT / "Makefile").read_text()
    explained = set(re.findall(r"^(\w+):.*## \w", makefile, re.MULTILINE))
    phony = set(re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)[1].split())  # type: ignore[index]
    assert explained == phony
    named = {
        name
        for path in files(".md")
        for name in re.findall(r"(?:`|^|\$ )make (\w+)", path.read_text(), re.MULTILINE)
    }
    assert named <= explained
    assert {"setup", "run", "test", "check"} <= named


def test_ci_runs_what_a_developer_runs() -> None:
    """CI is `make check` and `make test`, nothing else."""
    lines = [line for line in (ROOT / ".ci/run").read_text().splitlines() if line.startswith("make ")]
    assert lines == ["make check", "make test"]


@pytest.mark.parametrize("script", sorted((ROOT / "scripts").glob("*.sh")), ids=lambda path: path.name)
def test_scripts_are_sound_and_stop_at_errors(script: Path) -> None:
    """Helper scripts parse in a POSIX shell and never go on after a failed command."""
    subprocess.run(["sh", "-n", str(script)], check=True)
    assert script.read_text().startswith("#!/bin/sh\n")
    assert "\nset -eu\n" in script.read_text()


def test_missing_programs_are_named_where_nothing_can_be_installed(tmp_path: Path) -> None:
    """Without apt-get the script says what is missing and how to get it, and fails."""
    for tool in ("sh", "id"):
        (tmp_path / tool).symlink_to(shutil.which(tool) or "")
    done = subprocess.run(
        [str(tmp_path / "sh"), str(ROOT / "scripts/system-packages.sh"), "sh", "nosuch:nosuch-program"],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "not installed: nosuch\n" in done.stderr
    assert "apt-get install nosuch" in done.stderr


def test_programs_that_may_be_missing_stop_nothing(tmp_path: Path) -> None:
    """What only some tests need is left out where nothing can be installed."""
    for tool in ("sh", "id"):
        (tmp_path / tool).symlink_to(shutil.which(tool) or "")
    done = subprocess.run(
        [str(tmp_path / "sh"), str(ROOT / "scripts/system-packages.sh"), "sh", "--if-there-is", "nosuch"],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_an_old_python_is_refused_in_clear_words(tmp_path: Path) -> None:
    """Setting up with a Python that is too old names what is needed."""
    old = tmp_path / "python-old"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    done = subprocess.run(
        ["sh", str(ROOT / "scripts/setup.sh"), str(tmp_path / "venv")],
        env={"PATH": "/usr/bin:/bin", "PYTHON": str(old)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "Python 3.11 or newer is needed" in done.stderr
    assert not (tmp_path / "venv").exists()


# Versions


def pins() -> dict[str, str]:
    """What constraints.txt pins."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    wanted = [Requirement(line) for line in lines if line and not line.startswith("#")]
    for requirement in wanted:
        assert re.fullmatch(r"==[^*,]+", str(requirement.specifier)), requirement
        assert requirement.url is None, requirement
        assert requirement.marker is None, requirement
    return {canonicalize_name(r.name): str(r.specifier).removeprefix("==") for r in wanted}


def needed_by(name: str, extras: frozenset[str], seen: dict[str, str]) -> None:
    """Collect the installed distributions that ``name`` needs, itself included, with their versions."""
    key = canonicalize_name(name)
    if key in seen and not extras:
        return
    seen[key] = metadata.version(name)
    for text in metadata.requires(name) or []:
        requirement = Requirement(text)
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in extras | {""}):
            needed_by(requirement.name, frozenset(requirement.extras), seen)


def test_everything_that_is_needed_is_pinned_at_what_is_installed() -> None:
    """Whoever sets up later gets the very versions that are tested here."""
    needed: dict[str, str] = {}
    ours = {"turnhub"} | {canonicalize_name(project_table(path)["name"]) for path in PROJECTS}
    needed_by("turnhub", frozenset({"test"}), needed)
    for name in ours - {"turnhub"}:
        needed_by(name, frozenset(), needed)
    others = {name: version for name, version in needed.items() if name not in ours}
    assert {name: pins().get(name) for name in others} == others


def project_table(path: Path) -> dict[str, str]:
    """The [project] table of the pyproject.toml in ``path``."""
    table: dict[str, str] = tomllib.loads((path / "pyproject.toml").read_text())["project"]
    return table


# Who may import whom


def imports_of(path: Path) -> set[str]:
    """The absolute modules that a source file imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module)
    return found


def packages_of(project: Path) -> set[str]:
    """The import packages that a distribution brings."""
    return {path.parent.name for path in project.glob("*/__init__.py")} - {"tests"}


@pytest.mark.parametrize("project", PROJECTS, ids=lambda path: path.name)
def test_plugins_use_only_the_public_names_of_the_hub(project: Path) -> None:
    """A plugin and its tests import `hub` and `hub.testing`, no inner module, and no other plugin."""
    others = {package for other in PROJECTS if other != project for package in packages_of(other)}
    for path in project.rglob("*.py"):
        for module in imports_of(path):
            top = module.partition(".")[0]
            assert top != "hub" or module in {"hub", "hub.testing"}, f"{path.relative_to(ROOT)} imports {module}"
            assert top not in others, f"{path.relative_to(ROOT)} imports {module}"


def test_the_hub_imports_no_plugin() -> None:
    """Core runs without any plugin: it never names one in an import, its tests and benchmarks neither."""
    plugins = {package for project in PROJECTS for package in packages_of(project)}
    for path in (ROOT / "hub").rglob("*.py"):
        assert not {module.partition(".")[0] for module in imports_of(path)} & plugins, path


def test_the_import_contracts_know_every_plugin() -> None:
    """A plugin that is not named in the contracts would not be held to them."""
    contracts = configparser.ConfigParser()
    contracts.read(ROOT / ".importlinter")
    named = set(contracts["importlinter"]["root_packages"].split())
    assert named == {"hub"} | {package for project in PROJECTS for package in packages_of(project)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "line", "broken"),
    [
        ("hub/front/intruder.py", "import hub.runner", "front and runner"),
        ("hub/store/intruder.py", "import hub.front", "layers"),
        ("hub/events.py", "import hub.turn", "layers"),
        ("hub/fold.py", "import asyncio", "no I/O"),
        ("hub/nowhere.py", "", "layers"),
    ],
    ids=[
        "front to runner",
        "store to front",
        "events to turn",
        "I/O in the projection",
        "a module without a layer",
    ],
)
def test_the_import_contracts_bite(module: str, line: str, broken: str, tmp_path: Path) -> None:
    """Each rule is broken on purpose, in a copy, and the check has to name it."""
    shutil.copytree(ROOT / "hub", tmp_path / "hub", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / ".importlinter", tmp_path)
    for package in ("front", "runner"):
        (tmp_path / "hub" / package).mkdir(exist_ok=True)
        (tmp_path / "hub" / package / "__init__.py").touch()
    with (tmp_path / module).open("a") as file:
        file.write(f"\n{line}\n")
    done = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-logo", "--no-cache"],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout
    assert any("BROKEN" in text and broken in text for text in done.stdout.splitlines()), done.stdout
