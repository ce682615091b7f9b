"""COCO's JSON of images, boxes and categories; with scores, also of detections."""

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

from visualwords.apps.annotations import checks
from visualwords.apps.annotations.boxed_image import Annotations, BoxedImage, BoxList
from visualwords.errors import FolderError
from visualwords.files import write_atomically

__all__ = ["read_coco", "write_coco"]

KINDS = {"key": "a whole number or a text", "flag": "a flag", "text": "a text"}
KINDS |= {"number": "a number", "numbers": "a list of numbers"}
CATEGORY = {"id": "key", "name": "text"}
IMAGE = {"id": "key", "file_name": "text"}
IMAGE_OPTIONS = {"width": "number", "height": "number"}
BOX = {"image_id": "key", "category_id": "key", "bbox": "numbers"}
BOX_OPTIONS = {"id": "key", "iscrowd": "flag", "ignore": "flag"}

Members = dict[str, Any]  # of a JSON object, checked


def read_coco(path: str | os.PathLike[str]) -> Annotations:
    """Read a file with ``images``, ``annotations`` and ``categories``.

    Boxes are ``[x, y, width, height]``. Annotations with ``iscrowd`` or ``ignore`` are marked as
    ignored.
    """
    name = os.fspath(path)
    document = _json_of(name)
    if not (isinstance(document, dict) and "images" in document):
        raise FolderError(f"{name}: not COCO, an object with images, annotations and categories")
    labels = {one["id"]: one["name"] for _, one in _listed(document, name, "categories", CATEGORY)}
    lists = {}
    for place, one in _listed(document, name, "images", IMAGE, IMAGE_OPTIONS):
        size_wh = checks.size(place, one["width"], one["height"])
        file = checks.name_of(place, one["file_name"])
        lists[one["id"]] = BoxList(BoxedImage(file, size_wh=size_wh))
    for place, one in _listed(document, name, "annotations", BOX, BOX_OPTIONS):
        for key, known in (("image_id", lists), ("category_id", labels)):
            if one[key] not in known:
                raise FolderError(f"{place}: {key} {one[key]!r} is not among the ids")
        if len(one["bbox"]) != 4:
            raise FolderError(f"{place}: a bbox of {len(one['bbox'])} numbers; it has 4")
        x, y, width, height = one["bbox"]
        box, is_ignored = [x, y, x + width, y + height], bool(one["iscrowd"] or one["ignore"])
        lists[one["image_id"]].add(place, box, labels[one["category_id"]], ignored=is_ignored)
    return Annotations.of(path, lists.values())


def _json_of(name: str) -> object:
    """The value of a JSON file."""
    text = checks.text_of(name)
    try:
        return json.loads(text)
    except RecursionError:
        raise FolderError(f"{name}: nested too deeply to be annotations") from None
    except ValueError as problem:
        raise FolderError(f"{name}: not JSON ({problem})") from None


def _listed(
    document: Members,
    name: str,
    member: str,
    needed: Mapping[str, str],
    options: Mapping[str, str] | None = None,
) -> list[tuple[str, Members]]:
    """The objects of a list, each with its place, and with checked members; ids differ."""
    values, found, ids = document.get(member) or [], [], set()
    if not isinstance(values, list):
        raise FolderError(f"{name}: {member} is no list")
    kinds = {**needed, **(options or {})}
    for k, value in enumerate(values):
        place = f"{name}, {member}[{k}]"
        if not isinstance(value, dict):
            raise FolderError(f"{place}: {value!r:.60} where an object belongs")
        one = {key: value.get(key) for key in kinds}
        for key, kind in kinds.items():
            if not ((one[key] is None and key not in needed) or _is(one[key], kind)):
                raise FolderError(f"{place}: {key} is {one[key]!r:.60} where {KINDS[kind]} belongs")
        if one["id"] is not None and one["id"] in ids:
            raise FolderError(f"{place}: the id {one['id']!r} was used before")
        ids.add(one["id"])
        found.append((place, one))
    return found


def _is(value: object, kind: str) -> bool:
    """Whether a JSON value is of a kind; numbers are finite floats."""
    if kind == "numbers":
        return isinstance(value, list) and all(_is(one, "number") for one in value)
    if isinstance(value, str):
        return kind in ("text", "key")
    if isinstance(value, bool):
        return kind == "flag"
    if not isinstance(value, int | float) or not abs(value) < 1e300:
        return False
    return kind == "number" or (kind in ("key", "flag") and float(value).is_integer())


def write_coco(
    path: str | os.PathLike[str], images: Iterable[BoxedImage], labels: Iterable[str] = ()
) -> None:
    """Write images and boxes as COCO has them; ids count from 1.

    Parameters
    ----------
    path : path-like
    images : iterable of BoxedImage
    labels : iterable of str
        Categories that are listed even if no box has them.
    """
    categories = {name: number for number, name in enumerate(dict.fromkeys(labels), start=1)}
    listed: list[Members] = []
    boxes: list[Members] = []
    for image_id, image in enumerate(images, start=1):
        width, height = image.size_wh or (None, None)
        one = {"id": image_id, "file_name": image.name, "width": width, "height": height}
        one |= {"frame": image.frame, "time": image.seconds}
        listed.append({key: value for key, value in one.items() if value is not None})
        for k, (x0, y0, x1, y1) in enumerate(image.boxes_xyxy.tolist()):
            wide, high = round(x1 - x0, 6), round(y1 - y0, 6)
            box: Members = {"id": len(boxes) + 1, "image_id": image_id}
            box["category_id"] = categories.setdefault(image.labels[k], len(categories) + 1)
            box |= {"bbox": [x0, y0, wide, high], "area": round(wide * high, 6)}
            box["iscrowd"] = int(image.ignored[k])
            for name, values in (("score", image.confidences), ("track_id", image.tracks)):
                if values is not None:
                    box[name] = values[k].item()
            boxes.append(box)
    named = [{"id": k, "name": name} for name, k in categories.items()]
    document = {"images": listed, "annotations": boxes, "categories": named}
    write_atomically(path, json.dumps(document).encode())
