"""Hard negative mining: each round of training adds the false positives of the last one."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from visualwords.apps.detection.channels import make_channels
from visualwords.apps.detection.detector_training import (
    Learning,
    Samples,
    Vectors,
    crop_vectors,
    enlarged_again,
    hard_windows,
    random_windows,
    train_windows,
)
from visualwords.apps.detection.levels import Search
from visualwords.apps.detection.scanning import WindowScanner
from visualwords.apps.detection.window_model import Round
from visualwords.errors import FolderError
from visualwords.parallel import map_on_workers
from visualwords.progress import Progress

__all__ = ["Bootstrap", "collect"]

HARD_SCORE = -0.5  # of each channel; windows above it are hard: negatives belong below −1
HARD_OVERLAP = 0.7  # hard windows of one photograph overlap at most by this
HARD_STAGES = -1.0  # of earlier stages: at the margin, where a window hardly counts in training
HARD_TREES = -0.3  # of the sum of trees, in the units of their weight
FIRST_TREES = 0.25  # of the trees, while windows are collected
MOST_HARD = 50  # windows of one photograph and round

Image = Callable[[], np.ndarray]  # reads an image on demand


class Bootstrap:
    """Collects windows round by round; the same images give the same windows on any machine.

    Parameters
    ----------
    features : {"all", "quick", "both", "hog", "census", "acf"}
    search : Search
        Which windows of the photographs are looked at.
    learning : Learning
    classifier : {"cascade", "hik", "linear"}
        Whose mistakes are collected.
    smallest : float
        Least scale of objects that a search enlarges to the window. Below 1 each crop is also
        shown as it looks after such an enlargement.
    n_random : int
        Windows of each photograph to begin with.
    max_negatives : int
        No more windows are collected; bounds the memory.
    n_jobs : int or None
    progress : Progress
    """

    def __init__(
        self,
        features: str,
        search: Search,
        learning: Learning,
        *,
        classifier: str = "cascade",
        smallest: float = 1.0,
        n_random: int = 20,
        max_negatives: int = 25_000,
        n_jobs: int | None = None,
        progress: Progress,
    ):
        self.search = search
        self.channels = make_channels(features, search.shape, search.stride)
        self.learning = learning
        self.classifier = classifier
        self.smallest = smallest
        self.n_random = n_random
        self.max_negatives = max_negatives
        self.n_jobs = n_jobs
        self.progress = progress
        self.rounds: list[Round] = []

    def run(self, crops: Sequence[Image], photographs: Sequence[Image], n_rounds: int) -> Samples:
        """Return the crops' windows and all windows collected from the photographs."""
        shape, channels = self.search.shape, self.channels
        positives = self._windows("reading crops", crops, self._crop_vectors, True)
        seed = self.learning.random_state
        negatives = self._windows(
            "reading photographs",
            photographs,
            lambda k, image: random_windows(image, self.n_random, self.search, channels, [seed, k]),
            False,
        )
        if not len(negatives.positive):
            raise FolderError(
                f"none of the photographs is as large as the window of {shape.width}x{shape.height}"
            )
        self._note(negatives, len(negatives.positive))
        for number in range(n_rounds):
            scanner = self.scanner(positives + negatives, by_all=number == n_rounds - 1)
            room = self.max_negatives - len(negatives.positive)
            most = min(MOST_HARD, room // max(len(photographs), 1))
            if most < 1:
                break
            hard = self._windows(
                f"round {number + 1} of {n_rounds}",
                photographs,
                partial(self._hard, scanner, most),
                False,
            )
            negatives = negatives + hard
            self._note(negatives, len(hard.positive))
            if not len(hard.positive):
                break
        return positives + negatives

    def views(self, k: int, crop: np.ndarray) -> list[np.ndarray]:
        """Return the k-th crop, and how it looks if it was small and had to be enlarged."""
        if self.smallest >= 1:
            return [crop]
        rng = np.random.default_rng([self.learning.random_state, k])
        return [crop, enlarged_again(crop, self.smallest ** rng.random())]

    def scanner(self, samples: Samples, *, by_all: bool) -> WindowScanner:
        """Train on the windows collected so far: all channels, or trees alone where there are any.

        Trees meet all windows of a photograph, later stages only those that trees let pass.
        """
        has_trees = self.channels[0].name == "acf"
        channels = self.channels[:1] if has_trees and not by_all else self.channels
        self.progress.start("training", 1)
        model = train_windows(samples, channels, self.learning, linear=False, share=FIRST_TREES)
        self.progress.advance()
        model = replace(
            model,
            first_thresholds=np.array(
                [self._least_of_trees if has_trees else HARD_STAGES], np.float32
            ),
            stage_thresholds=(HARD_STAGES,) * len(model.stage_thresholds),
        )
        return WindowScanner(channels, model, self.classifier)

    def _crop_vectors(self, k: int, crop: np.ndarray) -> Vectors:
        views = [
            crop_vectors(view, self.search.shape, self.channels) for view in self.views(k, crop)
        ]
        return [np.vstack(rows) for rows in zip(*views)]

    @property
    def _least_of_trees(self) -> float:
        return self.learning.acf_weight * HARD_TREES

    def _hard(self, scanner: WindowScanner, most: int, _: int, image: np.ndarray) -> Vectors:
        least = HARD_SCORE * min(len(scanner.channels), 2)
        if scanner.channels[0].name == "acf" and len(scanner.channels) == 1:
            least = self._least_of_trees
        return hard_windows(image, scanner, self.search, self.channels, least, most, HARD_OVERLAP)

    def _windows(
        self,
        stage: str,
        images: Sequence[Image],
        vectors_of: Callable[[int, np.ndarray], Vectors],
        positive: bool,
    ) -> Samples:
        """Return the vectors of all images in order, whatever the number of threads."""
        parts = list(collect(stage, images, vectors_of, self.n_jobs, self.progress))
        vectors = [np.vstack(channel) for channel in zip(*parts)]
        source = np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts])
        return Samples(vectors, np.full(len(source), positive), source)

    def _note(self, negatives: Samples, n_new: int) -> None:
        self.rounds.append(Round(len(negatives.positive), n_new))


def collect(
    stage: str,
    images: Sequence[Image],
    work: Callable[[int, np.ndarray], Any],
    n_jobs: int | None,
    progress: Progress,
) -> Iterator[Any]:
    """Read images and yield ``work(number, image)`` of each, in order, showing progress."""
    progress.start(stage, len(images))
    for result in map_on_workers(_read, enumerate(images), shared=[work], n_jobs=n_jobs):
        progress.advance()
        yield result


def _read(work: Callable[[int, np.ndarray], Any], k: int, image: Image) -> Any:
    return work(k, image())
