"""Real feature values → small integer levels, the form in which HIK becomes a table look-up."""

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from math import ceil
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from visualwords.classifiers.one_vs_rest import check_sample_weight
from visualwords.compiled import as_compiled, njit
from visualwords.estimator import (
    Transformer,
    check_choices,
    check_fitted,
    checked_rows,
    validate_data,
)

_COLUMNS = 8  # their edges stay in the caches while all rows pass

Rows: TypeAlias = Any  # an array or a CSR matrix; scipy publishes no types

_LARGEST_LEVEL = np.iinfo(np.uint16).max
_CHUNK = 1 << 16  # values treated at a time: temporary arrays stay in the second-level cache
_COLUMNS_AT_A_TIME = 8
_NUDGE = 1 + 2.0**-50  # exact multiples of a level's width must not fall below it by rounding


@dataclass(eq=False, repr=False)
class Quantizer(Transformer):
    """Map feature values to integer levels 0 … v̄ ([Wu10], Eq. 13, and two alternatives).

    ``v → ⌊v̄ (v − v_min) / (v_max − v_min)⌋``, clipped to [0, v̄]

    Parameters
    ----------
    n_bins : int, default=100
        v̄, the highest level; 100 is the paper's choice (Sec. 3.5). At most 65,535; levels up to
        255 are stored in one byte.
    strategy : {"uniform", "quantile", "integer"}, default="uniform"
        "uniform": Eq. 13, the same v_min and v_max for all features. "quantile": every feature
        has its own level edges, at equal steps of the ranks of its distinct training values, which
        are spread over all levels. "integer": the values are natural counts and pass unchanged;
        ``n_bins`` is not used.
    percentile : float in (0, 100], default=97.5
        v_max is this percentile of all training values, not the maximum ([Wu10], Sec. 3.5): the
        ⌈percentile · n / 100⌉-th smallest of the n values, one that occurs.

    Attributes
    ----------
    n_levels_ : int
        Number of levels, v̄ + 1.
    v_min_, v_max_ : float
        The limits of Eq. 13 ("uniform"; otherwise the limits of the training data).
    edges_ : ndarray of shape (n_features, v̄), float64
        Value from which level k + 1 begins ("quantile"; otherwise empty); ``inf`` for a feature
        that is constant.

    Notes
    -----
    Deviations from the paper: its percentile is taken as an order statistic, without interpolation,
    which it leaves open; values beyond v_max or below v_min get the outermost level (the
    paper does not say); where more than 97.5 % of the values equal v_min, as in very sparse data,
    v_max is taken from the values above v_min, since Eq. 13 would divide by zero. A sparse matrix
    counts its zeros as values. "quantile" is the adaptive quantisation that the paper's
    conclusion asks for.

    References
    ----------
    [Wu10] J. Wu, "A Fast Dual Method for HIK SVM Learning", ECCV 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from visualwords.classifiers import Quantizer
    >>> Quantizer(n_bins=4, percentile=100).fit_transform(np.array([[-1.0, 0.0], [0.5, 1.0]]))
    array([[0, 2],
           [3, 4]], dtype=uint8)
    """

    n_bins: int = 100
    _: KW_ONLY
    strategy: str = "uniform"
    percentile: float = 97.5

    def fit(self, X: Any, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the level edges.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Any finite numbers; "integer" needs whole numbers ≥ 0.
        y : ignored
        sample_weight : array of shape (n_samples,), optional
            A row of weight 2 counts like two rows.

        Returns
        -------
        Quantizer
            This object.
        """
        X = validate_data(self, X, accept_sparse="csr", dtype="numeric")
        weight = None if sample_weight is None else check_sample_weight(sample_weight, X)
        return self.fit_validated(X, weight)

    def fit_validated(
        self, X: Rows, weight: np.ndarray | None = None, limits: "ValueLimits | None" = None
    ) -> Self:
        """Learn the level edges from finite data that a caller has validated.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
        weight : array of shape (n_samples,), optional
        limits : ValueLimits, optional
            Of X, if they are known.
        """
        self._check_parameters()
        limits = value_limits(X) if limits is None else limits
        self.n_features_in_ = X.shape[1]
        self.v_min_, self.v_max_ = limits
        self.edges_ = np.empty((0, 0))
        self.n_levels_ = int(self.n_bins) + 1
        if self.strategy == "integer":
            self.n_levels_ = _natural_levels(X.data if sparse.issparse(X) else X, limits)
        elif self.strategy == "quantile":
            self.edges_ = _quantile_edges(X, int(self.n_bins))
        else:
            self.v_max_ = value_quantile(X, weight, self.percentile / 100, limits)
        return self

    def transform(self, X: Any) -> Rows:
        """The levels of X.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        array or CSR matrix of shape (n_samples, n_features)
            uint8, or uint16 where there are more than 256 levels. A CSR matrix stays one if its
            zeros are level 0 (always so without negative training values).
        """
        check_fitted(self)
        X = checked_rows(self, X)
        return self.levels_of(X)

    def levels_of(self, X: Rows) -> Rows:
        """The levels of data that a caller has validated; else as :meth:`transform`."""
        if not sparse.issparse(X):
            if self.strategy != "quantile":
                return self._value_levels(X)
            levels = np.empty(X.shape, self.dtype_)
            quantize_columns(as_compiled(np.ascontiguousarray(X)), self.edges_, levels)
            return levels
        if np.any(self.levels_of(np.zeros((1, X.shape[1])))):
            return self.levels_of(X.toarray())
        data = np.empty(X.data.size, self.dtype_)
        if self.strategy != "quantile":
            data[:] = self._value_levels(X.data)
        for j, where in _entries_by_column(X) if self.strategy == "quantile" else ():
            data[where] = np.searchsorted(self.edges_[j], X.data[where], side="right")
        levels = sparse.csr_matrix((data, X.indices, X.indptr), shape=X.shape, copy=True)
        levels.sum_duplicates()
        levels.eliminate_zeros()
        return levels

    def get_state(self) -> dict[str, np.ndarray]:
        """Everything learned, as arrays that ``numpy.save`` keeps without pickle."""
        check_fitted(self)
        return {
            "strategy": np.array(self.strategy),
            "n_features": np.array(self.n_features_in_),
            "n_levels": np.array(self.n_levels_),
            "limits": np.array([self.v_min_, self.v_max_]),
            "edges": self.edges_,
        }

    def set_state(self, state: dict[str, np.ndarray]) -> Self:
        """Become the quantizer, of the same parameters, whose :meth:`get_state` this is."""
        self.n_features_in_ = int(state["n_features"])
        self.n_levels_ = int(state["n_levels"])
        if not 1 <= self.n_levels_ <= _LARGEST_LEVEL + 1:
            raise ValueError(f"{self.n_levels_} levels; the file they came from is damaged")
        self.v_min_, self.v_max_ = (float(v) for v in state["limits"])
        self.edges_ = np.asarray(state["edges"], np.float64)
        return self

    def _value_levels(self, X: np.ndarray) -> np.ndarray:
        """Levels that do not depend on the column ("uniform" and "integer")."""
        fits = self.strategy == "integer" and X.dtype == self.dtype_
        if fits and (X.size == 0 or int(X.max()) < self.n_levels_):
            return X
        levels = np.empty(X.shape, self.dtype_)
        source, target = np.ascontiguousarray(X).reshape(-1), levels.reshape(-1)
        lowest, scale = self.line()
        for start in range(0, source.size, _CHUNK):
            part = source[start : start + _CHUNK].astype(np.float64)
            part -= lowest
            part *= scale
            target[start : start + _CHUNK] = part.clip(0, self.n_levels_ - 1, out=part)
        return levels

    def line(self) -> tuple[float, float]:
        """V_min and the levels per unit ("uniform" and "integer")."""
        if self.strategy != "uniform":
            return 0.0, 1.0
        width = self.v_max_ - self.v_min_
        return self.v_min_, (self.n_levels_ - 1) / width * _NUDGE if width > 0 else 0.0

    @property
    def dtype_(self) -> type[np.uint8] | type[np.uint16]:
        """Smallest unsigned type that holds the levels."""
        return np.uint8 if self.n_levels_ <= 256 else np.uint16

    def _check_parameters(self) -> None:
        check_choices(self, strategy=("uniform", "quantile", "integer"))
        if not 1 <= self.n_bins <= _LARGEST_LEVEL:
            raise ValueError(f"n_bins={self.n_bins}: must be between 1 and {_LARGEST_LEVEL}")
        if not 0 < self.percentile <= 100:
            raise ValueError(f"percentile={self.percentile}: must be in (0, 100]")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []
        return tags


class ValueLimits(NamedTuple):
    """The smallest and the largest of all values."""

    lowest: float
    highest: float


def value_limits(X: Rows) -> ValueLimits:
    """The limits of an array or CSR matrix, whose unstored zeros are values too."""
    values = X.data if sparse.issparse(X) else X
    zeros = [0.0] if values.size < X.shape[0] * X.shape[1] or not values.size else []
    ends = [float(values.min()), float(values.max())] if values.size else []
    return ValueLimits(min(ends[:1] + zeros), max(ends[1:] + zeros))


def value_quantile(X: Rows, weight: np.ndarray | None, share: float, limits: ValueLimits) -> float:
    """The smallest value v such that values ≤ v have at least this share of the weight.

    If that is the smallest of all values, the values above the smallest are taken instead.

    Parameters
    ----------
    X : array or CSR matrix
        All finite. Zeros that are not stored are values too.
    weight : (n,), optional
        Of the rows.
    share : float in (0, 1]
    limits : ValueLimits
        Of X.
    """
    if weight is None and not sparse.issparse(X) and X.size:
        rank = max(ceil(share * X.size) - 1, 0)
        found = float(np.partition(X, rank, axis=None)[rank])
    else:
        found = _weighted_quantile(*_weighted_values(X, weight), share)
    if limits.lowest == found < limits.highest:
        values, weights = _weighted_values(X, weight)
        above = values > limits.lowest
        found = _weighted_quantile(values[above], weights[above], share)
    return found


def _weighted_values(X: Rows, weight: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """All values and their weights; the unstored zeros of a sparse matrix are one value."""
    each = np.ones(X.shape[0]) if weight is None else weight
    if not sparse.issparse(X):
        return X.reshape(-1), each.repeat(X.shape[1])
    stored = np.diff(X.indptr)
    zeros = float(((X.shape[1] - stored) * each).sum())
    return np.append(X.data, 0), np.append(np.repeat(each, stored), zeros)


def _weighted_quantile(values: np.ndarray, weight: np.ndarray, share: float) -> float:
    """Smallest value v such that values ≤ v have at least this share of the weight."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weight[order])
    index = np.searchsorted(reached, share * reached[-1] * (1 - 1e-12))
    return float(values[order[min(index, values.size - 1)]])


def _natural_levels(values: np.ndarray, limits: ValueLimits) -> int:
    """Number of levels of natural counts, after checking that they are such."""
    lowest, highest = limits
    if lowest < 0 or highest > _LARGEST_LEVEL:
        raise ValueError(
            f"strategy='integer' needs counts in 0 … {_LARGEST_LEVEL}, but the values are in "
            f"{lowest:g} … {highest:g}; use strategy='uniform'"
        )
    if values.dtype.kind == "f" and np.any(values != np.floor(values)):
        raise ValueError(
            "strategy='integer' needs whole numbers, but the values have fractions; "
            "use strategy='uniform'"
        )
    return int(highest) + 1


def _quantile_edges(X: Rows, n_bins: int) -> np.ndarray:
    """Level edges per feature, at equal steps of the ranks of its distinct values, rounded up."""
    edges = np.empty((X.shape[1], n_bins))
    steps = np.arange(1, n_bins + 1)
    for j, values in enumerate(_columns(X)):
        distinct = np.unique(values) + 0.0  # −0 becomes 0
        ranks = -(-steps * (distinct.size - 1) // n_bins)
        edges[j] = distinct[ranks] if distinct.size > 1 else np.inf
    return edges


def _columns(X: Rows) -> Iterator[np.ndarray]:
    """The values of every column; those of a sparse matrix with one zero if there are any."""
    if not sparse.issparse(X):
        for j in range(0, X.shape[1], _COLUMNS_AT_A_TIME):
            yield from np.ascontiguousarray(X[:, j : j + _COLUMNS_AT_A_TIME].T)
        return
    columns = X.tocsc()
    for j in range(X.shape[1]):
        values = columns.data[columns.indptr[j] : columns.indptr[j + 1]]
        yield np.append(values, 0) if values.size < X.shape[0] else values


def _entries_by_column(X: Rows) -> Iterator[tuple[int, np.ndarray]]:
    """Yield every column that has entries, with the positions of these in ``X.data``."""
    order = np.argsort(X.indices, kind="stable")
    bounds = np.searchsorted(X.indices[order], np.arange(X.shape[1] + 1))
    for j in range(X.shape[1]):
        if bounds[j] < bounds[j + 1]:
            yield j, order[bounds[j] : bounds[j + 1]]


@njit()
def quantize_columns(x, edges, out):
    """out[i, j] = how many of the ascending edges[j] are <= x[i, j], by bisection."""
    for left in range(0, x.shape[1], _COLUMNS):
        for i in range(x.shape[0]):
            for j in range(np.uint64(left), np.uint64(min(left + _COLUMNS, x.shape[1]))):
                first, end = np.uint64(0), np.uint64(edges.shape[1])
                while first < end:
                    middle = (first + end) >> np.uint64(1)
                    if edges[j, middle] <= x[i, j]:
                        first = middle + np.uint64(1)
                    else:
                        end = middle
                out[i, j] = first
