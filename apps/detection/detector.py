"""The detector: trained on crops and photographs, it detects objects of all sizes in images."""

import math
import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from visualwords.apps.detection.channels import make_channels
from visualwords.apps.detection.levels import Level, Search, clip_boxes
from visualwords.apps.detection.parameters import WithParameters, check_numbers
from visualwords.apps.detection.scanning import CLASSIFIERS, Stage, WindowScanner
from visualwords.apps.detection.window import WindowShape
from visualwords.apps.detection.window_evidence import WindowEvidence, find_window, window_evidence
from visualwords.apps.detection.window_model import LEAST_SCORE, Round, WindowModel
from visualwords.boxes import OVERLAPS, join, scaled
from visualwords.errors import FolderError, ImageError
from visualwords.images import read_image
from visualwords.parallel import map_in_threads, with_one_library_thread
from visualwords.progress import Progress, Silent

__all__ = ["PedestrianDetector"]

ImageOrPath = np.ndarray | str | os.PathLike[str] | Callable[[], np.ndarray]


class PedestrianDetector(WithParameters):
    """Detects pedestrians, or objects of any class it is trained on.

    A window slides over the image at many scales. Histograms of oriented gradients and of census
    codes [1]_ describe it, and additive SVMs (the histogram intersection kernel) score it by
    looking up one number for each of their levels; boosted trees score aggregated channel
    features [2]_, colour and gradients in small cells.

    ``visualwords.load("pedestrian")`` gives one that has been trained already.

    Parameters
    ----------
    features : {"all", "quick", "both", "hog", "census", "acf"}, default "all"
        HOG of the colour channel with the strongest gradient, CENTRIST super-blocks, aggregated
        channel features [2]_, or the weighted sum of the scores of the first two (both), of these
        three (quick), or of these and local cosines of channel features [3]_ (all).
    classifier : {"cascade", "hik", "linear"}, default "cascade"
        How windows are scored: one feature after the other where the score so far is high
        enough, all features everywhere, or by linear SVMs only (of HOG and CENTRIST). All are
        trained; the parameter may be changed afterwards.
    window : (int, int), default (64, 128)
        Width and height in pixels, multiples of 8.
    object_share : (float, float), default (0.6, 0.75)
        Shares of the window's width and height that the object takes, in its middle.
    stride : int, default 8
        Pixels from one window to the next: 4, or a multiple of 8.
    scale_factor : float
        From one size of objects to the next.
    min_height : float
        Smallest objects to look for, in pixels of the image.
    padding : int, default 16
        Pixels by which every scaled image is extended, repeating its border, so that windows of
        objects at the border fit.
    threshold : float, default 0.5
        Least confidence of a detection.
    overlap : float
        Of two detections that share more of the smaller one's area, only the better is kept.
    overlap_measure : {"smaller", "union"}, default "smaller"
        What the shared area is divided by.
    fusion : float
        How much windows around a detection's best one change its box and raise its score: they
        weigh exp(difference of scores / fusion). 0: not at all.
    C, linear_C : float
        Costs of errors in training, HIK and linear.
    census_weight, acf_weight, cosine_weight : float
        Factors of the scores of census codes and of trees beside the HOG score.
    n_trees : int
        Trees that are boosted on aggregated channel features, and on local cosines.
    tree_depth : int, default 4
        Comparisons from the root of a tree to a leaf.
    n_rounds : int
        Rounds of collecting hard windows from the photographs: hard for the trees alone, in the
        last round for all features.
    n_random : int, default 20
        Windows of every photograph to begin with.
    max_negatives : int, default 25000
        Most windows to collect; bounds the memory (40 kB each).
    training_enlargement : float, default 2
        Photographs are searched for hard windows up to this scale.
    stage_recall : float
        Share of held-out windows of the object that must pass each stage of the cascade, of those
        that would be accepted at any useful threshold.
    label : str, default "person"
        Class name of the objects.
    random_state : int, default 0
    n_jobs : int or None
        Threads, for training and for the scales of an image. Neither the model nor detections
        depend on it.

    Attributes
    ----------
    model_ : WindowModel
        Tables, weights and thresholds.
    confidence_ : (float, float)
        Slope and intercept of the sigmoid that turns scores into confidence: an estimate of the
        probability that a detection is right, in photographs with one object on average.
    box_scale_ : float
        Factor of the sizes of found boxes, by which they agree with held-out objects.
    rounds_ : list of Round
        Windows collected in each round of training.
    skipped_ : list of (name, reason)
        Training images that could not be read.

    Notes
    -----
    Deviations from the paper: its census window of 36 × 108 pixels lies in the middle of the HOG
    window of 64 × 128; hard negatives are collected in several rounds.

    References
    ----------
    .. [1] J. Wu: A fast dual method for HIK SVM learning, 2010, Section 4.2.
    .. [2] P. Dollár, R. Appel, S. Belongie, P. Perona: Fast feature pyramids for object detection,
       2014.
    .. [3] W. Nam, P. Dollár, J. H. Han: Local decorrelation for improved pedestrian detection,
       2014.

    Examples
    --------
    >>> import numpy as np, visualwords
    >>> detector = visualwords.load("pedestrian")
    >>> boxes, confidences = detector.detect(np.zeros((240, 320, 3), np.uint8))
    >>> boxes.shape, confidences.shape
    ((0, 4), (0,))
    """

    def __init__(
        self,
        features: str = "all",
        classifier: str = "cascade",
        *,
        window: tuple[int, int] = (64, 128),
        object_share: tuple[float, float] = (0.6, 0.75),
        stride: int = 8,
        scale_factor: float = 1.15,
        min_height: float = 64,
        padding: int = 16,
        threshold: float = 0.5,
        overlap: float = 0.7,
        overlap_measure: str = "smaller",
        fusion: float = 0.75,
        C: float = 1e-4,
        linear_C: float = 1.0,
        census_weight: float = 1.0,
        acf_weight: float = 2.0,
        cosine_weight: float = 1.0,
        n_trees: int = 512,
        tree_depth: int = 4,
        n_rounds: int = 3,
        n_random: int = 20,
        max_negatives: int = 25_000,
        training_enlargement: float = 2.0,
        stage_recall: float = 0.995,
        label: str = "person",
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.features = features
        self.classifier = classifier
        self.window = window
        self.object_share = object_share
        self.stride = stride
        self.scale_factor = scale_factor
        self.min_height = min_height
        self.padding = padding
        self.threshold = threshold
        self.overlap = overlap
        self.overlap_measure = overlap_measure
        self.fusion = fusion
        self.C = C
        self.linear_C = linear_C
        self.census_weight = census_weight
        self.acf_weight = acf_weight
        self.cosine_weight = cosine_weight
        self.n_trees = n_trees
        self.tree_depth = tree_depth
        self.n_rounds = n_rounds
        self.n_random = n_random
        self.max_negatives = max_negatives
        self.training_enlargement = training_enlargement
        self.stage_recall = stage_recall
        self.label = label
        self.random_state = random_state
        self.n_jobs = n_jobs

    @with_one_library_thread
    def fit(
        self,
        positives: Sequence[ImageOrPath],
        negatives: Sequence[ImageOrPath],
        *,
        progress: Progress | None = None,
    ) -> "PedestrianDetector":
        """Learn from crops of the object and from photographs without it.

        Parameters
        ----------
        positives : sequence of images, paths, or functions that return an image
            Crops with the object in the middle, of the window's size or larger, where it has
            ``object_share`` of the window; the window is cut from the middle. Smaller crops are
            resized to the window. Mirror images are added.
        negatives : sequence of images, paths, or functions that return an image
            Photographs that don't show the object.
        progress : Progress, optional

        Returns
        -------
        PedestrianDetector
            This object.
        """
        from visualwords.apps.detection.bootstrapping import Bootstrap
        from visualwords.apps.detection.detector_training import (
            Learning,
            train_windows,
            with_stages,
        )
        from visualwords.apps.detection.held_out import fit_confidence, hold_out

        self.check_parameters()
        self.skipped_: list[tuple[str, str]] = []
        crops, photographs = self._readable(positives, "crop"), self._readable(negatives, "photo")
        height = self.object_share[1] * self.window[1] / self.training_enlargement
        search = self._search(stride=max(self.stride, 8), min_height=height, padding=0)
        bootstrap = Bootstrap(
            self.features,
            search,
            Learning(
                self.C,
                self.linear_C,
                self.census_weight,
                self.random_state,
                self.acf_weight,
                self.n_trees,
                self.tree_depth,
                self.cosine_weight,
            ),
            smallest=min(self.min_height / (self.object_share[1] * self.window[1]), 1.0),
            n_random=self.n_random,
            max_negatives=self.max_negatives,
            n_jobs=self.n_jobs,
            progress=progress or Silent(),
        )
        samples = bootstrap.run(crops, photographs, self.n_rounds)
        held_out = hold_out(bootstrap, samples, crops, photographs, self._join)
        model = train_windows(samples, bootstrap.channels, bootstrap.learning)
        self.model_: WindowModel = with_stages(
            model, held_out.first, held_out.tables, self.stage_recall
        )
        self.confidence_ = fit_confidence(held_out)
        self.box_scale_ = held_out.box_scale
        self.rounds_: list[Round] = bootstrap.rounds
        return self

    @with_one_library_thread
    def detect(
        self, image: ImageOrPath, *, trace: list[tuple[Level, list[Stage]]] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Find the objects in an image.

        Parameters
        ----------
        image : (h, w, 3) RGB or (h, w) grey uint8 array, or the path of an image file
        trace : list, optional
            Every level and the trace of its stages are appended to it.

        Returns
        -------
        boxes_xyxy : (n, 4) float64
            In pixels of the image, best first, clipped to the image.
        confidences : (n,) float64
        """
        self._check_is_fitted()
        self.check_parameters()
        search, scanner, pixels = self.search, self._scanner(), _as_image(image)
        least = self.score_of(self.threshold)
        lowest = min(least, LEAST_SCORE) if self.fusion else least
        scan = partial(self._scan, search, scanner, lowest, trace is not None)
        found = map_in_threads(scan, search.level_makers(pixels), self.n_jobs)
        if trace is not None:
            trace += [traced for _, _, traced in found if traced is not None]
        boxes = np.vstack([np.empty((0, 4)), *(own for own, _, _ in found)])
        scores = np.concatenate([np.empty(0, np.float32), *(own for _, own, _ in found)])
        joined, score = self._join(boxes, scores)
        joined, score = scaled(joined, self.box_scale_)[score >= least], score[score >= least]
        return clip_boxes(joined, pixels), self.confidence_of(score)

    @with_one_library_thread
    def explain(self, image: ImageOrPath, box_xyxy: Any) -> WindowEvidence:
        """Return which parts of a window raise or lower its score.

        Parameters
        ----------
        image : as for `detect`
        box_xyxy : (4,)
            A detection's box, or any other; the searched window nearest to it is explained.

        Returns
        -------
        WindowEvidence
            Maps that add up to the window's HIK score.
        """
        self._check_is_fitted()
        search, scanner = self.search, self._scanner()
        level, corner = find_window(search, _as_image(image), np.asarray(box_xyxy, float))
        return window_evidence(scanner, search, level, corner)

    @property
    def search(self) -> Search:
        """The windows that `detect` scores, by the present parameters."""
        return self._search()

    def confidence_of(self, scores: np.ndarray) -> np.ndarray:
        """Return the confidence that belongs to scores."""
        slope, intercept = self.confidence_
        odds = slope * np.asarray(scores, np.float64) + intercept
        return (1 + np.tanh(odds / 2)) / 2

    def score_of(self, confidence: float) -> float:
        """Return the score that has a confidence."""
        slope, intercept = self.confidence_
        return (math.log(confidence / (1 - confidence)) - intercept) / slope

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the detector to a model file; `visualwords.load` reads it."""
        from visualwords.apps.detection.model_state import save_detector

        self._check_is_fitted()
        save_detector(self, path)

    def _join(self, boxes_xyxy: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the detections that windows add up to, best first."""
        return join(
            boxes_xyxy,
            scores,
            overlap=self.overlap,
            measure=self.overlap_measure,
            softness=self.fusion,
        )

    def _search(self, **changes: Any) -> Search:
        """Return the search of the parameters, some of them changed."""
        own = {name: getattr(self, name) for name in ("stride", "min_height", "padding")}
        return Search(
            WindowShape(*self.window),
            self.object_share,
            scale_factor=self.scale_factor,
            grey=self.features == "census",
            **(own | changes),
        )

    def _scanner(self) -> WindowScanner:
        """Return the scanner of the present parameters; kept until they change."""
        choice = self.features, self.window, self.stride, self.classifier
        if getattr(self, "_made_for", None) != (choice, id(self.model_)):
            channels = make_channels(self.features, WindowShape(*self.window), self.stride)
            self._made = WindowScanner(channels, self.model_, self.classifier)
            self._made_for = choice, id(self.model_)
        return self._made

    @staticmethod
    def _scan(
        search: Search,
        scanner: WindowScanner,
        least: float,
        is_traced: bool,
        make_level: Callable[[], Level],
    ) -> tuple[np.ndarray, np.ndarray, tuple[Level, list[Stage]] | None]:
        """Scan one level, strip by strip if it is large; return boxes in the image and scores.

        The level itself is returned only if a trace is wanted: all of them take much memory.
        """
        level, stages = make_level(), list[Stage]()
        corners, scores = [np.empty((0, 2), np.int64)], [np.empty(0, np.float32)]
        for start, rows, strip in search.strips(level):
            found, score = scanner.scan(strip, least, stages)
            own = (found[:, 0] >= rows.start) & (found[:, 0] < rows.stop)
            corners.append(found[own] + np.array([start, 0]))
            scores.append(score[own])
        boxes = search.boxes(level, np.vstack(corners))
        return boxes, np.concatenate(scores), (level, stages) if is_traced else None

    def _readable(self, images: Sequence[ImageOrPath], what: str) -> list[Callable[[], np.ndarray]]:
        """Return functions that read the images; unreadable ones are added to ``skipped_``."""
        readers: list[Callable[[], np.ndarray]] = []
        for number, image in enumerate(images):
            try:
                _as_image(image)
            except ImageError as problem:
                name = f"{what} {number}" if isinstance(image, np.ndarray) else str(image)
                self.skipped_.append((name, str(problem)))
            else:
                readers.append(partial(_as_image, image))
        if len(readers) < 3:
            raise FolderError(
                f"only {len(readers)} readable {what}s; training needs at least 3 crops of the "
                "object and 3 photographs without it"
            )
        return readers

    def _check_is_fitted(self) -> None:
        if not hasattr(self, "model_"):
            from sklearn.exceptions import NotFittedError

            raise NotFittedError("this detector is not trained; call fit, or visualwords.load")

    def check_parameters(self) -> None:
        """Raise ``ValueError`` where a parameter is out of its range."""
        if self.classifier not in CLASSIFIERS:
            raise ValueError(
                f"classifier={self.classifier!r}; choose from {', '.join(CLASSIFIERS)}"
            )
        if self.overlap_measure not in OVERLAPS:
            raise ValueError(
                f"overlap_measure={self.overlap_measure!r}; choose from {', '.join(OVERLAPS)}"
            )
        if not 0 < self.threshold < 1:
            raise ValueError(f"threshold={self.threshold}; a confidence lies between 0 and 1")
        if not (isinstance(self.label, str) and self.label.strip()):
            raise ValueError(f"label={self.label!r}; the objects need a name")
        check_numbers(self.get_params())
        WindowShape(*self.window)


def _as_image(image: ImageOrPath) -> np.ndarray:
    """Return an image as the array that every extractor takes."""
    if callable(image):
        image = image()
    if not isinstance(image, np.ndarray):
        return read_image(image)
    if image.dtype != np.uint8 or image.ndim not in (2, 3) or image.shape[2:] not in ((), (3,)):
        raise ImageError(
            f"an array of shape {image.shape} and type {image.dtype}; an image is uint8, (h, w) or "
            "(h, w, 3); read files with visualwords.images.read_image"
        )
    return np.ascontiguousarray(image)
