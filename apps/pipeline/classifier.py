"""The whole path from labelled images to a model, as one scikit-learn estimator."""

import os
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from visualwords.apps.pipeline import model_io
from visualwords.apps.pipeline.appearance import Appearance
from visualwords.apps.pipeline.channel import Channel
from visualwords.apps.pipeline.dataset import UNNAMED, Dataset
from visualwords.apps.pipeline.decision import Alarm, Decision, HeldOut, class_weights
from visualwords.apps.pipeline.fitted_classifier import FittedImageClassifier
from visualwords.apps.pipeline.metric import Metric
from visualwords.apps.pipeline.networks import pin_networks
from visualwords.apps.pipeline.novelty import Novelty, held_out_looks
from visualwords.apps.pipeline.recipe import Recipe
from visualwords.apps.pipeline.recipes import find_recipe
from visualwords.apps.pipeline.similarity import Gallery, make_thumbnails, spread
from visualwords.apps.pipeline.stages import Environment, digests_of
from visualwords.cache import DEFAULT_SIZE
from visualwords.classifiers.calibration import SoftmaxCalibration, trust_of_folds
from visualwords.estimator import check_fitted
from visualwords.images import MAX_PIXELS
from visualwords.parallel import with_one_library_thread, workers_share_memory
from visualwords.progress import Progress

if TYPE_CHECKING:
    from visualwords.apps.pipeline.auto import Choice
    from visualwords.apps.pipeline.training import Learned

__all__ = ["ImageClassifier"]

OVERRIDES = ("n_words", "n_gaussians", "pyramid", "C", "max_side", "min_side", "views")


