"""Real feature values → small integer levels, the form in which HIK becomes a table look-up."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from visualwords.classifiers import _quantize

_LARGEST_LEVEL = np.iinfo(np.uint16).max
_CHUNK = 1 << 16  # values treated at a time: temporary arrays stay in the second-level cache
_COUNTING_BINS = 4096
_COMPILED_TYPES = (np.float32, np.float64, np.uint8, np.uint16)
_NUDGE = 1 + 2.0**-50  # exact multiples of a level's width must not fall below it by rounding


class Quantizer(TransformerMixin, BaseEstimator):
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
        v_max is this percentile of all training values, not the maximum ([Wu10], Sec. 3.5).

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
    Deviations from the paper: values beyond v_max or below v_min get the outermost level (the
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

    def __init__(self, n_bins: int = 100, *, strategy: str = "uniform", percentile: float = 97.5):
        self.n_bins = n_bins
        self.strategy = strategy
        self.percentile = percentile

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "Quantizer":
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
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
        self._check_parameters()
        values = X.data if sparse.issparse(X) else X
        lowest, highest = _limits(values)
        if sparse.issparse(X) and values.size < X.shape[0] * X.shape[1]:
            lowest, highest = min(lowest, 0.0), max(highest, 0.0)
        self.v_min_, self.v_max_ = lowest, highest
        self.edges_ = np.empty((0, 0))
        self.n_levels_ = int(self.n_bins) + 1
        if self.strategy == "integer":
            self.n_levels_ = _natural_levels(values, lowest, highest)
        elif self.strategy == "quantile":
            self.edges_ = _quantile_edges(X, int(self.n_bins))
        else:
            self.v_max_ = _upper_limit(X, weight, self.percentile / 100, lowest, highest)
        return self

    def transform(self, X: Any) -> Any:
        """Return the levels of X.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        array or CSR matrix of shape (n_samples, n_features)
            uint8, or uint16 where there are more than 256 levels. A CSR matrix stays one if its
            zeros are level 0 (always so without negative training values).
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype="numeric", reset=False)
        return self._levels(X)

    def get_state(self) -> dict[str, np.ndarray]:
        """Return everything learned, as arrays that ``numpy.save`` keeps without pickle."""
        check_is_fitted(self)
        return {
            "strategy": np.array(self.strategy),
            "n_features": np.array(self.n_features_in_),
            "n_levels": np.array(self.n_levels_),
            "limits": np.array([self.v_min_, self.v_max_]),
            "edges": self.edges_,
        }

    def set_state(self, state: dict[str, np.ndarray]) -> "Quantizer":
        """Become the quantizer, of the same parameters, whose :meth:`get_state` this is."""
        self.n_features_in_ = int(state["n_features"])
        self.n_levels_ = int(state["n_levels"])
        self.v_min_, self.v_max_ = (float(v) for v in state["limits"])
        self.edges_ = np.asarray(state["edges"], np.float64)
        return self

    def _levels(self, X: Any) -> Any:
        """Levels of a validated X."""
        if sparse.issparse(X):
            if np.any(self._column_levels(np.zeros((1, X.shape[1])))):
                return self._levels(X.toarray())
            return self._sparse_levels(X)
        if self.strategy == "quantile":
            return self._column_levels(X)
        return self._value_levels(X)

    def _value_levels(self, X: np.ndarray) -> np.ndarray:
        """Levels that do not depend on the column ("uniform" and "integer")."""
        fits = self.strategy == "integer" and X.dtype == self.dtype_
        if fits and (X.size == 0 or int(X.max()) < self.n_levels_):
            return X
        X = np.ascontiguousarray(X)
        levels = np.empty(X.shape, self.dtype_)
        source, target = X.reshape(-1), levels.reshape(-1)
        uniform = self.strategy == "uniform"
        lowest, scale = (self.v_min_, self._scale()) if uniform else (0.0, 1.0)
        top = float(self.n_levels_ - 1)
        for start in range(0, source.size, _CHUNK):
            part = _as_compiled(source[start : start + _CHUNK])
            _quantize.quantize(part, lowest, scale, top, target[start : start + _CHUNK])
        return levels

    def _column_levels(self, X: np.ndarray) -> np.ndarray:
        """Levels of a dense X, where every column may have edges of its own."""
        if self.strategy != "quantile":
            return self._value_levels(X)
        levels = np.empty(X.shape, self.dtype_)
        _quantize.quantize_columns(_as_compiled(np.ascontiguousarray(X)), self.edges_, levels)
        return levels

    def _sparse_levels(self, X: Any) -> Any:
        """Levels of a CSR matrix whose zeros are level 0."""
        if self.strategy == "quantile":
            data = np.empty(X.data.size, self.dtype_)
            for j, where in _entries_by_column(X):
                data[where] = np.searchsorted(self.edges_[j], X.data[where], side="right")
        else:
            data = self._value_levels(X.data)
        levels = sparse.csr_matrix((data, X.indices, X.indptr), shape=X.shape, copy=True)
        levels.sum_duplicates()
        levels.eliminate_zeros()
        return levels

    @property
    def dtype_(self) -> Any:
        """Smallest unsigned type that holds the levels."""
        return np.uint8 if self.n_levels_ <= 256 else np.uint16

    def _scale(self) -> float:
        width = self.v_max_ - self.v_min_
        return (self.n_levels_ - 1) / width * _NUDGE if width > 0 else 0.0

    def _check_parameters(self) -> None:
        if self.strategy not in ("uniform", "quantile", "integer"):
            raise ValueError(
                f"strategy={self.strategy!r}: choose 'uniform', 'quantile' or 'integer'"
            )
        if not 1 <= self.n_bins <= _LARGEST_LEVEL:
            raise ValueError(f"n_bins={self.n_bins}: must be between 1 and {_LARGEST_LEVEL}")
        if not 0 < self.percentile <= 100:
            raise ValueError(f"percentile={self.percentile}: must be in (0, 100]")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def _limits(values: np.ndarray) -> tuple[float, float]:
    """Smallest and largest value; 0, 0 for none."""
    if values.size == 0:
        return 0.0, 0.0
    return float(values.min()), float(values.max())


