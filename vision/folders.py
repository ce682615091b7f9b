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

A folder that looks like splits and is not understood is an error: taking ``train`` and ``valid``
for two classes would train a model that predicts which part an image was in.

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
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from visualwords.errors import FolderError
from visualwords.files import NOT_IMAGES, files_below, files_in, folders_in, images_in, list_files
from visualwords.tables import (
    SPLITS,
    TABLES,
    Item,
    clean_label,
    has_labels,
    is_table,
    read_table,
    split_of,
)

__all__ = ["NOT_IMAGES", "ImageFolder", "Item", "files_below", "folders_in", "list_files"]

METADATA = ("metadata.csv", "metadata.jsonl", "_classes.csv")  # Hugging Face's names, Roboflow's
SPLIT_LIKE = re.compile(r"(train|trn|val|test|tst|dev|eval|hold)", re.I)
WRITE_SPLITS = (
    "write train/CLASS/image.jpg and test/CLASS/image.jpg (also val), or a table with the columns "
    "path,label,split"
)


ClassFolder = tuple[str, str, str | None]  # label, path, split


class Listing(NamedTuple):
    """The images of a data set, and what was noticed on the way."""

    items: list[Item]
    skipped: list[tuple[str, str]]
    warnings: list[str]


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
        Files that can't be images.
    warnings : list of str
        Likely mistakes in the data.

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
            return _list_folder(self.path, self.label_from)
        if not os.path.exists(self.path):
            raise FolderError(f"{self.path}: no such folder or table")
        if not is_table(self.path):
            raise FolderError(
                f"{self.path}: neither a folder nor a {' or '.join(TABLES)} table of images"
            )
        return _list_table(self.path)

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
        """The folder restricted to some of its images."""
        return self._with([self.items[i] for i in indices])

    def grouped(self, groups: Sequence[str | None]) -> "ImageFolder":
        """The same images in other groups."""
        pairs = zip(self.items, groups, strict=True)
        return self._with([item._replace(group=group) for item, group in pairs])

    def _with(self, items: list[Item]) -> "ImageFolder":
        part = ImageFolder(self.path)
        part.__dict__["_listing"] = Listing(items, [], [])
        return part

    def part(self, split: str) -> "ImageFolder":
        """The images of a given split, as ``train`` or ``test``."""
        return self.select(i for i, name in enumerate(self.splits) if name == split)

    def split(self, test_size: float = 0.2, seed: int = 0) -> tuple["ImageFolder", "ImageFolder"]:
        """Divide into a training and a test part, class by class, at random by a ``seed``.

        ``test_size`` is the share of each class that is tested, but at least one image and not
        all. Groups stay together, so that with them the share is only approximate.
        """
        if not 0 < test_size < 1:
            raise ValueError(f"test_size is {test_size}; it must lie between 0 and 1")
        alone = [label for label, count in Counter(self.labels).items() if count < 2]
        if alone or not self.items:
            found = f"class {alone[0]!r} has only 1" if alone else "there is none"
            raise FolderError(f"{self.path}: a split needs 2 images of each class; {found}")
        if any(group is not None for group in self.groups):
            is_test = _choose_groups(self.labels, self.groups, test_size, seed, self.path)
        else:
            is_test = _choose_images(self.labels, test_size, seed)
        return self.select(np.flatnonzero(~is_test)), self.select(np.flatnonzero(is_test))


# Dividing into training and test


def _choose_images(labels: Sequence[str], test_size: float, seed: int) -> np.ndarray:
    """Mark a share of each class for the test: at least one image, and never all of them."""
    rng = np.random.default_rng(seed)
    members = defaultdict(list)
    for position, label in enumerate(labels):
        members[label].append(position)
    is_test = np.zeros(len(labels), dtype=bool)
    for label in sorted(members):
        n_test = min(max(round(test_size * len(members[label])), 1), len(members[label]) - 1)
        is_test[rng.permutation(members[label])[:n_test]] = True
    return is_test


def _choose_groups(
    labels: Sequence[str], groups: Sequence[str | None], test_size: float, seed: int, origin: str
) -> np.ndarray:
    """Mark whole groups until about that share of each class is tested, some on both sides.

    An image without a group is a group of its own. Groups are chosen in random order: first those
    mostly of images that are still wanted, then small ones of the classes that are missing.
    """
    members = defaultdict(list)
    for position, group in enumerate(groups):
        members[f"group {group}" if group is not None else f"image {position}"].append(position)
    names = sorted(members)
    np.random.default_rng(seed).shuffle(names)
    counts = {name: Counter(labels[i] for i in members[name]) for name in names}
    n_images = Counter(labels)
    wanted = {label: max(round(test_size * n), 1) for label, n in n_images.items()}
    tested: Counter[str] = Counter()
    is_test = np.zeros(len(labels), dtype=bool)

    def leaves_some(name: str) -> bool:
        return all(tested[label] + n < n_images[label] for label, n in counts[name].items())

    def take(name: str) -> None:
        tested.update(counts[name])
        is_test[members[name]] = True

    for name, images in counts.items():
        useful = sum(min(n, max(wanted[label] - tested[label], 0)) for label, n in images.items())
        if 2 * useful > images.total() and leaves_some(name):
            take(name)
    for label in sorted(n_images):
        if not tested[label]:
            able = [name for name in counts if counts[name][label] and leaves_some(name)]
            if not able:
                raise FolderError(
                    f"{origin}: found no way to keep the groups together and have class {label!r} "
                    "in both training and test; it needs images of more groups"
                )
            take(min(able, key=lambda name: counts[name].total()))
    return is_test


