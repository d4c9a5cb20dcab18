"""Pure: the outcomes of the matrix as a table, as text or Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from .judge import ORDER, Outcome


class Column(Struct, frozen=True, order=True):
    """One agent: the width of its terminal, and whether it has hooks."""

    width: int
    hooks: bool

    @property
    def title(self) -> str:
        """Its name."""
        return f"{self.width}, {'hooks' if self.hooks else 'no hooks'}"


Results: TypeAlias = Mapping[Column, Sequence[Outcome]]


def rows(results: Results) -> list[list[str]]:
    """A header, a row for each group of messages, and the totals. A cell tells how many were delivered, and what
    became of the others."""
    columns = sorted(results, key=lambda column: (column.width, not column.hooks))
    groups = list(dict.fromkeys(outcome.case.group for column in columns for outcome in results[column]))
    table = [["messages", "number", *(column.title for column in columns)]]
    for group in groups:
        inside = [[one for one in results[column] if one.case.group == group] for column in columns]
        table.append([group, str(max(map(len, inside))), *map(_cell, inside)])
    every = [list(results[column]) for column in columns]
    table.append(["all", str(max(map(len, every))), *map(_cell, every)])
    return table


def _cell(outcomes: Sequence[Outcome]) -> str:
    counted = Counter(outcome.kind for outcome in outcomes)
    told = [f"{counted[kind]} {kind}" for kind in ORDER if counted[kind]]
    return ", ".join(told).removesuffix(" delivered") or "-"


def totals(results: Results) -> dict[str, int]:
    """How often each kind of outcome came."""
    counted = Counter(outcome.kind for outcomes in results.values() for outcome in outcomes)
    return {kind: counted[kind] for kind in ORDER}


def proofs(results: Results) -> dict[str, int]:
    """By what the successes were proven."""
    return dict(
        Counter(
            str(outcome.told.proof)
            for outcomes in results.values()
            for outcome in outcomes
            if outcome.kind == "delivered"
        ).most_common()
    )


def exceptions(results: Results) -> Iterator[str]:
    """Every outcome that is not the expected one, in a line."""
    for column in sorted(results):
        for outcome in results[column]:
            if not outcome.expected:
                yield f"{column.title}: {outcome.case.title}: {outcome.kind}: {outcome.why}"


def as_text(results: Results) -> str:
    """For a terminal."""
    table = rows(results)
    sizes = [max(len(row[n]) for row in table) for n in range(len(table[0]))]
    lines = ["  ".join(cell.ljust(size) for cell, size in zip(row, sizes, strict=True)).rstrip() for row in table]
    return "\n".join([*lines, "", *_summary(results), *exceptions(results)])


def as_markdown(results: Results) -> str:
    """For a page."""
    header, *body = rows(results)
    lines = [_line(header), _line(["---", *["---:"] * (len(header) - 1)]), *map(_line, body)]
    unexpected = [f"* {line}" for line in exceptions(results)] or ["* none"]
    return "\n".join([*lines, "", *_summary(results), "", "Other than expected:", "", *unexpected, ""])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _summary(results: Results) -> list[str]:
    counted = ", ".join(f"{count} {kind}" for kind, count in totals(results).items())
    proven = ", ".join(f"{count} by {proof}" for proof, count in proofs(results).items())
    return [f"In all: {counted}.", f"Proven: {proven or 'nothing'}."]
