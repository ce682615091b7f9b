"""Training a recipe: patches are sampled, encoders learn, images are encoded, a classifier is fit.

Each stage is a plain function (`encoding`, here) and its results are cached; this connects them.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from visualwords.apps.pipeline.cached_arrays import try_out
from visualwords.apps.pipeline.channel_encoder import Rows, channel_settings
from visualwords.apps.pipeline.channel_products import are_shared
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.encoded_channels import EncodedChannels
from visualwords.apps.pipeline.novelty import sampled_distances, spread
from visualwords.apps.pipeline.recipe import Recipe
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
from visualwords.classifiers import calibration
from visualwords.classifiers.solvers.byte_rows import RowCoefficients
from visualwords.errors import FolderError, Skipped

FOLDS = 5
DIVISIONS, COMPARED = 5, 1000  # into folds, of few images: at most so many, until so many figures


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
    channels : EncodedChannels
        What channels made of the images.
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
        self.channels = EncodedChannels(data, seed, env)

    def train(self, recipe: Recipe) -> Trained:
        """Learn a recipe from the images that all its channels can take, or load it.

        Raises
        ------
        FolderError
            If fewer than two classes are left, or the images are too small for the patches.
        """
        return self.finish(self.try_recipe(recipe, last=True))

    def try_recipe(self, recipe: Recipe, last: bool = False) -> Trained:
        """Learn a recipe as far as it takes to compare it with others, or load it.

        Few images are divided into folds several times: their figures depend on the division more
        than recipes differ. Where no other recipe is tried after it, this is not done, and what is
        kept of its channels may be overwritten.
        """
        stage, content = self._stage("train", recipe), self._content()
        known = stage.load(content, self.env.cache)
        if known is not None:
            with suppress(Exception):  # an entry that others wrote can be wrong in any way
                trained = trained_of(known, recipe, self.data.labels, self.seed, self.env.n_jobs)
                try_out(trained)
                if last or self._is_compared(trained):
                    self.skipped = []
                    return trained
        encoders = self.channels.learn(recipe)  # from a sample of patches
        self.channels.encode(recipe, encoders)
        kept = self.channels.kept(recipe)
        self.skipped = self.channels.skipped(recipe)
        data = self.data.part(kept)  # the images that can be read
        data.check_classes()
        divisions = divisions_of(data, self.seed, 1 if last else n_divisions(len(data)))
        fit: Callable[..., Any]  # of a classifier and folds, to held-out scores
        if self._shares_products(recipe, data, divisions[0]):
            products = self.channels.products(recipe, last)
            fit = partial(self._fit_to_products, recipe, products, data)
        else:
            rows = self.channels.rows(recipe, encoders, last)
            how = {"recipe": recipe, "rows": rows, "data": data, "env": self.env}
            fit = lambda one, folds: (train_classifier(one, folds=folds, **how), None)  # noqa: E731
        classifier, *others = [self.build_classifier(recipe) for _ in divisions]
        held_out, coefficients = fit(classifier, folds=divisions[0])
        again: tuple[Any, ...] = tuple(
            fit(one, folds=folds)[0] for one, folds in zip(others, divisions[1:])
        )
        if recipe.classifier == "ICDClassifier":
            classifier = round_tables(classifier)
        trained = Trained(
            recipe,
            encoders,
            classifier,
            np.array(kept, np.intp),
            self.skipped,
            [content.digest for content in data.contents if content.digest],
            held_out,
            data.labels,
            held_out_again=again,
            coefficients=coefficients,
        )
        self._store(trained)
        return trained

    def _is_compared(self, trained: Trained) -> bool:
        """Return whether a recipe has the scores that others are compared with."""
        n = n_divisions(len(trained.kept)) if trained.held_out is not None else 1
        return len(trained.held_out_again) == n - 1

    def finish(self, trained: Trained) -> Trained:
        """Add what comparing recipes does not need: weights, and signatures of the images."""
        if trained.coefficients is not None:
            recipe, encoders = trained.recipe, trained.encoders
            rows = self.channels.rows(recipe, encoders, last=True)
            trained.classifier.weigh(rows, trained.coefficients)
            trained = replace(trained, coefficients=None)
            self._store(trained)
        return self._signed(trained)

    def _signed(self, trained: Trained) -> Trained:
        """Add signatures of the images that a recipe learned from, and how far apart they are."""
        stage, content = self._stage("sign", trained.recipe), self._content()
        known = None if trained.skipped else stage.load(content, self.env.cache)
        if known is not None:
            with suppress(Exception):  # an entry that others wrote can be wrong in any way
                found = with_signatures(trained, known)
                self.channels.free_rows()
                return found
        data = self.data.part(trained.kept)
        folds = data.folds_of_all_classes(FOLDS, self.seed)
        rows = self.channels.rows(trained.recipe, trained.encoders, last=True)
        sketch = sketch_rows(rows[: len(data)])
        del rows  # most of the memory
        self.channels.free_rows()
        signer = Signer().fit(sketch)
        signed, apart = (signer, *signer.sign(sketch)), None
        if folds is not None:
            some = sketch[spread(len(sketch))]
            apart = sampled_distances(signed, some, data.codes, folds, self.env.n_jobs)
        found = replace(trained, signed=signed, held_out_distances=apart)
        if not trained.skipped:
            stage.store(content, self.env.cache, state_of_signatures(found))
        return found

    def _shares_products(self, recipe: Recipe, data: Dataset, folds: np.ndarray | None) -> bool:
        """Return whether the classifier learns from products that channels share with others."""
        are_bytes = recipe.classifier == LINEAR and all(c.linear for c in recipe.channels)
        if folds is None or not are_bytes or not self.channels.width(recipe):
            return False
        return are_shared(len(data) * len(recipe.image_views()), len(data.classes), 1 + FOLDS)

    def _fit_to_products(
        self,
        recipe: Recipe,
        products: np.ndarray,
        data: Dataset,
        classifier: Any,
        folds: np.ndarray,
    ) -> tuple[np.ndarray, RowCoefficients]:
        """Fit to the products of rows; return originals' held-out scores, and coefficients."""
        self.env.progress.start("training the classifier", 1)
        views = len(recipe.image_views())
        found, coefficients = classifier.fit_on_products(
            products, np.tile(data.labels, views), np.tile(folds, views)
        )
        self.env.progress.advance()
        return found[: len(data)], coefficients

    def _store(self, trained: Trained) -> None:
        if not trained.skipped:  # a file may have been out of reach for a moment only
            stage = self._stage("train", trained.recipe)
            stage.store(self._content(), self.env.cache, state_of(trained))

    def part(self, positions: np.ndarray) -> "Training":
        """Return the training of some of the images."""
        return Training(self.data.part(positions), self.seed, self.env, self.class_weight)

    def build_classifier(self, recipe: Recipe) -> Any:
        """Make the classifier of a recipe, with the class weights."""
        return recipe.build_classifier(self.seed, self.env.n_jobs, self.class_weight)

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


def n_divisions(n_images: int) -> int:
    """Return how often images are divided into folds where recipes are compared.

    Examples
    --------
    >>> n_divisions(100), n_divisions(400), n_divisions(5000)
    (5, 2, 1)
    """
    return min(DIVISIONS, max(1, COMPARED // n_images))


def divisions_of(data: Dataset, seed: int, n: int) -> list[Any]:
    """Return the folds of every image, n times; [None] if a class is too small for them."""
    first = data.folds_of_all_classes(FOLDS, seed)
    if first is None:
        return [None]
    more = [data.folds_of_all_classes(FOLDS, seed + k) for k in range(1, n)]
    return [first, *(folds for folds in more if folds is not None)]


def train_classifier(
    classifier: Any,
    recipe: Recipe,
    rows: Rows,
    data: Dataset,
    folds: np.ndarray | None,
    env: Environment,
) -> np.ndarray | None:
    """Fit the classifier of a recipe to the rows of images, and then of their views.

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
    views = len(recipe.image_views())
    folds = None if folds is None else np.tile(folds, views)
    labels = np.tile(data.labels, views)
    held_out = fit_and_hold_out(classifier, rows, labels, folds)
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
