"""Training a recipe: patches are sampled, encoders learn, images are encoded, a classifier is fit.

Each stage is a plain function and its results are cached; this connects them, and remembers the
channels that several recipes share.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

import visualwords
from visualwords.apps.pipeline import extraction, sampling
from visualwords.apps.pipeline.encoding import ChannelEncoder, Rows, side_by_side
from visualwords.apps.pipeline.extraction import extract
from visualwords.apps.pipeline.inputs import Source, check_classes
from visualwords.apps.pipeline.reading import Reader, channel_settings
from visualwords.apps.pipeline.recipe import Channel, Recipe
from visualwords.apps.pipeline.sampling import chosen_images, learn
from visualwords.apps.pipeline.similarity import Signer
from visualwords.apps.pipeline.table_bytes import round_tables
from visualwords.apps.pipeline.trained import Trained, state_of, trained_of
from visualwords.classifiers import calibration
from visualwords.errors import FolderError
from visualwords.named_arrays import packed, unpacked
from visualwords.progress import Progress

FOLDS = 5
VERSION = 1  # of what classifiers learn; to be raised when the same rows give something else


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
        """Learn a recipe from the images that all its channels can take, or recall it.

        Raises
        ------
        FolderError
            If fewer than two classes are left, or the images are too small for the patches.
        """
        cache, key = self.reader_for(recipe.max_side).cache, self._key(recipe)
        known = None if cache is None or key is None else cache.get(key)
        if known is not None:
            self.last_skipped = []
            return trained_of(unpacked(known), recipe, self.labels, self.seed, n_jobs)
        trained = self._learn(recipe, n_jobs)
        if cache is not None and key is not None and self._were_as_named(trained):
            cache.put(key, packed(state_of(trained)))
        return trained

    def _learn(self, recipe: Recipe, n_jobs: int | None) -> Trained:
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
        classifier = recipe.build_classifier(self.seed, n_jobs)
        held_out = fit_and_hold_out(classifier, rows, self.labels[kept], self.seed)
        if recipe.classifier == "ICDClassifier":
            classifier = round_tables(classifier)
        signer = Signer()
        signatures = signer.fit_transform(rows)
        self.progress.advance()
        return Trained(
            recipe,
            encoders,
            classifier,
            np.array(kept, np.intp),
            skipped,
            [self.digests[i] for i in kept if self.digests[i]],
            (signer, signatures),
            held_out,
            self.labels[kept],
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

    @cached_property
    def _contents(self) -> list[bytes]:
        """Fingerprints of all files; of one that can't be read, the reason."""
        found = self.reader_for(None).contents(self.sources, self.progress)
        return [what.encode() if isinstance(what, str) else what for what in found]

    def _key(self, recipe: Recipe) -> str | None:
        """Return the name of what a recipe learns; None where that can't be kept."""
        reader = self.reader_for(recipe.max_side)
        if reader.cache is None or any(isinstance(s, np.ndarray) for s in self.sources):
            return None
        settings = {
            "stage": "train",
            "recipe": recipe.to_json(),
            "extractors": [channel_settings(channel) for channel in recipe.channels],
            "max_pixels": reader.max_pixels,
            "folds": FOLDS,
            "seed": self.seed,
            "version": [visualwords.__version__, VERSION, extraction.VERSION, sampling.VERSION],
        }
        content = repr((self._contents, self.labels.tolist()))
        return reader.cache.key(content.encode("utf-8", "surrogatepass"), settings)

    def _were_as_named(self, trained: Trained) -> bool:
        """Tell whether all files were learned from with the content that the key names.

        A file that was left out may have been out of reach for a moment only.
        """
        unchanged = (self.digests[i] == self._contents[i] for i in trained.kept.tolist())
        return not trained.skipped and all(unchanged)

    def _encode(self, recipe: Recipe) -> None:
        """Encode the images by those channels of a recipe that are new."""
        self.learned_encoders(recipe)
        names = [_name(channel, recipe.max_side) for channel in recipe.channels]
        new = [name for name in dict.fromkeys(names) if name not in self._encoded]
        if not new:
            return
        encoders = [self._encoders[name] for name in new]
        found = extract(self.sources, encoders, self.reader_for(recipe.max_side), self.progress)
        self.digests |= dict(zip(found.kept.tolist(), found.digests))
        for name, arrays in zip(new, found.channels):
            self._encoded[name] = dict(zip(found.kept.tolist(), arrays))
            self._skipped[name] = found.skipped


def fit_and_hold_out(classifier: Any, X: Rows, y: np.ndarray, seed: int) -> np.ndarray | None:
    """Fit a classifier; return scores of every row by one that was trained without its fold."""
    n_folds = min(FOLDS, int(np.unique(y, return_counts=True)[1].min()))
    if n_folds < 2:
        classifier.fit(X, y)
        return None
    if hasattr(classifier, "fit_and_hold_out"):
        return classifier.fit_and_hold_out(X, y, n_folds, seed)
    classifier.fit(X, y)
    return calibration.held_out_scores(classifier, X, y, n_folds=n_folds, random_state=seed)


def _name(channel: Channel, max_side: int | None) -> str:
    return repr((channel, max_side))
