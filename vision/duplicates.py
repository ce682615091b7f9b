"""The same picture twice: files with equal bytes, and the mistakes they point to."""

import os
from collections import defaultdict
from collections.abc import Sequence

from visualwords.folders import ImageFolder


def find_duplicates(fingerprints: Sequence[bytes]) -> list[list[int]]:
    """Return the groups of positions with the same fingerprint, in order of appearance.

    An empty fingerprint stands for an image without a file, or one that can't be read.

    Examples
    --------
    >>> find_duplicates([b"a", b"b", b"a", b"", b""])
    [[0, 2]]
    """
    same = defaultdict(list)
    for position, fingerprint in enumerate(fingerprints):
        same[fingerprint].append(position)
    same.pop(b"", None)
    return [group for group in same.values() if len(group) > 1]


def describe_duplicates(folder: ImageFolder, fingerprints: Sequence[bytes]) -> list[str]:
    """Return one sentence for each kind of harm that equal files do to a labelled folder.

    Parameters
    ----------
    folder : ImageFolder
    fingerprints : of the content of each of its files
    """
    kinds = defaultdict(list)
    splits, labels = folder.splits, folder.labels
    for group in find_duplicates(fingerprints):
        if len({splits[i] for i in group}) > 1:
            kinds["in more than one split, so that a test measures memory"].append(group)
        elif len({labels[i] for i in group}) > 1:
            kinds["in more than one class, so that a label is wrong"].append(group)
        else:
            kinds["more than once in a class"].append(group)
    return [_sentence(folder, groups, harm) for harm, groups in sorted(kinds.items())]


def _sentence(folder: ImageFolder, groups: list[list[int]], harm: str) -> str:
    base = folder.path if os.path.isdir(folder.path) else os.path.dirname(folder.path) or os.curdir
    first = " = ".join(os.path.relpath(folder.paths[i], base) for i in groups[0][:2])
    subject = "1 image occurs" if len(groups) == 1 else f"{len(groups)} images occur"
    return f"{folder.path}: {subject} {harm} (first: {first})"
