"""Records as Markdown and PNG."""

import importlib.util
import io
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.papers.experiments import EXPERIMENTS, Experiment
from benchmarks.papers.results import HEADER, Results, Row
from benchmarks.papers.stored import Record
from visualwords.files import write_atomically

PAPER, OURS = "#9aa5b1", "#2166ac"
QUICK = "quick run on small generated data: a test of the code, not of the method"
NO_FIGURE = "no figure without matplotlib: pip install matplotlib, then run the command again"


def can_draw() -> bool:
    """Return whether matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def write_record(folder: str, record: Record) -> str:
    """Write NAME.json, NAME.png (where matplotlib is installed) and NAME.md; return its path."""
    if can_draw():
        content = picture(record.results)
        write_atomically(os.path.join(folder, f"{record.experiment}.png"), content)
    record.write(folder)
    return write_page(folder, record)


def write_page(folder: str, record: Record) -> str:
    """Write NAME.md from a record; return its path."""
    drawn = os.path.exists(os.path.join(folder, f"{record.experiment}.png"))
    path = os.path.join(folder, f"{record.experiment}.md")
    text = markdown(EXPERIMENTS[record.experiment], record, drawn)
    write_atomically(path, text.encode())
    return path


def markdown(experiment: Experiment, record: Record, drawn: bool = True) -> str:
    """Return the page of an experiment."""
    results = record.results
    remark = f" **{QUICK}.**" if record.quick else ""
    reasons = [f"- {row.what}: {row.why}" for row in results.rows if row.why]
    unlike = {row.unlike: 0 for row in results.rows if row.unlike}
    parts = [
        f"# {experiment.name}",
        f"{experiment.paper}, {experiment.place}.{remark}",
        experiment.description,
        f"**Data.** {results.data}",
        markdown_table(HEADER, [row.cells() for row in results.rows]),
        "\n".join([*(f"- Not like for like: {text}" for text in unlike), *reasons]),
        "\n".join(f"- {note}" for note in results.notes),
        f"![{experiment.name}]({experiment.name}.png)" if drawn else f"({NO_FIGURE})",
    ]
    for table in results.tables:
        parts += [f"## {table.title}", markdown_table(table.header, table.texts())]
    quick = " --quick" if record.quick else ""
    parts.append(
        f"`python -m benchmarks.papers run {experiment.name}{quick}` · {record.seconds:.0f} CPU "
        f"seconds in one thread · {record.date} · state {record.state} · {record.versions}"
    )
    return "\n\n".join(part for part in parts if part) + "\n"


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table; the first column is text, the others are figures.

    Examples
    --------
    >>> print(markdown_table(["a", "b"], [["x", "1"]]))
    | a | b |
    |---|--:|
    | x | 1 |
    """
    lines = [header, *rows]
    texts = ["| " + " | ".join(line) + " |" for line in lines]
    texts.insert(1, "|---" + "|--:" * (len(header) - 1) + "|")
    return "\n".join(texts)


def picture(results: Results) -> bytes:
    """Return the figure as PNG."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4), layout="constrained")
    if results.draw is None:
        draw_bars(figure, results.rows)
    else:
        results.draw(figure)
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=80, metadata={"Software": None})
    return content.getvalue()


def draw_bars(figure: Any, rows: Sequence[Row]) -> None:
    """Draw the paper's and our figures as bars, one panel for each unit."""
    units = {unit: [row for row in rows if row.unit == unit] for unit in {r.unit: 0 for r in rows}}
    figure.set_size_inches(8, 0.8 * len(units) + 0.3 * len(rows))
    heights = [len(shown) + 1 for shown in units.values()]
    panels = np.atleast_1d(figure.subplots(len(units), 1, height_ratios=heights))
    for panel, (unit, shown) in zip(panels, units.items()):
        places = np.arange(len(shown))
        panel.barh(places - 0.2, [row.paper or 0 for row in shown], 0.4, color=PAPER, label="paper")
        spread = [row.spread or 0 for row in shown]
        panel.barh(
            *(places + 0.2, [row.ours for row in shown], 0.4),
            xerr=spread,
            color=OURS,
            label="ours",
        )
        panel.set_yticks(places, [row.what for row in shown])
        panel.set_xlabel(unit)
        panel.invert_yaxis()
    panel.legend()