def _natural_levels(values: np.ndarray, lowest: float, highest: float) -> int:
    """Number of levels of natural counts, after checking that they are such."""
    if lowest < 0 or highest > _LARGEST_LEVEL:
        raise ValueError(
            f"strategy='integer' needs counts in 0 … {_LARGEST_LEVEL}, but the values are in "
            f"{lowest:g} … {highest:g}; use strategy='uniform'"
        )
    if values.dtype.kind == "f":
        flat = values.reshape(-1)
        for start in range(0, flat.size, _CHUNK):
            part = flat[start : start + _CHUNK]
            if not np.array_equal(part, np.floor(part)):
                raise ValueError(
                    "strategy='integer' needs whole numbers, but the values have fractions; "
                    "use strategy='uniform'"
                )
    return int(highest) + 1


def _upper_limit(
    X: Any, weight: np.ndarray | None, share: float, lowest: float, highest: float
) -> float:
    """v_max: the percentile of all values; of those above v_min if that leaves no range."""
    limit = _quantile_of_values(X, weight, share)
    if limit > lowest or highest == lowest:
        return limit
    if sparse.issparse(X):
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        values = X.data
    else:
        rows = np.repeat(np.arange(X.shape[0]), X.shape[1])
        values = X.reshape(-1)
    above = values > lowest
    return _weighted_quantile(values[above], None if weight is None else weight[rows[above]], share)


def _quantile_of_values(X: Any, weight: np.ndarray | None, share: float) -> float:
    """Quantile of all values of X, the zeros of a sparse matrix included."""
    n, d = X.shape
    if not sparse.issparse(X):
        return _weighted_quantile(
            X.reshape(-1), None if weight is None else weight.repeat(d), share
        )
    stored = np.diff(X.indptr)
    each = np.ones(n) if weight is None else weight
    zeros = float(((d - stored) * each).sum())
    values = np.append(X.data, 0)
    return _weighted_quantile(values, np.append(np.repeat(each, stored), zeros), share)


def _weighted_quantile(values: np.ndarray, weight: np.ndarray | None, share: float) -> float:
    """Smallest value v such that values ≤ v have at least this share of the weight."""
    if weight is None:
        return _quantile(values, share)
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weight[order])
    index = np.searchsorted(reached, share * reached[-1] * (1 - 1e-12))
    return float(values[order[min(index, values.size - 1)]])


def _quantile(values: np.ndarray, share: float) -> float:
    """The same without weights, in two passes: count bins, then sort the one that matters."""
    rank = max(int(np.ceil(share * values.size)) - 1, 0)
    lowest, highest = _limits(values)
    scale = _COUNTING_BINS / (highest - lowest) if highest > lowest else 0.0
    if not 0 < scale < np.inf:
        return float(np.partition(values, rank)[rank])
    partial = np.zeros((4, _COUNTING_BINS + 1), np.int64)
    chunks = [values[k : k + _CHUNK] for k in range(0, values.size, _CHUNK)]
    for chunk in chunks:
        _quantize.count_bins(_as_compiled(chunk), lowest, scale, partial)
    counts = partial.sum(axis=0)
    wanted = int(np.searchsorted(np.cumsum(counts), rank, side="right"))
    inside, found = np.empty(counts[wanted]), 0
    for chunk in chunks:
        chunk = _as_compiled(chunk)
        found = _quantize.collect_bin(chunk, lowest, scale, np.uint64(wanted), inside, found)
    rank -= int(counts[:wanted].sum())
    return float(np.partition(inside, rank)[rank])


def _as_compiled(values: np.ndarray) -> np.ndarray:
    """Values of a type that the loops take as it is."""
    return values if values.dtype in _COMPILED_TYPES else values.astype(np.float64)


def _quantile_edges(X: Any, n_bins: int) -> np.ndarray:
    """Level edges per feature, at equal steps of the ranks of its distinct values."""
    d = X.shape[1]
    edges = np.full((d, n_bins), np.inf)
    columns = X.tocsc() if sparse.issparse(X) else X
    for j in range(d):
        if sparse.issparse(X):
            distinct = np.unique(columns.data[columns.indptr[j] : columns.indptr[j + 1]])
            if columns.indptr[j + 1] - columns.indptr[j] < X.shape[0]:
                distinct = np.union1d(distinct, [0])
        else:
            distinct = np.unique(columns[:, j])
        if distinct.size > 1:
            ranks = -(-np.arange(1, n_bins + 1) * (distinct.size - 1) // n_bins)  # rounded up
            edges[j] = distinct[ranks]
    return edges


def _entries_by_column(X: Any) -> Any:
    """Yield every column that has entries, with the positions of these in ``X.data``."""
    order = np.argsort(X.indices, kind="stable")
    bounds = np.searchsorted(X.indices[order], np.arange(X.shape[1] + 1))
    for j in range(X.shape[1]):
        if bounds[j] < bounds[j + 1]:
            yield j, order[bounds[j] : bounds[j + 1]]