# Layouts


def _list_folder(root: str, label_from: str | None) -> Listing:
    """List the labelled images of a folder, whatever its layout."""
    if label_from is not None:
        return _labels_from_names(root, label_from)
    if (table := _own_table(root)) is not None:
        return _list_table(table, root)
    top = folders_in(root)
    splits = {name: split for name in top if (split := split_of(name)) is not None}
    if splits and (len(splits) > 1 or len(splits) == len(top)):
        return _list_splits(root, top, splits)
    if not top:
        n_files = len(list(files_below(root, [])))
        present = f"{_counted(n_files)} but no folders" if n_files else "nothing"
        raise FolderError(
            f"{root}: found {present}; put the images of each class into a folder of its own, add "
            "a table metadata.csv with the columns file_name,label, or use "
            r"--label-from '(.+)_\d+'"
        )
    _refuse_unknown_splits(root, top)
    return _list_classes(root, [(label, path, None) for label, path in top.items()], [])


def _list_table(path: str, base: str | None = None) -> Listing:
    """List the rows of a table, by class and name whatever their splits."""
    items = _located(read_table(path, base), base or os.path.dirname(path) or os.curdir)
    items.sort(key=lambda item: (item.label, os.fsencode(item.path)))
    return Listing(items, [], _mistakes(path, items))


def _labels_from_names(root: str, pattern: str) -> Listing:
    """List the images below a folder, labelled by a pattern that is searched in their names.

    The label is the group called ``label``, else the first group; groups called ``group`` and
    ``split`` are taken too. With a ``/`` in the pattern, the path below the folder is searched.
    """
    try:
        expression = re.compile(pattern)
    except re.error as problem:
        raise FolderError(f"label pattern {pattern!r}: {problem}") from None
    if not expression.groups:
        raise FolderError(
            f"label pattern {pattern!r} has no group; put the label into parentheses: "
            r"'(.+)_\d+' finds cat in cat_12.jpg"
        )
    skipped: list[tuple[str, str]] = []
    items: list[Item] = []
    for path in sorted(files_below(root, skipped), key=os.fsencode):
        below = os.path.relpath(path, root).replace(os.sep, "/")
        match = expression.search(below if "/" in pattern else os.path.basename(path))
        parts = match.groupdict() if match else {}
        label = clean_label(parts.get("label", match.group(1)) or "") if match else ""
        if label:
            items.append(Item(path, label, split_of(parts.get("split") or ""), parts.get("group")))
        else:
            skipped.append((path, f"its name does not match the label pattern {pattern!r}"))
    if not items:
        raise FolderError(f"{root}: no file's name matches the label pattern {pattern!r}")
    return _in_order(root, items, skipped, [])


def _in_order(
    root: str, items: list[Item], skipped: list[tuple[str, str]], warnings: list[str]
) -> Listing:
    """Listing by split, class and name, whatever the order on disk."""

    def place(item: Item) -> tuple[int, str, bytes]:
        return SPLITS.index(item.split) if item.split else 0, item.label, os.fsencode(item.path)

    items.sort(key=place)
    skipped.sort(key=lambda pair: os.fsencode(pair[0]))
    return Listing(items, skipped, [*warnings, *_mistakes(root, items)])


def _list_splits(root: str, top: dict[str, str], splits: dict[str, str]) -> Listing:
    """List ``root/train/class/…`` or similar, or a table in each split."""
    names = " and ".join(splits)
    for name in top:
        if name not in splits and (folders_in(top[name]) or images_in(top[name])):
            raise FolderError(
                f"{root}: {names} look like splits, but {name!r} lies beside them; "
                f"move it elsewhere, or {WRITE_SPLITS}"
            )
    warnings: list[str] = []
    classes: list[ClassFolder] = []
    items: list[Item] = []
    for name, split in splits.items():
        if (table := _own_table(top[name])) is not None:
            items += _located(read_table(table, split=split), top[name])
            continue
        inside, loose = folders_in(top[name]), images_in(top[name])
        classes += [(label, path, split) for label, path in inside.items()]
        if inside:
            warnings += _loose_images(top[name])
        elif loose:
            warnings.append(f"{top[name]}: {_counted(len(loose))} without class folders, left out")
    if items:
        return _in_order(root, items, [], warnings)
    if not classes:
        raise FolderError(
            f"{root}: {names} look like splits, but have no class folders; {WRITE_SPLITS}"
        )
    return _list_classes(root, classes, warnings)


