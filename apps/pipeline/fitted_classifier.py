"""What a fitted model of images answers: scores, labels, features, similar images."""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from visualwords.apps.pipeline.appearance import appearance_step
from visualwords.apps.pipeline.dataset import Dataset, as_folder, is_folder, test_part
from visualwords.apps.pipeline.decision import Decided, Decision
from visualwords.apps.pipeline.encoder import ChannelEncoder, names_of_columns, rows_of
from visualwords.apps.pipeline.novelty import Novelty
from visualwords.apps.pipeline.predictions import Answer, Scores, join_scores, label_images
from visualwords.apps.pipeline.recipe import Recipe
from visualwords.apps.pipeline.similarity import Gallery
from visualwords.apps.pipeline.stages import Arrays, Environment, encode_each
from visualwords.cache import open_cache
from visualwords.classifiers.one_vs_rest import both_classes
from visualwords.errors import ImageError, Skipped
from visualwords.estimator import Classifier, Transformer, check_fitted
from visualwords.folders import ImageFolder
from visualwords.inputs import is_one_image
from visualwords.parallel import one_library_thread, with_one_library_thread
from visualwords.progress import Progress, Silent

if TYPE_CHECKING:
    from PIL.Image import Image

    from visualwords.apps.explanation.explanation import Explanation
    from visualwords.classifiers.calibration import SoftmaxCalibration

AT_ONCE = 64  # images whose rows, of up to 1 MB each, are laid side by side


