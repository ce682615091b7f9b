"""Dual coordinate descent in blocks of rows: the way when samples are many, in memory or on disk.

A block of rows is read, its scores by all machines are computed at once, the dual is minimised
over the block's α with the products of its rows among each other ([Yu10]), and the weights are
brought up to date. Every pass reads the rows once, whatever the number of classes and folds, and
nothing has the size of the samples squared.

Blocks begin at another row in every pass. Where they were the same in all passes, 3,000 histograms
of words needed 51 passes of the order that is random altogether needs 15 of; moving ones need 18.
Products are therefore kept as a band: of every row with the rows that follow it.

Samples are shrunk, or passes extrapolated: `visualwords.classifiers.solvers.machine_groups`.

[Yu10] H.-F. Yu, C.-J. Hsieh, K.-W. Chang and C.-J. Lin, "Large Linear Classification When Data
Cannot Fit in Memory", KDD 2010.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import methodcaller
from typing import Any

import numpy as np

from visualwords.classifiers.solvers.dual_gram import FINEST_SINGLE
from visualwords.classifiers.solvers.machine_groups import (
    BlockRows,
    ExtrapolatedGroup,
    Group,
    Machines,
    Samples,
    Solved,
    Visit,
)
from visualwords.parallel import map_in_threads, map_on_workers, n_workers

INNER = 3  # passes over a block while it is in memory
GROUPS_AT_A_TIME = 8  # of machines: what each needs is n × 64 numbers of α, and weights


@dataclass(frozen=True)
class AllSolved:
    """All machines after training.

    Attributes
    ----------
    weights : those of the machines that exclude no fold, one after the other
    n_iter : int
    violation : float
    held_out : (n, n_outputs) float64
        Scores of the samples of every excluded fold, in the order of the blocks.
    """

    weights: np.ndarray
    n_iter: int
    violation: float
    held_out: np.ndarray


def solve_in_pieces(
    kind: Callable[..., BlockRows],
    reference: Any,
    layout: tuple[Any, ...],
    samples: Samples,
    machines: Machines,
    **settings: Any,
) -> AllSolved:
    """Solve many machines: a few groups at a time, and each worker some of them.

    A group's result does not depend on what else is solved beside it, so that any number of
    workers gives the same bits. Workers need the rows, or see the file that has them, and send
    back weights and held-out scores.

    Parameters
    ----------
    kind : function of ``reference`` and ``layout`` that gives the `BlockRows`
    reference : Any
        The rows, or what `visualwords.parallel.within_reach` gave for them.
    layout : tuple
    samples, machines :
        As in `solve_dual_blocks`.
    settings : dict
        The rest of its parameters.
    """
    groups = machines.groups()
    count = max(1, min(GROUPS_AT_A_TIME, -(-len(groups) // n_workers())))
    pieces = [(groups[k : k + count],) for k in range(0, len(groups), count)]
    shared = [kind, reference, layout, samples, settings]
    solved = [
        one for some in map_on_workers(_solve_some, pieces, shared=shared, n_jobs=1) for one in some
    ]
    n_outputs = len(np.unique(machines.positive))
    held_out = np.zeros((len(samples.codes), n_outputs))
    for group, (_, _, _, scores) in zip(groups, solved):
        for positive, excluded, found in zip(group.positive, group.excluded, scores):
            if excluded >= 0:
                held_out[samples.folds == excluded, positive if n_outputs > 1 else 0] = found
    return AllSolved(
        np.concatenate([weights for weights, *_ in solved]),
        max(n_iter for _, n_iter, *_ in solved),
        max(violation for _, _, violation, _ in solved),
        held_out[:, 0] if n_outputs == 1 else held_out,
    )


def _solve_some(
    kind: Callable[..., BlockRows],
    known: Any,
    layout: tuple[Any, ...],
    samples: Samples,
    settings: dict[str, Any],
    groups: list[Machines],
) -> list[tuple[np.ndarray, int, float, list[np.ndarray]]]:
    """Solve some groups; return weights without a fold, passes, violation and held-out scores."""
    rows = kind(known, *layout)
    solved = solve_dual_blocks(rows, samples, groups, **settings)
    held_out = _held_out(rows, samples, groups, [one.weights for one in solved])
    return [
        (
            rows.lanes_of(one.weights, np.flatnonzero(group.excluded < 0)),
            int(one.n_iter.max()),
            float(one.violation[: len(group.positive)].max()),
            scores,
        )
        for group, one, scores in zip(groups, solved, held_out)
    ]


def _held_out(
    rows: BlockRows, samples: Samples, groups: list[Machines], weights: list[np.ndarray]
) -> list[list[np.ndarray]]:
    """Return every machine's scores of the samples of the fold that it excludes, in order."""
    found: list[list[list[np.ndarray]]] = [[[] for _ in group.positive] for group in groups]
    if all((group.excluded < 0).all() for group in groups):
        return [[np.zeros(0)] * len(group.positive) for group in groups]
    for start, end in _blocks(len(samples.codes), rows.size, rows.size):
        block = rows.load(start, end, weights[0].dtype)
        folds = samples.folds[start:end]
        for group, learned, scores in zip(groups, weights, found):
            here = rows.scores(block, learned, folds[:, None] == group.padded().excluded)
            for lane, fold in enumerate(group.excluded):
                scores[lane].append(here[folds == fold, lane])
    return [[np.concatenate(lane) for lane in scores] for scores in found]


