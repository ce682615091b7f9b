"""The problems of a kernel SVM solved on one Gram matrix: whole, sparse, or row by row."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from visualwords.classifiers.kernel_problems import Problem
from visualwords.classifiers.kernels.by_name import take
from visualwords.classifiers.solvers.row_cache import RowCache
from visualwords.classifiers.solvers.smo import Solution, solve
from visualwords.classifiers.solvers.smo_on_demand import solve_together
from visualwords.threads import map_in_threads

FEW = 1000  # samples of a pair of classes whose matrix is sooner whole than asked for by rows


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
        if all(problem.samples is None for problem in problems):
            cache = RowCache(source.kernel, source.X, source.n, source.max_bytes)
            signs = [problem.signs for problem in problems]
            return solve_together(
                cache, signs, cost, starts=None if starts is None else list(starts), **settings
            )
        n_jobs = 1

    def one(number: int) -> Solution:
        problem = problems[number]
        start = None if starts is None else starts[number]
        samples = problem.samples
        if samples is None:
            return solve(source, problem.signs, cost, start=start, **settings)
        start = None if start is None else start[samples]
        if not isinstance(source, Samples):
            own: dict[str, Any] = {"samples": samples, "start": start}
            return solve(source, problem.signs, cost[samples], **own, **settings)
        part = source.part(samples)
        whole = part.whole() if samples.size <= FEW else None
        alone = Problem(None, problem.signs)
        start = None if start is None else start[None]
        rows = part if whole is None else whole
        return train(rows, [alone], cost[samples], starts=start, **settings)[0]

    return map_in_threads(one, range(len(problems)), n_jobs)


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
