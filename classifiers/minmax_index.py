"""Near neighbours by min–max similarity, without comparing with everything.

References
----------
.. [Li16] P. Li, "Generalized Intersection Kernel", 2016.
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse

from visualwords.classifiers.gcws import GCWSHasher
from visualwords.classifiers.kernels.minmax import min_sums
from visualwords.classifiers.kernels.rows import Matrix, row_sums, split_signs, unit_sum
from visualwords.compiled import njit
from visualwords.estimator import Estimator, Seed, check_choices, check_fitted, validate_data
from visualwords.parallel import in_threads, n_threads

N_PROBES, N_OTHERS, N_NEIGHBORS = 100, 20_000, 10  # of the sample that sets the tables
ENOUGH = 4  # shared buckets distinguish a near row from one found by chance
_SIMILARITIES = 1 << 22  # at most that are held at a time, where all rows are compared
_ODD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(eq=False, repr=False)
class MinMaxIndex(Estimator):
    """Hash tables for the k most similar rows by NGMM, GMM or GInt similarity.

    Every table keys the rows by a few GCWS codes, so that rows of similarity s share a bucket of
    m codes with probability sᵐ. A query is compared exactly with the rows that share the most
    buckets with it.

    Parameters
    ----------
    n_hashes : int
        Codes of a row, over all tables; more find more and cost more.
    random_state : int, RandomState or None
        Seed of the codes.
    similarity : {"ngmm", "gint", "gmm"}
        What is returned. "gint" orders rows as "ngmm" does.
    codes_per_table : int or None
        m. None chooses the largest that should reach ``target_recall`` on the rows of ``fit``.
    target_recall : float in (0, 1]
        Share of the ten nearest rows to be found, for the choice of m.
    n_compared : int
        How many rows a query is compared with, or a few less; never fewer than k.
    n_jobs : int or None
        Threads; the result does not depend on it.

    Attributes
    ----------
    n_rows_ : int
    codes_per_table_, n_tables_ : int
    exhaustive_ : bool
        Rows are so alike, or so short, that counting shared buckets would take longer than reading
        all rows: queries are compared with all of them, which finds the exact neighbours.
    rows_ : CSR array
        What is stored: values split by sign, rows of unit mass unless ``similarity="gmm"``.

    Notes
    -----
    **Deviations from the paper.** It names hash tables as a use of the codes and gives no
    algorithm. Buckets are of full codes (i*, t*), whose collisions are exact. Where fewer than k
    rows share a bucket with a query, all rows are compared.

    References
    ----------
    [Li16], Sec. 4.

    Examples
    --------
    >>> X = np.array([[4.0, 1.0, 0.0], [0.0, 1.0, 4.0], [5.0, 1.0, 0.0]])
    >>> index = MinMaxIndex(random_state=0).fit(X)
    >>> indices, similarities = index.query(np.array([[5.0, 1.0, 0.0]]), 2)
    >>> indices
    array([[2, 0]])
    >>> similarities.round(3)
    array([[1.   , 0.935]])
    """

    n_hashes: int = 256
    random_state: Seed = 0
    _: KW_ONLY
    similarity: str = "ngmm"
    codes_per_table: int | None = None
    target_recall: float = 0.95
    n_compared: int = 200
    n_jobs: int | None = None

    def fit(self, X: Matrix, y: object = None) -> Self:
        """Choose the tables and store the rows of ``X``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), of any sign
        y : ignored
        """
        check_choices(self, similarity=("ngmm", "gint", "gmm"))
        if not 0 < self.target_recall <= 1:
            raise ValueError(f"target_recall is {self.target_recall}, but a share is in (0, 1]")
        X = self._check(X, reset=True)
        self.hasher_ = GCWSHasher(
            self.n_hashes, normalize=self.similarity != "gmm", random_state=self.random_state
        ).fit(X)
        rows = self._stored(X)
        self.codes_per_table_ = self.codes_per_table or self._choose_codes_per_table(rows)
        if not 1 <= self.codes_per_table_ <= self.n_hashes:
            raise ValueError(
                f"codes_per_table is {self.codes_per_table}, but {self.n_hashes} hashes allow "
                f"1 … {self.n_hashes}"
            )
        keys = self._keys(X)
        self.rows_, self.n_rows_, self.n_tables_ = rows, rows.shape[0], len(keys)
        self._masses = row_sums(rows)
        order = np.argsort(keys, axis=1, kind="stable")
        self._buckets = np.take_along_axis(keys, order, axis=1), order
        self.exhaustive_ = _mean_matches(self._buckets[0]) > rows.nnz
        return self

    def query(self, X: Matrix, k: int = 10) -> tuple[np.ndarray, np.ndarray]:
        """The k most similar stored rows of every row of ``X``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        k : int
            At most the number of stored rows.

        Returns
        -------
        indices : int64 array of shape (n, k)
            Most similar first, equal ones by number.
        similarities : float64 array of shape (n, k), exact
        """
        check_fitted(self)
        if not 1 <= k <= self.n_rows_:
            raise ValueError(f"k is {k}, but the index holds {self.n_rows_} rows")
        X = self._check(X, reset=False)
        queries = self._stored(X)
        if self.exhaustive_:
            return self._compare_all(queries, k)
        keys = np.ascontiguousarray(self._keys(X).T)
        stored = (self.rows_.indptr, self.rows_.indices, self.rows_.data, self._masses)
        query_masses = row_sums(queries)
        best = np.empty((len(keys), k), dtype=np.int64)
        scores = np.empty((len(keys), k))

        def search(start: int, end: int) -> None:
            part = slice(start, end)
            piece = queries[part]
            asked = (piece.indptr, piece.indices, piece.data, piece.shape[1], query_masses[part])
            answers = best[part], scores[part]
            search_rows(asked, keys[part], self._buckets, stored, self.n_compared, answers)

        height = max(1, -(-len(keys) // (4 * n_threads(self.n_jobs))))
        in_threads(search, len(keys), height, self.n_jobs)
        return best, self._returned(scores)

    def _check(self, X: Matrix, reset: bool) -> Any:
        return validate_data(
            self, X, accept_sparse="csr", dtype=(np.float64, np.float32), reset=reset
        )

    def _stored(self, X: Matrix) -> sparse.csr_array:
        """Rows in the form they are compared in."""
        rows = split_signs(sparse.csr_array(X)).astype(np.float64)
        rows.sum_duplicates()
        rows.eliminate_zeros()
        return (rows if self.similarity == "gmm" else unit_sum(rows)).astype(np.float32)

    def _similarities(self, x: sparse.csr_array, y: sparse.csr_array) -> np.ndarray:
        """Exact similarities of stored forms."""
        shared = min_sums(x, y, n_jobs=self.n_jobs).astype(np.float64)
        maxima = row_sums(x)[:, None] + row_sums(y) - shared
        return self._returned(np.divide(shared, maxima, out=shared, where=maxima > 0))

    def _returned(self, ratios: np.ndarray) -> np.ndarray:
        """Min–max ratios as the similarity that was asked for: [Li16], Eq. (5) backwards."""
        return 2 * ratios / (1 + ratios) if self.similarity == "gint" else ratios

    def _choose_codes_per_table(self, rows: sparse.csr_array) -> int:
        """The largest m with the wanted chance of sharing enough buckets with near rows."""
        if rows.shape[0] < 2:
            return 1
        from scipy.stats import binom

        rng = np.random.default_rng(self.hasher_.seed_)
        sample = rng.permutation(rows.shape[0])[:N_OTHERS]
        probes = sample[:N_PROBES]
        s = self._similarities(rows[probes], rows[sample])
        s = s / (2 - s) if self.similarity == "gint" else s
        s[np.arange(len(probes)), np.arange(len(probes))] = 0  # a row is not its own neighbour
        share = len(sample) / rows.shape[0]
        rank = min(max(1, round(N_NEIGHBORS * share)), len(sample) - 1)
        near = np.sort(s, axis=1)[:, -rank:]
        for m in range(min(32, self.n_hashes), 1, -1):
            if np.mean(binom.sf(ENOUGH - 1, self.n_hashes // m, near**m)) >= self.target_recall:
                return m
        return 1

    def _keys(self, X: Matrix) -> np.ndarray:
        """(tables, rows) numbers of the buckets: the codes of each table mixed to 64 bits."""
        i, t = self.hasher_.codes(X)
        m = self.codes_per_table_
        keys = np.zeros((len(i), self.n_hashes // m), dtype=np.uint64)
        for code in range(m):
            stop = keys.shape[1] * m
            for part in (i[:, code:stop:m], t[:, code:stop:m]):
                keys = (keys ^ part.astype(np.int64).view(np.uint64)) * _ODD
                keys ^= keys >> np.uint64(29)
        return np.ascontiguousarray(keys.T)

    def _compare_all(self, queries: sparse.csr_array, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Neighbours and similarities without the tables."""
        height, parts = max(1, _SIMILARITIES // self.n_rows_), []
        for start in range(0, queries.shape[0], height):
            s = self._similarities(queries[start : start + height], self.rows_)
            best = np.argsort(-s, axis=1, kind="stable")[:, :k]
            parts.append((best, np.take_along_axis(s, best, axis=1)))
        indices, similarities = map(np.concatenate, zip(*parts))
        return indices, similarities


def _mean_matches(tables: np.ndarray) -> float:
    """Rows that share a bucket with a stored row, summed over the sorted tables; on average."""
    n = max(1, tables.shape[1])
    matches = 0.0
    for keys in tables:
        starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
        matches += float((np.diff(np.append(starts, n)).astype(float) ** 2).sum()) / n
    return matches


# Loops


@njit()
def _insert(i, s, best, scores):
    """Put item i of similarity s into the k best, highest first, equal ones by number."""
    at = best.size - 1
    if s < scores[at] or (s == scores[at] and i > best[at]):
        return
    while at > 0 and (s > scores[at - 1] or (s == scores[at - 1] and i < best[at - 1])):
        best[at], scores[at] = best[at - 1], scores[at - 1]
        at -= 1
    best[at], scores[at] = i, s


@njit()
def _similarity(i, indptr, indices, data, masses, query, mass):
    """Sum of minima over sum of maxima of stored row i and the query  [Li16, Eq. (2)]."""
    shared = 0.0
    for p in range(indptr[i], indptr[i + 1]):
        shared += min(data[p], query[indices[p]])
    maxima = masses[i] + mass - shared
    return shared / maxima if maxima > 0 else 0.0


@njit()
def _count(key, tables, order, counts, touched):
    """counts[i] += 1 for every table in which row i shares the bucket; return how many rows do."""
    found = 0
    for table in range(key.size):
        at = np.searchsorted(tables[table], key[table])
        while at < tables.shape[1] and tables[table, at] == key[table]:
            i = order[table, at]
            if counts[i] == 0:
                touched[found] = i
                found += 1
            counts[i] += 1
            at += 1
    return found


@njit()
def _least_count(counts, touched, found, limit, at_least, histogram):
    """The least count whose rows number ``limit`` or fewer, but no fewer than ``at_least``."""
    histogram[:] = 0
    for at in range(found):
        histogram[counts[touched[at]]] += 1
    taken = 0
    for least in range(histogram.size - 1, 0, -1):
        if taken >= at_least and taken + histogram[least] > limit:
            return least + 1
        taken += histogram[least]
    return 1


@njit()
def search_rows(queries, keys, buckets, rows, limit, answers):
    """For every query the k best of the rows that share the most buckets with it.

    queries : CSR indptr, indices, data, width, and the sums of the rows
    keys : (n_queries, T) uint64, their buckets
    buckets : tables, order, (T, n) sorted keys and whose they are
    rows : CSR indptr, indices, data, and the sums of the rows     limit : rows to compare at most
    answers : best and scores, (n_queries, k)

    If fewer than k share a bucket, all rows are compared.
    """
    tables, order = buckets
    best, scores = answers
    masses = rows[3]
    query = np.zeros(queries[3], np.float32)
    counts, touched = np.zeros(masses.size, np.int32), np.empty(masses.size, np.int64)
    histogram = np.empty(keys.shape[1] + 1, np.int64)
    for q in range(best.shape[0]):
        start, stop = queries[0][q], queries[0][q + 1]
        query[queries[1][start:stop]] = queries[2][start:stop]
        best[q] = masses.size
        scores[q] = -1.0
        found = _count(keys[q], tables, order, counts, touched)
        least = _least_count(counts, touched, found, limit, best.shape[1], histogram)
        if found < best.shape[1]:
            found, least = masses.size, 0
            touched[:] = np.arange(masses.size)
        for at in range(found):
            i = touched[at]
            if counts[i] >= least:
                s = _similarity(i, rows[0], rows[1], rows[2], masses, query, queries[4][q])
                _insert(i, s, best[q], scores[q])
            counts[i] = 0
        query[queries[1][start:stop]] = 0
