"""Records as pages: Markdown with a figure for each, and the summary of all."""

import io
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from benchmarks.papers.experiments import Experiment, all_experiments
from benchmarks.papers.results import HEADER, VERDICTS, Panel, Record, Results, Row
from visualwords.files import write_atomically

OLDER = (
    "**Older figures**, measured before this experiment was changed: times held compilation and "
    "are left out. The text below says what a run measures now, so not all of it is on this page."
)
QUICK = "quick run on small generated data: a test of the code, not of the method"
BUSY = 2.5  # processes on two cores: beyond, times say little


def write_record(folder: str, record: Record) -> str:
    """Write NAME.json, NAME.png and NAME.md; return the last one's path."""
    content = picture(record.results)
    write_atomically(os.path.join(folder, f"{record.experiment}.png"), content)
    record.write(folder)
    return write_page(folder, record)


def write_page(folder: str, record: Record) -> str:
    """Write NAME.md from a record; return its path."""
    path = os.path.join(folder, f"{record.experiment}.md")
    text = markdown(all_experiments()[record.experiment], record)
    write_atomically(path, text.encode())
    return path


def markdown(experiment: Experiment, record: Record) -> str:
    """The page of an experiment."""
    results = record.results
    if not record.machine:
        results = replace(results, rows=[replace(row, seconds=None) for row in results.rows])
    remark = f" **{QUICK}.**" if record.quick else ""
    reasons = [
        f"- {row.what}: {why}" for row in results.rows for why in (row.why, row.fails) if why
    ]
    unlike = {row.unlike: 0 for row in results.rows if row.unlike}
    parts = [
        f"# {experiment.name}",
        f"{experiment.paper}, {experiment.place}.{remark}",
        "" if record.machine else OLDER,
        experiment.text,
        f"**Data.** {results.data}",
        markdown_table(HEADER, [row.cells() for row in results.rows]),
        "\n".join([*(f"- Not like for like: {text}" for text in unlike), *reasons]),
        "\n".join(f"- {note}" for note in results.notes),
        f"![{experiment.name}]({experiment.name}.png)",
    ]
    for table in results.tables:
        parts += [f"## {table.title}", markdown_table(table.header, table.texts())]
    parts += [
        f"**Not repeated.** {experiment.missing}" if experiment.missing else "",
        origin(record),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def origin(record: Record) -> str:
    """Command, time, commit, machine and versions, in one line."""
    quick = " --quick" if record.quick else ""
    busy = ""
    if record.load > BUSY:
        busy = f" · **other work ran meanwhile (load {record.load:g}): times are upper bounds**"
    return (
        f"`python -m benchmarks.papers run {record.experiment}{quick}` · {record.seconds:.0f} CPU "
        f"seconds in one thread · {record.date} · commit {record.state} · "
        f"{record.machine or 'machine not recorded'} · {record.versions}{busy}"
    )


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; the first column is text, the others are figures.

    Examples
    --------
    >>> print(markdown_table(["a", "b"], [["x", "1"]]))
    | a | b |
    |---|--:|
    | x | 1 |
    """
    texts = ["| " + " | ".join(line) + " |" for line in [header, *rows]]
    texts.insert(1, "|---" + "|--:" * (len(header) - 1) + "|")
    return "\n".join(texts)


def write_summary(folder: str) -> str:
    """Write summary.md from all records of a folder; return its path."""
    path = os.path.join(folder, "summary.md")
    write_atomically(path, summary(read_all(folder)).encode())
    return path


def read_all(folder: str) -> list[Record]:
    """The records of those experiments that have one, without quick runs."""
    records = (Record.read(folder, name) for name in all_experiments())
    return [record for record in records if record is not None and not record.quick]


def summary(records: Sequence[Record]) -> str:
    """The summary: verdicts, what fails, worse figures with their reasons, what is missing."""
    known = all_experiments()
    rows = [(record, row) for record in records for row in record.results.rows]
    failing = [[_link(record, row), *_figures(row), row.fails] for record, row in rows if row.fails]
    worse = [
        [_link(record, row), *_figures(row), row.why or "not explained"]
        for record, row in rows
        if row.verdict == "worse"
    ]
    missing = [f"- {r.experiment}: {known[r.experiment].missing}" for r in records]
    never = [name for name in known if name not in {record.experiment for record in records}]
    parts = [
        "# At a glance",
        "Figures of ours beside those that the papers print: *equal* (within one point), *better* "
        "or *worse* (our own methods on the paper's data), *differs* (another method's figure, "
        "which is neither our gain nor our loss), *unlike* (other images or features, so that only "
        "orders and ratios can be compared). Written by `python -m benchmarks.papers run` from "
        "the stored results.",
        markdown_table(("experiment", *VERDICTS, "CPU s", "date", "commit"), map(_counts, records)),
        f"No stored result: {', '.join(never)}." if never else "",
        "## What fails",
        _table_or_none(("figure", "paper", "ours", "what happens"), failing),
        "## Worse than the paper, and why",
        _table_or_none(("figure", "paper", "ours", "reason, shown by an experiment"), worse),
        "## Not repeated",
        "\n".join(line for line in missing if not line.endswith(": ")),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _counts(record: Record) -> list[str]:
    counts = Counter(row.verdict for row in record.results.rows)
    shown = [str(counts[verdict] or "") for verdict in VERDICTS]
    link = f"[{record.experiment}]({record.experiment}.md)"
    return [link, *shown, f"{record.seconds:.0f}", record.date, record.state]


def _link(record: Record, row: Row) -> str:
    return f"[{record.experiment}]({record.experiment}.md): {row.what}"


def _figures(row: Row) -> list[str]:
    return row.cells()[1:3]


def _table_or_none(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return markdown_table(header, rows) if rows else "None."


def picture(results: Results) -> bytes:
    """The figure as PNG."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4), layout="constrained")
    draw_panels(figure, results.panels or [beside_paper(results.rows)])
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=80, metadata={"Software": None})
    return content.getvalue()


def draw_panels(figure: Any, panels: Sequence[Panel]) -> None:
    """Draw panels in rows of at most three; the first has the legend."""
    n_columns = min(len(panels), 2 if len(panels) == 4 else 3)
    n_rows = -(-len(panels) // n_columns)
    figure.set_size_inches(max(3.6 * n_columns, 6), 3.2 * n_rows)
    axes = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    for axis, panel in zip(axes, panels):
        for label, (x, y, *deviations) in panel.lines.items():
            options = {"label": label, "markersize": 3, "linewidth": 1}
            axis.errorbar(x, y, *deviations, fmt=panel.mark, **options)
        for name in panel.log:
            getattr(axis, f"set_{name}scale")("log")
        axis.set_title(panel.title, fontsize=9)
        axis.set(xlabel=panel.xlabel, ylabel=panel.ylabel)
    for axis in axes[len(panels) :]:
        axis.set_visible(False)
    if len(panels[0].lines) > 1:
        axes[0].legend(fontsize=7)


def beside_paper(rows: Sequence[Row]) -> Panel:
    """Our figures in percent over the paper's, each a point; without one, over their number."""
    both = [(r.paper, r.ours) for r in rows if r.paper is not None and r.unit == "%"]
    if not both:
        lines = {"ours": (range(len(rows)), [row.ours for row in rows])}
        return Panel("", "row of the table", "ours", lines, mark="o")
    ends = [min(map(min, both)), max(map(max, both))]
    lines = {"ours": tuple(zip(*both)), "equal": (ends, ends)}
    return Panel("", "paper, %", "ours, %", lines, mark="o")
