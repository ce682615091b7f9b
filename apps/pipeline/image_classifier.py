"""The whole path from labelled images to a model, as one scikit-learn estimator."""

import os
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from visualwords.apps.pipeline import disk_training
from visualwords.apps.pipeline.appearance import are_grey
from visualwords.apps.pipeline.copies import find_copies, keep_together
from visualwords.apps.pipeline.dataset import UNNAMED, Dataset
from visualwords.apps.pipeline.decision import Decision, HeldOut, class_weights
from visualwords.apps.pipeline.estimates import check_looking, check_training
from visualwords.apps.pipeline.fitted_classifier import FittedImageClassifier
from visualwords.apps.pipeline.metric import Metric
from visualwords.apps.pipeline.networks import pin_networks
from visualwords.apps.pipeline.novelty import Novelty
from visualwords.apps.pipeline.recipes import (
    RECIPES,
    Channel,
    Recipe,
    change_recipe,
    find_recipe,
    recipes_to_try,
)
from visualwords.apps.pipeline.search.choosing import choose_recipe
from visualwords.apps.pipeline.search.joining import alone
from visualwords.apps.pipeline.similarity import Gallery, make_thumbnails
from visualwords.apps.pipeline.stage import Environment
from visualwords.apps.pipeline.trained import Trained, calibrate, learn_novelty
from visualwords.apps.pipeline.training import FOLDS, Training
from visualwords.cache import DEFAULT_SIZE
from visualwords.images import MAX_PIXELS
from visualwords.parallel import with_one_library_thread
from visualwords.progress import Progress

if TYPE_CHECKING:
    from visualwords.classifiers.calibration import SoftmaxCalibration

__all__ = ["ImageClassifier"]

OVERRIDES = ("n_words", "n_gaussians", "pyramid", "C", "max_side", "min_side", "views")


