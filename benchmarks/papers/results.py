"""Results of an experiment: rows with the paper's number and ours, tables, and their file."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
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
    ['HIK', '81.9%', '81.25±0.50%', '-0.65', '']
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

    @classmethod
    def mean(
        cls, what: str, values: Sequence[float], paper: float | None = None, **options: Any
    ) -> "Row":
        """The mean of repetitions and, of several, their standard deviation."""
        spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
        return cls(what, float(np.mean(values)), paper, spread, **options)

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
        """The row as text: what, paper, ours, difference (of the same thing only), seconds."""
        ours = format_number(self.ours)
        if self.spread is not None:
            ours += f"±{format_number(self.spread)}"
        unit = self.unit if self.unit == "%" else f" {self.unit}".rstrip()
        ours += unit + self._interval()
        seconds = "" if self.seconds is None else format_number(self.seconds)
        if self.paper is None:
            return [self.what, "", ours, "", seconds]
        gap = self.ours - self.paper
        shown = f"{gap:+.2f}" if self.unit == "%" else f"{gap:+.2g}"
        difference = "" if self.unlike else shown
        return [self.what, f"{self.paper:.4g}{unit}", ours, difference, seconds]

    def _interval(self) -> str:
        """The 95 % interval of a single run."""
        if self.n is None or self.spread is not None:
            return ""
        n_right = round(self.n * min(max(self.ours / 100, 0.0), 1.0))
        low, high = binomtest(n_right, self.n).proportion_ci(method="wilson")
        return f" ({100 * low:.1f}–{100 * high:.1f})"


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
        The figure, which is not stored; none, if the paper has none.
    """

    data: str
    rows: list[Row]
    notes: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    panels: list[Panel] = field(default_factory=list)

    def without_paper(self) -> "Results":
        """The same without a comparison, which generated data do not deserve."""
        plain = {"paper": None, "unlike": "", "why": "", "fails": ""}
        return replace(self, rows=[replace(row, **plain) for row in self.rows])


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
    drawn : bool
        Whether the experiment has a figure, NAME.png.
    """

    experiment: str
    results: Results
    seconds: float
    quick: bool
    state: str
    date: str
    versions: str
    machine: str
    load: float = 0.0
    drawn: bool = False

    @classmethod
    def now(cls, experiment: str, results: Results, seconds: float, quick: bool) -> "Record":
        """The record of a run that has just ended."""
        load = round(os.getloadavg()[1], 1) if hasattr(os, "getloadavg") else 0.0
        more = provenance() | {"load": load, "drawn": bool(results.panels)}
        return cls(experiment, results, seconds, quick, **more)

    def write(self, folder: str) -> None:
        """Write NAME.json atomically."""
        tables = [replace(table, cells=table.texts()) for table in self.results.tables]
        plain = asdict(replace(self, results=replace(self.results, tables=tables, panels=[])))
        defaults = {one.name: one.default for one in fields(Row)}
        plain["results"]["rows"] = [
            {name: value for name, value in row.items() if value != defaults[name]}
            for row in plain["results"]["rows"]
        ]
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
            results = plain["results"]
            results["rows"] = [Row(**row) for row in results["rows"]]
            results["tables"] = [Table(**table) for table in results["tables"]]
            return cls(**plain | {"results": Results(**results)})
        except (ValueError, TypeError, KeyError) as problem:
            raise FolderError(
                f"{path}: not a stored result ({problem}); delete it and run {experiment} again"
            ) from problem


def format_number(value: float) -> str:
    """Two decimals from 0.1 on, else two significant digits."""
    if value == 0 or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) >= 0.1 else f"{value:.2g}"
