"""COCO's JSON of images, boxes and categories; with scores, also of detections."""

import json
import os
from collections.abc import Iterable

from visualwords.apps.annotations.boxed_image import (
    Annotations,
    BoxedImage,
    BoxList,
    as_annotations,
    checked_name,
    checked_size,
)
from visualwords.apps.annotations.documents import Place, read_json
from visualwords.errors import FolderError
from visualwords.files import write_atomically

__all__ = ["coco_document", "read_coco", "write_coco"]


def read_coco(path: str | os.PathLike[str]) -> Annotations:
    """Read a file with ``images``, ``annotations`` and ``categories``.

    Boxes are ``[x, y, width, height]``. Annotations with ``iscrowd`` or ``ignore`` are marked as
    ignored. A ``score``, ``track_id`` and an image's ``frame`` and ``time`` are read if present.
    """
    document = read_json(path)
    if not (isinstance(document, dict) and "images" in document):
        raise FolderError(
            f"{os.fspath(path)}: not COCO, an object with images, annotations and categories"
        )
    top = Place(document, os.fspath(path))
    categories = _by_id(top["categories"]) if "categories" in top else {}
    labels = {key: place["name"].text() for key, place in categories.items()}
    lists = {key: _box_list(place) for key, place in _by_id(top["images"]).items()}
    boxes = top["annotations"].items() if "annotations" in top else []
    _by_id([place for place in boxes if "id" in place])
    for place in boxes:
        image = place["image_id"].key()
        if image not in lists:
            raise FolderError(f"{place}: image_id {image!r} is the id of no image")
        _add(lists[image], place, labels)
    return as_annotations(path, lists.values())


def _by_id(places: "Place | list[Place]") -> dict[int | str, Place]:
    found: dict[int | str, Place] = {}
    for place in places.items() if isinstance(places, Place) else places:
        key = place["id"].key()
        if key in found:
            raise FolderError(f"{place}: the id {key!r} was used before")
        found[key] = place
    return found


def _box_list(place: Place) -> BoxList:
    size, time = (
        [place[key].number() if key in place else None for key in keys]
        for keys in (("width", "height"), ("time",))
    )
    return BoxList(
        checked_name(place.words, place["file_name"].text()),
        checked_size(place.words, *size),
        place["frame"].whole() if "frame" in place else None,
        *time,
    )


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
    flags = [place[name] for name in ("iscrowd", "ignore") if name in place]
    boxes.add(
        place.words,
        [x, y, x + width, y + height],
        labels[category],
        ignored=any(f.value if isinstance(f.value, bool) else f.whole() != 0 for f in flags),
        confidence=place["score"].number() if "score" in place else None,
        track=place["track_id"].whole() if "track_id" in place else None,
    )


def coco_document(
    images: Iterable[BoxedImage], labels: Iterable[str] = ()
) -> dict[str, list[dict[str, object]]]:
    """Return images and boxes as COCO has them; ids count from 1.

    Parameters
    ----------
    images : iterable of BoxedImage
    labels : iterable of str
        Categories that are listed even if no box has them.
    """
    categories = {name: number for number, name in enumerate(dict.fromkeys(labels), start=1)}
    listed: list[dict[str, object]] = []
    boxes: list[dict[str, object]] = []
    for image_id, image in enumerate(images, start=1):
        width, height = image.size_wh or (None, None)
        one = {"id": image_id, "file_name": image.name, "width": width, "height": height}
        one |= {"frame": image.frame, "time": image.seconds}
        listed.append({key: value for key, value in one.items() if value is not None})
        for k, (x0, y0, x1, y1) in enumerate(image.boxes_xyxy.tolist()):
            wide, high = round(x1 - x0, 6), round(y1 - y0, 6)
            box: dict[str, object] = {"id": len(boxes) + 1, "image_id": image_id}
            box["category_id"] = categories.setdefault(image.labels[k], len(categories) + 1)
            box |= {"bbox": [x0, y0, wide, high], "area": round(wide * high, 6)}
            box["iscrowd"] = int(image.ignored[k])
            if image.confidences is not None:
                box["score"] = float(image.confidences[k])
            if image.tracks is not None:
                box["track_id"] = int(image.tracks[k])
            boxes.append(box)
    named: list[dict[str, object]] = [{"id": k, "name": name} for name, k in categories.items()]
    return {"images": listed, "annotations": boxes, "categories": named}


def write_coco(
    path: str | os.PathLike[str], images: Iterable[BoxedImage], labels: Iterable[str] = ()
) -> None:
    """Write a COCO file; parameters as for `coco_document`."""
    write_atomically(path, json.dumps(coco_document(images, labels)).encode())
