"""Medians, ratios and how they are shown."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import msgspec
from msgspec import Struct
from rich.console import Console
from rich.table import Table

Sample = Mapping[str, float]


class Measure(Struct, frozen=True):
    """A number that each variant has. ``digits`` behind the point."""

    name: str
    title: str
    digits: int = 1


class Aim(Struct, frozen=True):
    """What is aimed at: ``measure`` of variant ``ours`` over that of ``other``, at most or at least; or
    neither, where the ratio only tells."""

    measure: str
    ours: str
    other: str
    most: float | None = None
    least: float | None = None

    @property
    def title(self) -> str:
        """The ratio in words."""
        return f"{self.measure}: {self.ours} / {self.other}"

    @property
    def bound(self) -> str:
        """The aim in words."""
        if self.most is not None:
            return f"at most {self.most:g}"
        return f"at least {self.least:g}" if self.least is not None else ""

    def met(self, ratio: float | None) -> bool | None:
        """Whether ``ratio`` is what was aimed at; None where nothing was, or nothing was measured."""
        if ratio is None or (self.most is None and self.least is None):
            return None
        return ratio <= self.most if self.most is not None else ratio >= (self.least or 0.0)


class Report(Struct, frozen=True):
    """What a benchmark has to show: for each round, each variant's numbers."""

    title: str
    measures: Sequence[Measure]
    aims: Sequence[Aim]
    rounds: Sequence[Mapping[str, Sample]]

    def medians(self) -> dict[str, dict[str, float]]:
        """Each variant's numbers: medians over the rounds."""
        variants = self.rounds[0]
        return {
            variant: {name: median(one[variant][name] for one in self.rounds) for name in variants[variant]}
            for variant in variants
        }

    def ratio(self, aim: Aim) -> float | None:
        """The median of the ratios within each round; None where the other was nought."""
        pairs = [(one[aim.ours][aim.measure], one[aim.other][aim.measure]) for one in self.rounds]
        ratios = [ours / other for ours, other in pairs if other]
        return median(ratios) if ratios else None

    def facts(self) -> dict[str, Any]:
        """Everything, for machines."""
        ratios = [
            {"ratio": aim.title, "value": ratio, "aim": aim.bound, "met": aim.met(ratio)}
            for aim, ratio in ((aim, self.ratio(aim)) for aim in self.aims)
        ]
        return {"title": self.title, "medians": self.medians(), "ratios": ratios, "rounds": self.rounds}

    def show(self, console: Console) -> None:
        """Everything, for people."""
        medians = self.medians()
        console.print(f"{self.title}; medians of {len(self.rounds)}", highlight=False)
        table = Table("", *medians)
        for measure in self.measures:
            cells = (_cell(sample.get(measure.name), measure.digits) for sample in medians.values())
            table.add_row(measure.title, *cells)
        console.print(table)
        table = Table("ratio", "", "aim", "")
        for aim in self.aims:
            ratio = self.ratio(aim)
            verdict = {True: "met", False: "missed", None: ""}[aim.met(ratio)]
            table.add_row(aim.title, "-" if ratio is None else f"{ratio:.3g}", aim.bound, verdict)
        console.print(table)


def _cell(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:,.{digits}f}"


def arguments(description: str | None) -> argparse.ArgumentParser:
    """What every benchmark can be told."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a small run: shows that it works, measures little")
    parser.add_argument("--json", action="store_true", help="everything, for machines")
    parser.add_argument("--rounds", type=int, help="how often everything is measured; medians are shown")
    return parser


def finish(reports: Sequence[Report], *, as_json: bool) -> None:
    """Show the reports as it was asked for."""
    if as_json:
        print(msgspec.json.format(msgspec.json.encode([report.facts() for report in reports]), indent=2).decode())
        return
    console = Console(width=100)
    for report in reports:
        report.show(console)
