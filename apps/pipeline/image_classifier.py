"""The whole path from labelled images to labels, as one scikit-learn estimator."""

import os
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from visualwords.apps.pipeline import disk_training, inputs
from visualwords.apps.pipeline.encoding import rows_of, side_by_side
from visualwords.apps.pipeline.extraction import encode_each, extract
from visualwords.apps.pipeline.inputs import Source, many_images, name_of
from visualwords.apps.pipeline.reading import OpenedImage, Reader
from visualwords.apps.pipeline.recipe_choice import choose_recipe
from visualwords.apps.pipeline.recipes import (
    RECIPES,
    Recipe,
    change_recipe,
    find_recipe,
    recipes_to_try,
)
from visualwords.apps.pipeline.scoring import Judgement, judge_each
from visualwords.apps.pipeline.similarity import Gallery, make_thumbnails
from visualwords.apps.pipeline.trained import Trained, sigmoids_of
from visualwords.apps.pipeline.training import TrainingImages
from visualwords.classifiers import calibration
from visualwords.classifiers.one_vs_rest import both_classes
from visualwords.errors import ImageError
from visualwords.images import MAX_PIXELS
from visualwords.progress import Progress, Silent
from visualwords.remote_cache import open_cache

if TYPE_CHECKING:
    from visualwords.apps.explanation.explanation import Explanation

__all__ = ["ImageClassifier"]

OVERRIDES = ("n_words", "n_gaussians", "pyramid", "C", "max_side")


