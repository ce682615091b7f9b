"""Hard negative mining: each round of training adds the false positives of the last one."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from visualwords.apps.detection import window_training as training
from visualwords.apps.detection.cascade import Cascade
from visualwords.apps.detection.window_training import Samples, Vectors
from visualwords.apps.detection.windows import Search
from visualwords.errors import FolderError
from visualwords.features.pixels import resize_image
from visualwords.parallel import map_on_workers
from visualwords.progress import Progress

__all__ = ["Bootstrap", "Image", "enlarged_again"]

HARD_STAGES = -1.0  # of all features: at the margin, where a window hardly counts in training
HARD_TREES = -0.3  # of the sum of trees, in the units of their weight
FIRST_TREES = 0.25  # of the trees, while windows are collected
N_RANDOM = 20  # windows of every photograph to begin with
MOST_HARD = 50  # windows of one photograph and round

Image = Callable[[], np.ndarray]  # reads an image on demand
Work = Callable[[int, np.ndarray], Any]  # on the k-th image


@dataclass
class Bootstrap:
    """Collects windows round by round; the same images give the same windows on any machine.

    Parameters
    ----------
    search : Search
        Which windows of the photographs are looked at.
    settings : mapping
        Parameters of `PedestrianDetector`.
    smallest : float
        Least scale of objects that a search enlarges to the window. Below 1 each crop is also
        shown as it looks after such an enlargement.
    progress : Progress

    Attributes
    ----------
    rounds : list of [int, int]
        Negative windows, and how many of them were new, in each round.
    """

    search: Search
    settings: Mapping[str, Any]
    smallest: float
    progress: Progress
    rounds: list[list[int]] = field(default_factory=list)

    def run(self, crops: Sequence[Image], photographs: Sequence[Image]) -> Samples:
        """Return the crops' windows and all windows collected from the photographs."""
        shape, seed = self.search.shape, self.settings["random_state"]

        def random(k: int, image: np.ndarray) -> Vectors:
            return training.random_windows(image, N_RANDOM, self.search, [seed, k])

        positives = self._windows("reading crops", crops, self._views_of_crop, True)
        negatives = self._windows("reading photographs", photographs, random, False)
        if not len(negatives.positive):
            window = f"{shape.width}x{shape.height}"
            raise FolderError(f"none of the photographs is as large as the window of {window}")
        self.rounds.append(2 * [len(negatives.positive)])
        n_rounds = self.settings["n_rounds"]
        for number in range(1, n_rounds + 1):
            room = self.settings["max_negatives"] - len(negatives.positive)
            most = min(MOST_HARD, room // len(photographs))
            if most < 1:
                break
            work = self._hard(positives + negatives, most, by_all=number == n_rounds)
            hard = self._windows(f"round {number} of {n_rounds}", photographs, work, False)
            negatives = negatives + hard
            self.rounds.append([len(negatives.positive), len(hard.positive)])
            if not len(hard.positive):
                break
        return positives + negatives

    def views(self, k: int, crop: np.ndarray) -> list[np.ndarray]:
        """Return the k-th crop, and how it looks if it was small and had to be enlarged."""
        if self.smallest >= 1:
            return [crop]
        rng = np.random.default_rng([self.settings["random_state"], k])
        return [crop, enlarged_again(crop, self.smallest ** rng.random())]

    def train(self, samples: Samples, *, share: float = 1.0) -> Cascade:
        """Return classifiers of the samples' features; ``share`` is that of the trees."""
        return training.train_cascade(samples, self.search.shape, self.settings, share=share)

    def collect(self, stage: str, images: Sequence[Image], work: Work) -> Iterator[Any]:
        """Read images and yield ``work(number, image)`` of each, in order, showing progress."""
        self.progress.start(stage, len(images))
        n_jobs = self.settings["n_jobs"]
        for result in map_on_workers(_read, enumerate(images), shared=[work], n_jobs=n_jobs):
            self.progress.advance()
            yield result

    def _views_of_crop(self, k: int, crop: np.ndarray) -> Vectors:
        every = [training.crop_vectors(view, self.search.shape) for view in self.views(k, crop)]
        return [np.vstack(rows) for rows in zip(*every)]

    def _hard(self, samples: Samples, most: int, *, by_all: bool) -> Work:
        """Train on the windows so far: trees alone, or all features; the search for hard windows.

        Trees meet all windows of a photograph, later stages only those that trees let pass.
        """
        least = HARD_TREES * training.TREES_WEIGHT
        used = samples if by_all else replace(samples, vectors=samples.vectors[:1])
        self.progress.start("training", 1)
        cascade = self.train(used, share=FIRST_TREES)
        stages = (HARD_STAGES,) * len(cascade.stage_thresholds)
        first = np.array([least], np.float32)
        cascade = replace(cascade, tree_thresholds=first, stage_thresholds=stages)
        self.progress.advance()
        lowest = HARD_STAGES if by_all else least
        return lambda _, image: training.hard_windows(image, cascade, self.search, lowest, most)

    def _windows(
        self, stage: str, images: Sequence[Image], vectors_of: Work, positive: bool
    ) -> Samples:
        """Return the vectors of all images in order, whatever the number of threads."""
        parts = list(self.collect(stage, images, vectors_of))
        vectors = [np.vstack(feature) for feature in zip(*parts)]
        source = np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts])
        return Samples(vectors, np.full(len(source), positive), source)


def enlarged_again(crop: np.ndarray, scale: float) -> np.ndarray:
    """Return a crop of the same size without the detail that reducing it to a scale takes away."""
    height, width = crop.shape[:2]
    small = resize_image(crop, max(round(width * scale), 1), max(round(height * scale), 1))
    return resize_image(small, width, height)


def _read(work: Work, k: int, image: Image) -> Any:
    return work(k, image())
