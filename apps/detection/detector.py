"""The detector: trained on crops and photographs, it detects objects of all sizes in images."""

import math
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from importlib.metadata import version
from importlib.resources import files
from numbers import Integral, Real
from typing import Any, Self

import numpy as np

from visualwords.apps.detection.cascade import LEAST_SCORE, Cascade
from visualwords.apps.detection.windows import CELL, Search, WindowShape, clip_boxes
from visualwords.boxes import join, scaled
from visualwords.errors import FolderError, ImageError, ModelFileError
from visualwords.images import read_image
from visualwords.model_file import read_model, write_model
from visualwords.parallel import with_one_library_thread
from visualwords.progress import Progress, Silent

__all__ = ["OBJECT_DETECTOR", "PedestrianDetector"]

OBJECT_DETECTOR = "object-detector"  # the kind of its model files
BUNDLED = "pedestrian"
LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn", "opencv-python-headless", "pillow")
ENLARGEMENT = 2.0  # photographs are searched for hard windows up to this scale
OF_THE_RUN = ("n_jobs",)  # parameters that do not change the results
RANGES: dict[str, tuple[type, float, float]] = {  # they bound the search's time and memory, too
    "window": (Integral, 8, 10_000),
    "object_share": (Real, 0.01, 1),
    "stride": (Integral, CELL, 10_000),
    "scale_factor": (Real, 1.01, 100),
    "min_height": (Real, 8, 100_000),
    "padding": (Integral, 0, 1000),
    "threshold": (Real, 1e-6, 1 - 1e-6),
    "overlap": (Real, 0, 1),
    "fusion": (Real, 0, 100),
    "random_state": (Integral, 0, 2**32 - 1),
    "n_trees": (Integral, 1, 100_000),
    "tree_depth": (Integral, 1, 8),
    "n_rounds": (Integral, 0, 1000),
    "max_negatives": (Integral, 1, 10**9),
}
PAIRS = ("window", "object_share")
ORDERS = ("rgb", "bgr")

ImageOrPath = np.ndarray | str | os.PathLike[str] | Callable[[], np.ndarray]


class ColourOrder:
    """Recognises OpenCV's frames, blue first, by how people score with red and blue exchanged.

    The first arrays that a detector searches are searched both ways. The differences of the best
    scores add up, until they decide.
    """

    ENOUGH = 2.0  # sum of differences in favour of red first
    AGAINST = -0.3
    MOST = 10  # arrays

    def __init__(self) -> None:
        self.left, self.sum = self.MOST, 0.0

    def note(self, scores: np.ndarray, exchanged: np.ndarray) -> None:
        """Compare the best scores of detections as they are and exchanged, and warn once."""
        self.left -= 1
        self.sum += float(scores.max(initial=LEAST_SCORE) - exchanged.max(initial=LEAST_SCORE))
        if self.sum < self.AGAINST:
            warnings.warn(
                "objects in these arrays score higher with red and blue exchanged: are they "
                "OpenCV's frames, blue first? Give detect(frame, order='bgr'), or order='rgb' if "
                "red comes first",
                stacklevel=4,
            )
        if not self.AGAINST <= self.sum < self.ENOUGH:
            self.left = 0


class Detections(tuple[np.ndarray, np.ndarray]):
    """Boxes and their confidences; drawn on the image in a notebook."""

    image: np.ndarray

    def __new__(cls, boxes: np.ndarray, confidences: np.ndarray, image: np.ndarray) -> "Detections":
        made = super().__new__(cls, (boxes, confidences))
        made.image = image
        return made

    def _repr_png_(self) -> bytes:
        from visualwords.apps.report.notebook import detections_png

        return detections_png(self.image, *self)