class ImageClassifier(ClassifierMixin, BaseEstimator):
    """Learn classes of images from examples.

    Parameters
    ----------
    recipe : str or Recipe, default="auto"
        Name of a recipe (see `visualwords.apps.pipeline.recipes.RECIPES`), or one of your own.
        "auto" tries recipes by cross-validation on the training images and keeps the best.
    random_state : int, default=0
    n_jobs : int, optional
        How many images are read at once; the model does not depend on it.
    cache_dir : path-like or URL, optional
        Where features are kept, so that the same image is described once.
    budget : float, default=60
        Seconds that "auto" plans with: recipes are tried, cheapest first, whose recorded costs
        add up to no more (see `visualwords.apps.pipeline.recipe_choice.plan`), so that the choice
        depends on the images alone; no recipe is begun after this time by the clock.
    representation : {None, "histogram", "words", "fisher", "pyramid-match"}
        What "auto" may choose from: recipes that see images in this way. None leaves out only the
        pyramid match, whose models are large.
    n_words, n_gaussians, pyramid, C, max_side : numbers, optional
        Change these settings of the recipe (of all that "auto" tries, where they apply); see
        `visualwords.apps.pipeline.recipes.change_recipe`.
    memory : int, optional
        Bytes that the training images' rows may take. Where they need more, they wait on disk, in
        the system's temporary folder, and the classifier is `PmSVMClassifier` with the χ² kernel,
        which reads them in blocks; only recipes of histograms and words can. See
        `visualwords.apps.pipeline.disk_training`.
    keep_training : bool, default=True
        Keep names and signatures (about 150 bytes an image) of the training images, for `similar`.
    thumbnails : bool, default=False
        Keep small JPEGs of them too, about 2 kB each.
    max_pixels : int
        Larger images are refused.

    Attributes
    ----------
    classes_ : ndarray of str
    recipe_ : Recipe
        The one in use.
    encoders_ : list of ChannelEncoder
    classifier_ : ICDClassifier or LinearClassifier
    tried_ : dict of recipe name → cross-validated mean accuracy per class; empty unless "auto"
    tried_seconds_ : dict of recipe name → seconds that this took
    cross_validated_ : float or None
        Mean accuracy per class of the recipe in use, on folds of the training images.
    sigmoids_ : (n_problems, 2) array or None
        What turns scores into probabilities; None where a class has a single image.
    gallery_ : Gallery or None
        What is kept of the training images.
    skipped_ : list of (path or position, reason)
        Training images that could not be read.

    Examples
    --------
    >>> from visualwords.apps.classify_images.demo_images import texture_tiles
    >>> tiles, labels = texture_tiles("train")
    >>> model = ImageClassifier(recipe="texture").fit(tiles, labels)
    >>> model.predict(tiles[:1]).tolist() == labels[:1]
    True
    """

    def __init__(
        self,
        recipe: str | Recipe = "auto",
        random_state: int = 0,
        n_jobs: int | None = None,
        cache_dir: str | os.PathLike[str] | None = None,
        *,
        budget: float = 60.0,
        representation: str | None = None,
        n_words: int | None = None,
        n_gaussians: int | None = None,
        pyramid: int | None = None,
        C: float | None = None,
        max_side: int | None = None,
        memory: int | None = None,
        keep_training: bool = True,
        thumbnails: bool = False,
        max_pixels: int = MAX_PIXELS,
    ):
        self.recipe = recipe
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.cache_dir = cache_dir
        self.budget = budget
        self.representation = representation
        self.n_words = n_words
        self.n_gaussians = n_gaussians
        self.pyramid = pyramid
        self.C = C
        self.max_side = max_side
        self.memory = memory
        self.keep_training = keep_training
        self.thumbnails = thumbnails
        self.max_pixels = max_pixels

    def fit(
        self, X: Any, y: Any = None, *, progress: Progress | None = None, warn: bool = True
    ) -> "ImageClassifier":
        """Learn from a folder, or from images and their labels.

        Parameters
        ----------
        X : path of a folder or table, ImageFolder, or sequence of paths or uint8 arrays
            Of a folder with given splits, the training part is used.
        y : sequence of labels
            For a sequence of images.
        progress : Progress, optional
            Is told how far the work is.
        warn : bool
            Whether images that can't be read give a ``UserWarning``; ``skipped_`` lists them.
        """
        progress = progress or Silent()
        sources, labels = inputs.training_images(X, y)
        images = TrainingImages(sources, labels, self._reader, self.random_state, progress)
        try:
            trained = self._train(images)
        finally:
            skipped = images.last_skipped
            self.skipped_ = [(name_of(sources, i), reason) for i, reason in skipped]
        if warn and self.skipped_:
            self._warn_of_skipped(len(sources))
        self._keep(trained, sources, labels, progress)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores of images: (n, n_classes), or (n,) for two classes."""
        check_is_fitted(self)
        sources = many_images(X)
        if not sources:
            raise ValueError("there are no images; give at least one")
        judgement = self.judge(sources)
        _raise_first(judgement.skipped, sources)
        return judgement.scores

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of classes, (n, n_classes), calibrated on training folds."""
        return self.probabilities(self.decision_function(X))

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Return the probabilities that decision values stand for, (n, n_classes)."""
        check_is_fitted(self)
        if self.sigmoids_ is None:
            raise ValueError("probabilities need two training images of every class")
        return calibration.probabilities(scores, self.sigmoids_)

    def predict(self, X: Any) -> np.ndarray:
        """Return the labels of images (a folder or table, paths, files as bytes, or arrays)."""
        check_is_fitted(self)
        return self.labels_of(self.decision_function(X))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the share of right labels; of a folder with splits, on its test part."""
        if y is None:
            X = inputs.test_part(inputs.as_folder(X))
            y = X.labels
        return super().score(X, y, sample_weight)

    def judge(self, X: Sequence[Source], *, progress: Progress | None = None) -> Judgement:
        """Return the scores of images; unreadable ones are listed, not raised.

        Parameters
        ----------
        X : sequence of paths, files as bytes, or arrays
        progress : Progress, optional
        """
        check_is_fitted(self)
        reader = self._reader(self.recipe_.max_side)
        stream = encode_each(X, self.encoders_, reader, progress or Silent())
        return judge_each(stream, self._decide)

    def explain(self, image: Any) -> "Explanation":
        """Take the scores of one image (path, bytes or array) apart: see `Explanation`."""
        from visualwords.apps.explanation import evidence

        check_is_fitted(self)
        source = inputs.one_image(image)
        try:
            opened = OpenedImage(source, self._reader(self.recipe_.max_side))
            found = [opened.features(channel) for channel in self.recipe_.channels]
        except ImageError as problem:
            raise ImageError(f"{name_of([source], 0)}: {problem}") from None
        parts = [e.assemble([e.encode(f)]) for e, f in zip(self.encoders_, found)]
        row = side_by_side(parts)
        scores = self.classifier_.decision_function(row)
        columns = both_classes(self.classifier_.contributions(row))
        known = self.sigmoids_ is not None
        return evidence.explain(
            self.encoders_,
            [opened.pixels(c.build().color_mode) for c in self.recipe_.channels],
            found,
            np.split(columns, np.cumsum([part.shape[1] for part in parts])[:-1]),
            both_classes(scores)[0],
            self.classes_,
            self.probabilities(scores)[0] if known else None,
        )

    def similar(self, X: Any, k: int = 5) -> Any:
        """Return the training images most similar to an image.

        Parameters
        ----------
        X : a path, the bytes of a file or an array, or several of them
        k : int

        Returns
        -------
        list of (name, label, similarity), best first; a list of such lists for several images
            Names are ``label/file``; similarities are cosines, 1 for the same image.
        """
        check_is_fitted(self)
        if self.gallery_ is None:
            raise ValueError("the model keeps no training images; train with keep_training=True")
        alone = inputs.is_one_image(X)
        rows = self.rows([inputs.one_image(X)] if alone else X)
        answers = [
            [
                (self.gallery_.names[i], str(self.gallery_.labels[i]), float(similarity))
                for i, similarity in zip(*found)
            ]
            for found in zip(*self.gallery_.query(rows, k))
        ]
        return answers[0] if alone else answers

    def rows(self, X: Any) -> Any:
        """Return the rows of numbers that images are for the classifier, (n, d) array or CSR."""
        check_is_fitted(self)
        sources = many_images(X)
        found = extract(sources, self.encoders_, self._reader(self.recipe_.max_side))
        _raise_first(found.skipped, sources)
        return side_by_side([e.assemble(c) for e, c in zip(self.encoders_, found.channels)])

    def labels_of(self, scores: np.ndarray) -> np.ndarray:
        """Return the labels that decision values name."""
        best = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[best]

    def rank(self, scores: np.ndarray, top: int) -> list[list[tuple[str, float]]]:
        """Return, for every image, the best labels with their scores, best first."""
        scores = both_classes(scores)
        order = np.argsort(-scores, axis=1, kind="stable")[:, :top]
        return [
            [(str(self.classes_[i]), float(row[i])) for i in best]
            for row, best in zip(scores, order)
        ]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file (``.vw``); read it with `visualwords.load`."""
        from visualwords.apps.pipeline.saving import save_image_classifier

        check_is_fitted(self)
        save_image_classifier(self, path)

    def _decide(self, images: list[list[np.ndarray]]) -> np.ndarray:
        """Return the scores of encoded images."""
        return self.classifier_.decision_function(rows_of(self.encoders_, images))

    def _reader(self, max_side: int | None) -> Reader:
        cache = None if self.cache_dir is None else open_cache(self.cache_dir)
        return Reader(max_side, self.max_pixels, cache, self.n_jobs)

    def _train(self, images: TrainingImages) -> Trained:
        """Train the recipe, or those that "auto" tries."""
        recipe, candidates = self._recipes()
        self.tried_: dict[str, float] = {}
        self.tried_seconds_: dict[str, float] = {}
        few = images
        if recipe is None:
            if self.memory is not None:
                few, candidates = disk_training.trial_of(images, candidates)
            choice = choose_recipe(candidates, few, self.budget, self.n_jobs)
            self.tried_, self.tried_seconds_ = choice.accuracies, choice.seconds
            if few is images:
                return choice.best
            recipe = choice.best.recipe
        if self.memory is None:
            return images.train(recipe, self.n_jobs)
        return disk_training.train_within(images, recipe, self.memory, self.n_jobs)

    def _keep(
        self, trained: Trained, sources: list[Source], labels: np.ndarray, progress: Progress
    ) -> None:
        """Take over what was learned."""
        labels = labels[trained.kept]
        self.recipe_, self.encoders_ = trained.recipe, trained.encoders
        self.classifier_ = trained.classifier
        self.classes_, codes = np.unique(labels, return_inverse=True)
        self.class_counts_ = np.bincount(codes)
        self.training_digests_ = np.frombuffer(b"".join(trained.digests), np.uint64)
        self.sigmoids_ = sigmoids_of(trained, self._reader(None).cache)
        self.cross_validated_ = trained.accuracy
        self.gallery_ = None
        if self.keep_training and trained.signed is not None:
            kept = [sources[i] for i in trained.kept]
            names = [inputs.short_name(kept, i, label) for i, label in enumerate(labels)]
            pictures = None
            if self.thumbnails:
                pictures = make_thumbnails(kept, self._reader(None), progress)
            self.gallery_ = Gallery(*trained.signed, names, labels, pictures)

    def _recipes(self) -> tuple[Recipe | None, list[Recipe]]:
        """Return the recipe, or None and those that "auto" may choose from."""
        changes: dict[str, Any] = {name: getattr(self, name) for name in OVERRIDES}
        if self.recipe != "auto":
            return change_recipe(find_recipe(self.recipe), **changes), []
        candidates = recipes_to_try(self.representation)
        if not candidates:
            known = ", ".join(sorted({recipe.representation for recipe in RECIPES.values()}))
            raise ValueError(
                f"there is no representation {self.representation!r}; choose from {known}"
            )
        return None, [change_recipe(recipe, **changes, strict=False) for recipe in candidates]

    def _warn_of_skipped(self, n_images: int) -> None:
        name, reason = self.skipped_[0]
        warnings.warn(
            f"{len(self.skipped_)} of {n_images} images left out (first: {name}: {reason})",
            UserWarning,
            stacklevel=3,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        tags.no_validation = True
        return tags


def _raise_first(skipped: list[tuple[int, str]], sources: Sequence[Source]) -> None:
    """Raise what is wrong with the first image that could not be read, if there is one."""
    for position, reason in skipped:
        raise ImageError(f"{name_of(sources, position)}: {reason}")
