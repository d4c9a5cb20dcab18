"""What is known of programs, wrappers and dangers: the data files, read once."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from typing import Any, Final

from msgspec import Struct

from turnhub_permissions.forms import Form, Forms, by_program, listed
from turnhub_permissions.paths import path_pattern
from turnhub_permissions.programs import Program, programs

_TELLING: Final = "init telinit systemctl dd mv sh bash zsh dash ksh ash mksh fish csh tcsh rbash curl wget"


class Tables(Struct, frozen=True):
    """All data. ``forms`` by program; ``secret_...`` and ``guarded_names`` tell places."""

    programs: Mapping[str, Program]
    git: Mapping[str, Program]
    wrappers: Mapping[str, Program]
    dangerous: Mapping[str, str]
    forms: Mapping[str, Forms]
    valued: Mapping[str, frozenset[str]]
    secret_roots: re.Pattern[str]
    secret_homes: re.Pattern[str]
    secret_names: re.Pattern[str]
    harmless_names: re.Pattern[str]
    guarded_names: re.Pattern[str]
    hard_programs: frozenset[str]
    disks: re.Pattern[str]
    roots: frozenset[str]
    opaque: frozenset[str]
    inline: Mapping[str, frozenset[str]]
    input: Mapping[str, tuple[int, frozenset[str]]]
    fetching: frozenset[str]
    packing: Mapping[str, Forms]
    copying: Mapping[str, Forms]
    containers: frozenset[str]
    container_values: frozenset[str]
    sql: frozenset[str]
    texts: Mapping[str, Forms]
    running_flags: frozenset[str]
    running_operands: Mapping[str, re.Pattern[str]]
    assigning: frozenset[str]
    runners: frozenset[str]
    buried: frozenset[str]
    telling: frozenset[str]
    direct: frozenset[str]
    marks: frozenset[str]
    stands: frozenset[str]
    output_flags: frozenset[str]
    outputs_of: Mapping[str, frozenset[str]]
    writing: Mapping[str, Mapping[str, Forms]]
    safe_variables: frozenset[str]
    variable_values: Mapping[str, re.Pattern[str]]
    search_paths: frozenset[str]
    meant_variables: re.Pattern[str]
    versions: Mapping[str, frozenset[str]]
    special_variables: frozenset[str]
    secret_variables: re.Pattern[str]
    tools: Mapping[str, str]
    inputs: Mapping[str, tuple[str, ...]]


def _telling(dangers: Mapping[str, Any], forms: Iterable[str]) -> frozenset[str]:
    """Names that tell something wherever they stand behind a program that runs others."""
    names = {*_spread(dangers["programs"]), *forms, *dangers["hard"]["programs"].split(), *_TELLING.split()}
    names |= {*_spread(dangers["opaque"]["inline"]), *_spread(dangers["opaque"]["input"])}
    return frozenset(names | {*dangers["running"]["stands"].split(), *dangers["running"]["buried"].split()})


def load() -> Tables:
    """The tables that come with this package."""
    dangers = _read("dangers.toml")
    tools = _read("tools.toml")
    forms = by_program((*map(_form, dangers["forms"]), *_verbs()))
    places = dangers["secrets"]["patterns"].split()
    return Tables(
        programs=programs(_read("programs.toml")),
        git=programs(_read("git.toml")),
        wrappers=programs(_read("wrappers.toml")),
        dangerous=_spread(dangers["programs"]),
        forms=forms,
        telling=_telling(dangers, forms),
        valued={name: frozenset(flags.split()) for name, flags in _spread(dangers["valued"]).items()},
        secret_roots=_places(text for text in places if text.startswith("/")),
        secret_homes=_places(text.removeprefix("~") for text in places if text.startswith("~")),
        secret_names=_names(dangers["secrets"]["names"]),
        harmless_names=_names(dangers["secrets"]["except"]),
        guarded_names=_names(dangers["guarded"]["names"]),
        hard_programs=frozenset(dangers["hard"]["programs"].split()),
        disks=re.compile(dangers["hard"]["disks"]),
        roots=frozenset(dangers["hard"]["roots"].split()),
        opaque=frozenset(dangers["opaque"]["names"].split()),
        inline={name: frozenset(flags.split()) for name, flags in _spread(dangers["opaque"]["inline"]).items()},
        input={name: _unless(text) for name, text in _spread(dangers["opaque"]["input"]).items()},
        fetching=frozenset(dangers["fetching"]["programs"].split()),
        packing=by_program(listed("", dangers["fetching"]["packing"])),
        copying=by_program(listed("", dangers["fetching"]["copying"])),
        containers=frozenset(dangers["opaque"]["containers"]["programs"].split()),
        container_values=frozenset(dangers["opaque"]["containers"]["values"].split()),
        sql=frozenset(dangers["running"]["sql"].split()),
        texts=by_program(listed("", dangers["running"]["texts"])),
        running_flags=frozenset(dangers["running"]["flags"].split()),
        running_operands={
            name: re.compile(text) for name, text in _spread(dangers["running"]["operands"]).items()
        },
        assigning=frozenset(dangers["running"]["assigning"].split()),
        runners=frozenset(dangers["running"]["runners"].split()),
        buried=frozenset(dangers["running"]["buried"].split()),
        direct=frozenset(dangers["running"]["direct"].split()),
        marks=frozenset(dangers["running"]["marks"].split()),
        stands=frozenset(dangers["running"]["stands"].split()),
        output_flags=frozenset(dangers["running"]["outputs"].split()),
        outputs_of={
            name: frozenset(flags.split()) for name, flags in _spread(dangers["writing"].pop("flags")).items()
        },
        writing={which: by_program(listed("", texts)) for which, texts in dangers["writing"].items()},
        safe_variables=frozenset(dangers["environment"]["safe"].split()),
        variable_values={
            name: re.compile(text) for name, text in _spread(dangers["environment"]["values"]).items()
        },
        search_paths=frozenset(dangers["environment"]["paths"].split()),
        meant_variables=re.compile(dangers["environment"]["meant"]),
        versions={name: frozenset(flags.split()) for name, flags in _spread(dangers["versions"]).items()},
        special_variables=frozenset(dangers["environment"]["special"].split()),
        secret_variables=re.compile(dangers["environment"]["secret"]),
        tools={name: tool for tool, names in tools["names"].items() for name in names.split()},
        inputs={key: tuple(names.split()) for key, names in tools["inputs"].items()},
    )


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(files("turnhub_permissions").joinpath(name).read_text(encoding="utf-8"))


def _unless(text: str) -> tuple[int, frozenset[str]]:
    count, *flags = text.split()
    return int(count), frozenset(flags)


def _form(one: Mapping[str, str]) -> Form:
    flags = tuple(one.get("flags", "").split())
    return Form(
        program=one["program"],
        words=tuple((word,) for word in one.get("words", "").split()),
        flags=(flags,) if flags else (),
        starts=tuple(one.get("starts", "").split()),
        why=one["why"],
        unless=tuple(one.get("unless", "").split()),
    )


def _verbs() -> Iterator[Form]:
    for why, texts in _read("verbs.toml").items():
        yield from listed(why, texts)


def _spread(table: Mapping[str, str]) -> dict[str, str]:
    return {name: value for names, value in table.items() for name in names.split()}


def _places(patterns: Iterable[str]) -> re.Pattern[str]:
    """Absolute patterns of places, and all that lies below them, as one expression over lower case."""
    return re.compile("|".join(f"/(?:{path_pattern(text).folded.pattern})" for text in patterns), re.DOTALL)


def _names(text: str) -> re.Pattern[str]:
    """File names with ``*``, as one expression, upper and lower case alike."""
    return re.compile("|".join(re.escape(name).replace(r"\*", ".*") for name in text.split()), re.IGNORECASE)
