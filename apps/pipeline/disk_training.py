"""Training on more images than memory holds: rows wait on disk, the classifier reads blocks.

Images pass one after the other. What stays in memory are the sample of patches that encoders learn
from, a block of rows, the classifier's weights, and some bytes for every image.
"""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
from scipy import sparse

from visualwords.apps.pipeline.channel_encoder import ChannelEncoder, Rows, rows_of
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.encoding import encode, encode_each
from visualwords.apps.pipeline.recipe import Recipe
from visualwords.apps.pipeline.sampling import chosen_images
from visualwords.apps.pipeline.stage import Arrays
from visualwords.apps.pipeline.trained import Trained
from visualwords.apps.pipeline.training import Training
from visualwords.codebook.codebook import fair_shares
from visualwords.errors import FolderError, Skipped

BLOCK = 1024  # images
TRIAL = 2000  # images that recipes are compared on where memory is bounded
HELD_BACK = 2000  # images at most that calibrate probabilities and train nothing
COPIES = 3  # of the rows that are in memory at once: encoded, assembled, and as levels
CLASSIFIER = "PmSVMClassifier"
C = 1.0  # folds of scene15's training images had 83.9 % from 0.01 to 1; short rows want more


def trial_of(training: Training, candidates: Sequence[Recipe]) -> tuple[Training, list[Recipe]]:
    """Return what to compare recipes on: of many images some, and recipes that train from disk."""
    if len(training.data) <= TRIAL:
        return training, list(candidates)
    some = chosen_images(training.data.codes, training.seed, TRIAL)
    return training.part(some), [r for r in candidates if r.classifier == "ICDClassifier"]


def train_within(training: Training, recipe: Recipe, memory: int) -> Trained:
    """Learn a recipe in memory if its rows take at most so many bytes, else from disk."""
    encoders = training.learn(recipe)
    data = training.data
    some = data.part(chosen_images(data.codes, training.seed))
    found = encode(encoders, some, recipe.view, training.env)
    parts = [e.assemble(c, learn=True) for e, c in zip(encoders, found.channels)]
    bytes_of_a_row = sum(part.shape[1] * part.dtype.itemsize for part in parts)
    if COPIES * len(data) * bytes_of_a_row <= memory:
        return training.train(recipe)
    return _train_on_disk(training, recipe, encoders)


def _train_on_disk(
    training: Training, recipe: Recipe, encoders: Sequence[ChannelEncoder]
) -> Trained:
    """Learn a recipe of histograms with the χ² kernel; classes are mixed in every block."""
    data, env = training.data, training.env
    if recipe.classifier != "ICDClassifier":
        raise FolderError(
            f"{len(data)} images are too many for recipe {recipe.name!r} in the memory "
            "that is allowed; allow more, or take recipe 'words', which can train from disk"
        )
    if recipe.copies:
        raise FolderError(
            f"recipe {recipe.name!r} trains on copies of images, which are encoded in memory; "
            'allow more memory, or set copies = "none"'
        )
    parameters = {"C": recipe.classifier_params.get("C", C)}
    recipe = replace(recipe, classifier=CLASSIFIER, classifier_params=parameters)
    order, n_held_back = _order(data, training.seed)
    stream = encode_each(encoders, data.part(order), recipe.view, env)
    with tempfile.TemporaryDirectory(prefix="visualwords-") as folder:
        log = _Log(order)
        held_back = sparse.csr_matrix(rows_of(encoders, log.readable(islice(stream, n_held_back))))
        held_back_labels = data.labels[log.kept]
        blocks = _StoredBlocks(Path(folder), data.labels)
        while not log.complete:
            rows = sparse.csr_matrix(rows_of(encoders, log.readable(islice(stream, BLOCK))))
            blocks.append(rows, log.kept[blocks.n_rows + len(held_back_labels) :])
        training.skipped = log.skipped_in_order
        kept = data.part(log.kept)
        kept.check_classes()
        env.progress.start("training the classifier", 1)
        classifier = training.build_classifier(recipe).fit_blocks(blocks, folder)
        env.progress.advance()
    measured = np.array_equal(np.unique(held_back_labels), classifier.classes_)
    scores = classifier.decision_function(held_back) if measured else None
    return Trained(
        recipe,
        list(encoders),
        classifier,
        np.array(log.kept, np.intp),
        training.skipped,
        [content.digest for content in kept.contents if content.digest],
        None,
        scores,
        held_back_labels,
    )


def _order(data: Dataset, seed: int) -> tuple[np.ndarray, int]:
    """Return the images in random order, those that are held back first, and their number.

    Of every class up to a tenth is held back, in equal shares of `HELD_BACK`; of groups, which
    stay together, one fold. Where a class is too small for that, there are no probabilities.
    """
    codes = data.codes
    random = np.random.default_rng(seed)
    order = random.permutation(len(codes))
    if data.is_grouped:
        held_back = _fold_to_hold_back(data, order, seed)
    else:
        shares = fair_shares(np.bincount(codes) // 10, HELD_BACK)
        held_back = np.concatenate([order[codes[order] == c][:n] for c, n in enumerate(shares)])
    others = order[~np.isin(order, held_back)]
    return np.concatenate([held_back, others]), len(held_back)


def _fold_to_hold_back(data: Dataset, order: np.ndarray, seed: int) -> np.ndarray:
    """Return the images of a fold, in this order; none if it, or what is left, lacks a class."""
    folds = data.folds(max(10, -(-len(data) // HELD_BACK)), seed)
    for inside in (True, False):
        if len(np.unique(data.codes[(folds == 0) == inside])) < len(data.classes):
            return order[:0]
    return order[folds[order] == 0]


class _Log:
    """What became of every image of a stream, by its position in the data set."""

    def __init__(self, order: np.ndarray):
        self.order = order
        self.kept: list[int] = []
        self.skipped: dict[int, Skipped] = {}

    @property
    def complete(self) -> bool:
        return len(self.kept) + len(self.skipped) == len(self.order)

    @property
    def skipped_in_order(self) -> list[Skipped]:
        return [self.skipped[position] for position in sorted(self.skipped)]

    def readable(self, results: Iterator[Arrays | Skipped]) -> list[Arrays]:
        """Note all, and return the arrays of the images that could be read."""
        arrays = []
        for result in results:
            position = int(self.order[len(self.kept) + len(self.skipped)])
            if isinstance(result, Skipped):
                self.skipped[position] = result
                continue
            self.kept.append(position)
            arrays.append(result)
        return arrays


class _StoredBlocks:
    """Blocks of rows and labels in a folder, for ``PmSVMClassifier.fit_blocks``."""

    def __init__(self, folder: Path, labels: np.ndarray):
        self.folder, self.labels = folder, labels
        self.positions: list[list[int]] = []

    @property
    def n_rows(self) -> int:
        return sum(map(len, self.positions))

    def append(self, rows: Rows, positions: list[int]) -> None:
        if positions:
            sparse.save_npz(self._path(len(self.positions)), rows, compressed=False)
            self.positions.append(positions)

    def __iter__(self) -> Iterator[tuple[sparse.csr_matrix, np.ndarray]]:
        for number, positions in enumerate(self.positions):
            yield sparse.load_npz(self._path(number)), self.labels[positions]

    def _path(self, number: int) -> Path:
        return self.folder / f"rows-{number:06d}.npz"
