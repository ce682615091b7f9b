"""The same picture twice: files with equal bytes, and the mistakes they point to."""

import hashlib
import os
from collections import defaultdict
from collections.abc import Sequence

from visualwords.errors import ImageError
from visualwords.folders import ImageFolder
from visualwords.images import read_bytes

DIGEST_BYTES = 8  # a false alarm among a million different files has a chance of 1 in 37 million


def digest(data: bytes) -> bytes:
    """Return a short fingerprint of a file's content."""
    return hashlib.blake2b(data, digest_size=DIGEST_BYTES).digest()


def find_duplicates(paths: Sequence[str]) -> list[list[int]]:
    """Return the groups of positions whose files have the same bytes, in order of appearance.

    Only files of equal size are read; empty ones are no pictures and don't count.
    """
    by_size = defaultdict(list)
    for position, path in enumerate(paths):
        try:
            by_size[os.stat(path).st_size].append(position)
        except (OSError, ValueError):  # gone, or no name of a file: the reader will say so
            continue
    by_content = defaultdict(list)
    for size, positions in by_size.items():
        for position in positions if size > 0 and len(positions) > 1 else ():
            try:
                by_content[size, digest(read_bytes(paths[position]))].append(position)
            except ImageError:
                continue
    return sorted(group for group in by_content.values() if len(group) > 1)


def describe_duplicates(folder: ImageFolder) -> list[str]:
    """Return one sentence for each kind of harm that equal files do to a labelled folder."""
    kinds = defaultdict(list)
    splits, labels = folder.splits, folder.labels
    for group in find_duplicates(folder.paths):
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