def _refuse_unknown_splits(root: str, top: dict[str, str]) -> None:
    """Refuse folders that have the same classes inside, as ``train`` and ``holdout`` do.

    Classes with the same sub-folders, such as days or cameras, don't look like splits by name.
    """
    alike = next((name for name in top if SPLIT_LIKE.match(name)), None)
    if alike is None or len(top) < 2 or any(images_in(path) for path in top.values()):
        return
    shared = sorted(set.intersection(*(set(folders_in(path)) for path in top.values())))
    if len(shared) > 1:
        others = " and ".join(name for name in top if name != alike)
        raise FolderError(
            f"{root}: {alike} looks like a split, and {others} has the same folders "
            f"({_listed(shared)}); {WRITE_SPLITS}"
        )


def _list_classes(root: str, folders: list[ClassFolder], warnings: list[str]) -> Listing:
    """List the files of class folders."""
    skipped: list[tuple[str, str]] = []
    folders = [(unicodedata.normalize("NFC", label), path, part) for label, path, part in folders]
    items = [
        Item(path, label, split)
        for label, folder, split in folders
        for path in files_below(folder, skipped)
    ]
    if not items:
        raise FolderError(f"{root}: {len(folders)} class folders, but no file in any of them")
    labels = {label for label, _, _ in folders}
    empty = sorted(labels - {item.label for item in items})
    warnings = [
        *_loose_images(root),
        *warnings,
        *(f"{root}: class {name!r} is empty and was left out" for name in empty),
    ]
    if len(labels) == 1:
        label, path, _ = folders[0]
        nested = len(folders_in(path)) > 1
        hint = f"did you mean {path}?" if nested else "a classifier needs at least two"
        warnings.append(f"{root}: {label!r} is the only class; {hint}")
    return _in_order(root, items, skipped, warnings)


def _own_table(root: str) -> str | None:
    """The table that labels the images of a folder without class folders, if there is one.

    Hugging Face's ``metadata`` always counts, another table, inside or beside the folder under its
    name, where there are no class folders.
    """
    files, folders = files_in(root), folders_in(root)
    for name in METADATA:
        if name in files and has_labels(files[name]):
            return files[name]
    if len(folders) > 1:
        return None
    tables = [path for name, path in files.items() if is_table(name)]
    if not folders:
        beside = (root.rstrip("/\\") + suffix for suffix in TABLES)
        tables += [path for path in beside if os.path.isfile(path)]
    tables = [path for path in tables if has_labels(path)]
    if len(tables) > 1:
        raise FolderError(
            f"{root}: {' and '.join(map(os.path.basename, tables))} both list images; "
            "give the one that you mean instead of the folder"
        )
    return tables[0] if tables else None


def _located(items: list[Item], base: str) -> list[Item]:
    """Items with paths that exist: as given, else inside the folder's only sub-folder.

    Tables often lie beside a folder ``images`` and list bare names.
    """
    if not items or os.path.exists(items[0].path) or not os.path.isdir(base):
        return items

    def moved(item: Item, folder: str) -> str:
        return os.path.join(folder, os.path.relpath(item.path, base))

    inside = [path for path in folders_in(base).values() if os.path.exists(moved(items[0], path))]
    if len(inside) != 1:
        return items
    return [item._replace(path=moved(item, inside[0])) for item in items]


def _mistakes(root: str, items: list[Item]) -> list[str]:
    """Warnings of what looks like a mistake: classes that differ in case, uneven splits."""
    twins = defaultdict(list)
    for label in sorted({item.label for item in items}):
        twins[label.casefold()].append(label)
    warnings = [
        f"{root}: classes {' and '.join(map(repr, labels))} differ only in case and are kept apart"
        for labels in twins.values()
        if len(labels) > 1
    ]
    classes = defaultdict(set)
    for item in items:
        classes[item.split].add(item.label)
    known = classes.get("train")
    for split in SPLITS[1:]:
        if known is None or split not in classes:
            continue
        if lacking := sorted(known - classes[split]):
            warnings.append(f"{root}: {split} has no images of {_listed(lacking)}")
        if strange := sorted(classes[split] - known):
            warnings.append(
                f"{root}: {split} has images of {_listed(strange)}, which train lacks; "
                "no model can predict them"
            )
    return warnings


def _loose_images(folder: str) -> list[str]:
    """Warning if files that may be images lie beside the class folders."""
    loose = list(images_in(folder))
    text = "beside the class folders, left out"
    return [f"{folder}: {_counted(len(loose))} {text} (first: {loose[0]!r})"] if loose else []


def _counted(n_files: int) -> str:
    return "1 file" if n_files == 1 else f"{n_files} files"


def _listed(labels: list[str]) -> str:
    shown = ", ".join(map(repr, labels[:3]))
    return shown if len(labels) <= 3 else f"{shown} and {len(labels) - 3} more classes"
