"""What people hand to a classifier: folders, tables, paths and arrays."""

import os
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from visualwords.errors import FolderError
from visualwords.folders import ImageFolder

Source = str | bytes | np.ndarray  # a path, the content of an image file, or pixels


def as_folder(X: Any) -> ImageFolder:
    """Return a folder or table of labelled images; anything else lacks labels."""
    if isinstance(X, ImageFolder):
        return X
    if isinstance(X, str | os.PathLike):
        return ImageFolder(X)
    raise TypeError(f"labels are needed for images given as {type(X).__name__}")


def training_images(X: Any, y: Any) -> tuple[list[Source], np.ndarray]:
    """Return images and labels; of a folder with given splits, its training part."""
    if y is None:
        folder = as_folder(X)
        if "train" in folder.splits:
            folder = folder.part("train")
        return list(folder.paths), np.array(folder.labels)
    sources, labels = many_images(X), np.asarray(y).astype(str)
    if len(sources) != len(labels):
        raise ValueError(f"{len(sources)} images but {len(labels)} labels")
    return sources, labels


def test_part(folder: ImageFolder) -> ImageFolder:
    """Return the test part of a folder that has one, else all of it."""
    return folder.part("test") if "test" in folder.splits else folder


def many_images(X: Any) -> list[Source]:
    """Return the images of a folder, or a list of them, as plain strings, bytes and arrays."""
    if isinstance(X, ImageFolder):
        return list(X.paths)
    if isinstance(X, str | bytes | os.PathLike):
        raise TypeError("give a list of paths; one path alone could be an image or a folder")
    if isinstance(X, np.ndarray) and X.dtype.kind in "US":
        X = [os.fsdecode(path) for path in X.tolist()]
    return [one_image(x) for x in X]


def one_image(image: Any) -> Source:
    """Return a path as a string; an array or the content of a file as it is."""
    return image if isinstance(image, np.ndarray | bytes) else os.fspath(image)


def is_one_image(X: Any) -> bool:
    """Tell a single path, file's content or array from many."""
    if isinstance(X, np.ndarray):
        return X.dtype.kind not in "US" and (X.ndim == 2 or (X.ndim == 3 and X.shape[2] == 3))
    return isinstance(X, str | bytes | os.PathLike)


def name_of(sources: Sequence[Source], position: int) -> str:
    """Return the path of an image; what has none is called by its position."""
    source = sources[position]
    return source if isinstance(source, str) else f"image {position}"


def short_name(sources: Sequence[Source], position: int, label: str) -> str:
    """Return a name that does not depend on where the images are: label/file."""
    return f"{label}/{os.path.basename(name_of(sources, position))}"


def check_classes(labels: np.ndarray) -> None:
    """Refuse fewer than two classes."""
    counts = Counter(labels.tolist())
    if len(counts) < 2:
        found = f"only class {next(iter(counts))!r}" if counts else "no readable image"
        raise FolderError(f"found {found}; at least two classes are needed to tell apart")
