"""Training a recipe: patches are sampled, encoders learn, images are encoded, a classifier is fit.

Each stage is a plain function (`encoding`, here) and its results are cached; this
connects them, and remembers the channels that several recipes share.
"""

from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from visualwords.apps.pipeline.cached_arrays import try_out
from visualwords.apps.pipeline.channel_encoder import (
    ChannelEncoder,
    Rows,
    channel_settings,
    side_by_side,
)
from visualwords.apps.pipeline.channel_products import ChannelProducts, are_shared
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.encoding import chosen_images, encode, learn
from visualwords.apps.pipeline.novelty import sampled_distances, spread
from visualwords.apps.pipeline.recipe import Channel, Recipe
from visualwords.apps.pipeline.recipes import LINEAR
from visualwords.apps.pipeline.similarity import Signer, sketch_rows
from visualwords.apps.pipeline.stage import Environment, Stage, fingerprint_files
from visualwords.apps.pipeline.trained import (
    Trained,
    round_tables,
    state_of,
    state_of_signatures,
    trained_of,
    with_signatures,
)
from visualwords.apps.pipeline.view import View
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
    class_weight : dict, "balanced" or None
        Of the classifiers.

    Attributes
    ----------
    skipped : list of Skipped
        What the recipe that was trained last, or chosen, left out.
    chosen : Trained or None
        The best of several recipes that were trained on all images.
    """

    def __init__(self, data: Dataset, seed: int, env: Environment, class_weight: Any = None):
        self.data, self.seed, self.env = data, seed, env
        self.class_weight = class_weight
        self.skipped: list[Skipped] = []
        self.chosen: Trained | None = None
        self._encoders: dict[str, ChannelEncoder] = {}
        self._encoded: dict[str, dict[int, np.ndarray]] = {}
        self._skipped: dict[str, list[Skipped]] = {}
        self._side_by_side: dict[tuple[str, ...], np.ndarray] = {}
        self._products: ChannelProducts | None = None

    def train(self, recipe: Recipe) -> Trained:
        """Learn a recipe from the images that all its channels can take, or load it.

        Raises
        ------
        FolderError
            If fewer than two classes are left, or the images are too small for the patches.
        """
        return self.sign(self.try_recipe(recipe))

    def try_recipe(self, recipe: Recipe) -> Trained:
        """Learn a recipe as `train` does, but for signatures: enough to compare it with others."""
        stage, content = self._stage("train", recipe), self._content()
        known = stage.load(content, self.env.cache)
        if known is not None:
            with suppress(Exception):  # an entry that others wrote can be wrong in any way
                trained = trained_of(known, recipe, self.data.labels, self.seed, self.env.n_jobs)
                try_out(trained)
                self.skipped = []
                return trained
        encoders = self.learn(recipe)  # from a sample of patches
        data, rows = self.encode(recipe, encoders)  # of the images that can be read
        folds = data.folds_of_all_classes(FOLDS, self.seed)
        classifier = self.build_classifier(recipe)
        products = self._products_of(recipe, rows, data, folds)
        held_out = train_classifier(classifier, recipe, rows, data, folds, self.env, products)
        if recipe.classifier == "ICDClassifier":
            classifier = round_tables(classifier)
        trained = Trained(
            recipe,
            encoders,
            classifier,
            np.array(self._kept(recipe), np.intp),
            self.skipped,
            [content.digest for content in data.contents if content.digest],
            held_out,
            data.labels,
        )
        if not trained.skipped:  # a file may have been out of reach for a moment only
            stage.store(content, self.env.cache, state_of(trained))
        return trained

    def sign(self, trained: Trained) -> Trained:
        """Add signatures of the images that a recipe learned from, and how far apart they are."""
        stage, content = self._stage("sign", trained.recipe), self._content()
        known = None if trained.skipped else stage.load(content, self.env.cache)
        if known is not None:
            with suppress(Exception):  # an entry that others wrote can be wrong in any way
                return with_signatures(trained, known)
        data, rows = self.encode(trained.recipe, trained.encoders)
        folds = data.folds_of_all_classes(FOLDS, self.seed)
        sketch = sketch_rows(rows[: len(data)])
        signer = Signer().fit(sketch)
        signed, apart = (signer, *signer.sign(sketch)), None
        if folds is not None:
            some = sketch[spread(len(sketch))]
            apart = sampled_distances(signed, some, data.codes, folds, self.env.n_jobs)
        found = replace(trained, signed=signed, held_out_distances=apart)
        if not trained.skipped:
            stage.store(content, self.env.cache, state_of_signatures(found))
        return found

    def learn(self, recipe: Recipe) -> list[ChannelEncoder]:
        """Return the encoders of a recipe's channels; those that are new learn from a sample."""
        names = [_name(channel, recipe.view) for channel in recipe.channels]
        new = {
            name: ChannelEncoder(channel, self.seed)
            for name, channel in zip(names, recipe.channels)
            if name not in self._encoders
        }
        learning = [encoder for encoder in new.values() if encoder.channel.learns]
        if learning:
            sample = self.data.part(chosen_images(self.data.codes, self.seed))
            learn(learning, sample, recipe.view, self.env)
        self._encoders |= new
        return [self._encoders[name] for name in names]

    def encode(self, recipe: Recipe, encoders: list[ChannelEncoder]) -> tuple[Dataset, Rows]:
        """Return the images that all channels could encode, and their rows.

        Rows of copies follow those of all originals, in the order of the recipe's views. Only
        channels that are new pass over the images. Encoders learn the scale of their rows.
        """
        for view in recipe.views:
            self._encode_new(recipe, encoders, view)
        names = _names_of_all_views(recipe)
        kept = self._kept(recipe)
        self.skipped = list(dict.fromkeys(s for name in names for s in self._skipped[name]))
        data = self.data.part(kept)
        data.check_classes()
        rows = self._side_by_side.get(tuple(names))
        if rows is not None and len(rows) == len(data):
            return data, rows
        parts = [
            encoder.assemble(
                [self._encoded[_name(channel, view)][i] for view in recipe.views for i in kept],
                learn=True,
            )
            for encoder, channel in zip(encoders, recipe.channels)
        ]
        return data, side_by_side(parts)

    def _encode_new(self, recipe: Recipe, encoders: list[ChannelEncoder], view: View) -> None:
        """Encode the images, or copies of them, by those encoders that have not yet.

        A recipe of nothing but networks keeps their vectors: other weights and powers of them need
        no pass over the images.
        """
        names = [_name(channel, view) for channel in recipe.channels]
        new = {n: e for n, e in zip(names, encoders) if n not in self._encoded}
        vectors = {name: encoder.channel.plain for name, encoder in new.items()}
        if all(vectors[name] is not encoder.channel for name, encoder in new.items()):
            plain = {_name(c, view): ChannelEncoder(c, self.seed) for c in vectors.values()}
            self._pass_over({n: e for n, e in plain.items() if n not in self._encoded}, view)
        for name, channel in vectors.items():
            if (known := _name(channel, view)) in self._encoded:
                encoder = new.pop(name)
                numbers = self._encoded[known].items()
                self._encoded[name] = {i: encoder.encode(vector) for i, vector in numbers}
                self._skipped[name] = self._skipped[known]
        self._pass_over(new, view)

    def _pass_over(self, encoders: dict[str, ChannelEncoder], view: View) -> None:
        """Encode the images, and keep what was made of them by the names of the encoders."""
        if not encoders:
            return
        found = encode(list(encoders.values()), self.data, view, self.env)
        for name, arrays in zip(encoders, found.channels):
            self._encoded[name] = dict(zip(found.kept.tolist(), arrays))
            self._skipped[name] = found.skipped
        if found.rows is not None and all(e.channel.linear for e in encoders.values()):
            self._side_by_side[tuple(encoders)] = found.rows

    def _products_of(
        self, recipe: Recipe, rows: Rows, data: Dataset, folds: np.ndarray | None
    ) -> np.ndarray | None:
        """Return the products of all rows where a classifier wants them and channels share them."""
        if folds is None or recipe.classifier != LINEAR:
            return None
        if not are_shared(rows, len(data.classes), 1 + FOLDS):
            return None
        kept = self._kept(recipe)
        encoded = [self._encoded[_name(channel, recipe.view)] for channel in recipe.channels]
        names = [repr((channel, recipe.views, hash(tuple(kept)))) for channel in recipe.channels]
        self._products = self._products or ChannelProducts(self.env.n_jobs)
        return self._products.of(rows, names, [len(arrays[kept[0]]) for arrays in encoded])

    def part(self, positions: np.ndarray) -> "Training":
        """Return the training of some of the images."""
        return Training(self.data.part(positions), self.seed, self.env, self.class_weight)

    def build_classifier(self, recipe: Recipe) -> Any:
        """Make the classifier of a recipe, with the class weights."""
        return recipe.build_classifier(self.seed, self.env.n_jobs, self.class_weight)

    def _kept(self, recipe: Recipe) -> list[int]:
        """Return the positions of the images that all channels of a recipe could encode."""
        names = _names_of_all_views(recipe)
        return sorted(set.intersection(*(set(self._encoded[name]) for name in names)))

    def _content(self) -> bytes | None:
        """Return the fingerprint of images and labels; None without a cache."""
        if self.env.cache is None:
            return None
        fingerprint_files(self.data, self.env)
        return self.data.fingerprint(labels=True)

    def _stage(self, name: str, recipe: Recipe) -> Stage:
        settings = {
            "recipe": recipe.to_json(),
            "extractors": [channel_settings(channel) for channel in recipe.channels],
            "max_pixels": self.env.max_pixels,
            "folds": FOLDS,
            "seed": self.seed,
            "class_weight": self.class_weight,
        }
        return Stage(name, settings)


