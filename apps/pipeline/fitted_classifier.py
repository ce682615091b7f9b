"""What a fitted model of images answers: scores, labels, features, similar images."""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from visualwords.apps.pipeline.appearance import Appearance, appearance_stage
from visualwords.apps.pipeline.channel_encoder import (
    ChannelEncoder,
    names_of_columns,
    rows_of,
    side_by_side,
)
from visualwords.apps.pipeline.dataset import Dataset, as_folder, one_image, test_part
from visualwords.apps.pipeline.decision import Decided, Decision
from visualwords.apps.pipeline.encoding import encode, encode_each
from visualwords.apps.pipeline.novelty import Novelty
from visualwords.apps.pipeline.predictions import (
    Answer,
    Found,
    Scores,
    join_scores,
    label_images,
    score_each,
)
from visualwords.apps.pipeline.recipes import Recipe
from visualwords.apps.pipeline.similarity import Gallery
from visualwords.apps.pipeline.stage import Arrays, Environment
from visualwords.cache import open_cache
from visualwords.classifiers.one_vs_rest import both_classes
from visualwords.compiled import check_fitted
from visualwords.errors import ImageError, Skipped
from visualwords.inputs import is_one_image
from visualwords.parallel import one_library_thread, with_one_library_thread
from visualwords.progress import Progress, Silent

if TYPE_CHECKING:
    from visualwords.apps.explanation.explanation import Explanation
    from visualwords.classifiers.calibration import SoftmaxCalibration


