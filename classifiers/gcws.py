"""Consistent weighted sampling: sparse binary codes whose collisions estimate min–max kernels.

References
----------
.. [Li16] P. Li, "Generalized Intersection Kernel", 2016.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from visualwords.classifiers import _gcws as loops
from visualwords.classifiers.kernels.rows import Matrix, split_signs, unit_sum
from visualwords.parallel import in_threads, n_threads

KEPT_BYTES = 1 << 29  # larger tables of draws are recomputed in every call


class GCWSHasher(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Hash signed vectors so that collisions estimate the NGMM (or GMM) kernel.

    Each of the k hashes picks one coordinate i* of the vector, and a level t*, such that
    Pr{i*ᵤ = i*ᵥ and t*ᵤ = t*ᵥ} is the kernel; dropping t* ("0-bit") hardly changes it.
    ``transform`` writes the lowest b bits of i* as 2ᵇ indicator columns: a linear classifier on
    them approximates a kernel SVM.

    Parameters
    ----------
    n_hashes : int
        k, the number of hashes and of ones in every row of the result.
    n_bits : int or None
        b, how many bits of i* are kept; None keeps all (2d columns a hash).
    normalize : bool
        Scale rows to unit mass first, which gives the NGMM kernel; otherwise GMM.
    t_bits : int
        How many of the lowest bits of t* are kept as well; 0 in the paper's 0-bit scheme.
    random_state : int, RandomState or None
        The same number gives the same codes on every machine; more hashes keep the first ones.
    n_jobs : int or None
        Threads; the result does not depend on it.

    Attributes
    ----------
    n_features_in_ : int
    seed_ : int
        What the draws are made from.

    Notes
    -----
    **Deviations from the paper.** Coordinates are numbered from 0: 2i for a positive value of
    column i, 2i + 1 for a negative one. The bits that are kept are those of the column with the
    sign in the highest of them, not the lowest bits of that number, one of which non-negative
    data would waste. Rows of zeros have no sample: i* is −1, and ``transform`` leaves them empty.
    The competition runs in float32 (t* in float64); where two samples all but tie, i* could differ
    from what float64 would choose (none did in 72,320 that were compared).

    References
    ----------
    [Li16], Algorithm 1, Eq. (6), (7).

    Examples
    --------
    >>> X = np.array([[-5.0, 3.0, 0.0], [-5.0, 2.0, 1.0]])
    >>> hasher = GCWSHasher(n_hashes=1000, n_bits=8, random_state=0).fit(X)
    >>> hasher.transform(X).shape
    (2, 256000)
    >>> i, t = hasher.codes(X)
    >>> float(np.mean((i[0] == i[1]) & (t[0] == t[1])))  # NGMM is 0.7778
    0.788
    """

    def __init__(
        self,
        n_hashes: int = 256,
        n_bits: int | None = 8,
        normalize: bool = True,
        random_state: int | np.random.RandomState | None = 0,
        *,
        t_bits: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_hashes = n_hashes
        self.n_bits = n_bits
        self.normalize = normalize
        self.random_state = random_state
        self.t_bits = t_bits
        self.n_jobs = n_jobs

    def fit(self, X: Matrix, y: object = None) -> Self:
        """Fix the number of columns and the seed; the values of ``X`` do not matter.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : ignored
        """
        validate_data(self, X, accept_sparse="csr", dtype=(np.float64, np.float32))
        for name, value, least in (
            ("n_hashes", self.n_hashes, 1),
            ("n_bits", self.n_bits, 1),
            ("t_bits", self.t_bits, 0),
        ):
            if value is not None and not least <= value:
                raise ValueError(f"GCWSHasher: {name} is {value}, but must be at least {least}")
        self.seed_ = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        return self

    def codes(self, X: Matrix) -> tuple[np.ndarray, np.ndarray]:
        """Return the samples (i*, t*) of every row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), of any sign

        Returns
        -------
        i : int32 array of shape (n, n_hashes)
            2 · column for a positive value, 2 · column + 1 for a negative one; −1 in rows of zeros.
        t : int64 array of shape (n, n_hashes)
        """
        X = self._entries(X)
        step = 2 * self.n_features_in_ // X.shape[1]  # 2 where only positive columns are kept
        logs = np.empty(X.nnz)
        loops.log_all(X.data, logs)
        i = np.full((X.shape[0], self.n_hashes), -1, dtype=np.int32)
        t = np.zeros((X.shape[0], self.n_hashes), dtype=np.int64)
        for first, (draws, packed) in self._blocks(X.shape[1], step):
            width = min(loops.LANES, self.n_hashes - first)
            winners = _sample(X, logs.astype(np.float32), packed, self.n_jobs)[:, :width]
            found = winners >= 0
            i[:, first : first + width][found] = step * X.indices[winners[found]]
            loops.levels(winners, X.indices, logs, draws, t[:, first : first + width])
        return i, t

    def transform(self, X: Matrix) -> sparse.csr_array:
        """Return the indicator columns of every row's codes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), of any sign
            Rows are independent of each other, so that data can pass in pieces.

        Returns
        -------
        CSR array of shape (n, n_hashes · 2^(n_bits + t_bits)), float32
            ``n_hashes`` ones in every row with any mass.
        """
        i, t = self.codes(X)
        if self.n_bits is None:
            code, width = i.astype(np.int64), 2 * self.n_features_in_
        else:
            sign = (i & 1) << (self.n_bits - 1)
            code, width = ((i >> 1) ^ sign) & ((1 << self.n_bits) - 1), 1 << self.n_bits
        code = code + width * (t & ((1 << self.t_bits) - 1))
        width <<= self.t_bits
        columns = code + width * np.arange(self.n_hashes)
        has_mass = i[:, 0] >= 0
        offsets = np.concatenate([[0], np.cumsum(has_mass * self.n_hashes)])
        ones = np.ones(offsets[-1], dtype=np.float32)
        shape = (len(i), self.n_hashes * width)
        # LIBLINEAR's wrapper takes 32-bit indices only.
        small = max(shape[1], ones.size) <= np.iinfo(np.int32).max
        index = np.int32 if small else np.int64
        chosen = columns[has_mass].reshape(-1).astype(index)
        return sparse.csr_array((ones, chosen, offsets.astype(index)), shape=shape)

    @property
    def _n_features_out(self) -> int:
        width = 2 * self.n_features_in_ if self.n_bits is None else 1 << self.n_bits
        return self.n_hashes * width << self.t_bits

    def _entries(self, X: Matrix) -> sparse.csr_array:
        """Non-zero magnitudes as CSR: d columns, or 2d split by sign if any value is negative."""
        check_is_fitted(self)
        X = validate_data(
            self, X, accept_sparse="csr", dtype=np.float64, reset=False, ensure_min_samples=0
        )
        X = sparse.csr_array(X)
        if X.nnz and not (X.data.all() and X.has_canonical_format):
            X = X.copy()
            X.sum_duplicates()
            X.eliminate_zeros()
        if X.nnz and X.data.min() < 0:
            X = split_signs(X)
        return unit_sum(X) if self.normalize else X

    def _blocks(
        self, n_columns: int, step: int
    ) -> Iterator[tuple[int, tuple[np.ndarray, np.ndarray]]]:
        """First hash and draws of each block of hashes, kept between calls unless too large."""
        size = (4 * 7) * n_columns * (self.n_hashes + loops.LANES)
        draws = _kept_draws if size <= KEPT_BYTES else _kept_draws.__wrapped__
        for first in range(0, self.n_hashes, loops.LANES):
            yield first, draws(self.seed_, first, n_columns, step)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []
        return tags


@lru_cache(maxsize=64)
def _kept_draws(seed: int, first: int, n_columns: int, step: int) -> tuple[np.ndarray, np.ndarray]:
    """The draws of one block of hashes for columns 0, step, 2 step, …, and the same packed."""
    draws = np.empty((n_columns, 3, loops.LANES), np.float32)
    packed = np.empty((n_columns, 4 * loops.LANES), np.float32)
    loops.draw(seed, first, np.arange(0, n_columns * step, step), draws)
    loops.pack(draws, packed)
    return draws, packed


def _sample(
    X: sparse.csr_array, logs: np.ndarray, packed: np.ndarray, n_jobs: int | None
) -> np.ndarray:
    """The entry that each hash of a block chooses in each row, on threads."""
    winners = np.empty((X.shape[0], loops.LANES), dtype=np.int64)
    ranks = np.arange(X.shape[1], dtype=np.float32)
    height = max(loops.ROWS, -(-X.shape[0] // (4 * n_threads(n_jobs))))

    def sample(start: int, end: int) -> None:
        loops.sample_rows(X.indptr, X.indices, logs, ranks, packed, start, end, winners)

    in_threads(sample, len(winners), height, n_jobs)
    return winners