def train_classifier(
    classifier: Any,
    recipe: Recipe,
    rows: Rows,
    data: Dataset,
    folds: np.ndarray | None,
    env: Environment,
    products: np.ndarray | None = None,
) -> np.ndarray | None:
    """Fit the classifier of a recipe to the rows of images, and of copies, which come after them.

    A linear classifier of bytes may be given the products of all rows.

    Returns
    -------
    scores of every image by a classifier that was trained without its fold, or None
    """
    if not rows.shape[1]:
        raise FolderError(
            f"no image has a patch for recipe {recipe.name!r}: all are blank or too small; "
            "use larger images or recipe='auto'"
        )
    env.progress.start("training the classifier", 1)
    views = len(recipe.views)
    folds = None if folds is None else np.tile(folds, views)
    labels = np.tile(data.labels, views)
    if products is None:
        held_out = fit_and_hold_out(classifier, rows, labels, folds)
    else:
        held_out = classifier.fit_and_hold_out(rows, labels, folds, products)
    env.progress.advance()
    return None if held_out is None else held_out[: len(data)]


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


def _name(channel: Channel, view: View) -> str:
    """Return what tells the channels of all recipes apart, and what they make of copies."""
    return repr((channel, view))


def _names_of_all_views(recipe: Recipe) -> list[str]:
    return [_name(channel, view) for view in recipe.views for channel in recipe.channels]
