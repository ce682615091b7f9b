"""Some of many images, on which recipes are compared: the same ones every time."""

import numpy as np

from visualwords.apps.pipeline.dataset import Dataset

FEWEST = 20  # images of a class, if it has so many


def some_images(data: Dataset, n: int, seed: int) -> np.ndarray:
    """Return positions of about n images, ascending: classes in proportion, groups whole.

    A class gets at least `FEWEST` images, so that its figure means something.
    """
    codes, random = data.codes, np.random.default_rng(seed)
    order = random.permutation(len(codes))
    counts = np.bincount(codes)
    shares = np.maximum(np.ceil(counts * n / len(codes)), np.minimum(FEWEST, counts)).astype(int)
    chosen = [
        _whole_groups(order[codes[order] == c], data, share) for c, share in enumerate(shares)
    ]
    return np.sort(np.concatenate(chosen))


def _whole_groups(positions: np.ndarray, data: Dataset, share: int) -> np.ndarray:
    """Return positions group by group, in the order of their first images, until they suffice."""
    members: dict[str, list[int]] = {}
    for i in positions.tolist():
        group = data.groups[i]
        members.setdefault(f"image {i}" if group is None else f"group {group}", []).append(i)
    taken: list[int] = []
    for group in members.values():
        if len(taken) >= share:
            break
        taken += group
    return np.array(taken, np.intp)
