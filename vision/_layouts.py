"""Which of the common layouts a folder of labelled images has, and what it lists.

A folder that looks like splits and is not understood is an error: taking ``train`` and ``valid``
for two classes would train a model that says which part an image was in.
"""

import os
import re
import unicodedata
from collections import Counter, defaultdict

from visualwords._listing import (
    SPLITS,
    Item,
    Listing,
    files_below,
    files_in,
    folders_in,
    images_in,
    split_of,
)
from visualwords._table_files import has_labels, is_table, read_table
from visualwords.errors import FolderError

METADATA = ("metadata.csv", "metadata.jsonl", "_classes.csv")  # Hugging Face's names, Roboflow's
SPLIT_LIKE = re.compile(r"(train|trn|val|test|tst|dev|eval|hold)", re.I)
WRITE_SPLITS = (
    "write train/CLASS/image.jpg and test/CLASS/image.jpg (also val), or a table with the columns "
    "path,label,split"
)


def list_folder(root: str, label_from: str | None = None) -> Listing:
    """List the labelled images of a folder, whatever its layout.

    Parameters
    ----------
    root : str
    label_from : str, optional
        A regular expression that finds the label in a file's name; see `labels_from_names`.
    """
    if label_from is not None:
        return _in_order(root, *labels_from_names(root, label_from))
    table = _own_table(root)
    if table is not None:
        return list_table(table, root)
    top = folders_in(root)
    splits = {name: split for name in top if (split := split_of(name)) is not None}
    if splits and (len(splits) > 1 or len(splits) == len(top)):
        return _list_splits(root, top, splits)
    if not top:
        raise FolderError(_no_classes(root))
    _refuse_unknown_splits(root, top)
    return _list_classes(root, [(name, path, None) for name, path in top.items()], [])


def list_table(path: str, base: str | None = None) -> Listing:
    """List the rows of a table, by class and name whatever their splits."""
    items = _found(read_table(path, base), base or os.path.dirname(path) or os.curdir)
    items.sort(key=lambda item: (item.label, os.fsencode(item.path)))
    return _with_warnings(path, items, [], [])


