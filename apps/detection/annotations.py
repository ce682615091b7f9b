"""Annotated boxes, from a CSV table."""

import csv
import io
import os

import numpy as np

from visualwords.errors import FolderError
from visualwords.files import open_regular

__all__ = ["read_annotations"]

BOX = ("xmin", "ymin", "xmax", "ymax")


def read_annotations(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """Read a table with the columns file, xmin, ymin, xmax, ymax; others are ignored.

    Returns
    -------
    dict of file name → (n, 4) float64
        A row whose box is empty says that the file shows no object.
    """
    name = os.fspath(path)
    try:
        with io.TextIOWrapper(open_regular(path), "utf-8-sig", newline="") as file:
            table = csv.DictReader(file)
            missing = {"file", *BOX} - set(table.fieldnames or [])
            if missing:
                raise FolderError(
                    f"{name}: no column {', '.join(sorted(missing))}; a table of boxes has "
                    "file, xmin, ymin, xmax, ymax"
                )
            found: dict[str, list[list[float]]] = {}
            for number, row in enumerate(table, start=2):
                found.setdefault(row["file"], []).extend(_box(name, number, row))
    except UnicodeDecodeError:
        raise FolderError(f"{name}: not UTF-8 text; save the table as CSV in UTF-8") from None
    return {key: np.array(boxes, float).reshape(-1, 4) for key, boxes in found.items()}


def _box(name: str, number: int, row: dict[str, str]) -> list[list[float]]:
    texts = [row[column] for column in BOX]
    if not any(texts):
        return []
    try:
        box = [float(text) for text in texts]
    except (TypeError, ValueError):
        raise FolderError(f"{name}, line {number}: a box is four numbers, not {texts}") from None
    if not (np.isfinite(box).all() and box[0] < box[2] and box[1] < box[3]):
        raise FolderError(
            f"{name}, line {number}: {box} is not a box with xmin < xmax and ymin < ymax"
        )
    return [box]
