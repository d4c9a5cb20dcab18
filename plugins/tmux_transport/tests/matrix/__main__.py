"""Run the delivery matrix: `make matrix`. Exits with 1 where a success was none, or a message did something."""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
from pathlib import Path
from typing import Final

from .agent import Choice, run
from .judge import Outcome
from .messages import TRICKIEST, Case
from .table import Column, as_markdown, as_text, totals

BEGIN: Final = "<!-- written by make matrix: begin -->"
END: Final = "<!-- written by make matrix: end -->"


def main() -> int:
    """Run what was asked for; print it."""
    parser = argparse.ArgumentParser(
        prog="python -m plugins.tmux_transport.tests.matrix", description="The delivery matrix."
    )
    parser.add_argument("--widths", default="40,80,200", help="columns of the terminals, with commas")
    parser.add_argument("--hooks", default="on,off", help="on, off, or both with a comma")
    parser.add_argument(
        "--only", default="", help="only messages whose group and name this regular expression finds"
    )
    parser.add_argument("--tricky", action="store_true", help="only the trickiest messages")
    parser.add_argument("--markdown", type=Path, help="a file for the table as Markdown, between its marks")
    parser.add_argument("--jobs", type=int, default=1, help="how many agents at once")
    given = parser.parse_args()
    columns = [
        Column(int(width), hooks == "on") for width in given.widths.split(",") for hooks in given.hooks.split(",")
    ]

    def chosen(case: Case) -> bool:
        trickiest = case.title in TRICKIEST or not given.tricky
        return trickiest and re.search(given.only, case.title) is not None

    results = asyncio.run(_all(columns, chosen, given.jobs))
    sys.stdout.write(f"{as_text(results)}\n")
    if given.markdown is not None:
        _put(given.markdown, as_markdown(results))
    counted = totals(results)
    return 1 if counted["false success"] or counted["acted"] else 0


async def _all(columns: list[Column], chosen: Choice, jobs: int) -> dict[Column, list[Outcome]]:
    room = asyncio.Semaphore(jobs)

    async def one(column: Column) -> list[Outcome]:
        async with room:
            return await run(column, chosen, _tell)

    async with asyncio.TaskGroup() as group:
        tasks = {column: group.create_task(one(column)) for column in columns}
    return {column: task.result() for column, task in tasks.items()}


def _tell(column: Column, outcome: Outcome) -> None:
    """One line a message, as it comes; on stderr, so that stdout is the table."""
    case, told = outcome.case, outcome.told
    note = "" if outcome.expected else f"  <- {outcome.kind}: {outcome.why}"
    proof = told.proof or "-"
    sys.stderr.write(f"{column.title}: {case.title}: {told.verdict} {proof} {told.took_s:.1f} s{note}\n")


def _put(page: Path, table: str) -> None:
    """Put the table between the marks of the page, or make a page of it."""
    text = page.read_text() if page.is_file() else f"{BEGIN}\n{END}\n"
    head, _, rest = text.partition(BEGIN)
    page.write_text(f"{head}{BEGIN}\n\n{table}\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    sys.exit(main())
