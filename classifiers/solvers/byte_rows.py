"""Linear machines of signed bytes: on the matrix of all products, or in blocks of rows.

Both ways solve the same dual problem. The matrix takes n² d steps to make and 4 n² bytes; blocks
take 2 d steps for every row, machine and pass, less what is shrunk. See `gram_is_faster`. Squared
errors have no bounds: their matrix, in double precision, is factorised once for all classes, which
is exact, where the other ways reach the same up to the tolerance. In blocks, where nothing is
shrunk for them, they take some three times as many passes.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from visualwords.classifiers import one_vs_rest
from visualwords.classifiers.calibration import divide
from visualwords.classifiers.row_file import AnyRows, RowFile
from visualwords.classifiers.solvers.dual_blocks import (
    BlockSamples,
    Machines,
    band_pieces,
    cut_band,
    keep_band,
    solve_dual_blocks,
)
from visualwords.classifiers.solvers.dual_gram import solve_dual_gram
from visualwords.classifiers.solvers.problems import Solved, dual_problem
from visualwords.compiled import njit
from visualwords.parallel import (
    map_on_workers,
    n_threads,
    n_workers,
    within_reach,
    workers_share_memory,
)

COLUMNS_AT_A_TIME = 1024  # 1,024 · 127² < 2²⁴: sums of products are exact in float32
NUMBERS_OF_A_BLOCK = 1 << 20
ROWS_OF_A_BLOCK = 64, 128  # at least, at most; more saved no passes
LARGEST_GRAM = 1 << 31  # bytes
ROWS_FOR_EACH_PROBLEM, ROWS_FOR_ANY = 40, 500  # up to which the matrix is faster
ROWS_TO_FACTORIZE = 6000  # at most: n³ / 3 steps, and 8 n² bytes three times
MAX_ITER = 1000


@dataclass(frozen=True)
class ByteProblem:
    """One-vs-rest machines of byte rows.

    Attributes
    ----------
    codes : (n,) int
        Index of every row's class.
    costs : (n,) float64
    n_classes : int
    folds : (n,) int, or None
        Of the held-out scores that are wanted.
    loss : {"squared_hinge", "squared_error"}
    tol : float
    seed : int
    n_jobs : int or None
    """

    codes: np.ndarray
    costs: np.ndarray
    n_classes: int
    folds: np.ndarray | None
    loss: str
    tol: float
    seed: int
    n_jobs: int | None

    @property
    def positive(self) -> np.ndarray:
        """The class of every machine that is against the rest."""
        return np.array([1]) if self.n_classes == 2 else np.arange(self.n_classes)


class RowCoefficients(NamedTuple):
    """What was learned from the products of all rows, before the rows themselves are needed.

    Attributes
    ----------
    values : (n_outputs, n) float64
        α y of every row.
    mean_square : float
        Mean squared length of the rows; it counts as 1.
    n_iter : int
    """

    values: np.ndarray
    mean_square: float
    n_iter: int


class ByteSolution(NamedTuple):
    """What was learned.

    Attributes
    ----------
    weights : (n_outputs, d) float
        Σ α y x of rows as they are. A score is weights · row / mean_square.
    mean_square : float
    held_out : (n,) for two classes, else (n, n_classes), or None
        Every row's scores by a machine that was trained without its fold.
    """

    weights: np.ndarray
    mean_square: float
    held_out: np.ndarray | None


def gram_is_faster(n: int, n_problems: int) -> bool:
    """Whether the matrix of all products is made in less time than blocks are passed over.

    Measured with 33,000 columns: the matrix and all problems on it take 0.57 µs × n², and blocks
    0.3 ms + 22 µs × p for each of n rows, for p problems (classes times trainings).

    Examples
    --------
    >>> gram_is_faster(1000, 60), gram_is_faster(5000, 60), gram_is_faster(2000, 10)
    (True, False, False)
    """
    return n < ROWS_FOR_EACH_PROBLEM * n_problems + ROWS_FOR_ANY and 4 * n * n <= LARGEST_GRAM


def solve_byte_rows(X: AnyRows, problem: ByteProblem) -> tuple[ByteSolution, int, float]:
    """Solve in the faster way on an int8 array (n, d), or in blocks on a `RowFile`.

    Rows of a file must be in random order; products within its blocks are kept beside it.
    """
    n_trainings = 1 if problem.folds is None else 1 + len(np.unique(problem.folds))
    can_factorize = problem.loss != "squared_error" or len(X) <= ROWS_TO_FACTORIZE
    fast = can_factorize and gram_is_faster(len(X), n_trainings * len(problem.positive))
    if isinstance(X, RowFile) or not fast:
        return _solve_in_blocks(X, problem)
    found, held_out, violation = solve_on_products(products_of(X, problem.n_jobs), problem)
    weights = sums_of_rows(X, found.values)
    return ByteSolution(weights, found.mean_square, held_out), found.n_iter, violation


def solve_on_products(
    products: np.ndarray, problem: ByteProblem
) -> tuple[RowCoefficients, np.ndarray | None, float]:
    """Solve on X Xᵀ, (n, n) float64; return coefficients, held-out scores and violation."""
    mean_square = max(float(np.mean(np.diagonal(products))), 1.0)
    divisions = [] if problem.folds is None else divide(problem.folds)
    parts = [np.arange(len(products)), *(train for train, _ in divisions)]
    regression = problem.loss == "squared_error"
    gram = (products / mean_square).astype(np.float64 if regression else np.float32, copy=False)
    signs = one_vs_rest.signs(problem.codes, problem.n_classes)
    solve = partial(_solve_on_gram, tol=problem.tol, seed=problem.seed)
    solved = list(
        map_on_workers(
            _factorize if regression else solve,
            [(rows,) for rows in parts],
            shared=[gram, signs, problem.costs],
            n_jobs=problem.n_jobs,
        )
    )
    (values, n_iter, violation), *others = solved
    held_out = None
    if problem.folds is not None:
        held_out = np.zeros((len(gram), len(signs)))
        for (train, test), (found, *_) in zip(divisions, others):
            held_out[test] = gram[np.ix_(test, train)].astype(np.float64) @ found.T
        held_out = held_out[:, 0] if len(signs) == 1 else held_out
    return RowCoefficients(values, mean_square, n_iter), held_out, violation


def sums_of_rows(X: AnyRows, coefficients: np.ndarray) -> np.ndarray:
    """The weights of machines: Σ α y x, (n_outputs, d) float64."""
    weights = np.zeros((len(coefficients), X.shape[1]))
    height = max(1, NUMBERS_OF_A_BLOCK // max(X.shape[1], 1))
    for start in range(0, len(X), height):
        some = slice(start, start + height)
        weights += coefficients[:, some] @ X[some].astype(np.float64)
    return weights


def _factorize(gram: np.ndarray, signs: np.ndarray, costs: np.ndarray, rows: np.ndarray) -> Solved:
    """The exact α y = (K + D)⁻¹ y of squared errors on some rows, for all classes."""
    from scipy.linalg import cho_factor, cho_solve

    matrix = gram[np.ix_(rows, rows)]
    matrix[np.diag_indices(len(rows))] += 0.5 / costs[rows]
    # symmetric, and in the order of LAPACK, which then needs no copy
    factor = cho_factor(matrix.T, lower=True, overwrite_a=True, check_finite=False)
    return cho_solve(factor, signs[:, rows].T, check_finite=False).T, 1, 0.0


def _solve_on_gram(
    gram: np.ndarray,
    signs: np.ndarray,
    costs: np.ndarray,
    rows: np.ndarray,
    *,
    tol: float,
    seed: int,
) -> Solved:
    """Α y of some problems of squared hinge on some rows, passes and violation."""
    if len(rows) < len(gram):
        gram = np.ascontiguousarray(gram[np.ix_(rows, rows)])
    signs = signs[:, rows]
    problem = dual_problem(costs[rows], np.diagonal(gram).astype(np.float64), "squared_hinge")
    how: dict[str, Any] = {"tol": tol, "max_iter": MAX_ITER, "seed": seed}
    alpha, n_iter, violation = solve_dual_gram(gram, signs, problem, **how)
    return alpha * signs, n_iter, violation


def _solve_in_blocks(X: AnyRows, problem: ByteProblem) -> tuple[ByteSolution, int, float]:
    """Solve all machines, in groups that workers share, on blocks of rows in random order."""
    n, d = X.shape
    folds = np.full(n, -1) if problem.folds is None else problem.folds
    file = RowFile(f"{X.path}-products") if isinstance(X, RowFile) else None
    order = np.random.default_rng(problem.seed).permutation(n) if file is None else np.arange(n)
    size = int(np.clip(NUMBERS_OF_A_BLOCK // max(d, 1) // 16 * 16, *ROWS_OF_A_BLOCK))
    with within_reach([X]) as [reference]:
        shared, pieces = [reference, order, size], band_pieces(n, size)
        parts = map_on_workers(_band_between, pieces, shared=shared, n_jobs=problem.n_jobs)
        band, norms = keep_band(parts, (n, size), file)
        mean_square = max(float(norms.mean()), 1.0)
        dual = dual_problem(problem.costs[order], norms / mean_square, problem.loss)
        solution, n_iter, violation = solve_dual_blocks(
            ByteBlocks,
            reference,
            (order, band, mean_square),
            BlockSamples(problem.codes[order], folds[order], dual),
            Machines.of(problem.positive, folds),
            tol=problem.tol,
            max_iter=MAX_ITER,
            seed=problem.seed,
            n_jobs=problem.n_jobs,
        )
    held_out = None
    if problem.folds is not None:
        held_out = np.empty_like(solution.held_out)
        held_out[order] = solution.held_out
    return ByteSolution(solution.weights, mean_square, held_out), n_iter, violation


class ByteBlocks:
    """Rows whose mean squared length counts as 1; weights are (lanes, d) sums of rows as they are.

    Parameters
    ----------
    X : (n, d) int8 array or RowFile
    order : (n,) int
        In which the rows form blocks; those of a file are in their own.
    band : (n, size) float32 array or RowFile
        Products of every row with the rows that follow it in the order.
    mean_square : float
        Mean squared length of the rows, as they are.
    """

    def __init__(self, X: AnyRows, order: np.ndarray, band: AnyRows, mean_square: float):
        self.X, self.order, self.band, self.factor = X, order, band, 1 / mean_square

    def load(self, start: int, end: int) -> np.ndarray:
        """Neighbouring rows."""
        return _rows_between(self.X, self.order, start, end)

    def new_weights(self, lanes: int, dtype: type[np.floating]) -> np.ndarray:
        """Weights of no training."""
        return np.zeros((lanes, self.X.shape[1]), dtype)

    def scores(self, rows: np.ndarray, weights: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """The wanted scores of a block's rows; 0 for the others."""
        lanes, counts = list_marked(wanted)
        found = np.zeros(wanted.shape, weights.dtype)
        score(rows, weights, lanes, counts, weights.dtype.type(self.factor), found)
        return found

    def update(self, rows: np.ndarray, coefficients: np.ndarray, weights: np.ndarray) -> None:
        """Add the rows of a block times their coefficients to the weights."""
        places, counts = list_marked(coefficients.T)
        add(rows, coefficients, places, counts, weights)

    def lanes_of(self, weights: np.ndarray, lanes: np.ndarray) -> np.ndarray:
        """The weights of some machines."""
        return weights[lanes]


