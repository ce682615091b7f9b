"""Consistent weighted sampling: sparse binary codes whose collisions estimate min–max kernels.

References
----------
.. [Li16] P. Li, "Generalized Intersection Kernel", 2016.
"""

import math
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache
from typing import Any, Self

import numpy as np
from scipy import sparse

from visualwords.classifiers.kernels.rows import Matrix, has_negative, split_signs, unit_sum
from visualwords.classifiers.tables.level_pairs import canonical
from visualwords.compiled import njit
from visualwords.estimator import Seed, Transformer, check_fitted, validate_data
from visualwords.parallel import in_threads, n_threads

KEPT_BYTES = 1 << 29  # larger tables of draws are recomputed in every call


@dataclass(eq=False, repr=False)
class GCWSHasher(Transformer):
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

    n_hashes: int = 256
    n_bits: int | None = 8
    normalize: bool = True
    random_state: Seed = 0
    _: KW_ONLY
    t_bits: int = 0
    n_jobs: int | None = None

    mixin = "ClassNamePrefixFeaturesOutMixin"

    def fit(self, X: Matrix, y: object = None) -> Self:
        """Fix the number of columns and the seed; the values of ``X`` do not matter.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : ignored
        """
        validate_data(self, X, accept_sparse="csr", dtype=(np.float64, np.float32))
        for name, least in (("n_hashes", 1), ("n_bits", 1), ("t_bits", 0)):
            value = getattr(self, name)
            if value is not None and not least <= value:
                raise ValueError(f"GCWSHasher: {name} is {value}, but must be at least {least}")
        from sklearn.utils import check_random_state

        self.seed_ = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        return self

    def codes(self, X: Matrix) -> tuple[np.ndarray, np.ndarray]:
        """The samples (i*, t*) of every row.

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
        log_all(X.data, logs)
        i = np.full((X.shape[0], self.n_hashes), -1, dtype=np.int32)
        t = np.zeros((X.shape[0], self.n_hashes), dtype=np.int64)
        for first, (draws, packed) in self._blocks(X.shape[1], step):
            width = min(LANES, self.n_hashes - first)
            winners = _sample(X, logs.astype(np.float32), packed, self.n_jobs)[:, :width]
            found = winners >= 0
            i[:, first : first + width][found] = step * X.indices[winners[found]]
            level_codes(winners, X.indices, logs, draws, t[:, first : first + width])
        return i, t

    def transform(self, X: Matrix) -> sparse.csr_array:
        """The indicator columns of every row's codes.

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
        check_fitted(self)
        X = validate_data(
            self, X, accept_sparse="csr", dtype=np.float64, reset=False, ensure_min_samples=0
        )
        X = canonical(sparse.csr_array(X))
        if has_negative(X):
            X = split_signs(X)
        return unit_sum(X) if self.normalize else X

    def _blocks(
        self, n_columns: int, step: int
    ) -> Iterator[tuple[int, tuple[np.ndarray, np.ndarray]]]:
        """First hash and draws of each block of hashes, kept between calls unless too large."""
        size = (4 * 7) * n_columns * (self.n_hashes + LANES)
        draws = _kept_draws if size <= KEPT_BYTES else _kept_draws.__wrapped__
        for first in range(0, self.n_hashes, LANES):
            yield first, draws(self.seed_, first, n_columns, step)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []
        return tags


@lru_cache(maxsize=64)
def _kept_draws(seed: int, first: int, n_columns: int, step: int) -> tuple[np.ndarray, np.ndarray]:
    """The draws of one block of hashes for columns 0, step, 2 step, …, and the same packed."""
    draws = np.empty((n_columns, 3, LANES), np.float32)
    packed = np.empty((n_columns, 4 * LANES), np.float32)
    draw(seed, first, np.arange(0, n_columns * step, step), draws)
    pack(draws, packed)
    return draws, packed


