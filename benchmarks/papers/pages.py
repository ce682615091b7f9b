"""Records as pages: Markdown with a figure for each, and the summary of all."""

import io
import os
from collections import Counter
from collections.abc import Sequence

from benchmarks.papers.lab import Experiment, all_experiments
from benchmarks.papers.results import HEADER, VERDICTS, Panel, Record, Row
from visualwords.files import write_atomically

QUICK = " **quick run on small generated data: a test of the code, not of the method.**"
BUSY = 2.5  # processes on two cores: beyond, times say little
MEANING = (
    "Figures of ours beside those that the papers print: *equal* (within one point), *better* or "
    "*worse* (our own methods on the paper's data), *differs* (another method's figure, which is "
    "neither our gain nor our loss), *unlike* (other images or features, so that only orders and "
    "ratios can be compared). Written by `python -m benchmarks.papers run` from the stored results."
)


def write_page(folder: str, record: Record) -> str:
    """Write NAME.md from a record; return its path."""
    path = os.path.join(folder, f"{record.experiment}.md")
    text = markdown(all_experiments()[record.experiment], record)
    write_atomically(path, text.encode())
    return path


def markdown(experiment: Experiment, record: Record) -> str:
    """The page of an experiment."""
    results, name = record.results, experiment.name
    remarks = [f"- Not like for like: {row.unlike}" for row in results.rows if row.unlike]
    remarks += [
        f"- {row.what}: {why}" for row in results.rows for why in (row.why, row.fails) if why
    ]
    parts = [
        f"# {name}",
        f"{experiment.paper}, {experiment.place}.{QUICK * record.quick}",
        experiment.text,
        f"**Data.** {results.data}",
        markdown_table(*_filled(HEADER, [row.cells() for row in results.rows])),
        "\n".join(dict.fromkeys(remarks)),
        "\n".join(f"- {note}" for note in results.notes),
        f"![{name}]({name}.png)" if record.drawn else "",
    ]
    for table in results.tables:
        parts += [f"## {table.title}", markdown_table(table.header, table.texts())]
    return "\n\n".join(part for part in [*parts, origin(record)] if part) + "\n"


def _filled(
    header: Sequence[str], rows: Sequence[Sequence[str]]
) -> tuple[list[str], list[list[str]]]:
    """A table without the columns that are empty in all rows."""
    kept = [c for c in range(len(header)) if any(row[c] for row in rows)]
    return [header[c] for c in kept], [[row[c] for c in kept] for row in rows]


def origin(record: Record) -> str:
    """Command, time, commit, machine and versions, in one line."""
    text = (
        f"`python -m benchmarks.papers run {record.experiment}{' --quick' * record.quick}` · "
        f"{record.seconds:.0f} CPU seconds in one thread · {record.date} · commit {record.state} · "
        f"{record.machine} · {record.versions}"
    )
    if record.load <= BUSY:
        return text
    return text + f" · **other work ran meanwhile (load {record.load:g}): times are upper bounds**"


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


def write_summary(folder: str) -> None:
    """Write summary.md from all records of a folder."""
    write_atomically(os.path.join(folder, "summary.md"), summary(read_all(folder)).encode())


def read_all(folder: str) -> list[Record]:
    """The records of those experiments that have one, without quick runs."""
    records = (Record.read(folder, name) for name in all_experiments())
    return [record for record in records if record is not None and not record.quick]


def summary(records: Sequence[Record]) -> str:
    """The summary: verdicts, what fails, worse figures with their reasons, what is missing."""
    known, stored = all_experiments(), {record.experiment for record in records}
    rows = [(record, row) for record in records for row in record.results.rows]
    failing = [_shown(record, row, row.fails) for record, row in rows if row.fails]
    worse = [
        _shown(record, row, row.why or "not explained")
        for record, row in rows
        if row.verdict == "worse"
    ]
    missing = {name: known[name].missing for name in known if name in stored}
    never = ", ".join(name for name in known if name not in stored)
    states = sorted({f"{record.state} of {record.date}" for record in records})
    figures = ("figure", "paper", "ours")
    parts = [
        "# At a glance",
        MEANING,
        markdown_table(("experiment", *VERDICTS, "CPU s"), map(_counts, records)),
        f"Measured at commit {', '.join(states)}." if states else "",
        f"No stored result: {never}." if never else "",
        "## What fails",
        markdown_table((*figures, "what happens"), failing) if failing else "None.",
        "## Worse than the paper, and why",
        markdown_table((*figures, "reason, shown by an experiment"), worse) if worse else "None.",
        "## Not repeated",
        "\n".join(f"- {name}: {text}." for name, text in missing.items() if text),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _counts(record: Record) -> list[str]:
    counts = Counter(row.verdict for row in record.results.rows)
    shown = [str(counts[verdict] or "") for verdict in VERDICTS]
    link = f"[{record.experiment}]({record.experiment}.md)"
    return [link, *shown, f"{record.seconds:.0f}"]


def _shown(record: Record, row: Row, remark: str) -> list[str]:
    link = f"[{record.experiment}]({record.experiment}.md)"
    return [f"{link}: {row.what}", *row.cells()[1:3], remark]


def picture(panels: Sequence[Panel]) -> bytes:
    """The figure as PNG: panels in rows of at most three, a legend where lines are new."""
    from matplotlib.figure import Figure

    n_columns = min(len(panels), 2 if len(panels) == 4 else 3)
    n_rows = -(-len(panels) // n_columns)
    figure = Figure((max(3.6 * n_columns, 6), 3.2 * n_rows), layout="constrained")
    axes = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    explained: list[str] = []
    for axis, panel in zip(axes, panels):
        for label, (x, y, *deviations) in panel.lines.items():
            options = {"label": label, "markersize": 3, "linewidth": 1}
            mark = panel.mark if len(x) > 2 else "o"  # two points are no curve
            axis.errorbar(x, y, *deviations, fmt=mark, **options)
        for name in panel.log:
            getattr(axis, f"set_{name}scale")("log")
        axis.set_title(panel.title, fontsize=9)
        axis.set(xlabel=panel.xlabel, ylabel=panel.ylabel)
        if len(panel.lines) > 1 and list(panel.lines) != explained:
            explained = list(panel.lines)
            axis.legend(fontsize=7)
    for axis in axes[len(panels) :]:
        axis.set_visible(False)
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=80, metadata={"Software": None})
    return content.getvalue()