class ImageClassifier(FittedImageClassifier):
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
    cache_size : int, default=10 GB
        Bytes of the cache beyond which the least recently used features are deleted.
    budget : float, default=60
        Seconds that "auto" plans with: what it tries has recorded costs, for two reference cores,
        that add up to no more (see `visualwords.apps.pipeline.search.steps`). The choice depends
        on the images alone, not on the clock.
    deadline : float, optional
        Seconds of the clock that "auto" may take; ``cut_off_`` lists the recipes that it had no
        time for.
    channels : sequence of Channel
        More channels, such as networks, which "auto" tries alone and beside the best recipes.
    representation : {None, "histogram", "words", "fisher", "second-order", "pyramid-match"}
        What "auto" may choose from: recipes that see images in this way. None leaves out only the
        pyramid match and ``rich-words``, whose models are large.
    n_words, n_gaussians, pyramid, C, max_side, min_side, views : optional
        Change these settings of the recipe (of all that "auto" tries, where they apply); see
        `visualwords.apps.pipeline.recipes.change_recipe`.
    memory : int, optional
        Bytes that the feature vectors of the training images may take. Where they need more, they
        wait on disk, in the system's temporary folder, and the same classifier reads them in
        blocks; recipes of histograms, words and Fisher vectors can. See
        `visualwords.apps.pipeline.disk_training`.
    keep_training : bool, default=True
        Keep names and signatures (about 150 bytes an image) of the training images, for `similar`.
    thumbnails : bool, default=False
        Keep small JPEGs of them too, about 2 kB each.
    max_pixels : int
        Larger images are refused.
    class_weight : dict of class → factor, "balanced" or None
        What an image of each class counts, in the classifier and in the probabilities. None: the
        classifier counts images, and probabilities are calibrated between counting images
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
    classifier_ : ICDClassifier, ByteLinearClassifier or another of the recipe
    tried_ : dict of recipe name → cross-validated figure of the metric; empty unless "auto"
    tried_seconds_ : dict of recipe name → seconds that this took
    cut_off_ : list of str
        Recipes of the plan that the deadline had no time for.
    repeated_by_ : float or None
        The budget that tries the same recipes without a deadline, if that cut some off and there
        is such a budget.
    cross_validated_ : float or None
        Mean accuracy per class of the recipe in use, on folds of the training images.
    held_out_ : HeldOut or None
        Labels of the training images, each by a classifier trained without its fold; None where a
        class has a single image or group. Not in model files.
    calibration_ : SoftmaxCalibration or None
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
        cache_size: int | None = DEFAULT_SIZE,
        budget: float = 60.0,
        deadline: float | None = None,
        channels: Sequence[Channel] = (),
        representation: str | None = None,
        n_words: int | None = None,
        n_gaussians: int | None = None,
        pyramid: int | None = None,
        C: float | None = None,
        max_side: int | None = None,
        min_side: int | None = None,
        views: "str | Sequence[str] | None" = None,
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
        self.cache_size = cache_size
        self.budget = budget
        self.deadline = deadline
        self.representation = representation
        self.n_words = n_words
        self.n_gaussians = n_gaussians
        self.pyramid = pyramid
        self.C = C
        self.max_side = max_side
        self.min_side = min_side
        self.views = views
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
            Receives the progress.
        warn : bool
            Whether images that can't be read give a ``UserWarning``; ``skipped_`` lists them.
        """
        data = Dataset.of(X, y, groups)  # every file is opened once
        self._check_memory(data, progress)
        data, looks = self._looked_at(data, self.environment(progress))
        decision = self._decision(data)
        metric = self._metric(data, decision)
        training = Training(data, self.random_state, self.environment(progress), self.class_weight)
        try:
            recipe = self._recipe_for(training, metric, looks)  # given, or chosen by "auto"
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
        self.held_out_ = self._held_out(metric, trained, learned_from)
        folds = learned_from.folds_of_all_classes(FOLDS, self.random_state)
        self.calibration_ = calibration = calibrate(trained, metric.weights, folds)
        self.novelty_ = self._novelty(trained, calibration, looks[trained.kept], folds)
        self.decision_ = decision
        self.gallery_ = self._gallery(trained, learned_from, training.env)
        return self

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

    def _check_memory(self, data: Dataset, progress: Progress | None) -> None:
        """Refuse images that memory can't hold, before any of them is read."""
        recipe, _ = self._recipes()
        if recipe is None:
            check_looking(data)
        else:
            check_training(recipe, data, self.memory, progress)

    def _looked_at(self, data: Dataset, env: Environment) -> tuple[Dataset, Any]:
        """Return the images, near copies in one group that no fold divides, and their looks."""
        copies = find_copies(data, env, measured=True)
        self.copies_ = [[data.names[i] for i in one] for one in copies.sets]
        if copies.sets:
            data = data.grouped(keep_together(data, copies))
        return data, copies.statistics

    def _decision(self, data: Dataset) -> Decision:
        return Decision.of(data.classes, self.costs, self.thresholds, self.unknown)

    def _held_out(self, metric: Metric, trained: Trained, data: Dataset) -> HeldOut | None:
        """Return the labels of training images by models that did not learn from them."""
        codes, truth = metric.predicted(trained)
        if codes is None:
            return None
        names = np.append(metric.decision.classes, metric.decision.rejected)
        groups = data.groups if data.is_grouped and len(data) == len(truth) else None
        return HeldOut(names[truth].tolist(), names[codes].tolist(), groups)

    def _metric(self, data: Dataset, decision: Decision) -> Metric:
        """Return what is optimised, with what images of each class count in the probabilities."""
        counts_images = bool(self.costs) or self.metric == "accuracy"
        weights = class_weights(data.classes, data.labels, self.class_weight, counts_images)
        return Metric(self.metric, decision, weights)

    def _recipe_for(self, training: Training, metric: Metric, looks: np.ndarray) -> Recipe:
        """Return the recipe that was asked for, or the best of those that "auto" tries."""
        recipe, candidates = self._recipes()
        given = candidates[-1] if self.channels and candidates else None
        self.tried_: dict[str, float] = {}
        self.tried_seconds_: dict[str, float] = {}
        self.cut_off_: list[str] = []
        self.repeated_by_: float | None = None
        if recipe is not None:
            return recipe
        few = training
        if self.memory is not None:
            few, candidates = disk_training.trial_of(training, candidates)
        in_memory = self.memory is None  # views of images are not trained on from disk
        choice = choose_recipe(
            candidates, few, self.budget, self.deadline, metric, in_memory, given, are_grey(looks)
        )
        self.tried_, self.tried_seconds_ = choice.figures, choice.seconds
        self.cut_off_, self.repeated_by_ = choice.cut_off, choice.repeated_by
        return choice.recipe

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
        looks: np.ndarray,
        folds: np.ndarray | None,
    ) -> Novelty | None:
        """Return what knows strange images."""
        if trained.held_out is None or np.isnan(looks).any():  # a file became readable meanwhile
            return learn_novelty(trained, self.keep_training, calibration)
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
        """Return the recipe, or None and those that "auto" may choose from, given ones last."""
        changes: dict[str, Any] = {name: getattr(self, name) for name in OVERRIDES}
        if self.recipe != "auto":
            recipe = change_recipe(find_recipe(self.recipe), **changes)
            return pin_networks(recipe) if recipe.has_network else recipe, []
        candidates = recipes_to_try(self.representation)
        if not candidates:
            known = ", ".join(sorted({recipe.representation for recipe in RECIPES.values()}))
            raise ValueError(
                f"there is no representation {self.representation!r}; choose from {known}"
            )
        if self.channels:
            candidates.append(alone(self.channels))
        changed = [change_recipe(recipe, **changes, strict=False) for recipe in candidates]
        return None, [pin_networks(one) if one.has_network else one for one in changed]

    def _warn_of_skipped(self, n_images: int) -> None:
        warnings.warn(
            f"{len(self.skipped_)} of {n_images} images left out (first: {self.skipped_[0]})",
            UserWarning,
            stacklevel=3,
        )
