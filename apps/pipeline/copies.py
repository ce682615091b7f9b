"""Near copies among labelled images, which folds and holdouts keep on one side."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from visualwords.apps.pipeline.appearance import N_STATISTICS, appearance_stage
from visualwords.apps.pipeline.contents import OpenedImage
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.stage import Environment, Stage, each_image
from visualwords.apps.pipeline.view import View
from visualwords.duplicates import SIDE, Portrait, find_near_duplicates, portrait
from visualwords.errors import Skipped

__all__ = ["Copies", "describe_copies", "draw_portraits", "find_copies", "keep_together"]

NUMBERS = SIDE**2 + 5  # of a portrait as one array


@dataclass(frozen=True)
class Copies:
    """Near copies among images.

    Attributes
    ----------
    sets : positions of the images of each set of copies
        Connected components of similar pairs: sets may be chains, as frames of a video are, so
        that no pair of near copies is ever divided.
    skipped : the images that could not be read
    statistics : (n, n_statistics) float32 or None
        How each image looks (`visualwords.apps.pipeline.appearance`), if that was measured too;
        NaN for one that could not be read.
    """

    sets: list[list[int]]
    skipped: list[Skipped]
    statistics: np.ndarray | None = None


def describe_copies(sets: Sequence[Sequence[str]]) -> str:
    """Return how many images, of one set at least, are near copies, in a sentence."""
    n, first = sum(map(len, sets)), " = ".join(sets[0][:2])
    return (
        f"{n} images are near copies of each other, in {len(sets)} set{'s' * (len(sets) != 1)}; "
        f"each set stays in one fold (first: {first})"
    )


def draw_portraits(data: Dataset, env: Environment) -> tuple[np.ndarray, list[Skipped]]:
    """Return the portraits of all images, (n, SIDE² + 5), and the images that have none.

    The rows of these are NaN.
    """
    table = np.full((len(data), NUMBERS), np.nan, np.float32)
    skipped = []
    for i, made in enumerate(each_image([_portrait_stage()], data, env, "looking at images")):
        if isinstance(made, Skipped):
            skipped.append(made)
        else:
            table[i] = made[0]
    return table, skipped


def _portrait_stage() -> Stage:
    return Stage("portrait", {"side": SIDE}, draw_portrait, accepts=Portrait.is_array_of_one)


def draw_portrait(image: OpenedImage) -> np.ndarray:
    """Return the portrait of an image as one array."""
    return portrait(image.pixels("rgb", View(8 * SIDE))).to_array()


def find_copies(data: Dataset, env: Environment, *, measured: bool = False) -> Copies:
    """Look at all images; return which look the same, and which can't be read.

    Parameters
    ----------
    data : Dataset
    env : Environment
    measured : bool
        Whether to measure how images look in the same pass.
    """
    stages = [_portrait_stage()] + [appearance_stage()] * measured
    skipped: list[Skipped] = []
    readable: list[int] = []
    looks = np.empty((len(data), NUMBERS), np.float32)
    statistics = np.full((len(data), N_STATISTICS), np.nan, np.float32) if measured else None
    for i, made in enumerate(each_image(stages, data, env, "looking at images")):
        if isinstance(made, Skipped):
            skipped.append(made)
            continue
        looks[len(readable)] = made[0]
        readable.append(i)
        if statistics is not None:
            statistics[i] = made[-1]
    found = find_near_duplicates(looks[: len(readable)]).components()
    return Copies([[readable[i] for i in one] for one in found], skipped, statistics)


def keep_together(data: Dataset, copies: Copies) -> list[str | None]:
    """Return the groups of images such that copies share one.

    Sets that share an image with a group join it. The copies of a class that would have a single
    group left are not joined: it could not be tested.
    """
    groups = list(data.groups)
    before = _n_groups(data.labels, groups)
    joined = _joined(groups, copies.sets)
    after = _n_groups(data.labels, joined)
    lost = {label for label in before if after[label] < 2 <= before[label]}
    return [
        group if label in lost else other
        for label, group, other in zip(data.labels, groups, joined)
    ]


def _n_groups(labels: np.ndarray, groups: Sequence[str | None]) -> Counter[str]:
    """Return the number of groups of each class."""
    names = (f"image {i}" if group is None else f"group {group}" for i, group in enumerate(groups))
    return Counter(label for label, _ in set(zip(labels.tolist(), names)))


def _joined(groups: Sequence[str | None], sets: Sequence[Sequence[int]]) -> list[str | None]:
    """Return groups of which those that share an image with a set of copies are one."""
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        while parent.setdefault(name, name) != name:
            parent[name] = name = parent[parent[name]]  # halve the way for the next time
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
