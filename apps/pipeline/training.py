"""Training a recipe: patches are sampled, encoders learn, images are encoded, a classifier is fit.

Each stage is a plain function (`sampling`, `encoding`, here) and its results are cached; this
connects them, and remembers the channels that several recipes share.
"""

from typing import Any

import numpy as np

from visualwords.apps.pipeline.channel_encoder import (
    ChannelEncoder,
    Rows,
    channel_settings,
    side_by_side,
)
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.encoding import encode
from visualwords.apps.pipeline.recipe import Channel, Recipe
from visualwords.apps.pipeline.sampling import chosen_images, learn
from visualwords.apps.pipeline.similarity import Signer
from visualwords.apps.pipeline.stage import Environment, Stage, fingerprint_files
from visualwords.apps.pipeline.table_bytes import round_tables
from visualwords.apps.pipeline.trained import Trained, state_of, trained_of
from visualwords.classifiers import calibration
from visualwords.errors import FolderError, Skipped

FOLDS = 5


class Training:
    """Labelled images, and the channels of all recipes that were trained on them.

    Parameters
    ----------
    data : Dataset
    seed : int
    env : Environment

    Attributes
    ----------
    skipped : list of Skipped
        What the recipe that was trained last, or chosen, left out.
    chosen : Trained or None
        The best of several recipes that were trained on all images.
    """

    def __init__(self, data: Dataset, seed: int, env: Environment):
        self.data, self.seed, self.env = data, seed, env
        self.skipped: list[Skipped] = []
        self.chosen: Trained | None = None
        self._encoders: dict[str, ChannelEncoder] = {}
        self._encoded: dict[str, dict[int, np.ndarray]] = {}
        self._skipped: dict[str, list[Skipped]] = {}

    def train(self, recipe: Recipe) -> Trained:
        """Learn a recipe from the images that all its channels can take, or load it.

        Raises
        ------
        FolderError
            If fewer than two classes are left, or the images are too small for the patches.
        """
        stage, content = self._stage(recipe), None
        if self.env.cache is not None:
            fingerprint_files(self.data, self.env)
            content = self.data.fingerprint(labels=True)
        known = stage.load(content, self.env.cache)
        if known is not None:
            self.skipped = []
            return trained_of(known, recipe, self.data.labels, self.seed, self.env.n_jobs)
        encoders = self.learn(recipe)
        self.encode(recipe, encoders)
        trained = self._fit(recipe, encoders)
        if not trained.skipped:  # a file may have been out of reach for a moment only
            stage.store(content, self.env.cache, state_of(trained))
        return trained

    def learn(self, recipe: Recipe) -> list[ChannelEncoder]:
        """Return the encoders of a recipe's channels; those that are new learn from a sample."""
        names = [_name(channel, recipe.max_side) for channel in recipe.channels]
        new = {
            name: ChannelEncoder(channel, self.seed)
            for name, channel in zip(names, recipe.channels)
            if name not in self._encoders
        }
        learning = [encoder for encoder in new.values() if encoder.channel.learns]
        if learning:
            sample = self.data.part(chosen_images(self.data.codes, self.seed))
            learn(learning, sample, recipe.max_side, self.env)
        self._encoders |= new
        return [self._encoders[name] for name in names]

    def encode(self, recipe: Recipe, encoders: list[ChannelEncoder]) -> None:
        """Encode the images by those channels of a recipe that are new."""
        names = [_name(channel, recipe.max_side) for channel in recipe.channels]
        new = {n: e for n, e in zip(names, encoders) if n not in self._encoded}
        if not new:
            return
        found = encode(list(new.values()), self.data, recipe.max_side, self.env)
        for name, arrays in zip(new, found.channels):
            self._encoded[name] = dict(zip(found.kept.tolist(), arrays))
            self._skipped[name] = found.skipped

    def part(self, positions: np.ndarray) -> "Training":
        """Return the training of some of the images."""
        return Training(self.data.part(positions), self.seed, self.env)

    def _fit(self, recipe: Recipe, encoders: list[ChannelEncoder]) -> Trained:
        """Fit the classifier to the rows of the images that all channels could encode."""
        names = [_name(channel, recipe.max_side) for channel in recipe.channels]
        kept = sorted(set.intersection(*(set(self._encoded[name]) for name in names)))
        self.skipped = list(dict.fromkeys(s for name in names for s in self._skipped[name]))
        data = self.data.part(kept)
        data.check_classes()
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
        self.env.progress.start("training the classifier", 1)
        classifier = recipe.build_classifier(self.seed, self.env.n_jobs)
        folds = data.folds_of_all_classes(FOLDS, self.seed)
        held_out = fit_and_hold_out(classifier, rows, data.labels, folds)
        if recipe.classifier == "ICDClassifier":
            classifier = round_tables(classifier)
        signer = Signer()
        signatures = signer.fit_transform(rows)
        self.env.progress.advance()
        return Trained(
            recipe,
            encoders,
            classifier,
            np.array(kept, np.intp),
            self.skipped,
            [content.digest for content in data.contents if content.digest],
            (signer, signatures),
            held_out,
            data.labels,
        )

    def _stage(self, recipe: Recipe) -> Stage:
        settings = {
            "recipe": recipe.to_json(),
            "extractors": [channel_settings(channel) for channel in recipe.channels],
            "max_pixels": self.env.max_pixels,
            "folds": FOLDS,
            "seed": self.seed,
        }
        return Stage("train", settings)


def fit_and_hold_out(
    classifier: Any, X: Rows, y: np.ndarray, folds: np.ndarray | None
) -> np.ndarray | None:
    """Fit a classifier; return scores of every row by one that was trained without its fold."""
    if folds is None:
        classifier.fit(X, y)
        return None
    if hasattr(classifier, "fit_and_hold_out"):
        return classifier.fit_and_hold_out(X, y, folds)
    classifier.fit(X, y)
    return calibration.held_out_scores(classifier, X, y, folds=folds)


def _name(channel: Channel, max_side: int | None) -> str:
    return repr((channel, max_side))
