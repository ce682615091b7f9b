"""The whole path from labelled images to labels, as one scikit-learn estimator."""

import os
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from visualwords.apps.pipeline import disk_training
from visualwords.apps.pipeline.appearance import Appearance, appearance_stage
from visualwords.apps.pipeline.channel_encoder import names_of_columns, rows_of, side_by_side
from visualwords.apps.pipeline.copies import find_copies, keep_together
from visualwords.apps.pipeline.dataset import (
    UNNAMED,
    Dataset,
    as_folder,
    one_image,
    test_part,
)
from visualwords.apps.pipeline.decision import Decision, class_weights
from visualwords.apps.pipeline.encoding import encode, encode_each
from visualwords.apps.pipeline.metric import Metric
from visualwords.apps.pipeline.networks import pin_networks
from visualwords.apps.pipeline.novelty import Novelty
from visualwords.apps.pipeline.recipe_choice import choose_recipe
from visualwords.apps.pipeline.recipes import (
    RECIPES,
    Channel,
    Recipe,
    change_recipe,
    find_recipe,
    recipes_to_try,
)
from visualwords.apps.pipeline.scoring import Found, Scores, score_each
from visualwords.apps.pipeline.similarity import Gallery, make_thumbnails
from visualwords.apps.pipeline.stage import Arrays, Environment
from visualwords.apps.pipeline.trained import Trained, calibrate, learn_novelty
from visualwords.apps.pipeline.training import FOLDS, Training
from visualwords.cache import open_cache
from visualwords.classifiers.one_vs_rest import both_classes
from visualwords.errors import ImageError, Skipped
from visualwords.features.extractor import is_one_image
from visualwords.images import MAX_PIXELS
from visualwords.progress import Progress, Silent
from visualwords.threads import with_one_library_thread

