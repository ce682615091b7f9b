"""The whole path from labelled images to labels, as one scikit-learn estimator."""

import os
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from visualwords.apps import inputs
from visualwords.apps.encoding import learn_rows, make_encoders, side_by_side
from visualwords.apps.extraction import Extraction, extract, seen_image
from visualwords.apps.inputs import Source, many_images, name_of
from visualwords.apps.recipe_choice import channels_of, choose_recipe
from visualwords.apps.recipes import (
    RECIPES,
    Recipe,
    change_recipe,
    find_recipe,
    merge_channels,
    recipes_to_try,
)
from visualwords.apps.similarity import Gallery, Signer, thumbnail
from visualwords.cache import FeatureCache
from visualwords.classifiers import calibration
from visualwords.errors import FolderError, ImageError
from visualwords.images import MAX_PIXELS
from visualwords.progress import Progress, Silent

if TYPE_CHECKING:
    from visualwords.apps.explanation import Explanation

__all__ = ["ImageClassifier"]

CALIBRATION_FOLDS = 5


class ImageClassifier(ClassifierMixin, BaseEstimator):
    """Learn classes of images from examples.

    Parameters
    ----------
    recipe : str or Recipe, default="auto"
        Name of a recipe (see `visualwords.apps.recipes.RECIPES`), or one of your own. "auto"
        tries the recipes by cross-validation on the training images and keeps the best.
    random_state : int, default=0
    n_jobs : int, optional
        How many images are read at once; the model does not depend on it.
    cache_dir : path-like, optional
        Where features are kept, so that the same image is described once.
    representation : {None, "histogram", "words", "pyramid-match"}
        What "auto" may choose from: recipes that see images in this way. None leaves out only the
        pyramid match, whose models are large.
    n_words, pyramid, C, max_side : numbers, optional
        Change these settings of the recipe (of all that "auto" tries, where they apply); see
        `visualwords.apps.recipes.change_recipe`.
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
    sigmoids_ : (n_problems, 2) array or None
        What turns scores into probabilities; None where a class has a single image.
    gallery_ : Gallery or None
        What is kept of the training images.
    skipped_ : list of (path or position, reason)
        Training images that could not be read.

    Examples
    --------
    >>> from visualwords.apps.demo_images import texture_tiles
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
        representation: str | None = None,
        n_words: int | None = None,
        pyramid: int | None = None,
        C: float | None = None,
        max_side: int | None = None,
        keep_training: bool = True,
        thumbnails: bool = False,
        max_pixels: int = MAX_PIXELS,
    ):
        self.recipe = recipe
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.cache_dir = cache_dir
        self.representation = representation
        self.n_words = n_words
        self.pyramid = pyramid
        self.C = C
        self.max_side = max_side
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
        recipe, candidates = self._recipes()
        extraction = self.extract(sources, recipe, progress=progress)
        self.skipped_ = [(name_of(sources, i), reason) for i, reason in extraction.skipped]
        if warn and self.skipped_:
            self._warn_of_skipped(len(sources))
        labels = labels[extraction.kept]
        inputs.check_classes(labels)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        self.class_counts_ = np.bincount(codes)
        encoders = make_encoders(recipe, self.random_state)
        rows = learn_rows(encoders, extraction.channels, codes, progress)
        self.recipe_ = recipe
        self.tried_: dict[str, float] = {}
        if candidates:
            self.recipe_, self.tried_ = choose_recipe(
                candidates,
                recipe,
                rows,
                codes,
                seed=self.random_state,
                n_jobs=self.n_jobs,
                progress=progress,
            )
        used = channels_of(self.recipe_, recipe)
        self.encoders_ = [encoders[i] for i in used]
        X = side_by_side([rows[i] for i in used])
        if not X.shape[1]:
            raise FolderError(
                f"the images are too small for the patches of recipe {self.recipe_.name!r}; "
                "use larger images or recipe='auto'"
            )
        progress.start("training the classifier", 1)
        self.classifier_ = self.recipe_.build_classifier(self.random_state, self.n_jobs)
        self.classifier_.fit(X, codes)
        progress.advance()
        self.sigmoids_ = self._calibrate(X, codes)
        self.gallery_ = None
        if self.keep_training:
            kept = [sources[i] for i in extraction.kept]
            self.gallery_ = self._remember(kept, labels, X)
        self.training_digests_ = np.frombuffer(b"".join(extraction.digests), np.uint64)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores of images: (n, n_classes), or (n,) for two classes."""
        check_is_fitted(self)
        return self.decide(self._extract_all(X))

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

    def extract(
        self,
        sources: Sequence[Source],
        recipe: Recipe | None = None,
        *,
        progress: Progress | None = None,
    ) -> Extraction:
        """Describe images by the recipe; unreadable ones are listed, not raised."""
        return extract(
            sources,
            recipe or self.recipe_,
            n_jobs=self.n_jobs,
            cache=None if self.cache_dir is None else FeatureCache(self.cache_dir),
            max_pixels=self.max_pixels,
            progress=progress,
        )

    def decide(self, extraction: Extraction) -> np.ndarray:
        """Return the scores of images that `extract` has described."""
        return self.classifier_.decision_function(self._encode(extraction))

    def explain(self, image: Any) -> "Explanation":
        """Take the scores of one image (path, bytes or array) apart: see `Explanation`."""
        from visualwords.apps import evidence

        check_is_fitted(self)
        source = inputs.one_image(image)
        extraction = self.extract([source])
        for _, reason in extraction.skipped:
            raise ImageError(f"{name_of([source], 0)}: {reason}")
        rows = [e.transform(c) for e, c in zip(self.encoders_, extraction.channels)]
        row = side_by_side(rows)
        scores = self.classifier_.decision_function(row)
        columns = self.classifier_.contributions(row)
        known = self.sigmoids_ is not None
        return evidence.explain(
            self.encoders_,
            [
                seen_image(source, channel.build().color_mode, self.recipe_, self.max_pixels)
                for channel in self.recipe_.channels
            ],
            [channel[0] for channel in extraction.channels],
            np.split(_both_classes(columns), np.cumsum([r.shape[1] for r in rows])[:-1]),
            _both_classes(scores.reshape(1, -1))[0],
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
        return self._encode(self._extract_all(X))

    def labels_of(self, scores: np.ndarray) -> np.ndarray:
        """Return the labels that decision values name."""
        best = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[best]

    def rank(self, scores: np.ndarray, top: int) -> list[list[tuple[str, float]]]:
        """Return, for every image, the best labels with their scores, best first."""
        if scores.ndim == 1:
            scores = np.stack([-scores, scores], axis=1)
        order = np.argsort(-scores, axis=1, kind="stable")[:, :top]
        return [
            [(str(self.classes_[i]), float(row[i])) for i in best]
            for row, best in zip(scores, order)
        ]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file (``.vw``); read it with `visualwords.load`."""
        from visualwords.apps.loading import save_image_classifier

        check_is_fitted(self)
        save_image_classifier(self, path)

    def _extract_all(self, X: Any) -> Extraction:
        """Describe images of which none may be unreadable."""
        sources = many_images(X)
        extraction = self.extract(sources)
        for position, reason in extraction.skipped:
            raise ImageError(f"{name_of(sources, position)}: {reason}")
        return extraction

    def _encode(self, extraction: Extraction) -> Any:
        rows = [e.transform(c) for e, c in zip(self.encoders_, extraction.channels)]
        return side_by_side(rows)

    def _calibrate(self, X: Any, codes: np.ndarray) -> np.ndarray | None:
        """Fit sigmoids on scores of training images that were held out."""
        if self.class_counts_.min() < 2:
            return None
        scores = calibration.held_out_scores(
            self.classifier_, X, codes, n_folds=CALIBRATION_FOLDS, random_state=self.random_state
        )
        return calibration.fit_sigmoids(scores, codes)

    def _remember(self, sources: list[Source], labels: np.ndarray, X: Any) -> Gallery:
        signer = Signer()
        signatures = signer.fit_transform(X)
        names = [inputs.short_name(sources, i, label) for i, label in enumerate(labels)]
        small = None
        if self.thumbnails:
            small = [thumbnail(source, self.max_pixels) for source in sources]
        return Gallery(signer, signatures, names, labels, small)

    def _recipes(self) -> tuple[Recipe, list[Recipe]]:
        """Return the recipe to extract and, where one is to be chosen, the candidates."""
        names = ("n_words", "pyramid", "C", "max_side")
        changes: dict[str, Any] = {name: getattr(self, name) for name in names}
        if self.recipe != "auto":
            return change_recipe(find_recipe(self.recipe), **changes), []
        candidates = [
            change_recipe(recipe, **changes, strict=False)
            for recipe in recipes_to_try(self.representation)
        ]
        if not candidates:
            known = ", ".join(sorted({recipe.representation for recipe in RECIPES.values()}))
            raise ValueError(
                f"there is no representation {self.representation!r}; choose from {known}"
            )
        return merge_channels(candidates), candidates

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


def _both_classes(values: np.ndarray) -> np.ndarray:
    """Return (n, n_classes) of (n, n_outputs): the one output of two classes speaks for both."""
    return np.hstack([-values, values]) if values.shape[1] == 1 else values
