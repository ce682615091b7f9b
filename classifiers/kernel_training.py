"""The problems of a kernel SVM solved on one Gram matrix: whole, sparse, or row by row."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from visualwords.classifiers.kernel_problems import Problem
from visualwords.classifiers.solvers.row_cache import BYTES, RowCache
from visualwords.classifiers.solvers.smo import Solution, solve
from visualwords.classifiers.solvers.smo_on_demand import solve_together
from visualwords.plain_arrays import take
from visualwords.threads import map_in_threads


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
    grams, solved = PairGrams(source), []
    for number, (taking_part, signs) in enumerate(problems):
        samples = np.arange(source.n) if taking_part is None else taking_part
        order = np.argsort(-signs, kind="stable")  # one class after the other
        members, y = samples[order], signs[order]
        start = None if starts is None else starts[number][members]
        gram = grams.of(members[y > 0], members[y < 0])
        if gram is not None:
            found = solve(gram, y, cost[members], start=start, **settings)
        else:
            part = source.part(members)
            cache = RowCache(part.kernel, part.X, part.n, part.max_bytes)
            first = None if start is None else [start]
            (found,) = solve_together(cache, [y], cost[members], starts=first, **settings)
        coefficients = found.coefficients[np.argsort(order)]
        solved.append(found._replace(coefficients=coefficients))
    return solved


class PairGrams:
    """Gram matrices of pairs of classes in float32; what a class has in all of its pairs is kept.

    Parameters
    ----------
    source : Samples
        Whose ``max_bytes`` hold a pair's matrix and what is kept.
    """

    def __init__(self, source: Samples) -> None:
        self._source = source
        self._kept: dict[int, np.ndarray] = {}
        self._memory = np.empty(0, np.float32)

    def of(self, first: np.ndarray, second: np.ndarray) -> np.ndarray | None:
        """The matrix of two classes' samples, one class after the other; None if too large.

        It is overwritten by the next one: new memory for each takes as long as many a kernel.
        """
        n = first.size + second.size
        room = self._source.max_bytes - BYTES * n * n
        if room < 0:
            return None
        if self._memory.size < n * n:
            self._memory = np.empty(n * n, np.float32)
        gram = self._memory[: n * n].reshape(n, n)
        split = first.size
        gram[:split, :split] = self._own(first, room)
        gram[split:, split:] = self._own(second, room)
        X = self._source.X
        gram[:split, split:] = self._source.kernel(take(X, first), take(X, second))
        gram[split:, :split] = gram[:split, split:].T
        return gram

    def _own(self, members: np.ndarray, room: int) -> np.ndarray:
        """A class against itself, kept as long as there is room."""
        known = self._kept.get(int(members[0]))
        if known is not None:
            return known
        block = self._source.kernel(take(self._source.X, members), None)
        block = np.asarray(block, dtype=np.float32)
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
