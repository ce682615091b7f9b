"""Local features of images → sets of points on an integer grid, for the pyramid match."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from visualwords.codebook._project import find_blank, project_rows
from visualwords.codebook.point_sets import FARTHEST, FeatureSets
from visualwords.codebook.projection import Projection
from visualwords.features.local_features import LocalFeatures, LocalFeatureSets
from visualwords.parallel import with_one_library_thread

__all__ = ["FeatureSetEncoder"]


class FeatureSetEncoder(TransformerMixin, BaseEstimator):
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

    def __init__(
        self,
        n_components: int | None = 10,
        positions: bool = True,
        *,
        position_weight: float = 1.0,
        side: int = 256,
        skip_blank: bool = True,
        sample_size: int = 50_000,
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.positions = positions
        self.position_weight = position_weight
        self.side = side
        self.skip_blank = skip_blank
        self.sample_size = sample_size
        self.random_state = random_state

    @with_one_library_thread
    def fit(self, features: Any, y: Any = None) -> "FeatureSetEncoder":
        """Learn the principal components and the range of the training descriptors.

        Parameters
        ----------
        features : LocalFeatureSets, or iterable of LocalFeatures
        y : ignored
        """
        features = _as_sets(features)
        self._check_parameters(features.descriptors)
        descriptors = features.descriptors[self._wanted(features.descriptors)]
        if not len(descriptors):
            raise ValueError("no image has a descriptor that is not blank; nothing can be learned")
        self.n_features_in_ = descriptors.shape[1]
        rng = check_random_state(self.random_state)
        sample = descriptors
        if len(descriptors) > self.sample_size:
            chosen = rng.choice(len(descriptors), self.sample_size, replace=False)
            sample = descriptors[np.sort(chosen)]
        self._learn_components(sample)
        projected = self._project(descriptors)
        self.lowest_ = projected.min(axis=0).astype(np.float64)
        width = float((projected.max(axis=0) - self.lowest_).max(initial=0.0))
        self.scale_ = self.side * (1 - 1e-9) / width if width > 0 else 1.0
        return self

    @with_one_library_thread
    def transform(self, features: Any) -> FeatureSets:
        """Return the sets of points of images.

        Parameters
        ----------
        features : LocalFeatureSets, or iterable of LocalFeatures

        Returns
        -------
        FeatureSets
            Points of ``n_components`` dimensions, and two more with positions.
        """
        check_is_fitted(self)
        features = _as_sets(features)
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
        """Return which of an image's features became points, as indices.

        Examples
        --------
        >>> import numpy as np
        >>> blank = LocalFeatures(np.array([[0, 0], [1, 2]]), np.zeros((2, 2)), np.ones(2))
        >>> FeatureSetEncoder().kept(blank)
        array([1])
        """
        return np.flatnonzero(self._wanted(features.descriptors))

    def get_state(self) -> dict[str, np.ndarray]:
        """Return everything learned, as arrays that ``numpy.save`` keeps without pickle."""
        check_is_fitted(self)
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

    def _learn_components(self, sample: np.ndarray) -> None:
        d = sample.shape[1]
        if self.n_components is None:
            self.mean_, self.components_ = np.zeros(d), np.eye(d)
            return
        learned = Projection.learn(sample, self.n_components)
        self.mean_ = learned.mean.astype(np.float64)
        self.components_ = learned.directions.astype(np.float64)

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
        blank = np.empty(len(descriptors), bool)
        find_blank(np.ascontiguousarray(descriptors), blank)
        return ~blank

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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        return tags


def _as_sets(features: Any) -> LocalFeatureSets:
    if isinstance(features, LocalFeatureSets):
        return features
    return LocalFeatureSets.concatenate(features)


def _on_grid(values: np.ndarray) -> np.ndarray:
    """Whole numbers below, within what 32 bits hold."""
    if not np.isfinite(values).all():
        raise ValueError("descriptors or positions are NaN or infinite")
    return np.clip(np.floor(values), -FARTHEST, FARTHEST)
