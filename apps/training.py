"""Training a recipe: patches are sampled, encoders learn, images are encoded, a classifier is fit.

Each stage is a plain function and its results are cached; this connects them, and remembers the
channels that several recipes share.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import balanced_accuracy_score

import visualwords
from visualwords.apps import table_bytes
from visualwords.apps.encoding import ChannelEncoder, Rows, side_by_side
from visualwords.apps.extraction import extract
from visualwords.apps.inputs import Source, check_classes
from visualwords.apps.reading import Reader
from visualwords.apps.recipe import Channel, Recipe
from visualwords.apps.sampling import chosen_images, learn
from visualwords.apps.stage_memory import State, content_of_rows, remembered
from visualwords.cache import FeatureCache
from visualwords.classifiers import ICDClassifier, calibration, one_vs_rest
from visualwords.classifiers.byte_linear import ByteLinearClassifier
from visualwords.errors import FolderError
from visualwords.progress import Progress

FOLDS = 5
VERSION = 1  # of what classifiers learn; to be raised when the same rows give another one
HELD_OUT = "held out"


@dataclass(frozen=True)
class Trained:
    """A recipe that has learned.

    Attributes
    ----------
    recipe : Recipe
    encoders : list of ChannelEncoder
    classifier : fitted on the numbers of classes
    kept : positions of the images that it learned from
    skipped : list of (position, reason)
    digests : fingerprints of the files
    rows : matrix of the images that it learned from; None where they are on disk
    held_out : scores of images by classifiers that did not learn from them, those of `FOLDS` folds
        for all images; None if a class is too small
    held_out_labels : the labels of these images
    accuracy : mean per class of these scores
    """

    recipe: Recipe
    encoders: list[ChannelEncoder]
    classifier: Any
    kept: np.ndarray
    skipped: list[tuple[int, str]]
    digests: list[bytes]
    rows: Rows | None
    held_out: np.ndarray | None
    held_out_labels: np.ndarray
    accuracy: float | None


class TrainingImages:
    """Labelled images, encoded by as many channels as were asked for.

    Parameters
    ----------
    sources : sequence of paths or arrays
    labels : (n,) array of str
    reader_for : function of a longer side → Reader
    seed : int
    progress : Progress
    """

    def __init__(
        self,
        sources: Sequence[Source],
        labels: np.ndarray,
        reader_for: Callable[[int | None], Reader],
        seed: int,
        progress: Progress,
    ):
        self.sources, self.labels = sources, labels
        self.codes = np.unique(labels, return_inverse=True)[1]
        self.reader_for, self.seed, self.progress = reader_for, seed, progress
        self.digests: dict[int, bytes] = {}
        self.last_skipped: list[tuple[int, str]] = []
        self._encoders: dict[str, ChannelEncoder] = {}
        self._encoded: dict[str, dict[int, np.ndarray]] = {}
        self._skipped: dict[str, list[tuple[int, str]]] = {}

    def train(self, recipe: Recipe, n_jobs: int | None) -> Trained:
        """Learn a recipe from the images that all its channels can take.

        Raises
        ------
        FolderError
            If fewer than two classes are left, or the images are too small for the patches.
        """
        self._encode(recipe)
        names = [_name(channel, recipe.max_side) for channel in recipe.channels]
        kept = sorted(set.intersection(*(set(self._encoded[name]) for name in names)))
        skipped = sorted({item for name in names for item in self._skipped[name]})
        self.last_skipped = skipped
        check_classes(self.labels[kept])
        encoders = [self._encoders[name] for name in names]
        parts = [
            encoder.assemble([self._encoded[name][i] for i in kept], learn=True)
            for encoder, name in zip(encoders, names)
        ]
        rows = side_by_side(parts)
        if not rows.shape[1]:
            raise FolderError(
                f"the images are too small for the patches of recipe {recipe.name!r}; "
                "use larger images or recipe='auto'"
            )
        self.progress.start("training the classifier", 1)
        cache = self.reader_for(recipe.max_side).cache
        classifier, held_out = fitted(recipe, rows, self.labels[kept], self.seed, n_jobs, cache)
        self.progress.advance()
        return Trained(
            recipe,
            encoders,
            classifier,
            np.array(kept, np.intp),
            skipped,
            [self.digests[i] for i in kept if self.digests[i]],
            rows,
            held_out,
            self.labels[kept],
            None if held_out is None else accuracy_of(held_out, self.labels[kept]),
        )

    def part(self, positions: np.ndarray) -> "TrainingImages":
        """Return some of the images."""
        sources = [self.sources[i] for i in positions]
        return TrainingImages(
            sources, self.labels[positions], self.reader_for, self.seed, self.progress
        )

    def learned_encoders(self, recipe: Recipe) -> list[ChannelEncoder]:
        """Return the encoders of a recipe's channels; those that are new learn from a sample."""
        names = [_name(channel, recipe.max_side) for channel in recipe.channels]
        new = {
            name: ChannelEncoder(channel, self.seed)
            for name, channel in zip(names, recipe.channels)
            if name not in self._encoders
        }
        learning = [encoder for encoder in new.values() if encoder.channel.learns]
        if learning:
            reader = self.reader_for(recipe.max_side)
            chosen = [self.sources[i] for i in chosen_images(self.codes, self.seed)]
            learn(learning, chosen, reader, self.progress)
        self._encoders |= new
        return [self._encoders[name] for name in names]

    def _encode(self, recipe: Recipe) -> None:
        """Encode the images by those channels of a recipe that are new."""
        self.learned_encoders(recipe)
        names = [_name(channel, recipe.max_side) for channel in recipe.channels]
        new = [name for name in dict.fromkeys(names) if name not in self._encoded]
        if not new:
            return
        encoders = [self._encoders[name] for name in new]
        found = extract(self.sources, encoders, self.reader_for(recipe.max_side), self.progress)
        self.digests |= dict(zip(found.kept.tolist(), found.all_digests))
        for name, arrays in zip(new, found.channels):
            self._encoded[name] = dict(zip(found.kept.tolist(), arrays))
            self._skipped[name] = found.skipped


