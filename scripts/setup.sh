#!/bin/sh
# Creates the virtual environment $1 (if there is none) and installs the hub, its plugins and the examples
# into it: editable, with the exact versions of constraints.txt. PYTHON chooses the interpreter.
set -eu
cd "$(dirname "$0")/.."
venv=${1:-.venv}

fail() {
    printf '%s\n' "$@" >&2
    exit 1
}

new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

find_python() {
    for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
        if new_enough "$candidate"; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    fail "Python 3.11 or newer is needed, and ${PYTHON:-python3} is not." \
        "Install one (Debian, Ubuntu: apt-get install python3 python3-venv) or name it: make setup PYTHON=/path/to/python3"
}

create_venv() {
    python=$(find_python)
    "$python" -c 'import ensurepip, venv' 2>/dev/null ||
        fail "This Python cannot create virtual environments: its venv module is not installed." \
            "Debian, Ubuntu: apt-get install python3-venv"
    printf 'Creating %s with %s ...\n' "$venv" "$("$python" --version)"
    "$python" -m venv --clear "$venv"
}

new_enough "$venv/bin/python" || create_venv

set -- --editable '.[test]'
for project in plugins/*/pyproject.toml examples/*/pyproject.toml; do
    if [ -f "$project" ]; then set -- "$@" --editable "./$(dirname "$project")"; fi
done

printf 'Installing turnhub, its plugins and the tools of its tests: a minute or two, about 500 MB ...\n'
pip() {
    "$venv/bin/python" -m pip --disable-pip-version-check --quiet "$@"
}
# The build backends first (one library comes as source, for setuptools): with them here, nothing is built in
# environments of its own, with versions of its own.
pip install --constraint constraints.txt --upgrade pip hatchling editables setuptools wheel
pip install --constraint constraints.txt --no-build-isolation "$@"
printf 'Ready. Next: make run, or make test.\n'