class FittedImageClassifier(Classifier, Transformer):
    """Everything of `ImageClassifier` that needs a fitted model, but saving it.

    Its attributes are set by `ImageClassifier.fit` or by loading a model file. Images are all that
    `visualwords.inputs.as_images` takes; one image gives one answer, many give an array.
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

    def decision_function(self, X: Any) -> Any:
        """The scores of images: (n, n_classes), or (n,) for two classes."""
        return _like(X, self._scores(X).values)

    def predict_proba(self, X: Any) -> Any:
        """The probabilities of classes, (n, n_classes), calibrated on training folds."""
        return _like(X, self.probabilities(self._scores(X).values))

    @overload
    def predict(self, X: "str | bytes | os.PathLike[str] | Image") -> str: ...
    @overload
    def predict(self, X: Any) -> Any: ...
    def predict(self, X: Any) -> Any:
        """The labels of images.

        The label is the most probable class, unless costs, thresholds or ``unknown`` say else.
        """
        labels = self.decide(self._scores(X)).labels
        return str(labels[0]) if _is_one(X) else labels

    def predict_one(self, image: Any) -> Answer:
        """Predict one image, as a camera's loop needs it.

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
        >>> model = ImageClassifier(recipe="tiny").fit(tiles, labels)
        >>> model.predict_one(tiles[0]).label == labels[0]
        True
        """
        check_fitted(self, "classes_")
        answers, skipped = label_images(self, [image], len(self.classes_))
        _raise_first(skipped)
        return answers[0]

    def novelty(self, X: Any) -> Any:
        """How unlike the training images images are, (n,) from 0 to 1: higher is stranger.

        It is the share of known images that are less novel: of images of the known classes,
        5 % have a novelty above 0.95.
        """
        novelty = self.decide(self._scores(X)).novelty
        if novelty is None:
            raise ValueError(
                "the model has no novelty detector: a class had a single training image; add "
                "images and train it again"
            )
        return _like(X, novelty)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The share of right labels; of a folder with splits, on its test part."""
        if y is None and not isinstance(X, Dataset):
            if isinstance(X, ImageFolder) or is_folder(X):
                X = test_part(as_folder(X))
            X = Dataset.of_folder(X) if isinstance(X, ImageFolder) else Dataset.of(X)
        if y is None:
            y = X.labels
        return super().score(X, y, sample_weight)

    @with_one_library_thread
    def explain(self, image: Any) -> "Explanation":
        """Take the scores of one image apart: see `Explanation`."""
        from visualwords.apps.explanation.explaining import explain_image

        check_fitted(self, "classes_")
        return explain_image(self, image)

    @with_one_library_thread
    def similar(self, X: Any, k: int = 5) -> Any:
        """The training images most similar to an image.

        Parameters
        ----------
        X : one image or many
        k : int

        Returns
        -------
        list of (name, label, similarity), best first; a list of such lists for several images
            Names are ``label/file``; similarities are cosines, 1 for the same image.
        """
        check_fitted(self, "classes_")
        if self.gallery_ is None:
            raise ValueError("the model keeps no training images; train with keep_training=True")
        answers = [
            [
                (self.gallery_.names[i], str(self.gallery_.labels[i]), float(similarity))
                for i, similarity in zip(*found)
            ]
            for found in zip(*self.gallery_.query(self._rows(X), k))
        ]
        return answers[0] if _is_one(X) else answers

    @with_one_library_thread
    def transform(self, X: Any) -> Any:
        """The feature vectors of images, as the classifier sees them.

        Returns
        -------
        (n, d) array or CSR matrix; `get_feature_names_out` names its columns
        """
        return self._rows(X)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns of `transform`: the extractor, then what the channel counts."""
        check_fitted(self, "classes_")
        return names_of_columns(self.encoders_)

    def score_images(self, X: Any, *, progress: Progress | None = None) -> Scores:
        """The scores of images; unreadable ones are listed, not raised.

        Parameters
        ----------
        X : Dataset, or images
        progress : Progress, optional
        """
        return join_scores(self.score_stream(X, progress=progress))

    def score_stream(self, X: Any, *, progress: Progress | None = None) -> Iterator[Scores]:
        """Yield the scores of images as they come, some images at a time.

        Parameters are those of `score_images`.
        """
        check_fitted(self, "classes_")
        env, data = self.environment(progress), Dataset.unlabelled(X)
        looks = self.novelty_ is not None and self.novelty_.appearance is not None
        more = [appearance_step()] * looks
        kept: list[int] = []
        skipped: list[Skipped] = []
        waiting: list[Arrays] = []
        with one_library_thread():
            stream = encode_each(self.encoders_, data, self.recipe_.view, env, more)
            for position, made in enumerate(stream):
                if isinstance(made, Skipped):
                    skipped.append(made)
                else:
                    kept.append(position)
                    waiting.append(made)
                if len(waiting) == AT_ONCE:
                    yield self._scored(waiting, kept, skipped)
                    kept, skipped, waiting = [], [], []
            if waiting or skipped:
                yield self._scored(waiting, kept, skipped)

    def _scored(self, images: list[Arrays], kept: list[int], skipped: list[Skipped]) -> Scores:
        """The scores of encoded images, and what their novelty depends on."""
        where = np.array(kept, np.intp)
        if not images:
            return Scores(np.zeros(0), where, skipped)
        n = len(self.encoders_)
        rows = rows_of(self.encoders_, [arrays[:n] for arrays in images])
        distances = None if self.gallery_ is None else self.gallery_.distances(rows)
        looks = None
        if self.novelty_ is not None and self.novelty_.appearance is not None:
            statistics = np.stack([arrays[n] for arrays in images])
            looks = self.novelty_.appearance.distances(statistics)
        scores = self.classifier_.decision_function(rows)
        return Scores(scores, where, skipped, distances, looks)

    def decide(self, scores: Scores) -> Decided:
        """Labels, probabilities and novelty of scored images: the one rule of all outputs.

        Probabilities and novelty are None where a class had a single training image.
        """
        check_fitted(self, "classes_")
        chances = novelty = alarms = None
        if self.novelty_ is not None:
            novelty = self.novelty_.of(scores.values, scores.distances, scores.looks)
        if self.calibration_ is None:
            best = both_classes(scores.values).argmax(axis=1)
            return Decided(self.classes_[best], None, novelty)
        chances = self.calibration_.probabilities(scores.values)
        if self.decision_.alarm is not None:
            alarms = self.decision_.alarm.raised(chances)
        return Decided(self.decision_.labels(chances, novelty), chances, novelty, alarms)

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """The probabilities that decision values stand for, (n, n_classes)."""
        check_fitted(self, "classes_")
        if self.calibration_ is None:
            raise ValueError("probabilities need two training images of every class")
        return self.calibration_.probabilities(scores)

    def environment(self, progress: Progress | None = None) -> Environment:
        """What stages of this model run in: its cache, threads and limits."""
        cache = None if self.cache_dir is None else open_cache(self.cache_dir, self.cache_size)
        return Environment(cache, self.n_jobs, progress or Silent(), self.max_pixels)

    def _scores(self, X: Any) -> Scores:
        """The scores of images that must all be readable."""
        check_fitted(self, "classes_")
        data = Dataset.unlabelled(X)
        if not len(data):
            raise ValueError("there are no images; give at least one")
        scores = self.score_images(data)
        _raise_first(scores.skipped)
        return scores

    def _rows(self, X: Any) -> Any:
        """The rows of images that must all be readable."""
        check_fitted(self, "classes_")
        data = Dataset.unlabelled(X)
        made = list(encode_each(self.encoders_, data, self.recipe_.view, self.environment()))
        _raise_first([one for one in made if isinstance(one, Skipped)])
        return rows_of(self.encoders_, [one for one in made if not isinstance(one, Skipped)])

    def _repr_html_(self) -> str:
        """Recipe, held-out accuracy and classes, for a notebook."""
        from visualwords.apps.report.notebook import classifier_html

        return classifier_html(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        tags.no_validation = True
        return tags


def _is_one(X: Any) -> bool:
    """Whether something is a single image, not a folder or many."""
    return is_one_image(X) and not is_folder(X)


def _like(X: Any, answers: np.ndarray) -> Any:
    """The answer for one image, or the answers for many."""
    return answers[0] if _is_one(X) else answers


def _raise_first(skipped: list[Skipped]) -> None:
    """Raise what is wrong with the first image that could not be read, if there is one."""
    for one in skipped:
        raise ImageError(str(one))
