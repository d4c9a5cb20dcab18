"""Where the command line writes: results on stdout, talk on stderr, JSON for machines."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from hub.cli.clean import clean, json_line, one_line


class Output:
    """The two channels. ``json`` turns tables and talk into one JSON document on stdout; with ``lines`` every
    document is one line, for commands that print many."""

    def __init__(self, *, json: bool = False, lines: bool = False) -> None:
        self.json = json
        self.lines = lines
        self._at_line_start = True

    def write(self, text: str) -> None:
        """Part of the result, as it is (already harmless), at once."""
        sys.stdout.write(text)
        sys.stdout.flush()
        if text:
            self._at_line_start = text.endswith("\n")

    def line(self, text: str) -> None:
        """One line of the result."""
        self.write(f"{clean(text)}\n")

    def end_line(self) -> None:
        """Begin a new line, if the last one is not ended."""
        if not self._at_line_start:
            self.write("\n")

    def document(self, value: Any) -> None:
        """A JSON document: indented, or one line."""
        encoded = msgspec.json.encode(value)
        shown = encoded if self.lines else msgspec.json.format(encoded, indent=2)
        self.write(json_line(shown.decode()) + "\n")

    def json_lines(self, line: str) -> None:
        """One line of JSON as it came."""
        self.write(json_line(line) + "\n")

    def talk(self, text: str, style: str = "") -> None:
        """A line to the person, on stderr."""
        from rich.console import Console
        from rich.text import Text

        self.end_line()
        # A console each time: it looks at the stderr of now, and talk is rare.
        console = Console(stderr=True, highlight=False, soft_wrap=True)
        console.print(Text(clean(text)), style=style or None)

    def table(self, columns: Sequence[str], rows: Sequence[Mapping[str, Any]], none: str = "") -> None:
        """Rows as a table on a terminal, else as tab-separated lines; all of them as JSON when asked for.
        ``none``: what a person at a terminal is told, as talk, where there are no rows."""
        if self.json:
            self.document(list(rows))
        elif none and not rows and sys.stdout.isatty():
            self.talk(none, "dim")
        elif sys.stdout.isatty():
            self._rich_table(columns, rows)
        else:
            for row in rows:
                self.line("\t".join(cell(row.get(column)) for column in columns))

    def _rich_table(self, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False, header_style="bold")
        for column in columns:
            table.add_column(column.replace("_", " ").upper(), overflow="fold")
        for row in rows:
            table.add_row(*(Text(cell(row.get(column))) for column in columns))
        Console(highlight=False).print(table)


def cell(value: Any) -> str:
    """A value as one harmless line."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return one_line(", ".join(map(str, value))) or "-"
    return one_line(str(value))