def labels_from_names(
    root: str, pattern: str
) -> tuple[list[Item], list[tuple[str, str]], list[str]]:
    """Return the images below a folder, labelled by a pattern that is searched in their names.

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
        found = expression.search(below if "/" in pattern else os.path.basename(path))
        parts = found.groupdict() if found else {}
        label = parts.get("label", found.group(1)) if found else None
        if label:
            split = split_of(parts.get("split") or "")
            items.append(Item(path, unicodedata.normalize("NFC", label), split, parts.get("group")))
        else:
            skipped.append((path, f"its name does not match the label pattern {pattern!r}"))
    if not items:
        raise FolderError(f"{root}: no file's name matches the label pattern {pattern!r}")
    return items, skipped, []


def _in_order(
    root: str, items: list[Item], skipped: list[tuple[str, str]], warnings: list[str]
) -> Listing:
    """Return a listing by split, class and name, whatever the order on disk."""
    items.sort(
        key=lambda item: (
            SPLITS.index(item.split) if item.split else 0,
            item.label,
            os.fsencode(item.path),
        )
    )
    skipped.sort(key=lambda pair: os.fsencode(pair[0]))
    return _with_warnings(root, items, skipped, warnings)


def _with_warnings(
    root: str, items: list[Item], skipped: list[tuple[str, str]], warnings: list[str]
) -> Listing:
    """Add warnings of what looks like a mistake in any layout."""
    labels = {item.label for item in items}
    return Listing(
        items, skipped, [*warnings, *_case_twins(root, labels), *_uneven_splits(root, items)]
    )


def _list_splits(root: str, top: dict[str, str], splits: dict[str, str]) -> Listing:
    """List ``root/train/class/…`` or similar, or a table in each split."""
    names = " and ".join(splits)
    others = [name for name in top if name not in splits and _holds_data(top[name])]
    if others:
        raise FolderError(
            f"{root}: {names} look like splits, but {others[0]!r} lies beside them; "
            f"move it elsewhere, or {WRITE_SPLITS}"
        )
    warnings: list[str] = []
    classes: list[tuple[str, str, str | None]] = []
    items: list[Item] = []
    for name, split in splits.items():
        table = _own_table(top[name])
        if table is not None:
            items += _found(read_table(table, split=split), top[name])
            continue
        inside = folders_in(top[name])
        classes += [(label, path, split) for label, path in inside.items()]
        if not inside and images_in(top[name]):
            warnings.append(
                f"{top[name]}: {_counted(len(images_in(top[name])))} without class folders, "
                "left out"
            )
        elif inside:
            warnings += _loose_images(top[name])
    if items:
        return _in_order(root, items, [], warnings)
    if not classes:
        raise FolderError(
            f"{root}: {names} look like splits, but have no class folders; {WRITE_SPLITS}"
        )
    return _list_classes(root, classes, warnings)


def _refuse_unknown_splits(root: str, top: dict[str, str]) -> None:
    """Raise ``FolderError`` if folders would be classes that have the same classes inside.

    So have ``train`` and ``holdout``; classes with the same sub-folders, such as days or cameras,
    have no name that looks like a split.
    """
    alike = next((name for name in top if SPLIT_LIKE.match(name)), None)
    if alike is None or len(top) < 2 or any(images_in(path) for path in top.values()):
        return
    inside = [set(folders_in(path)) for path in top.values()]
    shared = sorted(set.intersection(*inside))
    if len(shared) > 1:
        others = " and ".join(name for name in top if name != alike)
        raise FolderError(
            f"{root}: {alike} looks like a split, and {others} has the same folders "
            f"({_listed(shared)}); {WRITE_SPLITS}"
        )


def _list_classes(
    root: str, classes: list[tuple[str, str, str | None]], warnings: list[str]
) -> Listing:
    """List class folders: (class, folder, split) each."""
    skipped: list[tuple[str, str]] = []
    items = [
        Item(path, unicodedata.normalize("NFC", name), split)
        for name, folder, split in classes
        for path in files_below(folder, skipped)
    ]
    if not items:
        raise FolderError(f"{root}: {len(classes)} class folders, but no file in any of them")
    labels = {unicodedata.normalize("NFC", name) for name, _, _ in classes}
    empty = sorted(labels - {item.label for item in items})
    warnings = [
        *_loose_images(root),
        *warnings,
        *(f"{root}: class {name!r} is empty and was left out" for name in empty),
        *_single_class(root, classes),
    ]
    return _in_order(root, items, skipped, warnings)


def _single_class(root: str, classes: list[tuple[str, str, str | None]]) -> list[str]:
    if len({name for name, _, _ in classes}) > 1:
        return []
    name, folder, _ = classes[0]
    deeper = len(folders_in(folder)) > 1
    hint = f"; did you mean {folder}?" if deeper else "; a classifier needs at least two"
    return [f"{root}: {name!r} is the only class{hint}"]


def _own_table(root: str) -> str | None:
    """Return the table that labels the images of a folder without class folders, if there is one.

    Hugging Face's ``metadata`` always counts. Any other table counts where the folder has no class
    folders of its own: inside it, or beside it under the folder's name.
    """
    files = files_in(root)
    for name in METADATA:
        if name in files and has_labels(files[name]):
            return files[name]
    if len(folders_in(root)) > 1:
        return None
    beside = [root.rstrip("/\\") + suffix for suffix in (".csv", ".tsv", ".jsonl")]
    tables = [path for name, path in files.items() if is_table(name)]
    if not folders_in(root):
        tables += [path for path in beside if os.path.isfile(path)]
    tables = [path for path in tables if has_labels(path)]
    if len(tables) > 1:
        raise FolderError(
            f"{root}: {' and '.join(map(os.path.basename, tables))} both list images; "
            "give the one that you mean instead of the folder"
        )
    return tables[0] if tables else None


def _found(items: list[Item], base: str) -> list[Item]:
    """Return the items with paths that exist: as given, else inside the folder's only sub-folder.

    Tables often lie beside a folder ``images`` and list bare names.
    """
    if not items or os.path.exists(items[0].path) or not os.path.isdir(base):
        return items
    inside = [
        folder
        for folder in folders_in(base).values()
        if os.path.exists(os.path.join(folder, os.path.relpath(items[0].path, base)))
    ]
    if len(inside) != 1:
        return items
    return [
        item._replace(path=os.path.join(inside[0], os.path.relpath(item.path, base)))
        for item in items
    ]


def _holds_data(folder: str) -> bool:
    """Return whether a folder holds anything that could be meant as data."""
    return bool(folders_in(folder) or images_in(folder))


def _loose_images(folder: str) -> list[str]:
    """Return a warning if files that may be images lie beside the class folders."""
    loose = list(images_in(folder))
    if not loose:
        return []
    return [
        f"{folder}: {_counted(len(loose))} beside the class folders, left out (first: {loose[0]!r})"
    ]


def _counted(n_files: int) -> str:
    return "1 file" if n_files == 1 else f"{n_files} files"


def _case_twins(root: str, labels: set[str]) -> list[str]:
    alike = defaultdict(list)
    for label in sorted(labels):
        alike[label.casefold()].append(label)
    return [
        f"{root}: classes {' and '.join(map(repr, twins))} differ only in case and are kept apart"
        for twins in alike.values()
        if len(twins) > 1
    ]


def _uneven_splits(root: str, items: list[Item]) -> list[str]:
    """Return a warning for each split that lacks classes, or has some that train lacks."""
    counts = Counter((item.split, item.label) for item in items)
    splits = [split for split in SPLITS if any(found == split for found, _ in counts)]
    classes = {split: {label for found, label in counts if found == split} for split in splits}
    known = classes.get("train")
    if known is None:
        return []
    warnings = []
    for split in splits[1:]:
        lacking, strange = sorted(known - classes[split]), sorted(classes[split] - known)
        if lacking:
            warnings.append(f"{root}: {split} has no images of {_listed(lacking)}")
        if strange:
            warnings.append(
                f"{root}: {split} has images of {_listed(strange)}, which train lacks; "
                "no model can predict them"
            )
    return warnings


def _listed(labels: list[str]) -> str:
    shown = ", ".join(map(repr, labels[:3]))
    return shown if len(labels) <= 3 else f"{shown} and {len(labels) - 3} more classes"


def _no_classes(root: str) -> str:
    n_files = len(list(files_below(root, [])))
    found = f"{_counted(n_files)} but no folders" if n_files else "nothing"
    return (
        f"{root}: found {found}; put the images of each class into a folder of its own, add a "
        r"table metadata.csv with the columns file_name,label, or use --label-from '(.+)_\d+'"
    )
