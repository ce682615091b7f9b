"""Small pieces of HTML; whatever comes from outside is escaped here."""

from html import escape

from visualwords.apps.command_line.terminal import printable


def text(value: str) -> str:
    """Return any name as harmless text on one line."""
    return escape(printable(value))


def section(identity: str, title: str, lead: str, body: str) -> str:
    """Return a part of the page; ``lead`` and ``body`` are HTML."""
    lead = f"<p class=lead>{lead}</p>" if lead else ""
    return f"<section id={identity}><h2>{title}</h2>{lead}{body}</section>"


def table(head: list[str], rows: list[str], kind: str = "") -> str:
    """Return a table that scrolls by itself where it is too wide; ``>`` starts a right column."""
    cells = "".join(_head(name) for name in head)
    return (
        f'<div class=scroll><table class="{kind}"><thead><tr>{cells}</thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _head(name: str) -> str:
    if not name:
        return "<td>"  # a heading without words confuses those who hear it
    right = name.startswith(">")
    return f"<th scope=col{' class=n' * right}>{name.removeprefix('>')}"


def bar(share: float, kind: str = "") -> str:
    """Return a bar of a share of its cell; the figure beside it says the same."""
    return f'<span class="bar {kind}"><i style="width:{100 * share:.1f}%"></i></span>'


def picture(url: str, name: str, *, later: bool = False) -> str:
    """Return an image; ``name`` is what is read aloud in its place.

    ``later`` leaves decoding until it is seen, which printing does not wait for.
    """
    lazy = " loading=lazy" if later else ""
    return f'<img{lazy} src="{url}" alt="{text(name)}" title="{text(name)}">'


def percent(share: float) -> str:
    """Return a share as people write it, never rounded up to everything or down to nothing."""
    if 0 < share < 0.001:
        return "&lt;0.1 %"
    return f"{min(share, 0.999) if share < 1 else 1:.1%}".replace("%", " %")
