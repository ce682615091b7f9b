"""Names of YOLO's classes: one a line, or in the little YAML that data sets have."""

import json
import os
import re
from collections.abc import Sequence

from visualwords.apps.annotations.documents import text_of
from visualwords.errors import FolderError

__all__ = ["find_names", "names_in_yaml", "yaml_of_names"]

LISTS = ("classes.txt", "obj.names", "names.txt", "labels.txt")
TABLES = ("data.yaml", "data.yml", "dataset.yaml")
MOST_BYTES = 1 << 20
MOST_CLASSES = 100_000
ENTRY = re.compile(r"\s*(?:-\s*|(\d{1,6})\s*:\s*)(.*)")
# A quoted text with escapes, or what reaches to the next comma.
PIECE = re.compile(
    r"""\s*(?:(\d{1,6})\s*:\s*)?("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^,"'\[\]{}]+)\s*(,|$)"""
)


def find_names(root: str) -> list[str] | None:
    """Return the names of classes that a data set has; None if it names none."""
    for name in TABLES:
        path = os.path.join(root, name)
        if os.path.exists(path):
            return names_in_yaml(text_of(path, MOST_BYTES), path)
    for name in LISTS:
        path = os.path.join(root, name)
        if os.path.exists(path):
            lines = text_of(path, MOST_BYTES).splitlines()
            return [line.strip() for line in lines if line.strip()]
    return None


def names_in_yaml(text: str, path: str) -> list[str]:
    r"""Return the names of ``names:``, a list or numbered entries, in brackets or line by line.

    Examples
    --------
    >>> names_in_yaml("nc: 2\nnames: ['cup', mug]", "data.yaml")
    ['cup', 'mug']
    >>> names_in_yaml("names:\n  0: cup  # small\n  1: mug\n", "data.yaml")
    ['cup', 'mug']
    """
    lines = text.splitlines()
    start = next((k for k, line in enumerate(lines) if line.startswith("names:")), None)
    if start is None:
        raise FolderError(f"{path}: no names of classes (names: [cup, mug])")
    rest = _without_comment(lines[start].removeprefix("names:")).strip()
    if rest:
        for line in lines[start + 1 :]:  # brackets over several lines
            if rest.endswith(("]", "}")):
                break
            rest += " " + _without_comment(line).strip()
        entries = _in_brackets(rest, path)
    else:
        entries = _by_lines(lines[start + 1 :])
    if not entries or len(entries) > MOST_CLASSES:
        raise FolderError(f"{path}: {len(entries)} names of classes; write names: [cup, mug]")
    return _in_order(entries, path)


def _in_brackets(text: str, path: str) -> list[tuple[str | None, str]]:
    if (text[0], text[-1]) not in (("[", "]"), ("{", "}")):
        raise FolderError(f"{path}: names is {text[:40]!r}; write names: [cup, mug]")
    inside, at = text[1:-1].rstrip().rstrip(","), 0
    entries = []
    while at < len(inside):
        piece = PIECE.match(inside, at)
        if piece is None:
            raise FolderError(f"{path}: names has {inside[at : at + 40]!r}; write [cup, mug]")
        entries.append((piece[1], _unquoted(piece[2])))
        at = piece.end()
    return entries


def _by_lines(lines: Sequence[str]) -> list[tuple[str | None, str]]:
    entries = []
    for line in lines:
        entry = ENTRY.fullmatch(_without_comment(line))
        if entry is None:
            if line.strip() and not line.lstrip().startswith("#"):
                break
            continue
        entries.append((entry[1], _unquoted(entry[2])))
    return entries


def _in_order(entries: Sequence[tuple[str | None, str]], path: str) -> list[str]:
    numbered = {int(number): name for number, name in entries if number is not None}
    if not numbered:
        return [name for _, name in entries]
    if sorted(numbered) != list(range(len(entries))):
        raise FolderError(f"{path}: the classes are not numbered from 0 without gaps")
    return [numbered[k] for k in range(len(entries))]


def _without_comment(line: str) -> str:
    return line if '"' in line or "'" in line else re.sub(r"(^|\s)#.*", "", line)


def _unquoted(text: str) -> str:
    text = text.strip()
    if len(text) >= 2 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    if len(text) >= 2 and text[0] == text[-1] == '"':
        try:
            return str(json.loads(text))
        except ValueError:
            return text[1:-1]
    return text


def yaml_of_names(names: Sequence[str]) -> str:
    """Return the text of ``data.yaml``; names are quoted as JSON, which YAML reads too."""
    lines = [f"  {number}: {json.dumps(name)}" for number, name in enumerate(names)]
    return "\n".join(["names:", *lines, ""])