class FittedImageClassifier(ClassifierMixin, BaseEstimator):
    """Everything of `ImageClassifier` that needs a fitted model, but saving it.

    Its attributes are set by `ImageClassifier.fit` or by loading a model file.
    """

    n_jobs: int | None
    cache_dir: str | os.PathLike[str] | None
    cache_size: int | None
    max_pixels: int
    classes_: np.ndarray
    recipe_: Recipe
    encoders_: list[ChannelEncoder]
    classifier_: Any
    calibration_: "SoftmaxCalibration | None"
    novelty_: Novelty | None
    decision_: Decision
    gallery_: Gallery | None

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores of images: (n, n_classes), or (n,) for two classes."""
        return self._scores(X).values

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of classes, (n, n_classes), calibrated on training folds."""
        return self.probabilities(self.decision_function(X))

    def predict(self, X: Any) -> np.ndarray:
        """Return the labels of images (a folder or table, paths, files as bytes, or arrays).

        The label is the most probable class, unless costs, thresholds or ``unknown`` say else.
        """
        return self.decide(self._scores(X)).labels

    def predict_one(self, image: Any) -> Answer:
        """Predict one image (path, bytes of a file, or array), as a camera's loop needs it.

        Nothing of an image is kept from one call to the next, and no thread is started.

        Returns
        -------
        Answer
            With ``label``, ``probability``, ``novelty``, and ``scores`` and ``probabilities`` of
            all classes, most probable first.

        Examples
        --------
        >>> from visualwords import ImageClassifier
        >>> from visualwords.apps.classify_images.demo_images import texture_tiles
        >>> tiles, labels = texture_tiles("train")
        >>> model = ImageClassifier(recipe="texture").fit(tiles, labels)
        >>> model.predict_one(tiles[0]).label == labels[0]
        True
        """
        check_fitted(self, "classes_")
        answers, skipped = label_images(self, [one_image(image)], len(self.classes_))
        _raise_first(skipped)
        return answers[0]

    def novelty(self, X: Any) -> np.ndarray:
        """Return how unlike the training images images are, (n,) from 0 to 1: higher is stranger.

        It is the share of known images that are less strange: of images of the known classes,
        5 % have a novelty above 0.95.
        """
        found = self.decide(self._scores(X)).novelty
        if found is None:
            raise ValueError(
                "the model can't tell unknown images: it was saved by an older version, or a class "
                "had a single training image; train it again"
            )
        return found

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the share of right labels; of a folder with splits, on its test part."""
        if y is None:
            X = test_part(as_folder(X))
            y = X.labels
        return super().score(X, y, sample_weight)

    @with_one_library_thread
    def explain(self, image: Any) -> "Explanation":
        """Take the scores of one image (path, bytes or array) apart: see `Explanation`."""
        from visualwords.apps.explanation.explaining import explain_image

        check_fitted(self, "classes_")
        return explain_image(self, image)

    @with_one_library_thread
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
        check_fitted(self, "classes_")
        if self.gallery_ is None:
            raise ValueError("the model keeps no training images; train with keep_training=True")
        alone = is_one_image(X)
        rows = self.transform([one_image(X)] if alone else X)
        answers = [
            [
                (self.gallery_.names[i], str(self.gallery_.labels[i]), float(similarity))
                for i, similarity in zip(*found)
            ]
            for found in zip(*self.gallery_.query(rows, k))
        ]
        return answers[0] if alone else answers

    @with_one_library_thread
    def transform(self, X: Any) -> Any:
        """Return the feature vectors of images, as the classifier sees them.

        Parameters
        ----------
        X : folder or table, or sequence of paths, files as bytes, or arrays

        Returns
        -------
        (n, d) array or CSR matrix; `get_feature_names_out` names its columns
        """
        check_fitted(self, "classes_")
        env = self.environment()
        found = encode(self.encoders_, Dataset.unlabelled(X), self.recipe_.view, env)
        _raise_first(found.skipped)
        return side_by_side([e.assemble(c) for e, c in zip(self.encoders_, found.channels)])

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Name the columns of `transform`: the extractor, then what the channel counts."""
        check_fitted(self, "classes_")
        return names_of_columns(self.encoders_)

    def score_images(self, X: Any, *, progress: Progress | None = None) -> Scores:
        """Return the scores of images; unreadable ones are listed, not raised.

        Parameters
        ----------
        X : Dataset, or sequence of paths, files as bytes, or arrays
        progress : Progress, optional
        """
        return join_scores(self.score_stream(X, progress=progress))

    def score_stream(self, X: Any, *, progress: Progress | None = None) -> Iterator[Scores]:
        """Yield the scores of images as they come, some images at a time.

        Parameters are those of `score_images`.
        """
        check_fitted(self, "classes_")
        env = self.environment(progress)
        data, more = Dataset.unlabelled(X), [] if self._appearance is None else [appearance_stage()]
        with one_library_thread():
            stream = encode_each(self.encoders_, data, self.recipe_.view, env, more)
            yield from score_each(stream, self._score)

    def decide(self, scores: Scores) -> Decided:
        """Return labels, probabilities and novelty of scored images: the one rule of all outputs.

        Probabilities are None where a class had a single training image, novelty also in models of
        older versions.
        """
        check_fitted(self, "classes_")
        chances = doubts = strange = None
        if self.calibration_ is not None:
            chances = self.calibration_.probabilities(scores.values)
            doubts = 1 - chances.max(axis=1)
        if self.novelty_ is not None:
            strange = self.novelty_.of(scores.values, scores.distances, scores.looks, doubts)
        if chances is None:
            best = both_classes(scores.values).argmax(axis=1)
            return Decided(self.classes_[best], None, strange)
        return Decided(self.decision_.labels(chances, strange), chances, strange)

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Return the probabilities that decision values stand for, (n, n_classes)."""
        check_fitted(self, "classes_")
        if self.calibration_ is None:
            raise ValueError("probabilities need two training images of every class")
        return self.calibration_.probabilities(scores)

    def environment(self, progress: Progress | None = None) -> Environment:
        """Return what stages of this model run in: its cache, threads and limits."""
        cache = None if self.cache_dir is None else open_cache(self.cache_dir, self.cache_size)
        return Environment(cache, self.n_jobs, progress or Silent(), self.max_pixels)

    def _scores(self, X: Any) -> Scores:
        """Return the scores of images that must all be readable."""
        check_fitted(self, "classes_")
        data = Dataset.unlabelled(X)
        if not len(data):
            raise ValueError("there are no images; give at least one")
        scores = self.score_images(data)
        _raise_first(scores.skipped)
        return scores

    def _score(self, images: list[Arrays]) -> Found:
        """Return the scores of encoded images, and what their novelty depends on."""
        n = len(self.encoders_)
        rows = rows_of(self.encoders_, [arrays[:n] for arrays in images])
        distances = None if self.gallery_ is None else self.gallery_.distances(rows)
        looks = None
        if self._appearance is not None:
            looks = self._appearance.distances(np.stack([arrays[n] for arrays in images]))
        return self.classifier_.decision_function(rows), distances, looks

    @property
    def _appearance(self) -> Appearance | None:
        """How training images look as a whole, where the model knows."""
        return None if self.novelty_ is None else self.novelty_.appearance

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        tags.no_validation = True
        return tags


def _raise_first(skipped: list[Skipped]) -> None:
    """Raise what is wrong with the first image that could not be read, if there is one."""
    for one in skipped:
        raise ImageError(str(one))
