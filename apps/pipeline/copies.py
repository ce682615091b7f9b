"""Near copies among labelled images, which folds and holdouts keep on one side."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from visualwords.apps.pipeline.contents import OpenedImage
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.stage import Environment, Stage, each_image
from visualwords.errors import Skipped
from visualwords.near_duplicates import SIDE, Portrait, find_near_duplicates, portrait

__all__ = ["Copies", "describe_copies", "find_copies", "keep_together", "portraits"]

MOST_COMPARED = 20_000  # images; the comparison of all pairs takes the square of their number


@dataclass(frozen=True)
class Copies:
    """Near copies among images.

    Attributes
    ----------
    sets : positions of the images of each set of copies
    skipped : the images that could not be read
    """

    sets: list[list[int]]
    skipped: list[Skipped]


def describe_copies(sets: Sequence[Sequence[str]]) -> str:
    """Return how many images, of one set at least, are near copies, in a sentence."""
    n, first = sum(map(len, sets)), " = ".join(sets[0][:2])
    return (
        f"{n} images are near copies of each other, in {len(sets)} set{'s' * (len(sets) != 1)}; "
        f"each set stays in one fold (first: {first})"
    )


def portraits(data: Dataset, env: Environment) -> list[Portrait | Skipped]:
    """Return the portrait of each image, or why it has none."""
    stage = Stage("portrait", {"side": SIDE}, draw_portrait)
    return [
        made if isinstance(made, Skipped) else Portrait.from_array(made[0])
        for made in each_image([stage], data, env, "looking at images")
    ]


def draw_portrait(image: OpenedImage) -> np.ndarray:
    """Return the portrait of an image as one array."""
    return portrait(image.pixels("rgb", 8 * SIDE)).to_array()


def find_copies(data: Dataset, env: Environment) -> Copies:
    """Look at all images; return which look the same, and which can't be read.

    Of more than `MOST_COMPARED` images none are compared.
    """
    if len(data) > MOST_COMPARED:
        return Copies([], [])
    looks = portraits(data, env)
    readable = [i for i, look in enumerate(looks) if isinstance(look, Portrait)]
    found = find_near_duplicates([look for look in looks if isinstance(look, Portrait)])
    skipped = [look for look in looks if isinstance(look, Skipped)]
    return Copies([[readable[i] for i in one] for one in found], skipped)


def keep_together(data: Dataset, copies: Copies) -> list[str | None]:
    """Return the groups of images such that copies share one.

    Sets that share an image with a group join it. The copies of a class that would have a single
    group left are not joined: it could not be tested.
    """
    groups = list(data.groups)
    before = _n_groups(data.labels, groups)
    joined = _joined(groups, copies.sets)
    after = _n_groups(data.labels, joined)
    lost = [label for label in before if after[label] < 2 <= before[label]]
    return [
        group if label in lost else other
        for label, group, other in zip(data.labels, groups, joined)
    ]


def _n_groups(labels: np.ndarray, groups: Sequence[str | None]) -> dict[str, int]:
    """Return the number of groups of each class."""
    names = [f"image {i}" if group is None else f"group {group}" for i, group in enumerate(groups)]
    members = set(zip(labels.tolist(), names))
    return {label: sum(one == label for one, _ in members) for label in np.unique(labels).tolist()}


def _joined(groups: Sequence[str | None], sets: Sequence[Sequence[int]]) -> list[str | None]:
    """Return groups of which those that share an image with a set of copies are one."""
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        while parent.setdefault(name, name) != name:
            name = parent[name]
        return name

    named: list[str | None] = list(groups)
    for one in sets:
        for i in one:
            if named[i] is None:
                named[i] = f"copies of image {one[0]}"
        first = root(str(named[one[0]]))
        for i in one[1:]:
            parent[root(str(named[i]))] = first
    return [None if name is None else root(name) for name in named]
