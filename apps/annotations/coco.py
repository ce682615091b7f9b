"""COCO's JSON of images, boxes and categories; with scores, also of detections."""

import json
import os
from collections.abc import Iterable
from typing import Any

from visualwords.apps.annotations.boxed_image import (
    Annotations,
    BoxedImage,
    BoxList,
    checked_name,
    checked_size,
    refuse_twins,
)
from visualwords.apps.annotations.documents import Place, read_json
from visualwords.errors import FolderError
from visualwords.files import write_atomically

__all__ = ["coco_document", "coco_images", "is_coco", "read_coco", "write_coco"]


def read_coco(path: str | os.PathLike[str]) -> Annotations:
    """Read a file with ``images``, ``annotations`` and ``categories``.

    Boxes are ``[x, y, width, height]``. Annotations with ``iscrowd`` or ``ignore`` are marked as
    ignored. A ``score``, ``track_id`` and an image's ``frame`` and ``time`` are read if present.
    """
    return coco_images(read_json(path), os.fspath(path))


def is_coco(document: Any) -> bool:
    """Return whether a JSON value looks like COCO's."""
    return isinstance(document, dict) and "images" in document


def coco_images(document: Any, name: str) -> Annotations:
    """Return the annotations of a document; sentences about faults begin with ``name``."""
    top = Place(document, name)
    categories = _by_id(top["categories"]) if "categories" in top else {}
    labels = {key: place["name"].text() for key, place in categories.items()}
    entries = _by_id(top["images"])
    lists = {key: _box_list(place) for key, place in entries.items()}
    seen = set()
    for place in top["annotations"].items() if "annotations" in top else []:
        if "id" in place:
            key = place["id"].key()
            if key in seen:
                raise FolderError(f"{place}: the id {key!r} was used before")
            seen.add(key)
        image = place["image_id"].key()
        if image not in lists:
            raise FolderError(f"{place}: image_id {image!r} is the id of no image")
        _add(lists[image], place, labels)
    images = [boxes.image(*_time(entries[key])) for key, boxes in lists.items()]
    refuse_twins(name, images)
    return Annotations(images, [one for boxes in lists.values() for one in boxes.skipped])


def _by_id(every: Place) -> dict[int | str, Place]:
    found: dict[int | str, Place] = {}
    for place in every.items():
        key = place["id"].key()
        if key in found:
            raise FolderError(f"{place}: the id {key!r} was used before")
        found[key] = place
    return found


def _box_list(place: Place) -> BoxList:
    name = checked_name(place.words, place["file_name"].text())
    size = None
    if "width" in place and "height" in place:
        size = checked_size(place.words, place["width"].number(), place["height"].number())
    return BoxList(name, size)


def _add(boxes: BoxList, place: Place, labels: dict[int | str, str]) -> None:
    category = place["category_id"].key()
    if category not in labels:
        raise FolderError(f"{place}: category_id {category!r} is the id of no category")
    numbers = [part.number() for part in place["bbox"].items()]
    if len(numbers) != 4:
        raise FolderError(f"{place}: a bbox is x, y, width, height, not {len(numbers)} numbers")
    x, y, width, height = numbers
    if width < 0 or height < 0:
        raise FolderError(f"{place}: a bbox of negative size, {width:g} by {height:g}")
    boxes.add(
        place.words,
        [x, y, x + width, y + height],
        labels[category],
        ignored=any(name in place and _is_true(place[name]) for name in ("iscrowd", "ignore")),
        confidence=place["score"].number() if "score" in place else None,
        track=place["track_id"].whole() if "track_id" in place else None,
    )


def _is_true(place: Place) -> bool:
    return place.value is True or (place.value is not False and place.whole() != 0)


def _time(place: Place) -> tuple[int | None, float | None]:
    frame = place["frame"].whole() if "frame" in place else None
    return frame, place["time"].number() if "time" in place else None


def coco_document(images: Iterable[BoxedImage], labels: Iterable[str] = ()) -> dict[str, Any]:
    """Return images and boxes as COCO has them; ids count from 1.

    Parameters
    ----------
    images : iterable of BoxedImage
    labels : iterable of str
        Categories that are listed even if no box has them.
    """
    categories = {name: number for number, name in enumerate(dict.fromkeys(labels), start=1)}
    listed: list[dict[str, Any]] = []
    boxes: list[dict[str, Any]] = []
    for image_id, image in enumerate(images, start=1):
        listed.append({"id": image_id, "file_name": image.name} | _size(image) | _frame(image))
        for k, (x0, y0, x1, y1) in enumerate(image.boxes_xyxy.tolist()):
            category = categories.setdefault(image.labels[k], len(categories) + 1)
            width, height = round(x1 - x0, 6), round(y1 - y0, 6)
            one = {
                "id": len(boxes) + 1,
                "image_id": image_id,
                "category_id": category,
                "bbox": [x0, y0, width, height],
                "area": round(width * height, 6),
                "iscrowd": int(image.ignored[k]),
            }
            if image.confidences is not None:
                one["score"] = float(image.confidences[k])
            if image.tracks is not None:
                one["track_id"] = int(image.tracks[k])
            boxes.append(one)
    named = [{"id": number, "name": name} for name, number in categories.items()]
    return {"images": listed, "annotations": boxes, "categories": named}


def _size(image: BoxedImage) -> dict[str, Any]:
    return dict(zip(("width", "height"), image.size_wh)) if image.size_wh else {}


def _frame(image: BoxedImage) -> dict[str, Any]:
    given = {"frame": image.frame, "time": image.seconds}
    return {name: value for name, value in given.items() if value is not None}


def write_coco(
    path: str | os.PathLike[str], images: Iterable[BoxedImage], labels: Iterable[str] = ()
) -> None:
    """Write a COCO file; parameters as for `coco_document`."""
    write_atomically(path, json.dumps(coco_document(images, labels)).encode())