def solve_dual_blocks(
    rows: BlockRows,
    samples: Samples,
    groups: Sequence[Machines],
    *,
    tol: float,
    max_iter: int,
    seed: int | None,
    n_jobs: int | None = None,
) -> list[Solved]:
    """Solve several SVMs without bias that share samples and costs.

    Parameters
    ----------
    rows : BlockRows
    samples : Samples
    groups : sequence of Machines, from ``Machines.groups``
        Each is solved independently of the others, which only read the same blocks.
    tol : float
        A problem stops once the largest and the smallest projected gradient of a pass differ by
        at most this (LIBLINEAR's rule), or once a pass lowers the dual objective by less than
        (tol / 10)² of it: the more samples there are, the longer some of them violate the first.
    max_iter : int
        Passes over the samples.
    seed : int or None
        Seed of the order of blocks, and of samples in a block; None is the order given.
    n_jobs : int or None
        Threads, over groups; the result does not depend on it.

    Returns
    -------
    list of Solved, one for each group
    """
    dtype = np.float32 if tol >= FINEST_SINGLE else np.float64
    kind = Group if rows.skips else ExtrapolatedGroup
    states = [kind(rows, samples, group, dtype, tol, max_iter) for group in groups]
    rng = np.random.default_rng(seed)
    n = len(samples.codes)
    while running := [state for state in states if state.running.any()]:
        first = rows.size if seed is None else int(rng.integers(1, rows.size + 1))
        blocks = _blocks(n, rows.size, first)
        for number in range(len(blocks)) if seed is None else rng.permutation(len(blocks)):
            start, end = blocks[number]
            plain = np.tile(np.arange(end - start), (INNER, 1))
            orders = plain if seed is None else rng.permuted(plain, axis=1)
            some = rows.load(start, end, dtype)
            visit = Visit(start, end, some, rows.gram(start, end), orders)
            map_in_threads(methodcaller("visit", visit), running, n_jobs)
        for state in running:
            state.end_pass()
    return [state.result() for state in states]


def _blocks(n: int, size: int, first: int) -> list[tuple[int, int]]:
    """Return start and end of blocks of neighbours; the first has another size.

    Examples
    --------
    >>> _blocks(10, 4, 3)
    [(0, 3), (3, 7), (7, 10)]
    """
    bounds = [0, *range(first, n, size), n]
    return list(pairwise(bounds))