@dataclass(eq=False, kw_only=True, repr=False)
class PedestrianDetector:
    """Detects pedestrians, or objects of any class it is trained on.

    A window slides over the image at many scales. Boosted trees score all windows by aggregated
    channel features [2]_, colour and gradients in small cells. Where the score is high enough,
    histograms of census codes and of oriented gradients [1]_ follow: additive SVMs (the histogram
    intersection kernel) score them by looking up one number for each of their levels.

    ``PedestrianDetector.load()`` gives one that has been trained already. Parameters follow the
    conventions of scikit-learn, but for deriving from ``BaseEstimator``: importing it takes a
    second, most of what a new process needs for its first detection.

    Parameters
    ----------
    window : (int, int), default (64, 128)
        Width and height in pixels, multiples of 8.
    object_share : (float, float), default (0.6, 0.75)
        Shares of the window's width and height that the object takes, in its middle.
    stride : int, default 8
        Pixels from one window to the next, a multiple of 8.
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
    fusion : float
        How much windows around a detection's best one change its box and raise its score: they
        weigh exp(difference of scores / fusion). 0: not at all.
    n_trees, tree_depth : int
        Trees that are boosted, and comparisons from the root of a tree to a leaf.
    n_rounds : int
        Rounds of collecting hard windows from the photographs: hard for the trees alone, in the
        last round for all features.
    max_negatives : int, default 25000
        Most windows to collect; bounds the memory (20 kB each).
    label : str, default "person"
        Class name of the objects.
    random_state : int, default 0
    n_jobs : int or None
        Threads, for training and for the scales of an image. Neither the model nor detections
        depend on it.

    Attributes
    ----------
    model_ : Cascade
        Trees, tables and thresholds.
    confidence_ : (float, float)
        Slope and intercept of the sigmoid that turns scores into confidence: an estimate of the
        probability that a detection is right, in photographs with one object on average.
    box_scale_ : float
        Factor of the sizes of found boxes, by which they agree with held-out objects.
    training_ : dict
        ``rounds``, the negative windows and the new ones of each round, ``skipped``, how many
        images could not be read, and ``held_out``, figures by detectors of the other two thirds of
        the images: the crops' objects that are found, and false detections in photographs.
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

    Examples
    --------
    >>> import numpy as np
    >>> detector = PedestrianDetector.load()
    >>> boxes, confidences = detector.detect(np.zeros((240, 320, 3), np.uint8))
    >>> boxes.shape, confidences.shape
    ((0, 4), (0,))
    """

    window: tuple[int, int] = (64, 128)
    object_share: tuple[float, float] = (0.6, 0.75)
    stride: int = 8
    scale_factor: float = 1.15
    min_height: float = 64
    padding: int = 16
    threshold: float = 0.5
    overlap: float = 0.7
    fusion: float = 0.75
    n_trees: int = 512
    tree_depth: int = 4
    n_rounds: int = 3
    max_negatives: int = 25_000
    label: str = "person"
    random_state: int = 0
    n_jobs: int | None = None
    _order: ColourOrder = field(default_factory=ColourOrder, init=False)

    @with_one_library_thread
    def fit(
        self,
        positives: Sequence[ImageOrPath],
        negatives: Sequence[ImageOrPath],
        *,
        progress: Progress | None = None,
    ) -> Self:
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
        from visualwords.apps.detection.detector_training import Bootstrap, train_detector

        self.check_parameters()
        self.skipped_: list[tuple[str, str]] = []
        crops, photographs = self._readable(positives, "crop"), self._readable(negatives, "photo")
        own = self.object_share[1] * self.window[1]
        search = self._search(min_height=own / ENLARGEMENT, padding=0)
        smallest = min(self.min_height / own, 1.0)
        bootstrap = Bootstrap(search, self.get_params(), smallest, progress or Silent())
        self.model_, held_out = train_detector(bootstrap, crops, photographs, self._join)
        self.confidence_ = held_out.confidence()
        self.box_scale_ = held_out.box_scale
        figures = held_out.figures(self.score_of(self.threshold))
        self.training_: dict[str, Any] = {"rounds": bootstrap.rounds, "held_out": figures}
        self.training_["skipped"] = len(self.skipped_)
        return self

    @with_one_library_thread
    def detect(self, image: ImageOrPath, *, order: str | None = None) -> Detections:
        """Find the objects in an image.

        Parameters
        ----------
        image : (h, w, 3) or (h, w) grey uint8 array, or the path of an image file
        order : {"rgb", "bgr"}, optional
            Order of an array's colours; red first by default. Without it, a warning asks where
            objects score higher with red and blue exchanged, as in frames that OpenCV read.

        Returns
        -------
        boxes_xyxy : (n, 4) float64
            In pixels of the image, best first, clipped to the image.
        confidences : (n,) float64
        """
        self._check_is_fitted()
        self.check_parameters()
        pixels = _as_image(image, order)
        least = self.score_of(self.threshold)
        lowest = min(least, LEAST_SCORE) if self.fusion else least
        search = partial(self.model_.search, search=self._search(), n_jobs=self.n_jobs)
        joined, score = self._join(*search(pixels, threshold=lowest))
        is_open = order is None and isinstance(image, np.ndarray) and image.ndim == 3
        if is_open and self._order.left:
            exchanged = search(_as_image(image, "bgr"), threshold=lowest)
            self._order.note(score, self._join(*exchanged)[1])
        joined, score = scaled(joined, self.box_scale_)[score >= least], score[score >= least]
        return Detections(clip_boxes(joined, pixels), self.confidence_of(score), pixels)

    def confidence_of(self, scores: np.ndarray) -> np.ndarray:
        """The confidence that belongs to scores."""
        slope, intercept = self.confidence_
        odds = slope * np.asarray(scores, np.float64) + intercept
        return (1 + np.tanh(odds / 2)) / 2

    def score_of(self, confidence: float) -> float:
        """The score that has a confidence."""
        slope, intercept = self.confidence_
        return (math.log(confidence / (1 - confidence)) - intercept) / slope

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the detector to a model file: parameters, thresholds, and tables."""
        self._check_is_fitted()
        manifest = {
            "kind": OBJECT_DETECTOR,
            "parameters": {k: v for k, v in self.get_params().items() if k not in OF_THE_RUN},
            "first_thresholds": self.model_.tree_thresholds.tolist(),
            "stage_thresholds": list(self.model_.stage_thresholds),
            "confidence": list(self.confidence_),
            "box_scale": self.box_scale_,
            "training": self.training_,
            "versions": {name: version(name) for name in LIBRARIES},
        }
        write_model(path, manifest, self.model_.arrays())

    @classmethod
    def load(cls, path: str | os.PathLike[str] = BUNDLED) -> Self:
        """Read a detector's model file, or the one that ships with the package.

        Raises
        ------
        ModelFileError
            If the file is not that of a detector. Nothing in a model file is ever executed.
        """
        if path == BUNDLED:
            path = str(files("visualwords.apps.detection").joinpath("pedestrian.vw"))
        manifest, arrays = read_model(path)
        try:
            return cls.restore(manifest, arrays)
        except Exception as problem:  # a manifest by another hand can be wrong in any way
            raise ModelFileError(f"{os.fspath(path)}: not a detector ({problem})") from None

    @classmethod
    def restore(cls, manifest: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """The detector that a model file holds; any error if it is none."""
        if manifest["kind"] != OBJECT_DETECTOR:
            raise ModelFileError(f"a model of kind {manifest['kind']!r}")
        given: dict[str, Any] = dict(manifest["parameters"])
        given |= {name: tuple(given[name]) for name in PAIRS}
        detector = cls(**given)
        detector.check_parameters()
        thresholds = manifest["first_thresholds"], manifest["stage_thresholds"]
        detector.model_ = Cascade.of_arrays(WindowShape(*detector.window), arrays, *thresholds)
        slope, intercept = (float(value) for value in manifest["confidence"])
        if not 0 < slope < math.inf or not math.isfinite(intercept):
            raise ModelFileError(f"a confidence that does not grow with the score: slope {slope}")
        detector.confidence_ = slope, intercept
        detector.box_scale_ = float(manifest["box_scale"])
        if not 0.1 <= detector.box_scale_ <= 10:
            raise ModelFileError(f"boxes {detector.box_scale_} times as large as found")
        detector.training_, detector.skipped_ = dict(manifest["training"]), []
        return detector

    # The conventions of scikit-learn

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted(one.name for one in fields(cls) if one.init)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name."""
        return {name: getattr(self, name) for name in self._get_param_names()}

    def set_params(self, **parameters: Any) -> Self:
        """Change parameters and return this object."""
        names = self._get_param_names()
        for name, value in parameters.items():
            if name not in names:
                raise ValueError(f"no parameter {name!r}; a detector has {', '.join(names)}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        usual = type(self)().get_params()
        changed = [f"{k}={v!r}" for k, v in self.get_params().items() if v != usual[k]]
        return f"{type(self).__name__}({', '.join(changed)})"

    def check_parameters(self) -> None:
        """Raise ``ValueError`` where a parameter is out of its range."""
        for name, (kind, least, most) in RANGES.items():
            value, is_pair = getattr(self, name), name in PAIRS
            values = value if is_pair and isinstance(value, tuple | list) else [value]
            if len(values) != 1 + is_pair or not all(_is(x, kind, least, most) for x in values):
                what = "whole numbers" if kind is Integral else "numbers"
                what = f"two {what}" if is_pair else f"a {what[:-1]}"
                raise ValueError(f"{name}={value!r}; needed: {what} from {least:g} to {most:g}")
        if self.stride % CELL:
            raise ValueError(f"stride={self.stride}; it must be a multiple of {CELL}")
        if not (isinstance(self.label, str) and self.label.strip()):
            raise ValueError(f"label={self.label!r}; the objects need a name")
        WindowShape(*self.window)

    def _check_is_fitted(self) -> None:
        if not hasattr(self, "model_"):
            from sklearn.exceptions import NotFittedError

            raise NotFittedError("this detector is not trained; call fit, or load")

    # Searching

    def _search(self, **changes: float) -> Search:
        """The search of the parameters, some of them changed."""
        names = ("stride", "scale_factor", "min_height", "padding")
        own = {name: getattr(self, name) for name in names}
        return Search(WindowShape(*self.window), self.object_share, **(own | changes))

    def _join(self, boxes_xyxy: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The detections that windows add up to, best first."""
        return join(boxes_xyxy, scores, overlap=self.overlap, softness=self.fusion)

    def _readable(self, images: Sequence[ImageOrPath], what: str) -> list[Callable[[], np.ndarray]]:
        """Functions that read the images; unreadable ones are added to ``skipped_``."""
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
            needed = "training needs at least 3 crops of the object and 3 photographs without it"
            raise FolderError(f"only {len(readers)} readable {what}s; {needed}")
        return readers


def _is(value: Any, kind: type, least: float, most: float) -> bool:
    is_kind = isinstance(value, kind) and not isinstance(value, bool)
    return is_kind and bool(least <= value <= most)


def _as_image(image: ImageOrPath, order: str | None = None) -> np.ndarray:
    """An image as the array that every feature takes, red first."""
    if order not in (None, *ORDERS):
        raise ValueError(f"order={order!r}; choose from {', '.join(ORDERS)}")
    if callable(image):
        image = image()
    if not isinstance(image, np.ndarray):
        return read_image(image)
    if image.dtype != np.uint8 or image.ndim not in (2, 3) or image.shape[2:] not in ((), (3,)):
        needed = "(h, w) or (h, w, 3); read files with visualwords.images.read_image"
        found = f"an array of shape {image.shape} and type {image.dtype}"
        raise ImageError(f"{found}; an image is uint8, {needed}")
    is_blue_first = order == "bgr" and image.ndim == 3
    return np.ascontiguousarray(image[:, :, ::-1] if is_blue_first else image)