class ImageClassifier(FittedImageClassifier):
    """Learn classes of images from examples.

    Parameters
    ----------
    recipe : str or Recipe, default="auto"
        Name of a recipe (see `visualwords.apps.pipeline.recipes.RECIPES`), or one of your own.
        "auto" combines channels by cross-validation on the training images.
    random_state : int, default=0
    n_jobs : int, optional
        How many images are read at once; the model does not depend on it.
    cache_dir : path-like or URL, optional
        Where features are kept, so that the same image is described once.
    cache_size : int, default=10 GB
        Bytes of the cache beyond which the least recently used features are deleted.
    budget : float, default=60
        Seconds that "auto" plans with: what it tries has recorded costs, for two reference cores,
        that add up to no more (see `visualwords.apps.pipeline.auto`). The choice depends on the
        images alone, not on the clock.
    deadline : float, optional
        Seconds of the clock that "auto" may take; ``cut_off_`` lists what was not tried.
    channels : sequence of Channel
        More channels, such as networks, which "auto" weighs beside those of its library.
    n_words, n_gaussians, pyramid, C, max_side, min_side, views : optional
        Change these settings of the recipe (of all that "auto" tries, where they apply); see
        `visualwords.apps.pipeline.composing.change_recipe`.
    memory : int, optional
        Bytes that the feature vectors of the training images may take. Where they need more, they
        wait on disk, in the system's temporary folder, and the same classifier reads them in
        blocks; recipes of histograms, words and Fisher vectors can. See
        `visualwords.apps.pipeline.training`.
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
    alarm : sequence of classes, optional
        Whether an image shows any of these classes is decided, too, by one threshold for the sum
        of their probabilities; labels do not change.
    escapes, false_alarms : float, optional
        Share of held-out images of these classes that may raise no alarm, or of other images that
        may raise it, which the threshold follows from; the lowest mean cost without them.
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
    tried_ : dict of recipe or change → cross-validated figure of the metric; empty unless "auto"
    tried_seconds_ : dict of the same → seconds that this took
    cut_off_ : list of str
        What the deadline left no time to try.
    cross_validated_ : float or None
        Mean accuracy per class of the recipe in use, on folds of the training images.
    held_out_ : HeldOut or None
        Labels of the training images, each by a classifier trained without its fold; None where a
        class has a single image or group. Not in model files.
    calibration_ : SoftmaxCalibration or None
        What turns scores into probabilities; None where a class has a single image.
    novelty_ : Novelty or None
        What detects novel images; None where a class has a single image.
    decision_ : Decision
        What turns probabilities into labels.
    gallery_ : Gallery or None
        What is kept of the training images.
    skipped_ : list of Skipped
        Training images that were left out: source, reason and kind.
    duplicates_ : list of list of str
        Names of training images that are near duplicates; folds keep them together. Not in model
        files.
    about_ : dict of str → str
        The name of the folder or table that it learned from ("trained on"); "name", "note" and
        "date", where they were given.

    Examples
    --------
    >>> from visualwords.apps.classify_images.demo_images import texture_tiles
    >>> tiles, labels = texture_tiles("train")
    >>> model = ImageClassifier(recipe="tiny").fit(tiles, labels)
    >>> model.predict(tiles[0]) == labels[0]
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
        alarm: Sequence[str] | None = None,
        escapes: float | None = None,
        false_alarms: float | None = None,
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
        self.alarm = alarm
        self.escapes = escapes
        self.false_alarms = false_alarms
        self.metric = metric

    @with_one_library_thread
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        groups: Any = None,
        progress: Progress | None = None,
        warn: bool = True,
    ) -> "ImageClassifier":
        """Learn from a folder, or from images and their labels.

        Parameters
        ----------
        X : path of a folder or table, ImageFolder, Dataset, or images
            All that `visualwords.inputs.as_images` takes, with labels or without. Of a folder with
            given splits, the training part is used.
        y : sequence of labels
            For images that have none.
        sample_weight : (n,) numbers, optional
            How often each image counts; those of 0 are left out.
        groups : sequence, optional
            Images of a group (one object, patient or scene) stay together in all folds: in those
            that compare recipes and in those that calibrate probabilities. Tables have their own.
        progress : Progress, optional
            Receives the progress.
        warn : bool
            Whether images that can't be read give a ``UserWarning``; ``skipped_`` lists them.
        """
        from visualwords.apps.pipeline.training import learn_recipe  # predicting imports less

        data = Dataset.of(X, y, groups)
        data = data if sample_weight is None else data.weighted(sample_weight)
        data.check_classes()
        env = self.environment(progress)
        # Workers of other processes read rows where they find the cache.
        shared = None if workers_share_memory() or env.cache is None else env.cache.folder
        if shared is not None:
            shared.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="visualwords-", dir=shared) as folder:
            choice = self._choose(data, env, Path(folder))
            learned = learn_recipe(
                choice.recipe,
                data,
                env,
                Path(folder),
                seed=self.random_state,
                class_weight=self.class_weight,
                memory=self.memory,
                encoded=choice.encoded,
            )
        self.tried_, self.tried_seconds_ = choice.figures, choice.seconds
        self.cut_off_, self.recipe_ = choice.cut_off, choice.recipe
        self.skipped_ = learned.skipped
        if warn and self.skipped_:
            self._warn_of_skipped(len(data))
        self._keep(learned, env)
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
        check_fitted(self, "classes_")
        given = {"name": name, "note": note, "date": date}
        self.about_ |= {key: value for key, value in given.items() if value is not None}
        model_io.save(self, path, embed_network)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, network: str | os.PathLike[str] | None = None
    ) -> Self:
        """Read the model file of an image classifier; parameters as of `visualwords.load`."""
        return model_io.load(path, cls, network)

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit, and return the feature vectors of the same images."""
        return self.fit(X, y, **fit_params).transform(X)

    def _choose(self, data: Dataset, env: Environment, folder: Path) -> "Choice":
        """The recipe that was asked for, or the best of those that "auto" tries."""
        from visualwords.apps.pipeline.auto import Choice, Wanted, find_mixture
        from visualwords.apps.pipeline.composing import change_recipe
        from visualwords.apps.pipeline.costs import check_training

        changes = {name: getattr(self, name) for name in OVERRIDES}
        if self.recipe != "auto":
            recipe = pin_networks(change_recipe(find_recipe(self.recipe), **changes))
            check_training(recipe, data, self.memory, env.progress)
            self._metric(data)  # what the user gave is wrong before images are read
            return Choice(recipe)
        wanted = Wanted(
            self.budget,
            self.deadline,
            self._metric,
            self.random_state,
            self.class_weight,
            with_views=self.memory is None,  # views are not trained on from disk
            change=partial(change_recipe, **changes, strict=False),
        )
        return find_mixture(self.channels, data, wanted, env, folder)

    def _keep(self, learned: "Learned", env: Environment) -> None:
        """Keep what was learned, and how it decides."""
        data, scores = learned.data, learned.scores
        self.encoders_, self.classifier_ = learned.encoders, learned.classifier
        self.classes_, self.class_counts_ = data.classes, np.bincount(data.codes)
        self.duplicates_ = learned.duplicates
        self.about_: dict[str, str] = {}
        if data.origin != UNNAMED:
            folder = os.path.basename(os.path.abspath(data.origin))
            self.about_["trained on"] = folder.encode("utf-8", "backslashreplace").decode()
        self.training_digests_ = digests_of(data)
        metric, codes = self._metric(data), data.codes
        self.cross_validated_ = self.held_out_ = self.calibration_ = self.novelty_ = None
        self.decision_ = metric.decision
        if scores is not None:
            chances = metric.probabilities(scores, codes)
            self.decision_ = self._with_alarm(metric.decision, chances, codes)
            said = metric.decision.codes(chances)
            self.cross_validated_ = float(
                np.mean([(said == codes)[codes == c].mean() for c in range(len(self.classes_))])
            )
            names = np.append(metric.decision.classes, metric.decision.rejected)
            groups = data.groups if data.is_grouped else None
            self.held_out_ = HeldOut(names[codes].tolist(), names[said].tolist(), groups)
            self.calibration_ = SoftmaxCalibration.fit(
                scores, codes, metric.weights, learned.folds, sample_weight=data.weights
            )
            self.novelty_ = self._novelty(learned)
        self.gallery_ = self._gallery(learned, env) if self.keep_training else None

    def _metric(self, data: Dataset) -> Metric:
        """What is optimised, with what images of each class count in the probabilities."""
        counts_images = bool(self.costs) or self.metric == "accuracy"
        weights = class_weights(data.classes, data.labels, self.class_weight, counts_images)
        decision = Decision.of(data.classes, self.costs, self.thresholds, self.unknown)
        given = {"escapes": self.escapes, "false_alarms": self.false_alarms}
        rates = {name: rate for name, rate in given.items() if rate is not None}
        for name, rate in rates.items():
            if not 0 <= rate <= 1:
                raise ValueError(f"{name}={rate}: a share of images is 0 to 1")
        if len(rates) > 1:
            raise ValueError("give escapes or false_alarms, not both")
        if self.alarm:
            decision = replace(decision, alarm=Alarm.of(data.classes, self.alarm))
        elif rates:
            raise ValueError("escapes and false_alarms are of an alarm; give its classes as alarm=")
        return Metric(self.metric, decision, weights)

    def _with_alarm(self, decision: Decision, chances: np.ndarray, codes: np.ndarray) -> Decision:
        """The decision with the threshold of its alarm, from held-out probabilities."""
        if decision.alarm is None:
            return decision
        rates = self.escapes, self.false_alarms
        fitted = decision.alarm.fitted(chances, codes, *rates, decision.costs)
        return replace(decision, alarm=fitted)

    def _novelty(self, learned: "Learned") -> Novelty:
        """What detects images unlike the training images."""
        codes, folds, keep = learned.data.codes, learned.folds, self.keep_training
        assert learned.scores is not None
        assert folds is not None
        some = spread(len(codes))
        return Novelty.fit(
            learned.scores[some],
            learned.signed.distances if keep else None,
            held_out_looks(learned.looks, codes, folds, keep)[some],
            Appearance.fit(learned.looks, codes, keep),
            trust_of_folds(codes, folds)[some],
        )

    def _gallery(self, learned: "Learned", env: Environment) -> Gallery:
        """What is kept of the training images."""
        data, signed = learned.data, learned.signed
        named = zip(data.labels, data.names)
        names = [f"{label}/{os.path.basename(name)}" for label, name in named]
        pictures = make_thumbnails(data, env) if self.thumbnails else None
        return Gallery(
            signed.signer, signed.signatures, names, data.labels, signed.lengths, pictures
        )

    def _warn_of_skipped(self, n_images: int) -> None:
        first = self.skipped_[0]
        warnings.warn(
            f"{len(self.skipped_)} of {n_images} images were left out, the first is {first}; "
            "see skipped_",
            stacklevel=4,
        )
