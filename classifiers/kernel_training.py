"""The problems of a kernel SVM solved on one Gram matrix: whole, sparse, or row by row."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from visualwords.classifiers.kernel_problems import Problem
from visualwords.classifiers.solvers._smo import Blocks
from visualwords.classifiers.solvers.row_cache import BYTES, RowCache
from visualwords.classifiers.solvers.smo import Solution, solve
from visualwords.classifiers.solvers.smo_on_demand import solve_together
from visualwords.compiled import take
from visualwords.parallel import map_in_threads

COMPUTED = 8  # bytes of a value as kernels return it


@dataclass(frozen=True)
class Samples:
    """Training samples whose Gram matrix is not whole.

    Attributes
    ----------
    kernel : function of (X, Y or None) → block of the Gram matrix
    X : samples
    n : int
        How many.
    max_bytes : int
        For kernel values.
    """

    kernel: Callable[[Any, Any], Any]
    X: Any
    n: int
    max_bytes: int

    def whole(self) -> Any:
        """The Gram matrix if it fits into ``max_bytes``, else None."""
        itemsize = np.asarray(self.kernel(take(self.X, np.arange(1)), None)).dtype.itemsize
        fits = self.n * self.n * itemsize <= self.max_bytes
        return as_gram(self.kernel(self.X, None)) if fits else None

    def part(self, samples: np.ndarray) -> "Samples":
        """Some of the samples."""
        return Samples(self.kernel, take(self.X, samples), samples.size, self.max_bytes)


def as_gram(gram: Any) -> Any:
    """Return a symmetric matrix as the solvers take it: floating, in C order or CSR."""
    if sparse.issparse(gram):
        return sparse.csr_array(gram).astype(np.float64, copy=False)
    dtype = gram.dtype if gram.dtype in (np.float32, np.float64) else np.float64
    if gram.flags.f_contiguous:
        gram = gram.T  # the same matrix
    return np.ascontiguousarray(gram, dtype=dtype)


def train(
    source: Any,
    problems: Sequence[Problem],
    cost: np.ndarray,
    *,
    starts: np.ndarray | None = None,
    n_jobs: int | None = None,
    **settings: Any,
) -> list[Solution]:
    """Solve all problems.

    Parameters
    ----------
    source : Gram matrix as `as_gram` returns it, or Samples
    problems : sequence of Problem
    cost : (n,)
    starts : (n_problems, n), optional
        β to begin from.
    n_jobs : int or None
        Threads, one problem each; rows that are computed on demand are for one thread.
    **settings
        ``tol`` and ``max_iter`` of the solver.
    """
    if isinstance(source, Samples):
        return _train_on_demand(source, problems, cost, starts, settings)

    def one(number: int) -> Solution:
        samples, signs = problems[number]
        start = None if starts is None else starts[number]
        if samples is None:
            return solve(source, signs, cost, start=start, **settings)
        start = None if start is None else start[samples]
        return solve(source, signs, cost[samples], samples=samples, start=start, **settings)

    return map_in_threads(one, range(len(problems)), n_jobs)


def _train_on_demand(
    source: Samples,
    problems: Sequence[Problem],
    cost: np.ndarray,
    starts: np.ndarray | None,
    settings: dict[str, Any],
) -> list[Solution]:
    """All classes against the rest on shared rows, or every pair of classes for itself."""
    if all(problem.samples is None for problem in problems):
        cache = RowCache(source.kernel, source.X, source.n, source.max_bytes)
        own = None if starts is None else list(starts)
        return solve_together(cache, [p.signs for p in problems], cost, starts=own, **settings)
    pairs = []
    for taking_part, signs in problems:
        samples = np.arange(source.n) if taking_part is None else taking_part
        pairs.append((samples[signs > 0], samples[signs < 0]))
    grams, solved = PairGrams(source, pairs), []
    for number, (pair, problem) in enumerate(zip(pairs, problems)):
        members, positive = np.concatenate(pair), problem.signs > 0  # one class after the other
        y = np.repeat([1.0, -1.0], [part.size for part in pair])
        start = None if starts is None else starts[number][members]
        gram = grams.of(number)
        if gram is not None:
            found = solve(gram, y, cost[members], start=start, **settings)
        else:
            part = source.part(members)
            cache = RowCache(part.kernel, part.X, part.n, part.max_bytes)
            first = None if start is None else [start]
            (found,) = solve_together(cache, [y], cost[members], starts=first, **settings)
        coefficients = np.empty_like(found.coefficients)
        parts = np.split(found.coefficients, [pair[0].size])
        coefficients[positive], coefficients[~positive] = parts
        solved.append(found._replace(coefficients=coefficients))
    return solved


class PairGrams:
    """Gram matrices of pairs of classes in float32; what a class has in all of its pairs is kept.

    Parameters
    ----------
    source : Samples
        Whose ``max_bytes`` hold a pair's matrix and what is kept.
    pairs : sequence of (first, second)
        The samples of two classes each. A class is computed at once with all that come after it in
        successive pairs, or as many as there is room for: small blocks take long.
    """

    def __init__(self, source: Samples, pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> None:
        self._source, self._pairs = source, pairs
        sizes = {int(members[0]): members.size for pair in pairs for members in pair}
        self._own_bytes = BYTES * sum(size * size for size in sizes.values())
        self._kept: dict[int, np.ndarray] = {}
        self._ahead: dict[int, np.ndarray] = {}

    def of(self, number: int) -> Blocks | None:
        """The matrix of a pair, one class after the other; None if too large."""
        first, second = self._pairs[number]
        room = self._source.max_bytes - BYTES * (first.size + second.size) ** 2
        if room < 0:
            return None
        if number not in self._ahead:
            self._compute_from(number, room - self._own_bytes)
        cross = np.ascontiguousarray(self._ahead.pop(number), dtype=np.float32)
        return Blocks(self._own(first, room), cross, self._own(second, room))

    def _compute_from(self, number: int, room: int) -> None:
        """A class against those of this and of the next pairs with it."""
        first, width = self._pairs[number][0], 0
        seconds: list[np.ndarray] = []
        for other, second in self._pairs[number:]:
            width += second.size
            if other[0] != first[0] or (seconds and COMPUTED * first.size * width > room):
                break
            seconds.append(second)
        X = self._source.X
        block = self._source.kernel(take(X, first), take(X, np.concatenate(seconds)))
        parts = np.split(block, np.cumsum([second.size for second in seconds])[:-1], axis=1)
        self._ahead = {number + k: part for k, part in enumerate(parts)}

    def _own(self, members: np.ndarray, room: int) -> np.ndarray:
        """A class against itself, kept as long as there is room."""
        known = self._kept.get(int(members[0]))
        if known is not None:
            return known
        block = self._source.kernel(take(self._source.X, members), None)
        block = np.ascontiguousarray(block, dtype=np.float32)
        if block.nbytes + sum(kept.nbytes for kept in self._kept.values()) <= room:
            self._kept[int(members[0])] = block
        return block


def finite(kernel: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return a kernel that raises ``ValueError`` where its values are not all finite."""

    def checked(x: Any, y: Any) -> Any:
        with np.errstate(over="ignore", invalid="ignore"):  # told in words instead
            block = kernel(x, y)
        if not np.isfinite(block.data if sparse.issparse(block) else block).all():
            raise ValueError(
                "the kernel of some samples is NaN or infinite; their values are too large for "
                "it, multiply X by a constant so that its largest value is near 1"
            )
        return block

    return checked