def _rows_between(X: AnyRows, order: np.ndarray, start: int, end: int) -> np.ndarray:
    """Neighbouring rows of an order."""
    return X[start:end] if isinstance(X, RowFile) else X[order[start:end]]


def _band_between(
    X: AnyRows, order: np.ndarray, size: int, start: int, end: int, last: int
) -> np.ndarray:
    rows = _rows_between(X, order, start, last)
    return cut_band(exact_product(rows[: end - start], rows), size)


def exact_product(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """X Yᵀ of int8 matrices as whole numbers in float64.

    Examples
    --------
    >>> exact_product(np.array([[1, -2]], np.int8), np.array([[3, 4], [0, 127]], np.int8)).tolist()
    [[-5.0, -254.0]]
    """
    total = np.zeros((len(X), len(Y)))
    for start in range(0, X.shape[1], COLUMNS_AT_A_TIME):
        part = slice(start, start + COLUMNS_AT_A_TIME)
        left = X[:, part].astype(np.float32)
        right = left if X is Y else Y[:, part].astype(np.float32)
        total += left @ right.T
    return total


def products_of(X: np.ndarray, n_jobs: int | None) -> np.ndarray:
    """X Xᵀ of bytes, (n, n) float64, in tiles where several work on it.

    They are whole numbers, and the same however many do.
    """
    several = max(n_workers(), n_threads(n_jobs) if workers_share_memory() else 1)
    if several == 1:
        return exact_product(X, X)
    stripes = ((part,) for part in np.array_split(X, several))
    product = partial(exact_product, X)
    return np.concatenate(list(map_on_workers(product, stripes, n_jobs=n_jobs)), axis=1)


# Loops: products of rows with weights, only those that are wanted

COLUMNS = 1024  # at a time, of which the weights of a group of machines stay near the processor
SIDE_BY_SIDE = 4  # sums, or rows added, in a loop
SUMS = {"contract", "reassoc", "nsz"}


@njit()
def list_marked(marks):
    """places[i, :counts[i]] = where marks[i] != 0; the rest repeats the last of these.

    marks : (m, k)      returns places (m, k + 3) int64 and counts (m,) int64
    """
    places = np.empty((marks.shape[0], marks.shape[1] + SIDE_BY_SIDE - 1), np.int64)
    counts = np.empty(marks.shape[0], np.int64)
    for i in range(marks.shape[0]):
        n = 0
        for k in range(marks.shape[1]):
            if marks[i, k] != 0:
                places[i, n] = k
                n += 1
        counts[i] = n
        for k in range(n, places.shape[1]):
            places[i, k] = places[i, n - 1] if n else 0
    return places, counts


@njit(fastmath=SUMS)
def dots(x, weights, lanes, start, sums):
    """sums += x · weights[lanes] of four machines, of the columns from ``start`` on."""
    stop = start + x.size
    first, second = weights[lanes[0], start:stop], weights[lanes[1], start:stop]
    third, fourth = weights[lanes[2], start:stop], weights[lanes[3], start:stop]
    p = q = r = s = sums.dtype.type(0)
    for k in range(np.uint64(x.size)):
        value = sums.dtype.type(x[k])
        p += value * first[k]
        q += value * second[k]
        r += value * third[k]
        s += value * fourth[k]
    sums[0] += p
    sums[1] += q
    sums[2] += r
    sums[3] += s


@njit()
def score(rows, weights, lanes, counts, factor, found):
    """found[i, c] = factor × rows[i] · weights[c] of the lanes c that are listed for row i.

    rows : (b, d) int8      weights : (n_lanes, d)      found : (b, n_lanes)
    lanes, counts :         as of `list_marked`
    """
    sums = np.zeros(lanes.shape, weights.dtype)
    for start in range(0, rows.shape[1], COLUMNS):
        stop = min(start + COLUMNS, rows.shape[1])
        for i in range(rows.shape[0]):
            for k in range(0, counts[i], SIDE_BY_SIDE):
                four = slice(k, k + SIDE_BY_SIDE)
                dots(rows[i, start:stop], weights, lanes[i, four], start, sums[i, four])
    for i in range(rows.shape[0]):
        for k in range(counts[i]):
            found[i, lanes[i, k]] = factor * sums[i, k]


@njit(fastmath=SUMS)
def add_four(rows, a, b, c, d, factors, weights):
    """weights += factors · (rows[a], rows[b], rows[c], rows[d])."""
    first, second, third, fourth = rows[a], rows[b], rows[c], rows[d]
    p, q, r, s = factors[0], factors[1], factors[2], factors[3]
    for k in range(np.uint64(weights.size)):
        weights[k] += p * first[k] + q * second[k] + r * third[k] + s * fourth[k]


@njit()
def add(rows, coefficients, places, counts, weights):
    """weights[c] += sum_i coefficients[i, c] rows[i] over the rows that are listed for a machine.

    rows : (b, d) int8      coefficients : (b, n_lanes)      weights : (n_lanes, d)
    places, counts :        as of `list_marked`, (n_lanes, b + 3) and (n_lanes,)
    """
    factors = np.empty(SIDE_BY_SIDE, weights.dtype)
    for start in range(0, rows.shape[1], COLUMNS):
        some = rows[:, start : start + COLUMNS]
        for c in range(weights.shape[0]):
            for k in range(0, counts[c], SIDE_BY_SIDE):
                i = places[c, k : k + SIDE_BY_SIDE]
                for m in range(SIDE_BY_SIDE):
                    factors[m] = coefficients[i[m], c] if k + m < counts[c] else 0.0
                target = weights[c, start : start + COLUMNS]
                add_four(some, i[0], i[1], i[2], i[3], factors, target)
