"""What is published works where nothing else is: all distributions are built, installed and used."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import venv
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

import hub
from tests.hubhome import home_with_hub, session_in

ROOT = Path(__file__).parent.parent
PROJECTS = [
    ROOT,
    *sorted(p.parent for kind in ("plugins", "examples") for p in (ROOT / kind).glob("*/pyproject.toml")),
]
EXAMPLES = [path for path in PROJECTS if path.parent.name == "examples"]
PLUGINS = [path for path in PROJECTS if path.parent.name == "plugins"]

# The tests of a file share a worker: it builds and installs once.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def table(project: Path) -> dict[str, Any]:
    """The [project] table of a distribution."""
    content: dict[str, Any] = tomllib.loads((project / "pyproject.toml").read_text())["project"]
    return content


def run(*command: str | Path, cwd: Path, env: Mapping[str, str] | None = None) -> str:
    """What a command prints; its errors are in the failure's message."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )
    assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Path]:
    """Each project's wheel, built from its source distribution."""
    built = {}
    for project in PROJECTS:
        out = tmp_path_factory.mktemp("dist")
        run(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, project, cwd=out)
        (built[project],) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheels: dict[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a new environment: hub and examples with all they need, plugins without."""
    home = tmp_path_factory.mktemp("clean")
    venv.create(home)
    into = ("--python", home / "bin/python", "--disable-pip-version-check")
    pip = (sys.executable, "-m", "pip", *into, "install", "--quiet", "--no-compile")
    full = [wheels[project] for project in (ROOT, *EXAMPLES)]
    run(*pip, "--constraint", ROOT / "constraints.txt", *full, cwd=home)
    if PLUGINS:
        run(*pip, "--no-deps", *(wheels[project] for project in PLUGINS), cwd=home)
    return home / "bin"


def test_all_distributions_carry_the_same_version() -> None:
    """Hub, plugins and examples are released together."""
    assert {table(project)["version"] for project in PROJECTS} == {hub.__version__}


@pytest.mark.parametrize("project", PROJECTS[1:], ids=lambda path: path.name)
def test_plugins_need_the_hub_they_were_made_for(project: Path) -> None:
    """A plugin's requirement takes this hub, and it is found by its entry point."""
    needs = {requirement.name: requirement for requirement in map(Requirement, table(project)["dependencies"])}
    assert needs["turnhub"].specifier.contains(hub.__version__)
    assert table(project)["entry-points"]["turnhub"]


def test_wheels_hold_what_the_tree_holds(wheels: dict[Path, Path]) -> None:
    """No script, page or marker of the hub is left out, and no test comes along."""
    tree = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "hub").rglob("*")
        if path.is_file() and path.suffix != ".pyc" and not path.name.startswith(".")
    }
    assert tree <= contents(wheels[ROOT])
    for wheel in wheels.values():
        assert not [name for name in contents(wheel) if "tests/" in name]


def contents(wheel: Path) -> set[str]:
    """The names of the files in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_the_command_tells_its_version(environment: Path, tmp_path: Path) -> None:
    """The command is there and is of the version that was built."""
    assert run(environment / "turnhub", "--version", cwd=tmp_path).split()[-1] == hub.__version__


def test_the_hub_runs_a_turn_without_any_plugin(environment: Path) -> None:
    """Served, talked to and stopped in an environment that holds nothing but what the distributions name."""
    turnhub = environment / "turnhub"
    with home_with_hub(str(turnhub)) as home:
        session = session_in(run(turnhub, "new", "rehearsal", cwd=home.hub.folder, env=home.environment))
        said = run(turnhub, "send", session, "hello", cwd=home.hub.folder, env=home.environment)
    assert "Echo: hello" in said


def test_installed_plugins_can_be_found(environment: Path, tmp_path: Path) -> None:
    """Every plugin's entry point is there after installing its wheel, and names a module the wheel holds."""
    code = (
        "import importlib.metadata as m, importlib.util as u\n"
        "for e in m.entry_points(group='turnhub'): print(e.name, bool(u.find_spec(e.module.partition('.')[0])))"
    )
    found = dict(line.split() for line in run(environment / "python", "-I", "-c", code, cwd=tmp_path).splitlines())
    declared = {name for project in PROJECTS for name in table(project)["entry-points"]["turnhub"]}
    assert found == dict.fromkeys(declared, "True")
