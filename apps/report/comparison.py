"""The comparison of recipes as a picture, and as a page of its own."""

import os

from visualwords.apps.evaluation.comparing import ComparedRecipe
from visualwords.apps.report.markup import document, section, table, text
from visualwords.files import write_atomically

LINE = 26  # height of a recipe in the plot, in pixels
LEFT, WIDTH, RIGHT = 330, 420, 70


def write_comparison(
    path: "str | os.PathLike[str]",
    rows: list[ComparedRecipe],
    *,
    title: str,
    command: str | None = None,
) -> None:
    """Write the comparison as a page that needs no other file."""
    head = f"<header><p class=name>{text(title)}</p><h1>{len(rows)} recipes compared</h1></header>"
    done = f"<pre>{text(command)}</pre>" if command else ""
    body = head + comparison_section(rows) + section("repeat", "How to reproduce it", "", done)
    write_atomically(path, document(f"Recipes compared: {text(title)}", body).encode("utf-8"))


def comparison_section(rows: list[ComparedRecipe]) -> str:
    """Return the section of a report: a plot, and a table of all recipes."""
    lead = (
        "Mean accuracy per class; bars are one standard deviation over folds and seeds. "
        "Differences are to the best recipe, with 95 % confidence intervals, paired by trial."
    )
    cells = [
        f"<tr><th scope=row>{text(row.name)}<td class=n>{_figure(row)}"
        f"<td class=n>{'best' if row is rows[0] else _lead(row)}"
        f"<td class=n>{row.seconds:.2f}<td class=n>{row.model_bytes / 1e6:.2f}"
        for row in rows
    ]
    head = ["recipe", ">accuracy", ">below the best", ">CPU seconds", ">MB"]
    recipes = "".join(
        f"<details><summary>{text(row.name)}</summary><pre>{_lines(row.recipe.to_toml())}</pre>"
        "</details>"
        for row in rows
    )
    body = comparison_plot(rows) + table(head, cells, "classes") + recipes
    return section("comparison", "Recipes compared", lead, body)


def comparison_plot(rows: list[ComparedRecipe]) -> str:
    """Return a drawing (SVG) of the recipes' accuracies, best first."""
    spreads = [0.0 if len(row.figures) < 2 else row.deviation for row in rows]
    low = max(0.0, min(row.mean - s for row, s in zip(rows, spreads)) - 0.02)
    high = min(1.0, max(row.mean + s for row, s in zip(rows, spreads)) + 0.02)
    scale = WIDTH / max(high - low, 1e-6)
    height = LINE * len(rows) + 34
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + RIGHT} {height}" '
        'role="img" font-family="sans-serif" font-size="13" fill="currentColor">'
        "<title>accuracies of recipes</title>"
    ]
    for number, (row, spread) in enumerate(zip(rows, spreads)):
        y = LINE * number + LINE / 2 + 4
        x = LEFT + (row.mean - low) * scale
        left, right = x - spread * scale, x + spread * scale
        parts.append(
            f'<text x="{LEFT - 10}" y="{y + 4:.1f}" text-anchor="end">{text(_short(row.name))}'
            f'</text><line x1="{left:.1f}" x2="{right:.1f}" y1="{y:.1f}" y2="{y:.1f}" '
            f'stroke="#4878a8" stroke-width="3"/><circle cx="{x:.1f}" cy="{y:.1f}" r="5" '
            f'fill="#1f4e79"/><text x="{LEFT + WIDTH + 8}" y="{y + 4:.1f}">{100 * row.mean:.1f} %'
            "</text>"
        )
    base = LINE * len(rows) + 8
    parts.append(
        f'<line x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{base}" y2="{base}" stroke="#888"/>'
        f'<text x="{LEFT}" y="{base + 18}">{100 * low:.1f} %</text>'
        f'<text x="{LEFT + WIDTH}" y="{base + 18}" text-anchor="end">{100 * high:.1f} %</text>'
        "</svg>"
    )
    return "".join(parts)


def _figure(row: ComparedRecipe) -> str:
    deviation = f" ± {100 * row.deviation:.1f}" if len(row.figures) > 1 else ""
    return f"{100 * row.mean:.1f}{deviation} %"


def _lead(row: ComparedRecipe) -> str:
    low, high = row.interval
    return f"{100 * row.difference:.1f} ({100 * low:+.1f} to {100 * high:+.1f})"


def _lines(lines: str) -> str:
    return "\n".join(text(line) for line in lines.splitlines())


def _short(name: str) -> str:
    return name if len(name) <= 46 else f"{name[:45]}…"
