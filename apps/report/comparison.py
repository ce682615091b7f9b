"""The comparison of recipes as a picture, and as a page of its own."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from markupsafe import Markup

from visualwords.apps.report.markup import document, html, joined, lines, section, table, text
from visualwords.files import write_atomically

if TYPE_CHECKING:
    from visualwords.apps.evaluation.comparing import ComparedRecipe

LINE = 26  # height of a recipe in the plot, in pixels
LEFT, WIDTH, RIGHT = 330, 420, 70


def write_comparison(
    path: "str | os.PathLike[str]",
    rows: "list[ComparedRecipe]",
    *,
    title: str,
    command: str | None = None,
) -> None:
    """Write the comparison as a page that needs no other file."""
    head = html(
        "<header><p class=name>{}</p><h1>{} recipes compared</h1></header>", text(title), len(rows)
    )
    lead = (
        "Mean accuracy per class; bars are one standard deviation over folds and seeds. "
        "Differences are to the best recipe, with 95 % confidence intervals, paired by trial."
    )
    details = "<details><summary>{}</summary>{}</details>"
    recipes = joined(html(details, text(row.name), lines(row.recipe.to_toml())) for row in rows)
    shown = comparison_plot(rows) + table(*comparison_rows(rows)) + recipes
    body = head + section("comparison", "Recipes compared", lead, shown)
    body += section("repeat", "How to reproduce it", "", lines(command or ""))
    page = document(html("Recipes compared: {}", text(title)), body)
    write_atomically(path, page.encode("utf-8"))


def comparison_rows(rows: "Sequence[ComparedRecipe]") -> tuple[list[str], list[list[object]]]:
    """The head and the rows of the table of recipes, best first."""
    cells: list[list[object]] = []
    for row in rows:
        low, high = row.interval
        deviation = f" ± {100 * row.deviation:.1f}" if len(row.figures) > 1 else ""
        lead = f"{100 * row.difference:.1f} ({100 * low:+.1f} to {100 * high:+.1f})"
        cost = [f"{row.seconds:.2f}", f"{row.model_bytes / 1e6:.2f}"]
        cells.append([text(row.name), f"{100 * row.mean:.1f}{deviation} %", lead, *cost])
    cells[0][2] = "best"
    return ["recipe", ">accuracy", ">below the best", ">CPU seconds", ">MB"], cells


def comparison_plot(rows: "Sequence[ComparedRecipe]") -> Markup:
    """A drawing (SVG) of the recipes' accuracies, best first."""
    spreads = [0.0 if len(row.figures) < 2 else row.deviation for row in rows]
    low = max(0.0, min(row.mean - s for row, s in zip(rows, spreads)) - 0.02)
    high = min(1.0, max(row.mean + s for row, s in zip(rows, spreads)) + 0.02)
    scale = WIDTH / max(high - low, 1e-6)
    parts = []
    for number, (row, spread) in enumerate(zip(rows, spreads)):
        y = LINE * number + LINE / 2 + 4
        x = LEFT + (row.mean - low) * scale
        parts.append(
            html(
                '<text x="{}" y="{:.1f}" text-anchor="end">{}</text>'
                '<path d="M{:.1f} {:.1f}H{:.1f}" stroke="#4878a8" stroke-width="3"/>'
                '<circle cx="{:.1f}" cy="{:.1f}" r="5" fill="#1f4e79"/>'
                '<text x="{}" y="{:.1f}">{:.1f} %</text>',
                *(LEFT - 10, y + 4, text(row.name if len(row.name) < 47 else f"{row.name[:45]}…")),
                *(x - spread * scale, y, x + spread * scale, x, y),
                *(LEFT + WIDTH + 8, y + 4, 100 * row.mean),
            )
        )
    base = LINE * len(rows) + 8
    return html(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {}" role="img" '
        'font-family="sans-serif" font-size="13" fill="currentColor">'
        "<title>accuracies of recipes</title>{}"
        '<line x1="{}" x2="{}" y1="{}" y2="{}" stroke="#888"/><text x="{}" y="{}">{:.1f} %</text>'
        '<text x="{}" y="{}" text-anchor="end">{:.1f} %</text></svg>',
        *(LEFT + WIDTH + RIGHT, base + 26, joined(parts), LEFT, LEFT + WIDTH, base, base),
        *(LEFT, base + 18, 100 * low, LEFT + WIDTH, base + 18, 100 * high),
    )
