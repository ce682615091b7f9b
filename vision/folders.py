"""Folders of labelled images, without copying or opening one of them.

These layouts are understood::

    photos/cat/1.jpg                       one folder a class
    photos/train/cat/1.jpg                 the same inside train, val and test; also called
                                           training, valid, validation, dev, testing, in any case
    photos.csv, .tsv or .jsonl             columns path (or file, file_name, filename, image, name),
                                           label (or class, target), optionally split, group
    photos/metadata.csv or .jsonl          a Hugging Face image folder, also inside each split
    photos/1.jpg and photos/labels.csv     a flat folder with a table in it, or photos.csv beside it
    photos/cat_1.jpg                       labels from names, with ``label_from=r"(.+)_\\d+"``

Rules of the walk, so that the same files always mean the same data set:

- Paths are sorted by class, then by the bytes of their names; the order on disk is irrelevant.
- Sub-folders of a class belong to the class. Hidden files, ``__MACOSX`` and the files of
  ``NOT_IMAGES`` are ignored. Any other regular file is a candidate whatever its extension: images
  are recognised by content. Pipes, sockets, broken or looping links are listed in ``skipped``.
- Files beside the class folders have no label: they are left out, and ``warnings`` says so.
- Class names are compared in Unicode's composed form (NFC): ``é`` typed in two ways is one class.
  Names that differ only in case are two classes, and ``warnings`` says so.
"""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np

from visualwords._layouts import list_folder, list_table
from visualwords._listing import Item, Listing, files_below
from visualwords._splitting import choose_groups, choose_images
from visualwords._table_files import TABLES, is_table
from visualwords.errors import FolderError


class ImageFolder:
    """Labelled images in a folder or a table; scanned on first use.

    Parameters
    ----------
    path : path-like
        A folder in one of the layouts above, or a table.
    label_from : str, optional
        A regular expression, searched in each file's name, whose first group (or the one called
        ``label``) is the label; groups called ``group`` and ``split`` count too.

    Attributes
    ----------
    paths, labels : list of str
        The images and their classes, in a fixed order.
    classes : list of str
        The different labels, sorted.
    splits, groups : list of str or None
        Given split and group of each image.
    skipped : list of (path, reason)
        What was met and can't be an image.
    warnings : list of str
        What looks like a mistake in the data.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> root = pathlib.Path(tempfile.mkdtemp())
    >>> for name in "cat/1.jpg", "cat/2.jpg", "dog/1.jpg", "dog/2.jpg":
    ...     (root / name).parent.mkdir(exist_ok=True)
    ...     _ = (root / name).write_bytes(b"")
    >>> folder = ImageFolder(root)
    >>> folder.classes, len(folder)
    (['cat', 'dog'], 4)
    >>> train, test = folder.split(test_size=0.5, seed=0)
    >>> train.labels, test.labels
    (['cat', 'dog'], ['cat', 'dog'])
    """

    def __init__(self, path: str | os.PathLike[str], *, label_from: str | None = None):
        self.path = os.fspath(path)
        self.label_from = label_from

    @cached_property
    def _listing(self) -> Listing:
        if os.path.isdir(self.path):
            return list_folder(self.path, self.label_from)
        if not os.path.exists(self.path):
            raise FolderError(f"{self.path}: no such folder or table")
        if not is_table(self.path):
            raise FolderError(
                f"{self.path}: neither a folder nor a {' or '.join(TABLES)} table of images"
            )
        return list_table(self.path)

    @property
    def items(self) -> list[Item]:
        """Every image with its label, split and group."""
        return self._listing.items

    @cached_property
    def paths(self) -> list[str]:
        return [item.path for item in self.items]

    @cached_property
    def labels(self) -> list[str]:
        return [item.label for item in self.items]

    @cached_property
    def classes(self) -> list[str]:
        return sorted(set(self.labels))

    @property
    def splits(self) -> list[str | None]:
        return [item.split for item in self.items]

    @property
    def groups(self) -> list[str | None]:
        return [item.group for item in self.items]

    @property
    def skipped(self) -> list[tuple[str, str]]:
        return self._listing.skipped

    @property
    def warnings(self) -> list[str]:
        return self._listing.warnings

    def __len__(self) -> int:
        return len(self.items)

    def __repr__(self) -> str:
        return f"ImageFolder({self.path!r})"

    def select(self, indices: Iterable[int]) -> "ImageFolder":
        """Return the folder restricted to some of its images."""
        part = ImageFolder(self.path)
        part.__dict__["_listing"] = Listing([self.items[i] for i in indices], [], [])
        return part

    def grouped(self, groups: Sequence[str | None]) -> "ImageFolder":
        """Return the same images in other groups."""
        part = ImageFolder(self.path)
        items = [item._replace(group=group) for item, group in zip(self.items, groups, strict=True)]
        part.__dict__["_listing"] = Listing(items, [], [])
        return part

    def part(self, split: str) -> "ImageFolder":
        """Return the images of a given split, as ``train`` or ``test``."""
        return self.select(i for i, name in enumerate(self.splits) if name == split)

    def split(self, test_size: float = 0.2, seed: int = 0) -> tuple["ImageFolder", "ImageFolder"]:
        """Divide into a training and a test part, class by class, at random.

        Parameters
        ----------
        test_size : float in (0, 1)
            Share of each class that is tested, but at least one image and not all. Groups stay
            together, so that with them the share is only approximate.
        seed : int
            The same seed gives the same division of the same files.

        Returns
        -------
        train, test : ImageFolder
        """
        if not 0 < test_size < 1:
            raise ValueError(f"test_size is {test_size}; it must lie between 0 and 1")
        alone = [label for label, count in Counter(self.labels).items() if count < 2]
        if alone or not self.items:
            found = f"class {alone[0]!r} has only 1" if alone else "there is none"
            raise FolderError(f"{self.path}: a split needs 2 images of each class; {found}")
        if any(group is not None for group in self.groups):
            is_test = choose_groups(self.labels, self.groups, test_size, seed, self.path)
        else:
            is_test = choose_images(self.labels, test_size, seed)
        return self.select(np.flatnonzero(~is_test)), self.select(np.flatnonzero(is_test))


def list_files(folder: str | os.PathLike[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the candidate files of a folder without labels, and what can't be an image."""
    skipped: list[tuple[str, str]] = []
    return sorted(files_below(os.fspath(folder), skipped), key=os.fsencode), skipped
