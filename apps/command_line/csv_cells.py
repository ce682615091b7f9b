"""Cells of CSV that are safe to open: no formulas for spreadsheets, no codes for terminals."""

import os
import re
import sys
from collections.abc import Iterable
from typing import Any

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what spreadsheets run begins with one of these
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all but tab and line feed


def csv_cells(row: Iterable[Any], raw: bool = False) -> list[Any]:
    r"""The cells of one row for `csv.writer`; bytes that are not UTF-8 become escapes.

    Parameters
    ----------
    row : iterable of text, numbers and None
    raw : bool
        Leave the texts as they are.

    Examples
    --------
    >>> csv_cells(["=1+1", "-0.5", "a\x1b[2J", -0.5, None])
    ["'=1+1", '-0.5', 'a\\x1b[2J', -0.5, None]
    """
    return [_cell(value, raw) if isinstance(value, str) else value for value in row]


def short_number(number: float | None) -> str:
    """A number with six digits; an empty cell where there is none."""
    return "" if number is None else f"{number:.6g}"


def is_raw(raw: bool) -> bool:
    """Whether ``--raw`` holds: what is printed on a terminal is escaped nevertheless."""
    return raw and not sys.stdout.isatty()


def _cell(text: str, raw: bool) -> str:
    text = os.fsencode(text).decode("utf-8", "backslashreplace")
    if raw:
        return text
    quote = "'" if text.startswith(FORMULA) and not _is_number(text) else ""
    return quote + CONTROLS.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
