"""Training linear machines of signed bytes: on the matrix of all products, or in blocks of rows.

Both ways solve the same dual problem. The matrix takes n² d steps to make and 4 n² bytes; blocks
take 2 d steps for every row, machine and pass, less what is shrunk. See `gram_is_faster`. Squared
errors have no bounds: their matrix, in double precision, is factorised once for all classes, which
is exact, where the other ways reach the same up to the tolerance. In blocks, where nothing is
shrunk for them, they take some three times as many passes.
"""

from dataclasses import dataclass
from itertools import pairwise
from math import ceil, sqrt
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from visualwords.classifiers import one_vs_rest
from visualwords.classifiers.byte_blocks import (
    COLUMNS_AT_A_TIME,
    ByteBlocks,
    band_of_products,
    exact_product,
)
from visualwords.classifiers.calibration import divide
from visualwords.classifiers.row_file import RowFile
from visualwords.classifiers.solvers.dual_blocks import solve_in_pieces
from visualwords.classifiers.solvers.dual_gram import FEWEST_LANES, dual_problem, solve_dual_gram
from visualwords.classifiers.solvers.machine_groups import Machines, Samples
from visualwords.parallel import (
    map_on_workers,
    n_threads,
    n_workers,
    within_reach,
    workers_share_memory,
)

LARGEST_GRAM = 1 << 31  # bytes
ROWS_FOR_EACH_PROBLEM, ROWS_FOR_ANY = 40, 500  # up to which the matrix is faster
ROWS_TO_FACTORIZE = 6000  # at most: n³ / 3 steps, and 8 n² bytes three times
MAX_ITER = 1000


@dataclass(frozen=True)
class Problem:
    """One-vs-rest machines of rows.

    Attributes
    ----------
    codes : (n,) int
        Index of every row's class.
    costs : (n,) float64
    n_classes : int
    folds : (n,) int, or None
        Of the held-out scores that are wanted.
    tol : float
    seed : int
    n_jobs : int or None
    loss : {"squared_hinge", "squared_error"}
    """

    codes: np.ndarray
    costs: np.ndarray
    n_classes: int
    folds: np.ndarray | None
    tol: float
    seed: int
    n_jobs: int | None
    loss: str = "squared_hinge"

    @property
    def n_outputs(self) -> int:
        """Columns of scores."""
        return 1 if self.n_classes == 2 else self.n_classes


@dataclass(frozen=True)
class Solution:
    """What was learned.

    Attributes
    ----------
    weights : (n_outputs, d) float
        Σ α y x of rows as they are.
    mean_square : float
        A score is weights · row / mean_square.
    n_iter : int
    held_out : (n,) for two classes, else (n, n_classes), or None
        Every row's scores by a machine that was trained without its fold.
    """

    weights: np.ndarray
    mean_square: float
    n_iter: int
    held_out: np.ndarray | None


def gram_is_faster(n: int, n_problems: int) -> bool:
    """Return whether the matrix of all products is made in less time than blocks are passed over.

    Measured with 33,000 columns: the matrix and all problems on it take 0.57 µs × n², and blocks
    0.3 ms + 22 µs × p for each of n rows, for p problems (classes times trainings).

    Examples
    --------
    >>> gram_is_faster(1000, 60), gram_is_faster(5000, 60), gram_is_faster(2000, 10)
    (True, False, False)
    """
    return n < ROWS_FOR_EACH_PROBLEM * n_problems + ROWS_FOR_ANY and 4 * n * n <= LARGEST_GRAM


@dataclass(frozen=True)
class DualSolution:
    """What was learned from the products of all rows, before the rows themselves are needed.

    Attributes
    ----------
    coefficients : (n_outputs, n) float64
        α y of every row.
    mean_square, n_iter, held_out : as in `Solution`
    """

    coefficients: np.ndarray
    mean_square: float
    n_iter: int
    held_out: np.ndarray | None