def fitted(
    recipe: Recipe,
    rows: Rows,
    labels: np.ndarray,
    seed: int,
    n_jobs: int | None,
    cache: FeatureCache | None,
) -> tuple[Any, np.ndarray | None]:
    """Return a recipe's classifier of labelled rows, and held-out scores, see `fit_and_hold_out`.

    The same rows are not learned from twice: what the classifier learned is kept in the cache.
    """

    def make() -> State:
        classifier = recipe.build_classifier(seed, n_jobs)
        held_out = fit_and_hold_out(classifier, rows, labels, seed)
        if isinstance(classifier, ICDClassifier):
            classifier = table_bytes.round_tables(classifier)
        scores = {} if held_out is None else {HELD_OUT: held_out}
        return table_bytes.pack(classifier) | scores

    settings = {
        "stage": "classifier",
        "classifier": [recipe.classifier, recipe.classifier_params],
        "folds": FOLDS,
        "seed": seed,
        "version": [visualwords.__version__, VERSION],
    }
    content = b"" if cache is None else content_of_rows(rows, labels)
    state = remembered(cache, content, settings, make)
    held_out = state.pop(HELD_OUT, None)
    classifier = recipe.build_classifier(seed, n_jobs).set_state(table_bytes.unpack(state))
    return classifier, held_out


def fit_and_hold_out(classifier: Any, X: Rows, y: np.ndarray, seed: int) -> np.ndarray | None:
    """Fit a classifier; return scores of every row by one that was trained without its fold."""
    n_folds = min(FOLDS, int(np.unique(y, return_counts=True)[1].min()))
    if n_folds < 2:
        classifier.fit(X, y)
        return None
    if isinstance(classifier, ByteLinearClassifier):
        return classifier.fit_and_hold_out(X, y, n_folds, seed)
    classifier.fit(X, y)
    return calibration.held_out_scores(classifier, X, y, n_folds=n_folds, random_state=seed)


def accuracy_of(scores: np.ndarray, labels: np.ndarray) -> float:
    """Return the mean accuracy per class of scores."""
    guesses = one_vs_rest.labels_of(scores, np.unique(labels))
    return float(balanced_accuracy_score(labels, guesses))


def _name(channel: Channel, max_side: int | None) -> str:
    return repr((channel, max_side))
