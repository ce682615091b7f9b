"""Dividing labelled images into a training and a test part, at random but repeatably."""

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from visualwords.errors import FolderError


def choose_images(labels: Sequence[str], test_size: float, seed: int) -> np.ndarray:
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


def choose_groups(
    labels: Sequence[str], groups: Sequence[str | None], test_size: float, seed: int, origin: str
) -> np.ndarray:
    """Mark whole groups until about that share of each class is tested.

    An image without a group is a group of its own. Every class keeps an image on both sides;
    where no way to that is found, `FolderError` names the class (and the images' ``origin``).
    """
    members = defaultdict(list)
    for position, group in enumerate(groups):
        members[f"group {group}" if group is not None else f"image {position}"].append(position)
    names = sorted(members)
    np.random.default_rng(seed).shuffle(names)
    counts = {name: Counter(labels[i] for i in members[name]) for name in names}
    is_test = np.zeros(len(labels), dtype=bool)
    for name in _fill(counts, Counter(labels), test_size, origin):
        is_test[members[name]] = True
    return is_test


def _fill(
    counts: dict[str, Counter], n_images: Counter, test_size: float, origin: str
) -> list[str]:
    """Choose groups in the order given: first those that are mostly wanted, then what is missing.

    counts : images of each class in each group      n_images : images of each class in all
    """
    wanted = {label: max(round(test_size * n), 1) for label, n in n_images.items()}
    tested: Counter = Counter()
    chosen: list[str] = []

    def leaves_some(name: str) -> bool:
        return all(tested[label] + n < n_images[label] for label, n in counts[name].items())

    def take(name: str) -> None:
        tested.update(counts[name])
        chosen.append(name)

    for name, group in counts.items():
        useful = sum(min(n, max(wanted[label] - tested[label], 0)) for label, n in group.items())
        if 2 * useful > group.total() and leaves_some(name):
            take(name)
    for label in sorted(n_images):
        if not tested[label]:
            able = [name for name, group in counts.items() if group[label] and leaves_some(name)]
            if not able:
                raise FolderError(
                    f"{origin}: found no way to keep the groups together and have class {label!r} "
                    "in both training and test; it needs images of more groups"
                )
            take(min(able, key=lambda name: counts[name].total()))
    return chosen
