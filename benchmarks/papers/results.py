"""Results of an experiment: rows with the paper's number and ours, tables, and their file."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from scipy.stats import binomtest

from benchmarks.results import provenance
from visualwords.errors import FolderError
from visualwords.files import write_atomically

SAME = 1.0  # points: closer figures are called equal
VERDICTS = ("equal", "better", "worse", "differs", "unlike")
HEADER = ("what", "paper", "ours", "difference", "seconds")


@dataclass(frozen=True)
class Row:
    """One figure.

    Parameters
    ----------
    what : str
    ours : float
    paper : float, optional
        Absent where the paper has none.
    spread : float, optional
        Standard deviation of ours over repetitions.
    seconds : float, optional
        CPU time of the training (or whatever ``what`` names) in one thread, after a warm-up.
    unit : str, default "%"
        Of both figures; appended to them.
    n : int, optional
        Test items that ours is a share of; gives Wilson's 95 % interval where nothing is repeated.
    error : bool
        Whether the figure is an error, so that less is better.
    rival : bool
        Whether the figure is another method's (LIBLINEAR, LIBSVM, …): it can equal the paper's or
        differ from it, but its error is no gain and its gain no error of ours.
    unlike : str
        Why the two figures are not of the same thing (other images, other features).
    why : str
        What an experiment showed to be the reason of a worse figure.
    fails : str
        What fails here, for the summary.

    Examples
    --------
    >>> row = Row("HIK", 81.25, paper=81.9, spread=0.5)
    >>> row.cells()
    ['HIK', '81.9 %', '81.25 ± 0.50 %', '-0.65', '']
    >>> row.verdict
    'equal'
    >>> Row("LIBLINEAR", 80.0, paper=84.0, n=1000, rival=True).verdict
    'differs'
    """

    what: str
    ours: float
    paper: float | None = None
    spread: float | None = None
    seconds: float | None = None
    unit: str = "%"
    n: int | None = None
    error: bool = False
    rival: bool = False
    unlike: str = ""
    why: str = ""
    fails: str = ""

    @property
    def verdict(self) -> str:
        """One of `VERDICTS`, or empty where the paper has no such figure."""
        if self.paper is None:
            return ""
        if self.unlike:
            return "unlike"
        gain = self.paper - self.ours if self.error else self.ours - self.paper
        if abs(gain) <= (SAME if self.unit in ("%", "points") else 0.1 * abs(self.paper)):
            return "equal"
        if self.rival:
            return "differs"
        return "better" if gain > 0 else "worse"

    def cells(self) -> list[str]:
        """The row as text: what, paper, ours, difference, seconds."""
        paper = "" if self.paper is None else self._with_unit(f"{self.paper:.4g}")
        ours = format_number(self.ours)
        if self.spread is not None:
            ours += f" ± {format_number(self.spread)}"
        difference = "" if self.paper is None else f"{self.ours - self.paper:+.2f}"
        seconds = "" if self.seconds is None else format_number(self.seconds)
        return [self.what, paper, self._with_unit(ours) + self._interval(), difference, seconds]

    def _interval(self) -> str:
        """The 95 % interval of a single run."""
        if self.n is None or self.spread is not None:
            return ""
        n_right = round(min(max(self.ours / 100, 0.0), 1.0) * self.n)
        low, high = binomtest(n_right, self.n).proportion_ci(method="wilson")
        return f" ({100 * low:.1f} to {100 * high:.1f})"

    def _with_unit(self, number: str) -> str:
        return f"{number} {self.unit}".rstrip()


@dataclass(frozen=True)
class Table:
    """A further table: any header and cells."""

    title: str
    header: Sequence[str]
    cells: Sequence[Sequence[object]]

    def texts(self) -> list[list[str]]:
        """The cells as text."""
        return [
            [format_number(cell) if isinstance(cell, float) else str(cell) for cell in row]
            for row in self.cells
        ]


@dataclass(frozen=True)
class Panel:
    """A part of the figure: lines over a common axis.

    Parameters
    ----------
    title, xlabel, ylabel : str
    lines : dict of str to (x, y) or (x, y, deviations)
    log : str
        The axes with a logarithmic scale: "", "x", "y" or "xy".
    mark : str
        matplotlib's marker and line; "," for dots alone.
    """

    title: str
    xlabel: str
    ylabel: str
    lines: Mapping[str, Sequence[Any]]
    log: str = ""
    mark: str = "o-"


@dataclass(frozen=True)
class Results:
    """All results of an experiment.

    Parameters
    ----------
    data : str
        What was trained and tested on, in one sentence.
    rows : list of Row
    notes : list of str
        What was chosen, one sentence each.
    tables : list of Table
    panels : list of Panel
        The figure; by default our figures over the paper's.
    """

    data: str
    rows: list[Row]
    notes: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    panels: list[Panel] = field(default_factory=list)

    def without_paper(self) -> "Results":
        """The same without a comparison, which generated data do not deserve."""
        return replace(
            self, rows=[replace(row, paper=None, why="", unlike="", fails="") for row in self.rows]
        )


@dataclass(frozen=True)
class Record:
    """What one run of an experiment found, as its file NAME.json keeps it.

    Parameters
    ----------
    experiment : str
    results : Results
        Without its figure, once it was read from a file.
    seconds : float
        CPU seconds of the run, in one thread.
    quick : bool
        Whether it ran on small generated data.
    state, date, machine, versions : str
        Where the figures come from: the commit, the day, the processor, the libraries.
    load : float
        Processes that wanted to run on the machine meanwhile, this one among them.
    """

    experiment: str
    results: Results
    seconds: float
    quick: bool
    state: str
    date: str
    versions: str
    machine: str = ""
    load: float = 0.0

    @classmethod
    def now(cls, experiment: str, results: Results, seconds: float, quick: bool) -> "Record":
        """The record of a run that has just ended."""
        load = os.getloadavg()[1] if hasattr(os, "getloadavg") else 0.0
        return cls(experiment, results, seconds, quick, load=round(load, 1), **provenance())

    def write(self, folder: str) -> None:
        """Write NAME.json atomically."""
        results = {
            "data": self.results.data,
            "rows": [_shortened(row) | {"verdict": row.verdict} for row in self.results.rows],
            "notes": self.results.notes,
            "tables": [
                {"title": table.title, "header": list(table.header), "cells": table.texts()}
                for table in self.results.tables
            ],
        }
        plain = {one.name: getattr(self, one.name) for one in fields(self)} | {"results": results}
        content = (json.dumps(plain, indent=1, ensure_ascii=False) + "\n").encode()
        write_atomically(os.path.join(folder, f"{self.experiment}.json"), content)

    @classmethod
    def read(cls, folder: str, experiment: str) -> "Record | None":
        """The record of an experiment; None if there is none."""
        path = Path(folder, f"{experiment}.json")
        if not path.is_file():
            return None
        try:
            plain = json.loads(path.read_text(encoding="utf-8"))
            return cls(**{**plain, "results": _results_of(plain["results"])})
        except (ValueError, TypeError, KeyError) as problem:
            raise FolderError(
                f"{path}: not a stored result ({problem}); delete it and run {experiment} again"
            ) from problem


def _shortened(row: Row) -> dict[str, Any]:
    """The row's fields that are not at their defaults, and those that every reader expects."""
    kept = ("what", "ours", "paper", "spread", "seconds")
    defaults = {one.name: one.default for one in fields(Row)}
    return {k: v for k, v in asdict(row).items() if k in kept or v != defaults[k]}


def _results_of(plain: dict[str, Any]) -> Results:
    rows = [Row(**{k: v for k, v in row.items() if k != "verdict"}) for row in plain["rows"]]
    tables = [Table(**table) for table in plain["tables"]]
    return Results(plain["data"], rows, plain["notes"], tables)


def format_number(value: float) -> str:
    """Two decimals from 0.1 on, else two significant digits."""
    if value == 0 or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) >= 0.1 else f"{value:.2g}"
