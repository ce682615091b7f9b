"""Images as people have them: one or many, and what each of them is.

==============================================  ==================================================
one image                                       what becomes of it
==============================================  ==================================================
path; bytes of a file                           read by `visualwords.images.read_image`
uint8 array (h, w), (h, w, 3) or (h, w, 4)      as it is; alpha is laid over white
PIL image                                       converted by the rules of `visualwords.images`
row of a dataset, ``{"image": …}``              its image
==============================================  ==================================================

Many are a list, tuple, array or pandas column of them; an array of four dimensions, or of three,
(n, h, w), for grey images; pairs of an image and a label, as torchvision's datasets yield them; or
a Hugging Face ``Dataset`` or one of its columns. Files in a dataset are read here, not by it.
"""

import os
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from visualwords.decoding import grey_of, pixels_of, rgb_of, shrink
from visualwords.errors import ImageError
from visualwords.images import MAX_PIXELS, read_image

Source = str | bytes | np.ndarray  # path, content of a file, or uint8 pixels: grey or RGB

IMAGE_KEYS = ("image", "img")  # of the rows of datasets
LABEL_KEYS = ("label", "labels")
CONTENT_KEYS = {"bytes", "path"}  # of an image that a dataset has not decoded
TAKEN = (
    "give a path, the bytes of a file, a uint8 array (height, width) or (height, width, 3), or a "
    "PIL image; many of them in a list, a pandas column or a Hugging Face dataset"
)


class Images(NamedTuple):
    """Images, each as a `Source`, and their labels if they came with any."""

    images: list[Source]
    labels: list[Any] | None


def is_one_image(images: object) -> bool:
    """Whether something is a single image instead of many.

    An array of three dimensions is one image if the last is 1, 3 or 4, its colours.

    Examples
    --------
    >>> is_one_image(np.zeros((160, 160, 3), np.uint8)), is_one_image(["cat.jpg"])
    (True, False)
    """
    if isinstance(images, np.ndarray):
        has_colors = images.ndim == 3 and images.shape[2] in (1, 3, 4)
        return images.dtype.kind not in "USO" and (images.ndim == 2 or has_colors)
    if isinstance(images, Mapping):
        inside = _in_row(images)
        return inside is not images and is_one_image(inside)
    return isinstance(images, str | bytes | bytearray | memoryview | os.PathLike | Image.Image)


def as_source(image: object, max_pixels: int = MAX_PIXELS) -> Source:
    """One image as a path, the bytes of a file, or a uint8 array: grey or RGB.

    Nothing is opened, except the file behind a PIL image that has not been loaded.

    Raises
    ------
    TypeError
        Where it is no image, or an array of other numbers than uint8.
    ImageError
        Where an array has no shape of images, or a PIL image can't be loaded or is too large.

    Examples
    --------
    >>> as_source(Image.new("L", (2, 1), 9)).tolist()
    [[9, 9]]
    """
    if isinstance(image, str | bytes):
        return image
    if isinstance(image, os.PathLike):
        return os.fsdecode(image)
    if isinstance(image, bytearray | memoryview):
        return bytes(image)
    if isinstance(image, Image.Image):
        return pixels_of(image, max_pixels)
    if isinstance(image, np.ndarray):
        has_alpha = image.ndim == 3 and image.shape[2] in (1, 4) and image.dtype == np.uint8
        return check_array(rgb_of(image) if has_alpha else image)
    if isinstance(image, Mapping) and (inside := _in_row(image)) is not image:
        return as_source(inside, max_pixels)
    name = "None" if image is None else f"{type(image).__module__}.{type(image).__name__}"
    raise TypeError(f"{name.removeprefix('builtins.')} is no image; {TAKEN}")


def as_pixels(
    image: object, mode: str = "rgb", max_pixels: int = MAX_PIXELS, *, max_side: int | None = None
) -> np.ndarray:
    """The pixels of one image, however it is given; parameters as of `read_image`.

    Examples
    --------
    >>> as_pixels(Image.new("CMYK", (2, 1)), "grey").tolist()
    [[255, 255]]
    """
    source = as_source(image, max_pixels)
    if not isinstance(source, np.ndarray):
        return read_image(source, mode, max_pixels, max_side=max_side)
    pixels = rgb_of(source) if mode == "rgb" else grey_of(source)
    return np.ascontiguousarray(shrink(pixels, max_side))


def check_array(image: np.ndarray) -> np.ndarray:
    """An array that is an image, uint8 and grey or RGB, or raise what is wrong with it."""
    if image.dtype != np.uint8:
        raise TypeError(
            f"the image's pixels are {image.dtype}, but uint8 is needed, as "
            "visualwords.images.read_image returns; scale yours to 0..255 and convert it"
        )
    if not (image.ndim == 2 or (image.ndim == 3 and image.shape[2] == 3)) or image.size == 0:
        raise ImageError(
            f"the image's shape is {image.shape}; expected (height, width) for grey or "
            "(height, width, 3) for RGB, at least 1x1"
        )
    return image


