"""A plot of shares against shares as SVG: axes from 0 to 100 %, and what is drawn on them."""

import numpy as np

WIDTH, HEIGHT, LEFT, TOP = 320, 320, 46, 12  # of the plot, and of the room for its labels


def plot(inner: str, across: str, up: str, name: str) -> str:
    """Return a plot.

    Parameters
    ----------
    inner : what is drawn over the grid
    across, up : names of the axes
    name : alternative text, escaped
    """
    lines = "".join(
        f'<path class=grid d="M{x_of(t):.0f} {y_of(0):.0f}V{y_of(1):.0f}M{x_of(0):.0f} '
        f'{y_of(t):.0f}H{x_of(1):.0f}"/><text x="{x_of(t):.0f}" y="{y_of(0) + 18:.0f}" '
        f'text-anchor=middle>{t:.0%}</text><text x="{x_of(0) - 7:.0f}" y="{y_of(t) + 4:.0f}" '
        f"text-anchor=end>{t:.0%}</text>"
        for t in (0, 0.25, 0.5, 0.75, 1)
    )
    return (
        f'<svg class=plot viewBox="0 0 {LEFT + WIDTH + 24} {TOP + HEIGHT + 44}" role=img '
        f'aria-label="{name}">{lines}{inner}'
        f'<text x="{x_of(0.5)}" y="{y_of(0) + 38}" text-anchor=middle class=axis>{across}</text>'
        f'<text transform="rotate(-90)" x="{-y_of(0.5)}" y="11" text-anchor=middle class=axis>'
        f"{up}</text></svg>"
    )


def diagonal() -> str:
    """Return the dashed line on which both shares are the same."""
    return f'<path class=ideal d="M{x_of(0)} {y_of(0)}L{x_of(1)} {y_of(1)}"/>'


def line(x: np.ndarray, y: np.ndarray) -> str:
    """Return a line through points."""
    points = "L".join(f"{x_of(a):.1f} {y_of(b):.1f}" for a, b in zip(x, y))
    return f'<path class=curve d="M{points}"/>'


def circle(x: float, y: float, radius: float, title: str) -> str:
    """Return a circle whose numbers are its title."""
    return (
        f'<circle cx="{x_of(x):.1f}" cy="{y_of(y):.1f}" r="{radius:.1f}">'
        f"<title>{title}</title></circle>"
    )


def x_of(share: float) -> float:
    return LEFT + WIDTH * share


def y_of(share: float) -> float:
    return TOP + HEIGHT * (1 - share)
