"""Sets of points on an integer grid, which the pyramid match compares, from local features."""

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, overload

import numpy as np

from visualwords.codebook._pyramid_match import project_rows
from visualwords.codebook.codebook import as_sets
from visualwords.codebook.projection import Projection
from visualwords.estimator import Labels, Seed, TakesObjects, Transformer, check_fitted
from visualwords.features.local_features import LocalFeatures, LocalFeatureSets, ragged_rows
from visualwords.parallel import with_one_library_thread

FARTHEST = 1 << 29  # coordinates beyond ± this are moved there, so that sums fit 32 bits


@dataclass(frozen=True)
class FeatureSets:
    """Many sets of points in one ragged array; a set may be empty.

    Attributes
    ----------
    points : (n_points, d) int32
        Coordinates on the integer grid, set after set.
    offsets : (n_sets + 1,) int64
        Set i owns the rows ``offsets[i]:offsets[i + 1]``.
    side : int
        D, the range of coordinates for which the grid was made, 0 … D − 1. Points beyond are
        allowed.

    Examples
    --------
    >>> import numpy as np
    >>> sets = FeatureSets.from_arrays([np.array([[3, 7], [0, 1]]), np.empty((0, 2))])
    >>> len(sets), sets.sizes.tolist(), sets.side
    (2, [2, 0], 8)
    >>> sets[0].tolist(), len(sets[[1, 0, 1]])
    ([[3, 7], [0, 1]], 3)
    """

    points: np.ndarray
    offsets: np.ndarray
    side: int

    def __repr__(self) -> str:
        n_points, d = self.points.shape
        return f"<FeatureSets: {len(self)} sets, {n_points} points of {d} coordinates>"

    @classmethod
    def from_arrays(cls, arrays: Sequence[Any], side: int | None = None) -> "FeatureSets":
        """Join arrays of shape (n_i, d); fractions are cut off (a bin's side is at least 1).

        Parameters
        ----------
        arrays : sequence of (n_i, d) arrays
            Finite numbers. A set without points may have any number of columns.
        side : int, optional
            D; by default one more than the largest coordinate.
        """
        parts = [_as_points(array, i) for i, array in enumerate(arrays)]
        widths = {part.shape[1] for part in parts if len(part)}
        if len(widths) > 1:
            raise ValueError(f"the sets' points have {sorted(widths)} dimensions; one is needed")
        d = widths.pop() if widths else max([part.shape[1] for part in parts], default=0)
        offsets = np.cumsum([0, *(len(part) for part in parts)])
        points = np.concatenate([part for part in parts if len(part)] or [np.zeros((0, d))])
        points = np.ascontiguousarray(points, dtype=np.int32)
        if side is None:
            side = int(points.max(initial=0)) + 1
        if side < 1:
            raise ValueError(f"side={side}: the range of coordinates must be at least 1")
        return cls(points, offsets, int(side))

    @property
    def sizes(self) -> np.ndarray:
        """Number of points of every set."""
        return np.diff(self.offsets)

    @property
    def owners(self) -> np.ndarray:
        """The set of every point: (n_points,) int32."""
        return np.repeat(np.arange(len(self), dtype=np.int32), self.sizes)

    @property
    def shape(self) -> tuple[int]:
        """Number of sets, as scikit-learn's splitters ask for it."""
        return (len(self),)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: int | np.integer) -> np.ndarray: ...
    @overload
    def __getitem__(self, index: slice | Sequence[Any] | np.ndarray) -> "FeatureSets": ...
    def __getitem__(self, index: Any) -> "np.ndarray | FeatureSets":
        """The points of one set, or several sets chosen like elements of an array."""
        rows, offsets = ragged_rows(self.offsets, index)
        points = self.points[rows]
        return points if offsets is None else FeatureSets(points, offsets, self.side)

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[i] for i in range(len(self)))


def as_feature_sets(sets: Any, side: int | None = None) -> FeatureSets:
    """Sets of points as :class:`FeatureSets`, whichever way they are given.

    Parameters
    ----------
    sets : FeatureSets, or sequence of (n_i, d) arrays
    side : int, optional
        D; overrides the sets' own.

    Examples
    --------
    >>> as_feature_sets([[[1.9, 0.0]], [[4, 4]]]).points.tolist()
    [[1, 0], [4, 4]]
    """
    if isinstance(sets, FeatureSets):
        if side is None or side == sets.side:
            return sets
        return FeatureSets(sets.points, sets.offsets, side)
    if isinstance(sets, np.ndarray) and sets.ndim == 2:
        raise ValueError(
            f"an array of shape {sets.shape} is one set of points; expected a list of such arrays"
        )
    return FeatureSets.from_arrays(sets, side)


