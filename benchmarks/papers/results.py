"""Results of an experiment: rows with the paper's number and ours, tables, a figure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from visualwords.apps.evaluation.figures import wilson

SAME = 1.0  # points: closer figures are called equal


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
        CPU time of the training (or whatever ``what`` names) in one thread.
    unit : str, default "%"
        Of both figures; appended to them.
    n : int, optional
        Test items that ours is a share of; gives Wilson's 95 % interval where nothing is repeated.
    error : bool
        Whether the figure is an error, so that less is better.
    unlike : str
        Why the two figures are not of the same thing (other images, other features).
    why : str
        What an experiment showed to be the reason of a worse figure.

    Examples
    --------
    >>> row = Row("HIK", 81.25, paper=81.9, spread=0.5)
    >>> row.cells()
    ['HIK', '81.9 %', '81.25 ± 0.50 %', '-0.65', '']
    >>> row.verdict
    'equal'
    >>> Row("HIK", 80.0, paper=84.0, n=1000).cells()[2]
    '80.00 % (77.4 to 82.4)'
    """

    what: str
    ours: float
    paper: float | None = None
    spread: float | None = None
    seconds: float | None = None
    unit: str = "%"
    n: int | None = None
    error: bool = False
    unlike: str = ""
    why: str = ""

    @property
    def difference(self) -> float | None:
        """Ours minus the paper's."""
        return None if self.paper is None else self.ours - self.paper

    @property
    def verdict(self) -> str:
        """How ours stands to the paper's: equal (within one point), better, worse or unlike.

        Empty where the paper has no such figure.
        """
        if self.difference is None:
            return ""
        if self.unlike:
            return "unlike"
        gain = -self.difference if self.error else self.difference
        if abs(gain) <= (SAME if self.unit in ("%", "points") else 0.1 * abs(self.paper or 0)):
            return "equal"
        return "better" if gain > 0 else "worse"

    def cells(self) -> list[str]:
        """Return the row as text: what, paper, ours, difference, seconds."""
        paper = "" if self.paper is None else self._with_unit(f"{self.paper:.4g}")
        ours = _number(self.ours)
        if self.spread is not None:
            ours += f" ± {_number(self.spread)}"
        difference = "" if self.difference is None else f"{self.difference:+.2f}"
        seconds = "" if self.seconds is None else _number(self.seconds)
        return [self.what, paper, self._with_unit(ours) + self._interval(), difference, seconds]

    def _interval(self) -> str:
        """Return the 95 % interval of a single run."""
        if self.n is None or self.spread is not None:
            return ""
        low, high = wilson(round(min(max(self.ours / 100, 0.0), 1.0) * self.n), self.n)
        return f" ({100 * low:.1f} to {100 * high:.1f})"

    def _with_unit(self, number: str) -> str:
        return f"{number} {self.unit}".rstrip()


HEADER = ("what", "paper", "ours", "difference", "seconds")


@dataclass(frozen=True)
class Table:
    """A further table: any header and cells."""

    title: str
    header: Sequence[str]
    cells: Sequence[Sequence[object]]

    def texts(self) -> list[list[str]]:
        """Return the cells as text."""
        return [
            [_number(cell) if isinstance(cell, float) else str(cell) for cell in row]
            for row in self.cells
        ]


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
    draw : function of a matplotlib figure, optional
        Draws the figure; by default bars of the paper's and our figures are drawn.
    """

    data: str
    rows: list[Row]
    notes: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    draw: Callable[[Any], None] | None = None


def _number(value: float) -> str:
    """Format a number: two decimals from 0.1 on, else two significant digits."""
    if value == 0 or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) >= 0.1 else f"{value:.2g}"
