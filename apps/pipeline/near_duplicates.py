"""Near duplicates among labelled images, which folds and holdouts keep on one side."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from scipy.cluster.hierarchy import DisjointSet

from visualwords.apps.pipeline.appearance import appearance_step
from visualwords.apps.pipeline.contents import OpenedImage
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.stages import Encoded, Environment, Step, each_image
from visualwords.apps.pipeline.view import View
from visualwords.duplicates import SIDE, find_near_duplicates, portrait
from visualwords.errors import FolderError, Skipped

__all__ = [
    "describe_duplicates",
    "draw_portraits",
    "find_duplicates",
    "keep_together",
    "look_steps",
    "looked_at",
]

NUMBERS = SIDE**2 + 5  # of a portrait as one array
PORTRAIT_VIEW = View(8 * SIDE)


def describe_duplicates(sets: Sequence[Sequence[str]]) -> str:
    """How many images, of one set at least, are near duplicates, in a sentence."""
    n, first = sum(map(len, sets)), " = ".join(sets[0][:2])
    return (
        f"{n} images are near duplicates of each other, in {len(sets)} "
        f"set{'s' * (len(sets) != 1)}; each set stays in one fold (first: {first})"
    )


def portrait_step() -> Step:
    """The step that draws the portrait of each image."""
    return Step("portrait", {"side": SIDE}, draw_portrait)


def draw_portrait(image: OpenedImage) -> np.ndarray:
    """The portrait of an image as one array."""
    return portrait(image.pixels("rgb", PORTRAIT_VIEW)).to_array()


def draw_portraits(data: Dataset, env: Environment) -> tuple[np.ndarray, list[Skipped]]:
    """The portraits of all images, (n, SIDE² + 5), and the images that have none.

    The rows of these are NaN.
    """
    table = np.full((len(data), NUMBERS), np.nan, np.float32)
    skipped = []
    for i, made in enumerate(each_image([portrait_step()], data, env, "looking at images")):
        if isinstance(made, Skipped):
            skipped.append(made)
        else:
            table[i] = made[0]
    return table, skipped


def find_duplicates(data: Dataset, env: Environment) -> tuple[list[list[int]], list[Skipped]]:
    """The sets of positions whose images look the same, and the images that can't be read.

    Sets are connected components of similar pairs. They may be chains, as frames of a video are,
    so that no pair of near duplicates is ever divided.
    """
    portraits, skipped = draw_portraits(data, env)
    readable = np.flatnonzero(~np.isnan(portraits[:, 0]))
    return similar_sets(portraits[readable], readable), skipped


def look_steps() -> list[Step]:
    """The steps of a pass that look at images: for duplicates, and for what is novel."""
    return [portrait_step(), appearance_step()]


def looked_at(part: Dataset, encoded: Encoded) -> tuple[Dataset, list[list[str]]]:
    """The images that can be read, near duplicates in one group, and the names of these.

    Parameters
    ----------
    part : Dataset
        The images that can be read.
    encoded : Encoded
        What `look_steps` made of them comes first in its ``more``.
    """
    try:
        part.check_classes()
    except FolderError as problem:
        skipped = encoded.skipped
        left_out = f"; {len(skipped)} images were left out (first: {skipped[0]})" if skipped else ""
        raise FolderError(f"{problem}{left_out}") from None
    sets = similar_sets(np.stack(encoded.more[0]), np.arange(len(part)))
    grouped = part.grouped(keep_together(part, sets)) if sets else part
    return grouped, [[part.names[i] for i in one] for one in sets]


def similar_sets(portraits: np.ndarray, positions: np.ndarray) -> list[list[int]]:
    """The sets of positions whose portraits are similar."""
    sets = find_near_duplicates(portraits).components()
    return [[int(positions[i]) for i in one] for one in sets]


def keep_together(data: Dataset, sets: Sequence[Sequence[int]]) -> list[str | None]:
    """The groups of images such that near duplicates share one.

    Sets that share an image with a group join it. The duplicates of a class that would have a
    single group left are not joined: it could not be tested.
    """
    groups = list(data.groups)
    before = _n_groups(data.labels, groups)
    joined = _joined(groups, sets)
    after = _n_groups(data.labels, joined)
    lost = {label for label in before if after[label] < 2 <= before[label]}
    return [
        group if label in lost else other
        for label, group, other in zip(data.labels, groups, joined)
    ]


def _n_groups(labels: np.ndarray, groups: Sequence[str | None]) -> Counter[str]:
    """The number of groups of each class."""
    names = (f"image {i}" if group is None else f"group {group}" for i, group in enumerate(groups))
    return Counter(label for label, _ in set(zip(labels.tolist(), names)))


def _joined(groups: Sequence[str | None], sets: Sequence[Sequence[int]]) -> list[str | None]:
    """Groups of which those that share an image with a set of duplicates are one."""
    named: list[str | None] = list(groups)
    for one in sets:
        for i in one:
            if named[i] is None:
                named[i] = f"duplicates of image {one[0]}"
    joined = DisjointSet(named)
    for one in sets:
        for i in one[1:]:
            joined.merge(named[one[0]], named[i])
    return [None if name is None else joined[name] for name in named]
