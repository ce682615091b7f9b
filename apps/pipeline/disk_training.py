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

from visualwords.apps.pipeline.encoding import ChannelEncoder, Rows, rows_of
from visualwords.apps.pipeline.extraction import Encoded, encode_each, extract
from visualwords.apps.pipeline.inputs import check_classes
from visualwords.apps.pipeline.recipe import Recipe
from visualwords.apps.pipeline.sampling import chosen_images
from visualwords.apps.pipeline.trained import Trained
from visualwords.apps.pipeline.training import TrainingImages
from visualwords.codebook.fair_shares import fair_shares
from visualwords.errors import FolderError

BLOCK = 1024  # images
TRIAL = 2000  # images that recipes are compared on where memory is bounded
HELD_BACK = 2000  # images at most that calibrate probabilities and train nothing
COPIES = 3  # of the rows that are in memory at once: encoded, assembled, and as levels
CLASSIFIER = "PmSVMClassifier"
C = 1.0  # folds of scene15's training images had 83.9 % from 0.01 to 1; short rows want more


def trial_of(
    images: TrainingImages, candidates: Sequence[Recipe]
) -> tuple[TrainingImages, list[Recipe]]:
    """Return what to compare recipes on: of many images some, and recipes that train from disk."""
    if len(images.sources) <= TRIAL:
        return images, list(candidates)
    some = chosen_images(images.codes, images.seed, TRIAL)
    return images.part(some), [r for r in candidates if r.classifier == "ICDClassifier"]


def train_within(
    images: TrainingImages, recipe: Recipe, memory: int, n_jobs: int | None
) -> Trained:
    """Learn a recipe in memory if its rows take at most so many bytes, else from disk."""
    encoders = images.learned_encoders(recipe)
    reader = images.reader_for(recipe.max_side)
    some = [images.sources[i] for i in chosen_images(images.codes, images.seed)]
    found = extract(some, encoders, reader, images.progress)
    parts = [e.assemble(c, learn=True) for e, c in zip(encoders, found.channels)]
    bytes_of_a_row = sum(part.shape[1] * part.dtype.itemsize for part in parts)
    if COPIES * len(images.sources) * bytes_of_a_row <= memory:
        return images.train(recipe, n_jobs)
    return _train_on_disk(images, recipe, encoders, n_jobs)


def _train_on_disk(
    images: TrainingImages, recipe: Recipe, encoders: Sequence[ChannelEncoder], n_jobs: int | None
) -> Trained:
    """Learn a recipe of histograms with the χ² kernel; classes are mixed in every block."""
    if recipe.classifier != "ICDClassifier":
        raise FolderError(
            f"{len(images.sources)} images are too many for recipe {recipe.name!r} in the memory "
            "that is allowed; allow more, or take recipe 'words', which can train from disk"
        )
    parameters = {"C": recipe.classifier_params.get("C", C)}
    recipe = replace(recipe, classifier=CLASSIFIER, classifier_params=parameters)
    order, n_held_back = _order(images.codes, images.seed)
    stream = encode_each(
        [images.sources[i] for i in order],
        encoders,
        images.reader_for(recipe.max_side),
        images.progress,
    )
    with tempfile.TemporaryDirectory(prefix="visualwords-") as folder:
        log = _Log(order)
        held_back = sparse.csr_matrix(rows_of(encoders, log.readable(islice(stream, n_held_back))))
        held_back_labels = images.labels[log.kept]
        blocks = _StoredBlocks(Path(folder), images.labels)
        while not log.complete:
            rows = sparse.csr_matrix(rows_of(encoders, log.readable(islice(stream, BLOCK))))
            blocks.append(rows, log.kept[blocks.n_rows + len(held_back_labels) :])
        images.last_skipped = sorted(log.skipped)
        check_classes(images.labels[log.kept])
        images.progress.start("training the classifier", 1)
        classifier = recipe.build_classifier(images.seed, n_jobs).fit_blocks(blocks, folder)
        images.progress.advance()
    measured = np.array_equal(np.unique(held_back_labels), classifier.classes_)
    scores = classifier.decision_function(held_back) if measured else None
    return Trained(
        recipe,
        list(encoders),
        classifier,
        np.array(log.kept, np.intp),
        images.last_skipped,
        log.digests,
        None,
        scores,
        held_back_labels,
    )


def _order(codes: np.ndarray, seed: int) -> tuple[np.ndarray, int]:
    """Return the images in random order, those that are held back first, and their number.

    Of every class up to a tenth is held back, in equal shares of `HELD_BACK`. Where a class is too
    small for that, there are no probabilities.
    """
    random = np.random.default_rng(seed)
    order = random.permutation(len(codes))
    shares = fair_shares(np.bincount(codes) // 10, HELD_BACK)
    held_back = np.concatenate([order[codes[order] == c][:n] for c, n in enumerate(shares)])
    others = order[~np.isin(order, held_back)]
    return np.concatenate([held_back, others]), len(held_back)


class _Log:
    """What became of every image of a stream, by its position in the list of sources."""

    def __init__(self, order: np.ndarray):
        self.order = order
        self.kept: list[int] = []
        self.digests: list[bytes] = []
        self.skipped: list[tuple[int, str]] = []

    @property
    def complete(self) -> bool:
        return len(self.kept) + len(self.skipped) == len(self.order)

    def readable(self, results: Iterator[Encoded | str]) -> list[list[np.ndarray]]:
        """Note all, and return the arrays of the images that could be read."""
        arrays = []
        for result in results:
            position = int(self.order[len(self.kept) + len(self.skipped)])
            if isinstance(result, str):
                self.skipped.append((position, result))
                continue
            digest, channels = result
            self.kept.append(position)
            self.digests += [digest] * bool(digest)
            arrays.append(channels)
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
