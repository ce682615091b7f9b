"""Predictions as a table, CSV or JSON, written while they are made."""

import csv
import sys
from collections.abc import Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from visualwords.apps.command_line.csv_cells import csv_cells, is_raw
from visualwords.apps.command_line.terminal import json_text, printable, stdout
from visualwords.apps.pipeline.predictions import Answer
from visualwords.errors import Skipped

__all__ = ["CsvPrinter", "JsonPrinter", "TablePrinter", "printer_of"]

MOST_ROWS = 1000  # images of a table; more have several, printed as they come


class CsvPrinter:
    """Prints a line for each class of an answer.

    Parameters
    ----------
    raw : bool
        Leave texts as they are.
    """

    def __init__(self, raw: bool):
        self.raw = is_raw(raw)
        self.writer = csv.writer(sys.stdout)
        header = ["path", "label", "rank", "class", "probability", "score", "novelty"]
        self.writer.writerow(header)

    def print(self, answers: Sequence[Answer]) -> None:
        """Print some answers."""
        for answer in answers:
            for rank, (name, score) in enumerate(answer.scores.items(), start=1):
                probability = "" if answer.probabilities is None else answer.probabilities[name]
                numbers = [probability, score, "" if answer.novelty is None else answer.novelty]
                row = [answer.path, answer.label, rank, name, *map(_short, numbers)]
                self.writer.writerow(csv_cells(row, self.raw))
        sys.stdout.flush()

    def end(self, skipped: Sequence[Skipped | tuple[str, str]]) -> None:
        """Print nothing more."""


class JsonPrinter:
    """Prints one JSON object: predictions, as they come, then the files that were left out."""

    def __init__(self) -> None:
        self.is_empty = True
        sys.stdout.write('{\n "predictions": [')

    def print(self, answers: Sequence[Answer]) -> None:
        """Print some answers."""
        for answer in answers:
            sys.stdout.write(("\n" if self.is_empty else ",\n") + _indented(answer.to_json(), 2))
            self.is_empty = False
        sys.stdout.flush()

    def end(self, skipped: Sequence[Skipped | tuple[str, str]]) -> None:
        """Print the files that were left out, and the end of the object."""
        listed = [{"path": path, "reason": reason} for path, reason in skipped]
        sys.stdout.write("]" if self.is_empty else "\n ]")
        sys.stdout.write(f',\n "skipped": {_indented(listed, 1).lstrip()}\n}}\n')


class TablePrinter:
    """Prints tables of up to `MOST_ROWS` images."""

    def __init__(self) -> None:
        self.waiting: list[Answer] = []

    def print(self, answers: Sequence[Answer]) -> None:
        """Print some answers, or keep them for the next table."""
        self.waiting += answers
        while len(self.waiting) > MOST_ROWS:
            stdout().print(_table(self.waiting[:MOST_ROWS]))
            del self.waiting[:MOST_ROWS]

    def end(self, skipped: Sequence[Skipped | tuple[str, str]]) -> None:
        """Print the last table."""
        if self.waiting:
            stdout().print(_table(self.waiting))


def printer_of(form: str, raw: bool) -> CsvPrinter | JsonPrinter | TablePrinter:
    """Return what prints answers as "csv", "json" or "table"."""
    if form == "csv":
        return CsvPrinter(raw)
    return JsonPrinter() if form == "json" else TablePrinter()


def _indented(value: Any, depth: int) -> str:
    return "\n".join(" " * depth + line for line in json_text(value, 1).split("\n"))


def _short(number: float | str) -> str:
    return number if isinstance(number, str) else f"{number:.6g}"


def _table(answers: Sequence[Answer]) -> Table:
    table = Table()
    table.add_column("image", overflow="fold")
    table.add_column("label", overflow="fold")
    table.add_column("probability", justify="right")
    table.add_column("score", justify="right")
    table.add_column("novelty", justify="right")
    for answer in answers:
        for rank, (name, score) in enumerate(answer.scores.items()):
            shown = "" if rank else printable(answer.path)
            chance = "" if answer.probabilities is None else f"{answer.probabilities[name]:.1%}"
            strange = "" if rank or answer.novelty is None else f"{answer.novelty:.1%}"
            if rank == 0 and answer.label != name:
                name = f"{answer.label} ({name}?)"
            table.add_row(Text(shown), Text(printable(name)), chance, f"{score:+.2f}", strange)
    return table