def _sample(
    X: sparse.csr_array, logs: np.ndarray, packed: np.ndarray, n_jobs: int | None
) -> np.ndarray:
    """The entry that each hash of a block chooses in each row, on threads."""
    winners = np.empty((X.shape[0], LANES), dtype=np.int64)
    ranks = np.arange(X.shape[1], dtype=np.float32)
    height = max(ROWS, -(-X.shape[0] // (4 * n_threads(n_jobs))))

    def sample(start: int, end: int) -> None:
        sample_rows(X.indptr, X.indices, logs, ranks, packed, start, end, winners)

    in_threads(sample, len(winners), height, n_jobs)
    return winners


# Loops: Compiled loops of generalized consistent weighted sampling (GCWS), [Li16, Algorithm 1].
#
# Hash j draws for every column i: r ~ Gamma(2, 1), c ~ Gamma(2, 1), β ~ Uniform(0, 1), from the
# counter (seed, j, i) and rounded to float32. Of a value u with L = log u,
#
# t = floor(L/r + β),   log a = log c − r (t − β + 1),
#
# and the column with the least log a wins. Only additions, multiplications, divisions and
# ``floor`` are used, without fast arithmetic, so that every machine gets the same bits.

LANES = 64  # hashes that are sampled together
ROWS, COLUMNS = 256, 128  # of a tile: its draws and its state take half of a second-level cache
_W1, _W2, _W3 = np.uint64(LANES), np.uint64(2 * LANES), np.uint64(3 * LANES)
_ODD_1 = np.uint64(0x9E3779B97F4A7C15)
_ODD_2 = np.uint64(0xBF58476D1CE4E5B9)
_ODD_3 = np.uint64(0x94D049BB133111EB)
_LN2 = 0.6931471805599453


@njit()
def _mix(z):
    """The finaliser of SplitMix64: every bit of the input reaches every bit of the output."""
    z = (z ^ (z >> np.uint64(30))) * _ODD_2
    z = (z ^ (z >> np.uint64(27))) * _ODD_3
    return z ^ (z >> np.uint64(31))


@njit()
def _uniform(key, draw):
    """The draw-th uniform number in (0, 1) of a key, 53 bits."""
    bits = _mix(key + np.uint64(draw) * _ODD_1) >> np.uint64(11)
    return (np.float64(bits) + 0.5) * 2.0**-53


@njit()
def _log(x):
    """log x by the series of atanh: the same on every machine, unlike the C library's."""
    m, e = math.frexp(x)
    if m < 0.7071067811865476:
        m *= 2.0
        e -= 1
    s = (m - 1.0) / (m + 1.0)
    total = 0.0
    for k in range(21, 0, -2):
        total = total * (s * s) + 1.0 / k
    return 2.0 * s * total + e * _LN2


@njit()
def log_all(x, out):
    """out = log x of positive numbers."""
    for i in range(x.size):
        out[i] = _log(x[i])


@njit()
def draw(seed, first_hash, columns, out):
    """out[i, :, l] = r, β, log c of column columns[i] for hash first_hash + l.

    columns : (n,) int64     out : (n, 3, lanes) float32
    """
    for i in range(columns.size):
        by_column = _mix(np.uint64(columns[i]) * _ODD_1 + np.uint64(seed))
        for lane in range(out.shape[2]):
            key = _mix(by_column + np.uint64(first_hash + lane + 1) * _ODD_2)
            out[i, 0, lane] = -_log(_uniform(key, 1) * _uniform(key, 2))
            out[i, 1, lane] = _uniform(key, 3)
            out[i, 2, lane] = _log(-_log(_uniform(key, 4) * _uniform(key, 5)))


@njit()
def pack(draws, out):
    """out[i] = 1/r, β, r and log c − r (1 − β), LANES of each: what the inner loop reads."""
    for i in range(draws.shape[0]):
        for lane in range(LANES):
            r, beta = np.float64(draws[i, 0, lane]), np.float64(draws[i, 1, lane])
            out[i, lane] = 1.0 / r
            out[i, LANES + lane] = beta
            out[i, 2 * LANES + lane] = r
            out[i, 3 * LANES + lane] = draws[i, 2, lane] - r * (1.0 - beta)


@njit()
def _compete(logs, columns, ranks, entries, packed, state, i):
    """Let entries p … p + 3 (none after ``last``) of one row compete in all LANES hashes.

    entries : p, last, and where the row starts
    state[i] : LANES least values of log a, then the LANES ranks that hold them
    """
    p, last, start = entries
    p1, p2, p3 = min(p + 1, last), min(p + 2, last), min(p + 3, last)
    c0, c1 = np.uint64(columns[p]), np.uint64(columns[p1])
    c2, c3 = np.uint64(columns[p2]), np.uint64(columns[p3])
    log0, log1, log2, log3 = logs[p], logs[p1], logs[p2], logs[p3]
    r0, r1, r2, r3 = ranks[p - start], ranks[p1 - start], ranks[p2 - start], ranks[p3 - start]
    one, zero = np.float32(1), np.float32(0)
    for k in range(_W1):
        a0 = packed[c0, _W3 + k] - packed[c0, _W2 + k] * np.floor(
            log0 * packed[c0, k] + packed[c0, _W1 + k]
        )
        a1 = packed[c1, _W3 + k] - packed[c1, _W2 + k] * np.floor(
            log1 * packed[c1, k] + packed[c1, _W1 + k]
        )
        a2 = packed[c2, _W3 + k] - packed[c2, _W2 + k] * np.floor(
            log2 * packed[c2, k] + packed[c2, _W1 + k]
        )
        a3 = packed[c3, _W3 + k] - packed[c3, _W2 + k] * np.floor(
            log3 * packed[c3, k] + packed[c3, _W1 + k]
        )
        left = r0 if a0 <= a1 else r1
        right = r2 if a2 <= a3 else r3
        a0, a2 = min(a0, a1), min(a2, a3)
        rank, least = left if a0 <= a2 else right, min(a0, a2)
        best, holder = state[i, k], state[i, _W1 + k]
        state[i, k] = min(least, best)
        # A product instead of a choice: the compiler would make that a slow masked store.
        state[i, _W1 + k] = holder + (rank - holder) * (one if least < best else zero)


@njit()
def sample_rows(indptr, columns, logs, ranks, packed, first, last, winners):
    """winners[i, l] = the entry of row i that hash l of this block chooses; −1 in an empty row.

    indptr, columns, logs : CSR, columns ascending and counted as in ``packed``, float32 log u
    ranks : 0, 1, 2, … as float32     packed : (n_columns, 4 · LANES)     winners : (n, LANES)
    """
    state = np.empty((ROWS, 2 * LANES), np.float32)
    at = np.empty(ROWS, np.int64)
    for top in range(first, last, ROWS):
        rows = min(ROWS, last - top)
        at[:rows] = indptr[top : top + rows]
        state[:, :LANES] = np.float32(np.inf)
        state[:, LANES:] = np.float32(0)
        for stop in range(COLUMNS, packed.shape[0] + COLUMNS, COLUMNS):
            for i in range(rows):
                p, end = at[i], at[i]
                while end < indptr[top + i + 1] and columns[end] < stop:
                    end += 1
                while p < end:
                    entries = p, end - 1, indptr[top + i]
                    _compete(logs, columns, ranks, entries, packed, state, np.uint64(i))
                    p += 4
                at[i] = end
        for i in range(rows):
            empty = indptr[top + i] == indptr[top + i + 1]
            for lane in range(LANES):
                chosen = indptr[top + i] + np.int64(state[i, LANES + lane])
                winners[top + i, lane] = -1 if empty else chosen


@njit()
def level_codes(winners, columns, logs, draws, out):
    """out[i, l] = t* = floor(log u / r + β) of the chosen entries, 0 where there is none."""
    for i in range(winners.shape[0]):
        for lane in range(winners.shape[1]):
            p = winners[i, lane]
            if p < 0:
                out[i, lane] = 0
            else:
                r = np.float64(draws[columns[p], 0, lane])
                beta = np.float64(draws[columns[p], 1, lane])
                out[i, lane] = np.int64(np.floor(logs[p] / r + beta))
