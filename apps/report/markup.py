"""The HTML of reports: a document in one file, its sections, tables and pictures.

Text is escaped by its type: `html` fills a template with values and escapes all that are not
`Markup` themselves. There is no script in a document and nothing is fetched, which a content
security policy enforces.
"""

import base64
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files

import numpy as np
from markupsafe import Markup

from visualwords.apps.command_line.terminal import printable
from visualwords.errors import ImageError
from visualwords.images import encode_image, read_image

MOST_CLASSES = 60  # in tables and matrices; of more, the worst are shown
THUMBNAIL_SIDE = 112  # pixels of the longer side
MOST_THUMBNAILS = 700
MOST_THUMBNAIL_BYTES = 4_000_000  # of JPEG; a third more in the page
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


def html(template: str, *values: object) -> Markup:
    """A template with values in its braces, escaped unless they are markup.

    Examples
    --------
    >>> html("<b>{}</b> {:.1f}", "<script>", 0.25)
    Markup('<b>&lt;script&gt;</b> 0.2')
    """
    return Markup(template).format(*values)


def joined(parts: Iterable[str]) -> Markup:
    """Parts one after the other."""
    return Markup("").join(parts)


def text(value: str) -> Markup:
    """A name from outside as escaped text on one line."""
    return Markup.escape(printable(value))


def lines(value: str) -> Markup:
    """Text of several lines as it is."""
    return html("<pre>{}</pre>", Markup("\n").join(text(line) for line in value.splitlines()))


def document(
    title: str, body: Markup, *, sections: Mapping[str, str] | None = None, style: str = ""
) -> str:
    """A complete HTML document.

    Parameters
    ----------
    title, body : str or Markup
    sections : mapping of identity → name, optional
        Sections that the navigation bar links to.
    style : str
        Rules added to those of all reports.
    """
    shared = files("visualwords.apps.report").joinpath("report.css").read_text(encoding="utf-8")
    links = joined(html('<a href="#{}">{}</a>', *one) for one in (sections or {}).items())
    return html(
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta http-equiv="Content-Security-Policy" content="{}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<title>{}</title><style>{}</style></head><body>{}<main>{}</main></body></html>",
        *(Markup(POLICY), title, Markup(shared + style)),
        *(html("<nav>{}</nav>", links) if links else "", body),
    )


def section(identity: str, title: str, lead: str, body: str) -> Markup:
    """A part of the page; text is escaped, markup is not."""
    lead = html("<p class=lead>{}</p>", lead) if lead else ""
    return html("<section id={}><h2>{}</h2>{}{}</section>", identity, title, lead, body)


def table(head: Sequence[str], rows: Iterable[Iterable[object]], kind: str = "classes") -> Markup:
    """A table that scrolls where it is too wide.

    Parameters
    ----------
    head : sequence of str
        A leading ``>`` marks a column of numbers.
    rows : iterable of rows
        The cells of each; the first one names the row.
    kind : str
        Its class in the style sheet.
    """
    # An empty heading confuses screen readers.
    right = [Markup(" class=n" if name.startswith(">") else "") for name in head]
    heads, body = Markup(), Markup()
    for kind_of, name in zip(right, head):
        heads += html("<th scope=col{}>{}", kind_of, name.lstrip(">")) if name else Markup("<td>")
    for first, *others in rows:
        body += html("<tr><th scope=row>{}", first)
        body += joined(html("<td{}>{}", *cell) for cell in zip(right[1:], others))
    return html(
        '<div class=scroll><table class="{}"><thead><tr>{}</thead><tbody>{}</tbody></table></div>',
        *(kind, heads, body),
    )


def table_of_classes(
    head: Sequence[str], rows: Sequence[Sequence[object]], goodness: Sequence[float]
) -> Markup:
    """A table with a row for each class; of many, the worst ones, the others folded away."""
    if len(rows) <= MOST_CLASSES:
        return table(head, rows)
    worst = set(sorted(range(len(rows)), key=lambda i: goodness[i])[:MOST_CLASSES])
    shown = table(head, [row for i, row in enumerate(rows) if i in worst])
    others = [row for i, row in enumerate(rows) if i not in worst]
    folded = "<details><summary>{:,} better classes</summary>{}</details>"
    return shown + html(folded, len(others), table(head, others))


def bar(share: float, kind: str = "") -> Markup:
    """A bar that fills a share of its cell."""
    return html('<span class="bar {}"><i style="width:{:.1f}%"></i></span>', kind, 100 * share)


def picture(url: str, name: str, *, later: bool = False) -> Markup:
    """An image; ``name`` is its alternative text.

    ``later`` loads it lazily, which printing does not wait for.
    """
    lazy = Markup(" loading=lazy") if later else ""
    return html('<img{} src="{}" alt="{}" title="{}">', lazy, url, text(name), text(name))


def figure(image: Markup, caption: str) -> Markup:
    """A picture with words below it."""
    return html("<figure>{}<figcaption>{}</figcaption></figure>", image, caption)


def percent(share: float) -> str:
    """A share in percent, never rounded up to 100 or down to 0."""
    if 0 < share < 0.001:
        return "<0.1 %"
    return f"{min(share, 0.999) if share < 1 else 1:.1%}".replace("%", " %")


class Thumbnails:
    """Makes the pictures of a page within a limit.

    Parameters
    ----------
    most, most_bytes : int
        Limits for all pictures together. Beyond them, `of_file` and `of_pixels` return None.
    """

    def __init__(self, most: int = MOST_THUMBNAILS, most_bytes: int = MOST_THUMBNAIL_BYTES):
        self.n_left = most
        self.bytes_left = most_bytes

    def of_file(self, path: str, side: int = THUMBNAIL_SIDE) -> str | None:
        """The picture of a file as a data URL; None beyond the limit."""
        if not self.n_left:
            return None
        try:
            return self.of_pixels(read_image(path, max_side=side))
        except ImageError:  # deleted or changed since the test
            return None

    def of_pixels(self, image: np.ndarray, quality: int = 78) -> str | None:
        """An RGB image as a data URL, or None."""
        if not self.n_left:
            return None
        jpeg = encode_image(image, "jpeg", quality)
        if len(jpeg) > self.bytes_left:
            self.n_left = 0  # stop here, so that the choice of pictures does not look random
            return None
        self.n_left -= 1
        self.bytes_left -= len(jpeg)
        return "data:image/jpeg;base64," + base64.b64encode(jpeg).decode()
