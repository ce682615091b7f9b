"""The HTML of reports: a document in one file, its sections, tables and pictures.

There is no script in a document and nothing is fetched, which a content security policy enforces.
Text from outside is escaped here.
"""

from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files

from visualwords.apps.command_line.terminal import printable

MOST_CLASSES = 60  # in tables and matrices; of more, the worst are shown
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


def document(
    title: str, body: str, *, sections: Mapping[str, str] | None = None, style: str = ""
) -> str:
    """Return a complete HTML document.

    Parameters
    ----------
    title, body : str
        As HTML.
    sections : mapping of identity → name, optional
        Sections that the navigation bar links to.
    style : str
        Rules added to those of all reports.
    """
    shared = files("visualwords.apps.report").joinpath("report.css").read_text(encoding="utf-8")
    links = "".join(f'<a href="#{key}">{name}</a>' for key, name in (sections or {}).items())
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{shared}{style}</style></head>"
        f"<body>{f'<nav>{links}</nav>' if links else ''}<main>{body}</main></body></html>"
    )


def text(value: str) -> str:
    """Return any name as escaped text on one line."""
    return escape(printable(value))


def section(identity: str, title: str, lead: str, body: str) -> str:
    """Return a part of the page; ``lead`` and ``body`` are HTML."""
    lead = f"<p class=lead>{lead}</p>" if lead else ""
    return f"<section id={identity}><h2>{title}</h2>{lead}{body}</section>"


def table(head: list[str], rows: list[str], kind: str = "") -> str:
    """Return a table that scrolls where it is too wide; ``>`` marks a right-aligned column."""
    cells = "".join(_head(name) for name in head)
    return (
        f'<div class=scroll><table class="{kind}"><thead><tr>{cells}</thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def table_of_classes(head: list[str], rows: list[str], goodness: Sequence[float]) -> str:
    """Return a table with a row for each class; of many, the worst ones, the others folded away."""
    if len(rows) <= MOST_CLASSES:
        return table(head, rows, "classes")
    worst = set(sorted(range(len(rows)), key=lambda i: goodness[i])[:MOST_CLASSES])
    shown = [row for i, row in enumerate(rows) if i in worst]
    others = [row for i, row in enumerate(rows) if i not in worst]
    return (
        f"{table(head, shown, 'classes')}<details><summary>{len(others):,} better classes</summary>"
        f"{table(head, others, 'classes')}</details>"
    )


def _head(name: str) -> str:
    if not name:
        return "<td>"  # an empty heading confuses screen readers
    right = name.startswith(">")
    return f"<th scope=col{' class=n' * right}>{name.removeprefix('>')}"


def bar(share: float, kind: str = "") -> str:
    """Return a bar that fills a share of its cell."""
    return f'<span class="bar {kind}"><i style="width:{100 * share:.1f}%"></i></span>'


def picture(url: str, name: str, *, later: bool = False) -> str:
    """Return an image; ``name`` is its alternative text.

    ``later`` loads it lazily, which printing does not wait for.
    """
    lazy = " loading=lazy" if later else ""
    return f'<img{lazy} src="{url}" alt="{text(name)}" title="{text(name)}">'


def percent(share: float) -> str:
    """Return a share in percent, never rounded up to 100 or down to 0."""
    if 0 < share < 0.001:
        return "&lt;0.1 %"
    return f"{min(share, 0.999) if share < 1 else 1:.1%}".replace("%", " %")
