"""Label Studio's own JSON exports: of all results, and the short one (JSON-MIN)."""

import math
import os
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from visualwords.apps.annotations.boxed_image import (
    Annotations,
    BoxList,
    checked_name,
    checked_size,
    refuse_twins,
)
from visualwords.apps.annotations.documents import Place, read_json
from visualwords.errors import FolderError

__all__ = ["is_label_studio", "label_studio_images", "read_label_studio"]

ENDINGS = (".jpg", ".jpeg", ".png", ".bmp", ".webp", ".gif", ".tif", ".tiff", ".heic", ".avif")


def read_label_studio(path: str | os.PathLike[str]) -> Annotations:
    """Read an export of tasks with rectangles.

    Of several annotations of a task the first is taken that was not cancelled. Rectangles are in
    percent of the image; of rotated ones the box around them is taken.
    """
    return label_studio_images(read_json(path), os.fspath(path))


def is_label_studio(document: Any) -> bool:
    """Return whether a JSON value looks like a list of tasks."""
    return isinstance(document, list) and all(
        isinstance(task, dict) and "bbox" not in task for task in document
    )


def label_studio_images(document: Any, name: str) -> Annotations:
    """Return the annotations of a document; sentences about faults begin with ``name``."""
    lists = [_task(place) for place in Place(document, f"{name}, tasks").items()]
    images = [boxes.image() for boxes in lists]
    refuse_twins(name, images)
    return Annotations(images, [one for boxes in lists for one in boxes.skipped])


def _task(task: Place) -> BoxList:
    boxes = BoxList(_image_name(task))
    if "annotations" not in task:  # JSON-MIN: the results of a control stand under its name
        for key in task.value:
            if isinstance(task.value[key], list) and key != "annotations":
                for result in task[key].items():
                    _add(boxes, result, result)
        return boxes
    for annotation in task["annotations"].items():
        if "was_cancelled" in annotation and annotation["was_cancelled"].value is True:
            continue
        for result in annotation["result"].items():
            if "type" in result and result["type"].text() != "rectanglelabels":
                continue  # choices, texts and relations are about something else
            _add(boxes, result, result["value"])
        break
    return boxes


def _image_name(task: Place) -> str:
    """Return the file name in the task's data: a path, an address, or a storage's query."""
    data = (task["data"] if "data" in task else task).value  # noqa: SIM401  (not a dict)
    for value in data.values() if isinstance(data, dict) else ():
        if not isinstance(value, str):
            continue
        address = urlsplit(value) if "://" in value or value.startswith("/data/") else None
        path = value if address is None else unquote(address.path)
        if address is not None and "d" in parse_qs(address.query):
            path = parse_qs(address.query)["d"][0]
        if path.lower().endswith(ENDINGS):
            return checked_name(task.words, path.rpartition("/")[2] if address else path)
    raise FolderError(f"{task}: names no image file")


def _add(boxes: BoxList, result: Place, value: Place) -> None:
    """Add a rectangle; ``result`` has the image's size, ``value`` the rectangle in percent."""
    size = checked_size(
        result.words, result["original_width"].number(), result["original_height"].number()
    )
    if size is None or boxes.size_wh not in (None, size):
        raise FolderError(f"{result}: another size of {boxes.name} than in other results")
    boxes.size_wh = size
    names = [label.text() for label in value["rectanglelabels"].items()]
    x, y, width, height = (value[key].number() / 100 for key in ("x", "y", "width", "height"))
    if width < 0 or height < 0:
        raise FolderError(f"{value}: a rectangle of negative size, {width:g} by {height:g}")
    turned = math.radians(value["rotation"].number()) if "rotation" in value else 0.0
    corners = _around(x * size[0], y * size[1], width * size[0], height * size[1], turned)
    for name in names or [""]:
        boxes.add(value.words, corners, name)


def _around(x: float, y: float, width: float, height: float, turned: float) -> list[float]:
    """Return the box around a rectangle that is rotated about its upper left corner, clockwise."""
    cosine, sine = (math.cos(turned), math.sin(turned)) if turned else (1.0, 0.0)
    xs = [x + u * cosine - v * sine for u in (0, width) for v in (0, height)]
    ys = [y + u * sine + v * cosine for u in (0, width) for v in (0, height)]
    return [min(xs), min(ys), max(xs), max(ys)]