def train_on_bytes(X: Any, problem: Problem) -> Solution:
    """Train on an array of bytes in the faster way, or on a `RowFile` in blocks.

    Rows of a file must be in random order; products within its blocks are kept beside it.
    """
    n_trainings = 1 if problem.folds is None else 1 + len(np.unique(problem.folds))
    if isinstance(X, RowFile):
        return _train_in_blocks(X, problem, None, RowFile(f"{X.path}-products"))
    if _needs_products(len(X), n_trainings, problem):
        dual = solve_on_products(products_of(X, problem.n_jobs), problem)
        weights = sums_of_rows(X, dual.coefficients)
        return Solution(weights, dual.mean_square, dual.n_iter, dual.held_out)
    order = np.random.default_rng(problem.seed).permutation(len(X))
    return _train_in_blocks(X, problem, order, None)


def _needs_products(n: int, n_trainings: int, problem: Problem) -> bool:
    """Return whether machines are trained on the matrix of all products."""
    is_small = problem.loss != "squared_error" or n <= ROWS_TO_FACTORIZE
    return is_small and gram_is_faster(n, n_trainings * problem.n_outputs)


def _train_in_blocks(
    X: Any, problem: Problem, order: np.ndarray | None, file: RowFile | None
) -> Solution:
    """Solve all machines, in groups that workers share, on blocks of rows."""
    folds = np.full(len(X), -2) if problem.folds is None else problem.folds
    numbers = [] if problem.folds is None else np.unique(folds).tolist()
    ordered = slice(None) if order is None else order
    with within_reach([X]) as [reference]:
        band, norms = band_of_products(X, reference, order, file, problem.n_jobs)
        mean_square = max(float(norms.mean()), 1.0)
        everyone = np.arange(len(X))
        costs = problem.costs[ordered]
        dual = dual_problem(everyone, costs, norms / mean_square, problem.loss)
        samples = Samples(problem.codes[ordered], folds[ordered], dual)
        solved = solve_in_pieces(
            ByteBlocks,
            reference,
            (order, band, mean_square),
            samples,
            Machines.of(problem.n_classes, [-1, *numbers]),
            tol=problem.tol,
            max_iter=MAX_ITER,
            seed=problem.seed,
            n_jobs=problem.n_jobs,
        )
    held_out = None
    if problem.folds is not None:
        held_out = np.empty_like(solved.held_out)
        held_out[ordered] = solved.held_out
    return Solution(solved.weights, mean_square, solved.n_iter, held_out)


def solve_on_products(products: np.ndarray, problem: Problem) -> DualSolution:
    """Solve all machines on the matrix of the products of all rows, (n, n) float64."""
    mean_square = max(float(np.mean(np.diagonal(products))), 1.0)
    divisions = [] if problem.folds is None else divide(problem.folds)
    parts = [None, *(train for train, _ in divisions)]
    if problem.loss == "squared_error":
        gram, solve = products / mean_square, _factorize
    else:
        gram, solve = (products / mean_square).astype(np.float32), _solve
    whole, *others = solve(gram, problem, parts)
    coefficients, n_iter = whole
    held_out = None
    if problem.folds is not None:
        held_out = np.zeros((len(gram), problem.n_outputs))
        for (train, test), (found, _) in zip(divisions, others):
            held_out[test] = gram[np.ix_(test, train)].astype(np.float64) @ found.T
        held_out = held_out[:, 0] if problem.n_classes == 2 else held_out
    return DualSolution(coefficients, mean_square, n_iter, held_out)


