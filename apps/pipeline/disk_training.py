"""Training on more images than memory holds: rows wait on disk, the classifier reads blocks.

Images pass one after the other. What stays in memory are the sample of patches that encoders learn
from, a block of rows, the classifier's weights, and some bytes for every image. The classifier,
probabilities, novelty and similar images are those of training in memory: Fisher vectors and other
signed bytes give the same model file; histograms differ in the scale and the limits of their
levels, which are learned from a sample.
"""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import numpy as np
from scipy import sparse

from visualwords.apps.pipeline.channel_encoder import ChannelEncoder, Rows, rows_of, side_by_side
from visualwords.apps.pipeline.encoding import chosen_images, encode, encode_each
from visualwords.apps.pipeline.novelty import sampled_distances, spread
from visualwords.apps.pipeline.recipe import Recipe
from visualwords.apps.pipeline.similarity import BUCKETS, LEARN_FROM, Signer, sketch_rows
from visualwords.apps.pipeline.stage import Arrays, Environment
from visualwords.apps.pipeline.trained import Trained, round_tables
from visualwords.apps.pipeline.training import FOLDS, Training
from visualwords.classifiers.row_file import RowFile
from visualwords.errors import FolderError, Skipped
from visualwords.parallel import workers_share_memory

BLOCK = 256  # images
TRIAL = 2000  # images that recipes are compared on where memory is bounded
COPIES = 3  # of the rows that are in memory at once: encoded, assembled, and as levels
FROM_DISK = ("ByteLinearClassifier", "ICDClassifier")


def trial_of(training: Training, candidates: Sequence[Recipe]) -> tuple[Training, list[Recipe]]:
    """Return what to compare recipes on: of many images some, and recipes that train from disk."""
    if len(training.data) <= TRIAL:
        return training, list(candidates)
    some = chosen_images(training.data.codes, training.seed, TRIAL)
    return training.part(some), [r for r in candidates if r.classifier in FROM_DISK]


def train_within(training: Training, recipe: Recipe, memory: int) -> Trained:
    """Learn a recipe in memory if its rows take at most so many bytes, else from disk."""
    encoders = training.channels.learn(recipe)
    data = training.data
    some = data.part(chosen_images(data.codes, training.seed))
    found = encode(encoders, some, recipe.view, training.env)
    sample = side_by_side([e.assemble(c, learn=True) for e, c in zip(encoders, found.channels)])
    n_rows = len(data) * len(recipe.image_views())
    if COPIES * n_rows * sample.shape[1] * sample.dtype.itemsize <= memory:
        return training.train(recipe)
    if recipe.classifier not in FROM_DISK or sparse.issparse(sample):
        raise FolderError(
            f"{len(data)} images are too many for recipe {recipe.name!r} in the memory "
            "that is allowed; allow more, or take a recipe of histograms, words or Fisher vectors, "
            "which can train from disk"
        )
    if recipe.views:
        raise FolderError(
            f"recipe {recipe.name!r} trains on views of images, which are encoded in memory; "
            'allow more memory, or set copies = "none"'
        )
    return _train_on_disk(training, recipe, encoders, sample)


def _train_on_disk(
    training: Training, recipe: Recipe, encoders: list[ChannelEncoder], sample: Rows
) -> Trained:
    """Learn a recipe from rows in a file, in random order."""
    data, env = training.data, training.env
    order = np.random.default_rng(training.seed).permutation(len(data))
    with _folder(env) as folder:
        stored = _StoredRows(Path(folder), bool(sample.min(initial=0) >= 0))
        log = _Log(order)
        stream = encode_each(encoders, data.part(order), recipe.view, env)
        while not log.complete:
            stored.append(encoders, log.readable(islice(stream, BLOCK)))
        training.skipped = log.skipped_in_order
        in_file = np.array(log.kept, np.intp)
        kept = np.sort(in_file)
        place = np.argsort(in_file)  # in the file, of the images in their order
        known = data.part(kept)
        known.check_classes()
        folds = known.folds_of_all_classes(FOLDS, training.seed)
        env.progress.start("training the classifier", 1)
        classifier, held_out = training.build_classifier(recipe), None
        if folds is None:
            classifier.fit(stored.rows, data.labels[in_file])
        else:
            by_row = folds[np.searchsorted(kept, in_file)]
            found = classifier.fit_and_hold_out(stored.rows, data.labels[in_file], by_row)
            held_out = found[place]
        env.progress.advance()
        if recipe.classifier == "ICDClassifier":
            classifier = round_tables(classifier)
        signer, signatures, lengths = stored.signed(place)
        signed = signer, signatures[place], lengths[place]
        distances = None
        if folds is not None:
            measured = place[spread(len(kept))]
            sketch = np.concatenate([stored.sketches[p : p + 1] for p in measured])
            distances = sampled_distances(signed, sketch, known.codes, folds)
    return Trained(
        recipe,
        encoders,
        classifier,
        kept,
        training.skipped,
        [content.digest for content in known.contents if content.digest],
        held_out,
        known.labels,
        signed,
        distances,
    )


@contextmanager
def _folder(env: Environment) -> Iterator[str]:
    """Make a folder for rows: in the system's, or in the cache where other processes read them."""
    shared = None if workers_share_memory() else getattr(env.cache, "folder", None)
    if isinstance(shared, Path):
        shared.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="visualwords-", dir=shared) as folder:
        yield folder


class _StoredRows:
    """Rows of images, and their sketches for similar images, in files."""

    def __init__(self, folder: Path, are_counts: bool):
        self.rows, self.sketches = RowFile(folder / "rows"), RowFile(folder / "sketches")
        self.are_counts = are_counts
        self.total = np.zeros(BUCKETS)

    def append(self, encoders: Sequence[ChannelEncoder], images: list[Arrays]) -> None:
        """Add the rows of encoded images."""
        if not images:
            return
        rows = rows_of(encoders, images)
        self.rows.append(rows)
        sketch = sketch_rows(rows, self.are_counts)
        self.total += sketch.sum(axis=0, dtype=np.float64)
        self.sketches.append(sketch)

    def signed(self, place: np.ndarray) -> tuple[Signer, np.ndarray, np.ndarray]:
        """Learn what makes signatures; return it, all signatures and their lengths.

        ``place`` are the rows of the images in their order, of which some are learned from.
        """
        n = len(self.sketches)
        chosen = place[:: -(-n // LEARN_FROM)]
        some = np.concatenate([self.sketches[p : p + 1] for p in chosen])
        signer = Signer().fit_some(some, (self.total / n).astype(np.float32))
        parts = [signer.sign(self.sketches[i : i + BLOCK]) for i in range(0, n, BLOCK)]
        signatures, lengths = map(np.concatenate, zip(*parts))
        return signer, signatures, lengths


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
