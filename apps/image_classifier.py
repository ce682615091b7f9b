"""The whole path from labelled images to labels, as one scikit-learn estimator."""

import os
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from visualwords.apps.encoding import learn_rows, make_encoders, side_by_side
from visualwords.apps.extraction import Extraction, Source, extract
from visualwords.apps.recipe_choice import channels_of, choose_recipe
from visualwords.apps.recipes import RECIPES, Recipe, find_recipe, merge_channels, recipes_to_try
from visualwords.cache import FeatureCache
from visualwords.errors import FolderError, ImageError
from visualwords.folders import ImageFolder
from visualwords.images import MAX_PIXELS
from visualwords.progress import Progress, Silent

__all__ = ["ImageClassifier"]


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
        max_pixels: int = MAX_PIXELS,
    ):
        self.recipe = recipe
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.cache_dir = cache_dir
        self.representation = representation
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
        sources, labels = _training_images(X, y)
        recipe, candidates = self._recipes()
        extraction = self.extract(sources, recipe, progress=progress)
        self.skipped_ = [(_name_of(sources, i), reason) for i, reason in extraction.skipped]
        if warn and self.skipped_:
            self._warn_of_skipped(len(sources))
        labels = labels[extraction.kept]
        _check_classes(labels)
        self.classes_, codes = np.unique(labels, return_inverse=True)
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
        self.class_counts_ = np.bincount(codes)
        self.training_digests_ = np.frombuffer(b"".join(extraction.digests), np.uint64)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores of images: (n, n_classes), or (n,) for two classes."""
        check_is_fitted(self)
        sources = _images(X)
        extraction = self.extract(sources)
        for position, reason in extraction.skipped:
            raise ImageError(f"{_name_of(sources, position)}: {reason}")
        return self.decide(extraction)

    def predict(self, X: Any) -> np.ndarray:
        """Return the labels of images (a folder or table, paths, or arrays)."""
        check_is_fitted(self)
        return self.labels_of(self.decision_function(X))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the share of right labels; of a folder with splits, on its test part."""
        if y is None:
            X = _test_part(_as_folder(X))
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
        rows = [e.transform(c) for e, c in zip(self.encoders_, extraction.channels)]
        return self.classifier_.decision_function(side_by_side(rows))

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

    def _recipes(self) -> tuple[Recipe, list[Recipe]]:
        """Return the recipe to extract and, where one is to be chosen, the candidates."""
        if self.recipe != "auto":
            return find_recipe(self.recipe), []
        candidates = recipes_to_try(self.representation)
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


def _as_folder(X: Any) -> ImageFolder:
    if isinstance(X, ImageFolder):
        return X
    if isinstance(X, str | os.PathLike):
        return ImageFolder(X)
    raise TypeError(f"labels are needed for images given as {type(X).__name__}")


def _training_images(X: Any, y: Any) -> tuple[list[Source], np.ndarray]:
    if y is None:
        folder = _as_folder(X)
        if "train" in folder.splits:
            folder = folder.part("train")
        return list(folder.paths), np.array(folder.labels)
    sources, labels = _images(X), np.asarray(y).astype(str)
    if len(sources) != len(labels):
        raise ValueError(f"{len(sources)} images but {len(labels)} labels")
    return sources, labels


def _test_part(folder: ImageFolder) -> ImageFolder:
    return folder.part("test") if "test" in folder.splits else folder


def _images(X: Any) -> list[Source]:
    """Return the images of a folder, or a list of paths and arrays, as plain strings and arrays."""
    if isinstance(X, ImageFolder):
        return list(X.paths)
    if isinstance(X, str | os.PathLike):
        raise TypeError("give a list of paths; one path alone could be an image or a folder")
    return [x if isinstance(x, np.ndarray) else os.fspath(x) for x in _each(X)]


def _each(X: Any) -> Iterable[Any]:
    if isinstance(X, np.ndarray) and X.dtype.kind in "US":
        return X.tolist()
    return X


def _name_of(sources: list[Source], position: int) -> str:
    source = sources[position]
    return source if isinstance(source, str) else f"image {position}"


def _check_classes(labels: np.ndarray) -> None:
    counts = Counter(labels.tolist())
    if len(counts) < 2:
        found = f"only class {next(iter(counts))!r}" if counts else "no readable image"
        raise FolderError(f"found {found}; at least two classes are needed to tell apart")