def sums_of_rows(X: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
    """Return the weights of machines: Σ α y x, (n_outputs, d) float32."""
    weights = np.zeros((len(coefficients), X.shape[1]), np.float32)
    for start in range(0, X.shape[1], COLUMNS_AT_A_TIME):
        part = slice(start, start + COLUMNS_AT_A_TIME)
        weights[:, part] = coefficients @ X[:, part].astype(np.float64)
    return weights


def _solve(
    gram: np.ndarray, problem: Problem, parts: list[np.ndarray | None]
) -> list[tuple[np.ndarray, int]]:
    """Return the solutions for several parts of the rows; None is all of them.

    A solution is α y of every one-vs-rest problem, (n_outputs, n), and the passes it took.
    Each part, and within it each block of problems, may be solved by another worker.
    """
    signs = one_vs_rest.signs(problem.codes, problem.n_classes)
    blocks = one_vs_rest.blocks(len(signs), FEWEST_LANES)
    settings = {"tol": problem.tol, "max_iter": MAX_ITER, "seed": problem.seed}
    pieces = [(rows, block) for rows in parts for block in blocks]
    shared = [gram, signs, problem.costs, settings]
    solved = list(map_on_workers(_solve_block, pieces, shared=shared, n_jobs=problem.n_jobs))
    of_parts = [solved[k : k + len(blocks)] for k in range(0, len(solved), len(blocks))]
    return [
        (np.concatenate([found for found, _ in part]), max(n_iter for _, n_iter in part))
        for part in of_parts
    ]


def _factorize(
    gram: np.ndarray, problem: Problem, parts: list[np.ndarray | None]
) -> list[tuple[np.ndarray, int]]:
    """Return what `_solve` does, of squared errors: α y = (K + D)⁻¹ y, for all classes at once."""
    signs = one_vs_rest.signs(problem.codes, problem.n_classes)
    shared = [gram, signs, 0.5 / problem.costs]
    pieces = [(rows,) for rows in parts]
    return list(map_on_workers(_factorize_part, pieces, shared=shared, n_jobs=problem.n_jobs))


def _factorize_part(
    gram: np.ndarray, signs: np.ndarray, diagonal: np.ndarray, rows: np.ndarray | None
) -> tuple[np.ndarray, int]:
    some = np.arange(len(gram)) if rows is None else rows
    matrix = gram[np.ix_(some, some)]
    matrix[np.diag_indices(len(some))] += diagonal[some]
    # symmetric, and in the order of LAPACK, which then needs no copy
    factor = cho_factor(matrix.T, lower=True, overwrite_a=True, check_finite=False)
    return cho_solve(factor, signs[:, some].T, check_finite=False).T, 1


def _solve_block(
    gram: np.ndarray,
    signs: np.ndarray,
    costs: np.ndarray,
    settings: dict[str, Any],
    rows: np.ndarray | None,
    block: np.ndarray,
) -> tuple[np.ndarray, int]:
    """Return α y of some problems on some rows, and the passes it took."""
    if rows is not None:
        gram = np.ascontiguousarray(gram[np.ix_(rows, rows)])
        signs, costs = signs[:, rows], costs[rows]
    norms = np.diagonal(gram).astype(np.float64)
    problem = dual_problem(np.arange(len(gram)), costs, norms, "squared_hinge")
    alpha, n_iter, _ = solve_dual_gram(gram, signs[block], problem, **settings)
    return alpha * signs[block], int(n_iter.max())


def products_of(X: np.ndarray, n_jobs: int | None) -> np.ndarray:
    """Return X Xᵀ of bytes, (n, n) float64, in tiles where several work on it.

    They are whole numbers, and the same however many do.
    """
    several = max(n_workers(), n_threads(n_jobs) if workers_share_memory() else 1)
    if several == 1:
        return exact_product(X, X)
    edges = np.linspace(0, len(X), ceil(sqrt(2 * several)) + 1).astype(int)
    places = [slice(*edge) for edge in pairwise(edges)]
    tiles = [X[place] for place in places]  # a tile with itself takes half of the time
    pairs = [(k, j) for k in range(len(tiles)) for j in range(k)]
    pairs += [(k, k) for k in range(len(tiles))]  # the shorter ones last
    gram = np.empty((len(X), len(X)))
    pieces = ((tiles[k], tiles[j]) for k, j in pairs)
    products = map_on_workers(exact_product, pieces, n_jobs=n_jobs)
    for (k, j), found in zip(pairs, products, strict=True):
        gram[places[k], places[j]], gram[places[j], places[k]] = found, found.T
    return gram