def as_images(images: object) -> Images:
    """One image or many as a list, with the labels of pairs, rows and datasets.

    Labels are as they were given; numbers are replaced by names where a dataset has them
    (``ClassLabel``, or torchvision's ``classes``).

    Raises
    ------
    TypeError, ImageError
        As `as_source`; the message begins with the number of the image.

    Examples
    --------
    >>> as_images([("a.png", "cat"), ("b.png", "dog")])
    Images(images=['a.png', 'b.png'], labels=['cat', 'dog'])
    >>> as_images("a.png")
    Images(images=['a.png'], labels=None)
    """
    if hasattr(images, "features") and hasattr(images, "cast_column"):
        return _of_dataset(images)
    if hasattr(images, "samples") and hasattr(images, "classes"):  # torchvision's folder
        return _of_items(images.samples, images.classes)
    if is_one_image(images):
        return _of_items([images])
    if isinstance(images, Mapping):
        inside = _in_row(images)
        if inside is images:
            keys = ", ".join(map(repr, images))
            raise TypeError(f"a mapping of {keys}; give one of its values if they are images")
        labels = next((list(images[key]) for key in LABEL_KEYS if key in images), None)
        return as_images(inside)._replace(labels=labels)
    if hasattr(images, "column_name") and hasattr(images, "source"):  # of a dataset
        images = _column(images.source, images.column_name)
    elif getattr(images, "ndim", 1) == 2:  # a table, or an array of objects
        if images.shape[1] != 1:  # type: ignore[attr-defined]
            columns = images.shape[1]  # type: ignore[attr-defined]
            raise TypeError(f"a table of {columns} columns; give the column that has the images")
        images = np.asarray(images, object)[:, 0]
    try:
        items = iter(images)  # type: ignore[call-overload]
    except TypeError:
        return _of_items([images])  # which says what is taken
    return _of_items(items, getattr(images, "classes", None))


def _of_items(items: Iterable[Any], classes: Any = None) -> Images:
    """Images, or pairs or rows of an image and a label."""
    sources, labels = [], []
    for number, item in enumerate(items):
        image = item
        if isinstance(item, tuple) and len(item) == 2:
            image, label = item
            labels.append(classes[label] if classes and isinstance(label, int) else label)
        elif isinstance(item, Mapping):
            labels += [item[key] for key in LABEL_KEYS if key in item][:1]
        try:
            sources.append(as_source(image))
        except (TypeError, ImageError) as problem:
            raise type(problem)(f"image {number}: {problem}") from None
    if labels and len(labels) < len(sources):
        raise TypeError("some images have labels and others have none; give labels for all or none")
    return Images(sources, labels or None)


def _of_dataset(dataset: Any) -> Images:
    """Images of a Hugging Face dataset, and the names of their classes."""
    features = dataset.features or {}
    image = _only(features, "Image", IMAGE_KEYS)
    if image is None:
        columns = ", ".join(features) or "that are not known"
        raise TypeError(f"a dataset of columns {columns} has no image column; {TAKEN}")
    sources = _of_items(_column(dataset, image)).images
    label = _only(features, "ClassLabel", LABEL_KEYS) or next(
        (key for key in LABEL_KEYS if key in features), None
    )
    if label is None:
        return Images(sources, None)
    labels, feature = list(dataset.with_format(None)[label]), features[label]
    if type(feature).__name__ == "ClassLabel":
        if min(labels, default=-1) < 0:  # as in test sets without labels
            return Images(sources, None)
        labels = [feature.names[code] for code in labels]
    return Images(sources, labels)


def _only(features: Mapping[str, Any], kind: str, names: tuple[str, ...]) -> str | None:
    """The only column of a kind, or the one of several that has a usual name."""
    columns = [name for name, feature in features.items() if type(feature).__name__ == kind]
    usual = [name for name in names if name in columns]
    if len(columns) > 1 and not usual:
        raise TypeError(f"a dataset with {kind} columns {', '.join(columns)}; give one of them")
    return next(iter(usual or columns), None)


def _column(dataset: Any, name: str) -> Iterable[Any]:
    """A column of a dataset; images as paths and bytes, which are not decoded."""
    feature: Any = (getattr(dataset, "features", None) or {}).get(name)
    if type(feature).__name__ == "Image":
        dataset = dataset.cast_column(name, type(feature)(decode=False)).with_format(None)
    return dataset[name]


def _in_row(row: Mapping[str, Any]) -> Any:
    """The image in a row of a dataset, or the images in rows; the row itself without one."""
    if row and row.keys() <= CONTENT_KEYS:
        content = row.get("bytes")
        return row.get("path") if content is None else content
    return next((row[key] for key in IMAGE_KEYS if key in row), row)