def _as_points(array: Any, index: int) -> np.ndarray:
    """One set as whole numbers that 32 bits hold."""
    points = np.asarray(array)
    if points.size == 0 and points.ndim < 2:
        points = points.reshape(0, 0)
    if points.ndim != 2 or points.dtype.kind not in "iufb":
        raise ValueError(
            f"set {index} has shape {points.shape} and type {points.dtype}; "
            "expected numbers in an array (number of points, dimensions)"
        )
    if points.dtype.kind == "f":
        if not np.isfinite(points).all():
            raise ValueError(f"set {index} has NaN or infinite coordinates; leave those points out")
        points = np.floor(points)
    return np.clip(points, -FARTHEST, FARTHEST).astype(np.int32)


@dataclass(eq=False, repr=False)
class FeatureSetEncoder(Transformer, TakesObjects):
    """Reduce descriptors by principal components, append positions, and round to a grid.

    A descriptor x becomes ⌊s (Pᵀ(x − mean) − lowest)⌋, where the columns of P are the leading
    principal axes of the training descriptors and the one factor s stretches the widest of them
    to the range 0 … D − 1. A position in the image's unit square is multiplied by weight · D.

    Parameters
    ----------
    n_components : int or None, default 10
        Principal components kept ([Grauman06], Sec. 4.2, takes 10). None: descriptors as they are.
    positions : bool, default True
        Whether the position is appended.
    position_weight : float ≥ 0, default 1.0, keyword only
        Range of positions, in units of the range of the widest component.
    side : int, default 256
        D, the range of the grid; the pyramid has ⌈log₂ D⌉ levels below the top.
    skip_blank : bool, default True
        Leave out descriptors that are all 0: flat patches, which would match each other perfectly.
    sample_size : int, default 50_000
        Descriptors from which the components are learned, drawn at random from all.
    random_state : int, RandomState or None, default 0
        Random seed of that draw.

    Attributes
    ----------
    mean_ : (d,) float64
    components_ : (n_components, d) float64
        Principal axes, the largest coordinate of each positive.
    lowest_ : (n_components,) float64
    scale_ : float

    Notes
    -----
    Deviations from the paper: none is known; it says neither how components are scaled nor how
    much positions weigh. A new image may have points beyond 0 … D − 1: they stay where they are,
    and the pyramid match takes them.

    References
    ----------
    .. [Grauman06] K. Grauman, T. Darrell, "Pyramid Match Kernels: Discriminative Classification
       with Sets of Image Features", MIT-CSAIL-TR-2006-020.

    Examples
    --------
    >>> import numpy as np
    >>> from visualwords.features import DenseSIFT
    >>> images = np.random.default_rng(0).integers(0, 256, (2, 40, 40), np.uint8)
    >>> features = DenseSIFT().transform(images)
    >>> sets = FeatureSetEncoder(n_components=3).fit_transform(features)
    >>> len(sets), sets.points.shape, int(sets.points.max()) < sets.side == 256
    (2, (32, 5), True)
    """

    n_components: int | None = 10
    positions: bool = True
    _: KW_ONLY
    position_weight: float = 1.0
    side: int = 256
    skip_blank: bool = True
    sample_size: int = 50_000
    random_state: Seed = 0

    @with_one_library_thread
    def fit(self, features: Any, y: Labels = None) -> "FeatureSetEncoder":
        """Learn the principal components and the range of the training descriptors.

        Parameters
        ----------
        features : LocalFeatureSets, or iterable of LocalFeatures
        y : ignored
        """
        features = as_sets(features)
        self._check_parameters(features.descriptors)
        descriptors = features.descriptors[self._wanted(features.descriptors)]
        if not len(descriptors):
            raise ValueError("no image has a descriptor that is not blank; nothing can be learned")
        self.n_features_in_ = descriptors.shape[1]
        from sklearn.utils import check_random_state

        rng = check_random_state(self.random_state)
        sample = descriptors
        if len(descriptors) > self.sample_size:
            chosen = rng.choice(len(descriptors), self.sample_size, replace=False)
            sample = descriptors[np.sort(chosen)]
        learned = Projection.learn(sample, self.n_components)
        self.mean_ = learned.mean.astype(np.float64)
        self.components_ = learned.directions.astype(np.float64)
        projected = self._project(descriptors)
        self.lowest_ = projected.min(axis=0).astype(np.float64)
        width = float((projected.max(axis=0) - self.lowest_).max(initial=0.0))
        self.scale_ = self.side * (1 - 1e-9) / width if width > 0 else 1.0
        return self

    @with_one_library_thread
    def transform(self, features: Any) -> FeatureSets:
        """The sets of points of images.

        Parameters
        ----------
        features : LocalFeatureSets, or iterable of LocalFeatures

        Returns
        -------
        FeatureSets
            Points of ``n_components`` dimensions, and two more with positions.
        """
        check_fitted(self)
        features = as_sets(features)
        n, d = features.descriptors.shape
        if n and d != self.n_features_in_:
            raise ValueError(
                f"descriptors have {d} numbers; the encoder was fitted on {self.n_features_in_}"
            )
        wanted = self._wanted(features.descriptors)
        kept = np.concatenate([[0], np.cumsum(wanted)])
        points = np.empty((kept[-1], self.n_dimensions_), np.int32)
        k = len(self.components_)
        projected = self._project(features.descriptors[wanted])
        points[:, :k] = _on_grid((projected - self.lowest_) * self.scale_)
        if self.positions:
            unit = np.asarray(features.positions[wanted], np.float64)
            points[:, k:] = _on_grid(unit * (self.position_weight * self.side))
        return FeatureSets(points, kept[features.offsets], self.side)

    @property
    def n_dimensions_(self) -> int:
        """Dimensions of the points."""
        return len(self.components_) + (2 if self.positions else 0)

    def kept(self, features: LocalFeatures | LocalFeatureSets) -> np.ndarray:
        """The indices of an image's features that became points.

        Examples
        --------
        >>> import numpy as np
        >>> blank = LocalFeatures(np.array([[0, 0], [1, 2]]), np.zeros((2, 2)), np.ones(2))
        >>> FeatureSetEncoder().kept(blank)
        array([1])
        """
        return np.flatnonzero(self._wanted(features.descriptors))

    def get_state(self) -> dict[str, np.ndarray]:
        """Everything learned, as arrays that ``numpy.save`` keeps without pickle."""
        check_fitted(self)
        return {
            "mean": self.mean_,
            "components": self.components_,
            "lowest": self.lowest_,
            "scale": np.array(self.scale_),
        }

    def set_state(self, state: dict[str, np.ndarray]) -> "FeatureSetEncoder":
        """Restore what :meth:`get_state` returned; the parameters must be the same."""
        self.mean_ = np.asarray(state["mean"], np.float64)
        self.components_ = np.asarray(state["components"], np.float64)
        self.lowest_ = np.asarray(state["lowest"], np.float64)
        self.scale_ = float(state["scale"])
        self.n_features_in_ = self.components_.shape[1]
        return self

    def _project(self, descriptors: np.ndarray) -> np.ndarray:
        """Coordinates along the principal axes, (n, n_components) float32."""
        x = np.ascontiguousarray(descriptors)
        if x.dtype not in (np.uint8, np.float32):
            x = x.astype(np.float32)
        n_components = len(self.components_)
        lanes = -(-n_components // 8) * 8  # whole vectors of eight
        axes = np.zeros((x.shape[1], lanes), np.float32)
        axes[:, :n_components] = self.components_.T
        offset = np.zeros(lanes, np.float32)
        offset[:n_components] = self.components_ @ self.mean_
        projected = np.empty((len(x), lanes), np.float32)
        project_rows(x, axes, offset, projected)
        return projected[:, :n_components]

    def _wanted(self, descriptors: np.ndarray) -> np.ndarray:
        if not self.skip_blank:
            return np.ones(len(descriptors), bool)
        return np.asarray(descriptors.any(axis=1))

    def _check_parameters(self, descriptors: np.ndarray) -> None:
        if not 1 <= self.side <= FARTHEST:
            raise ValueError(f"side={self.side}: expected 1 … {FARTHEST}")
        if not self.position_weight >= 0:
            raise ValueError(f"position_weight={self.position_weight} must not be negative")
        n, d = descriptors.shape
        if self.n_components is not None and n and not 1 <= self.n_components <= d:
            raise ValueError(
                f"n_components={self.n_components}, but the descriptors have {d} numbers; "
                f"take 1 … {d}, or None to keep them as they are"
            )


def _on_grid(values: np.ndarray) -> np.ndarray:
    """Whole numbers below, within what 32 bits hold."""
    if not np.isfinite(values).all():
        raise ValueError("descriptors or positions are NaN or infinite")
    return np.clip(np.floor(values), -FARTHEST, FARTHEST)
