"""The summary page: at a glance, where the papers' figures were reached and where not."""

import os
from collections import Counter
from collections.abc import Sequence

from benchmarks.papers.experiments import EXPERIMENTS
from benchmarks.papers.results import Row
from benchmarks.papers.stored import Record, read_all
from benchmarks.papers.writing import markdown_table
from visualwords.files import write_atomically

VERDICTS = ("equal", "better", "worse", "unlike")
UNEXPLAINED = "not explained"


def write_summary(folder: str) -> str:
    """Write summary.md from all records of a folder; return its path."""
    path = os.path.join(folder, "summary.md")
    records = [record for record in read_all(folder, list(EXPERIMENTS)) if not record.quick]
    write_atomically(path, summary(records).encode())
    return path


def summary(records: Sequence[Record]) -> str:
    """Return the page: verdicts, worse figures with their reasons, what is missing."""
    rows = [_verdicts(record) for record in records]
    worse = [
        [f"[{record.experiment}]({record.experiment}.md): {row.what}", *_figures(row), row.why]
        for record in records
        for row in record.results.rows
        if row.verdict == "worse"
    ]
    missing = [
        f"- {one.name}: {one.missing}"
        for one in (EXPERIMENTS[record.experiment] for record in records)
        if one.missing
    ]
    parts = [
        "# At a glance",
        "Figures of ours beside those that the papers print: equal (within one point), better, "
        "worse, or unlike (not of the same images or features, so that only orders and ratios "
        "can be compared). Written by `python -m benchmarks.papers run` from the stored results.",
        markdown_table(("experiment", *VERDICTS, "CPU s", "date", "state"), rows),
        "## Worse than the paper, and why",
        markdown_table(
            ("figure", "paper", "ours", "reason, shown by an experiment"),
            [[*cells[:3], cells[3] or UNEXPLAINED] for cells in worse],
        )
        if worse
        else "None.",
        "## Not possible here",
        "\n".join(missing),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _verdicts(record: Record) -> list[str]:
    counts = Counter(row.verdict for row in record.results.rows)
    shown = [str(counts[verdict]) if counts[verdict] else "" for verdict in VERDICTS]
    link = f"[{record.experiment}]({record.experiment}.md)"
    return [link, *shown, f"{record.seconds:.0f}", record.date, record.state]


def _figures(row: Row) -> list[str]:
    _, paper, ours, *_ = row.cells()
    return [paper, ours]
