"""The data sets and tasks at hand, each divided into training and test images.

Groups (objects of eth80, tracks of traffic signs, exposures of tiles) are never divided.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.data import DATA, image_folder
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.folders import ImageFolder

SETS = ("scene15", "caltech101", "corel1000", "eth80", "blood", "tiles", "traffic")
RECIPES = ("tiny", "fast", "words", "fisher", "moments")
TASKS = ("blood", "tiles", "traffic")


@dataclass(frozen=True)
class Division:
    """Training and test images of a data set.

    Attributes
    ----------
    name : of the set
    seed : of the division; standard splits have only one
    train, test : Dataset
    """

    name: str
    seed: int
    train: Dataset
    test: Dataset


def divisions(name: str, seeds: list[int]) -> Iterator[Division]:
    """Yield the standard split of a set, or random halves, of objects where there are such."""
    if name in TASKS:
        folder = ImageFolder(DATA / "tasks" / name / "table.csv")
    else:
        folder = image_folder(name)
    if name == "eth80":
        folder = folder.grouped([os.path.basename(path).split("-")[0] for path in folder.paths])
    if "train" in folder.splits:
        parts = folder.part("train"), folder.part("test")
        yield Division(name, 0, *(Dataset.of_folder(part) for part in parts))
        return
    for seed in seeds:
        parts = folder.split(0.5, seed)
        yield Division(name, seed, *(Dataset.of_folder(part) for part in parts))