if TYPE_CHECKING:
    from visualwords.apps.explanation.explanation import Explanation
    from visualwords.apps.pipeline.predictions import Answer
    from visualwords.classifiers.calibration import SigmoidCalibration, SoftmaxCalibration

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
        Seconds that "auto" plans with: recipes are tried, cheapest first, whose recorded costs,
        for two reference cores, add up to no more (see
        `visualwords.apps.pipeline.recipe_choice.plan`). The choice depends on the images alone,
        not on the clock.
    deadline : float, optional
        Seconds of the clock that "auto" may take; ``cut_off_`` lists the recipes that it had no
        time for.
    channels : sequence of Channel
        More channels, such as networks, which "auto" tries alone and added to every recipe.
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
    class_weight : dict of class → factor, "balanced" or None
        What an image of each class counts, in the classifier and in the probabilities. None: the
        classifier counts images, and probabilities are calibrated halfway between counting images
        and counting classes, so that rare classes are not lost. "balanced": classes count alike.
    costs : dict of (true class, predicted class) → cost, optional
        The label is the class of the lowest expected cost; other mistakes cost 1. Probabilities
        are then those of classes as frequent as in the training images.
    thresholds : dict of class → probability, optional
        A class is the label from this probability on, and never below it.
    unknown : float, optional
        Share of known images, such as 0.05, that may be labelled "unknown" so that strange images
        are; see `novelty`. None: every image gets a class.
    metric : {"mean-per-class", "accuracy", "cost"}
        What "auto" optimises in cross-validation: all classes, all images, or the mean of
        ``costs``. With "accuracy", probabilities count images, not classes, unless
        ``class_weight`` says else.

    Attributes
    ----------
    classes_ : ndarray of str
    recipe_ : Recipe
        The one in use.
    encoders_ : list of ChannelEncoder
    classifier_ : ICDClassifier or LinearClassifier
    tried_ : dict of recipe name → cross-validated figure of the metric; empty unless "auto"
    tried_seconds_ : dict of recipe name → seconds that this took
    cut_off_ : list of str
        Recipes of the plan that the deadline had no time for.
    repeated_by_ : float or None
        The budget that tries the same recipes without a deadline, if that cut some off and there
        is such a budget.
    cross_validated_ : float or None
        Mean accuracy per class of the recipe in use, on folds of the training images.
    calibration_ : SoftmaxCalibration, SigmoidCalibration (of older model files) or None
        What turns scores into probabilities; None where a class has a single image.
    novelty_ : Novelty or None
        What knows strange images; None in older model files, and where a class has a single image.
    decision_ : Decision
        What turns probabilities into labels.
    gallery_ : Gallery or None
        What is kept of the training images.
    skipped_ : list of Skipped
        Training images that were left out: source, reason and kind.
    copies_ : list of list of str
        Names of training images that are near copies of each other; folds keep them together.
        Not in model files.
    about_ : dict of str → str
        The name of the folder or table that it learned from ("trained on"); "name", "note" and
        "date", where they were given.

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
        deadline: float | None = None,
        channels: Sequence[Channel] = (),
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
        class_weight: Any = None,
        costs: dict[tuple[str, str], float] | None = None,
        thresholds: dict[str, float] | None = None,
        unknown: float | None = None,
        metric: str = "mean-per-class",
    ):
        self.recipe = recipe
        self.channels = channels
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.cache_dir = cache_dir
        self.budget = budget
        self.deadline = deadline
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
        self.class_weight = class_weight
        self.costs = costs
        self.thresholds = thresholds
        self.unknown = unknown
        self.metric = metric

    @with_one_library_thread
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        groups: Any = None,
        progress: Progress | None = None,
        warn: bool = True,
    ) -> "ImageClassifier":
        """Learn from a folder, or from images and their labels.

        Parameters
        ----------
        X : path of a folder or table, ImageFolder, Dataset, or sequence of paths or uint8 arrays
            Of a folder with given splits, the training part is used.
        y : sequence of labels
            For a sequence of images.
        groups : sequence, optional
            Images of a group (one object, patient or scene) stay together in all folds: in those
            that compare recipes and in those that calibrate probabilities. Tables have their own.
        progress : Progress, optional
            Is told how far the work is.
        warn : bool
            Whether images that can't be read give a ``UserWarning``; ``skipped_`` lists them.
        """
        data = Dataset.of(X, y, groups)  # every file is opened once
        data, looks = self._looked_at(data, self.environment(progress))
        decision = self._decision(data)
        metric = self._metric(data, decision)
        training = Training(data, self.random_state, self.environment(progress), self.class_weight)
        try:
            recipe = self._recipe_for(training, metric)  # given, or chosen by "auto"
            trained = self._trained(training, recipe)  # sample, learn, encode, train
        finally:
            self.skipped_ = training.skipped
        if warn and self.skipped_:
            self._warn_of_skipped(len(data))
        learned_from = data.part(trained.kept)
        if len(learned_from.classes) < len(data.classes):  # no image of a class could be read
            decision = self._decision(learned_from)
            metric = self._metric(learned_from, decision)
        self._keep(trained, learned_from)
        self.cross_validated_ = metric.mean_per_class(trained)
        calibration = calibrate(trained, metric.weights)
        self.calibration_: SoftmaxCalibration | SigmoidCalibration | None = calibration
        self.novelty_ = self._novelty(trained, calibration, learned_from, looks[trained.kept])
        self.decision_ = decision
        self.gallery_ = self._gallery(trained, learned_from, training.env)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores of images: (n, n_classes), or (n,) for two classes."""
        return self._scores(X).values

    def _scores(self, X: Any) -> Scores:
        """Return the scores of images that must all be readable."""
        check_is_fitted(self)
        data = Dataset.unlabelled(X)
        if not len(data):
            raise ValueError("there are no images; give at least one")
        scores = self.score_images(data)
        _raise_first(scores.skipped)
        return scores

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of classes, (n, n_classes), calibrated on training folds."""
        return self.probabilities(self.decision_function(X))

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Return the probabilities that decision values stand for, (n, n_classes)."""
        check_is_fitted(self)
        if self.calibration_ is None:
            raise ValueError("probabilities need two training images of every class")
        return self.calibration_.probabilities(scores)

    def predict(self, X: Any) -> np.ndarray:
        """Return the labels of images (a folder or table, paths, files as bytes, or arrays).

        The label is the most probable class, unless costs, thresholds or ``unknown`` say else.
        """
        return self.labels_of(self._scores(X))

    def predict_one(self, image: Any) -> "Answer":
        """Predict one image (path, bytes of a file, or array), as a camera's loop needs it.

        Nothing is kept from one call to the next, and no thread is started.

        Returns
        -------
        Answer
            With ``label``, ``probability``, ``novelty``, and ``scores`` and ``probabilities`` of
            all classes, most probable first.

        Examples
        --------
        >>> from visualwords.apps.classify_images.demo_images import texture_tiles
        >>> tiles, labels = texture_tiles("train")
        >>> model = ImageClassifier(recipe="texture").fit(tiles, labels)
        >>> model.predict_one(tiles[0]).label == labels[0]
        True
        """
        from visualwords.apps.pipeline.predictions import label_images

        check_is_fitted(self)
        answers, skipped = label_images(self, [one_image(image)], len(self.classes_))
        _raise_first(skipped)
        return answers[0]

    def novelty(self, X: Any) -> np.ndarray:
        """Return how unlike the training images images are, (n,) from 0 to 1: higher is stranger.

        It is the share of known images that are less strange: of images of the known classes,
        5 % have a novelty above 0.95.
        """
        found = self.novelty_of(self._scores(X))
        if found is None:
            raise ValueError(
                "the model can't tell unknown images: it was saved by an older version, or a class "
                "had a single training image; train it again"
            )
        return found

    def novelty_of(self, scores: Scores) -> np.ndarray | None:
        """Return the novelty of images that were scored; None if the model can't tell."""
        check_is_fitted(self)
        if self.novelty_ is None:
            return None
        doubts = None
        if self.calibration_ is not None:
            doubts = 1 - self.probabilities(scores.values).max(axis=1)
        return self.novelty_.of(scores.values, scores.distances, scores.looks, doubts)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the share of right labels; of a folder with splits, on its test part."""
        if y is None:
            X = test_part(as_folder(X))
            y = X.labels
        return super().score(X, y, sample_weight)

    @with_one_library_thread
    def score_images(self, X: Any, *, progress: Progress | None = None) -> Scores:
        """Return the scores of images; unreadable ones are listed, not raised.

        Parameters
        ----------
        X : Dataset, or sequence of paths, files as bytes, or arrays
        progress : Progress, optional
        """
        check_is_fitted(self)
        env = self.environment(progress)
        data, more = Dataset.unlabelled(X), [] if self._appearance is None else [appearance_stage()]
        stream = encode_each(self.encoders_, data, self.recipe_.max_side, env, more)
        return score_each(stream, self._score)

    @with_one_library_thread
    def explain(self, image: Any) -> "Explanation":
        """Take the scores of one image (path, bytes or array) apart: see `Explanation`."""
        from visualwords.apps.explanation.explaining import explain_image

        check_is_fitted(self)
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
        check_is_fitted(self)
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
        check_is_fitted(self)
        env = self.environment()
        found = encode(self.encoders_, Dataset.unlabelled(X), self.recipe_.max_side, env)
        _raise_first(found.skipped)
        return side_by_side([e.assemble(c) for e, c in zip(self.encoders_, found.channels)])

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Name the columns of `transform`: the extractor, then what the channel counts."""
        check_is_fitted(self)
        return names_of_columns(self.encoders_)

    def labels_of(self, scores: Scores) -> np.ndarray:
        """Return the labels of images that were scored: the one rule of all outputs."""
        check_is_fitted(self)
        if self.calibration_ is None:
            return self.classes_[both_classes(scores.values).argmax(axis=1)]
        chances = self.probabilities(scores.values)
        return self.decision_.labels(chances, self.novelty_of(scores))

    def environment(self, progress: Progress | None = None) -> Environment:
        """Return what stages of this model run in: its cache, threads and limits."""
        cache = None if self.cache_dir is None else open_cache(self.cache_dir)
        return Environment(cache, self.n_jobs, progress or Silent(), self.max_pixels)

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        name: str | None = None,
        note: str | None = None,
        date: str | None = None,
        embed_network: bool = False,
    ) -> None:
        """Write the model file (``.vw``); read it with `visualwords.load`.

        Parameters
        ----------
        path : path-like
        name, note, date : str, optional
            What people want to know of the model later; ``about_`` has them, and the file keeps
            them. What is not given stays as it is.
        embed_network : bool
            Whether the networks of the recipe become part of the file; otherwise it keeps their
            names and SHA-256, and loading needs them beside it.
        """
        from visualwords.apps.pipeline.saving import save_image_classifier

        check_is_fitted(self)
        given = {"name": name, "note": note, "date": date}
        self.about_ |= {key: value for key, value in given.items() if value is not None}
        save_image_classifier(self, path, embed_network)

    @property
    def _appearance(self) -> Appearance | None:
        """How training images look as a whole, where the model knows."""
        return None if self.novelty_ is None else self.novelty_.appearance

    def _score(self, images: list[Arrays]) -> Found:
        """Return the scores of encoded images, and what their novelty depends on."""
        n = len(self.encoders_)
        rows = rows_of(self.encoders_, [arrays[:n] for arrays in images])
        distances = None if self.gallery_ is None else self.gallery_.distances(rows)
        looks = None
        if self._appearance is not None:
            looks = self._appearance.distances(np.stack([arrays[n] for arrays in images]))
        return self.classifier_.decision_function(rows), distances, looks

    def _looked_at(self, data: Dataset, env: Environment) -> tuple[Dataset, Any]:
        """Return the images, near copies in one group that no fold divides, and their looks."""
        copies = find_copies(data, env, measured=True)
        self.copies_ = [[data.names[i] for i in one] for one in copies.sets]
        if copies.sets:
            data = data.grouped(keep_together(data, copies))
        return data, copies.statistics

    def _decision(self, data: Dataset) -> Decision:
        return Decision.of(data.classes, self.costs, self.thresholds, self.unknown)

    def _metric(self, data: Dataset, decision: Decision) -> Metric:
        """Return what is optimised, with what images of each class count in the probabilities."""
        counts_images = bool(self.costs) or self.metric == "accuracy"
        weights = class_weights(data.classes, data.labels, self.class_weight, counts_images)
        return Metric(self.metric, decision, weights)

    def _recipe_for(self, training: Training, metric: Metric) -> Recipe:
        """Return the recipe that was asked for, or the best of those that "auto" tries."""
        recipe, candidates = self._recipes()
        self.tried_: dict[str, float] = {}
        self.tried_seconds_: dict[str, float] = {}
        self.cut_off_: list[str] = []
        self.repeated_by_: float | None = None
        if recipe is not None:
            return recipe
        few = training
        if self.memory is not None:
            few, candidates = disk_training.trial_of(training, candidates)
        choice = choose_recipe(candidates, few, self.budget, self.deadline, metric)
        self.tried_, self.tried_seconds_ = choice.figures, choice.seconds
        self.cut_off_, self.repeated_by_ = choice.cut_off, choice.repeated_by
        return choice.best.recipe

    def _trained(self, training: Training, recipe: Recipe) -> Trained:
        """Train a recipe in memory, or from disk where rows would need too much of it."""
        if training.chosen is not None:
            return training.chosen
        if self.memory is None:
            return training.train(recipe)
        return disk_training.train_within(training, recipe, self.memory)

    def _keep(self, trained: Trained, data: Dataset) -> None:
        """Take over what was learned from images."""
        self.recipe_, self.encoders_ = trained.recipe, trained.encoders
        self.classifier_ = trained.classifier
        self.classes_ = data.classes
        self.class_counts_ = np.bincount(data.codes)
        self.about_: dict[str, str] = {}
        if data.origin != UNNAMED:
            folder = os.path.basename(os.path.abspath(data.origin))
            self.about_["trained on"] = folder.encode("utf-8", "backslashreplace").decode()
        self.training_digests_ = np.frombuffer(b"".join(trained.digests), np.uint64)

    def _novelty(
        self,
        trained: Trained,
        calibration: "SoftmaxCalibration | None",
        data: Dataset,
        looks: np.ndarray,
    ) -> Novelty | None:
        """Return what knows strange images."""
        # Rows on disk have no folds, and a file that became readable meanwhile no looks.
        if trained.held_out is None or trained.signed is None or np.isnan(looks).any():
            return learn_novelty(trained, self.keep_training, calibration)
        folds = data.folds_of_all_classes(FOLDS, self.random_state)
        return learn_novelty(trained, self.keep_training, calibration, looks, folds)

    def _gallery(self, trained: Trained, data: Dataset, env: Environment) -> Gallery | None:
        """Return what is kept of the training images."""
        if not self.keep_training or trained.signed is None:
            return None
        named = zip(data.labels, data.names)
        names = [f"{label}/{os.path.basename(name)}" for label, name in named]
        pictures = make_thumbnails(data, env) if self.thumbnails else None
        signer, signatures, lengths = trained.signed
        return Gallery(signer, signatures, names, data.labels, pictures, lengths)

    def _recipes(self) -> tuple[Recipe | None, list[Recipe]]:
        """Return the recipe, or None and those that "auto" may choose from."""
        changes: dict[str, Any] = {name: getattr(self, name) for name in OVERRIDES}
        if self.recipe != "auto":
            return pin_networks(change_recipe(find_recipe(self.recipe), **changes)), []
        candidates = recipes_to_try(self.representation, self.channels)
        if not candidates:
            known = ", ".join(sorted({recipe.representation for recipe in RECIPES.values()}))
            raise ValueError(
                f"there is no representation {self.representation!r}; choose from {known}"
            )
        changed = [change_recipe(recipe, **changes, strict=False) for recipe in candidates]
        return None, [pin_networks(recipe) for recipe in changed]

    def _warn_of_skipped(self, n_images: int) -> None:
        warnings.warn(
            f"{len(self.skipped_)} of {n_images} images left out (first: {self.skipped_[0]})",
            UserWarning,
            stacklevel=3,
        )

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
