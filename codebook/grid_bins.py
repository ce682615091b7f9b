"""Nested grids of bins, and the points in them: what the pyramid match counts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from visualwords.codebook._pyramid_match import pack_codes, sort_inside_bins, split_bins
from visualwords.codebook.feature_sets import FARTHEST
from visualwords.estimator import Seed

MAX_PLANES = 8  # bits of a coordinate that are packed at a time


@dataclass(frozen=True)
class Step:
    """One refinement: bins split by some bits of their points' coordinates.

    Attributes
    ----------
    first, last : int
        The columns ``first … last - 1`` decide.
    shift, bits : int
        Of each, the ``bits`` bits above the lowest ``shift`` do; at most 8, and all together at
        most 64.
    weight : float
        What a point matched in these bins adds to the kernel beyond the next coarser ones; 0
        where the bins are those of no level, but a step on the way.
    level : int
        The level that the bins belong to or lead to.
    """

    first: int
    last: int
    shift: int
    bits: int
    weight: float
    level: int

    def continues(self, before: "Step") -> bool:
        """Whether it splits by the next lower bits of the same columns."""
        same = (self.first, self.last) == (before.first, before.last)
        return same and self.shift + self.bits == before.shift


@dataclass(frozen=True)
class Bins:
    """Occupied bins and what is in them.

    Attributes
    ----------
    tags, starts : (n_points,) uint64, (n_bins + 1,) int64
        Bin b holds the points ``tags[starts[b]:starts[b + 1]]``, ordered by set: the point's row
        in the low 32 bits, its set in the high ones.
    parents, codes : (n_bins,) int64, (n_bins,) uint64
        The bin of the step before, and the bits by which it differs from its siblings; ascending.
    member_starts, sets, counts : (n_bins + 1,) int64, (n_members,) int32, (n_members,) int32
        Bin b holds ``counts[m]`` points of the set ``sets[m]``, for m in
        ``member_starts[b]:member_starts[b + 1]``, sets ascending.
    """

    tags: np.ndarray
    starts: np.ndarray
    parents: np.ndarray
    codes: np.ndarray
    member_starts: np.ndarray
    sets: np.ndarray
    counts: np.ndarray


class GridBins:
    """Nested uniform grids of side 2^i, i = finest … L − 1, below one bin for everything.

    L = ⌈log₂ D⌉. A pair matched at level i, and at no finer one, counts 1/2^i ([Grauman06],
    Eq. 6), so the bins of level i < L carry the weight 1/2^i − 1/2^(i+1) and the top bin 1/2^L
    (Eq. 8).

    Parameters
    ----------
    side : int ≥ 1
        D, the range of coordinates.
    n_shifts : int ≥ 1
        T, the number of grids. Each is moved at random, independently in every dimension.
    finest_level : int ≥ 0
        The first level counted; 0 are the paper's bins of side 1.
    random_state : int, RandomState or None
        Random seed of the shifts. The same seed gives the same bins for any ``side``.

    Notes
    -----
    Deviations from the paper: a shift in [0, D) may cut the data at level L too; here level L is
    one bin whatever the shift, as Eq. 8 needs, and level i < L is shifted by the same number
    modulo 2^i that a shift in [0, 2^L) gives. Shifts are whole numbers, which loses nothing for
    coordinates that are whole. Points beyond the range fall in further bins of the same grids.

    References
    ----------
    .. [Grauman06] K. Grauman, T. Darrell, "Pyramid Match Kernels: Discriminative Classification
       with Sets of Image Features", MIT-CSAIL-TR-2006-020.

    Examples
    --------
    >>> import numpy as np
    >>> bins = GridBins(side=8, n_shifts=1, random_state=None).fit(np.array([[0, 0], [7, 5]]))
    >>> bins.top_level, bins.top_weight, [(s.level, s.weight) for s in bins.steps(0)]
    (3, 0.125, [(2, 0.125), (1, 0.25), (0, 0.5)])
    """

    def __init__(
        self, side: int, n_shifts: int = 1, finest_level: int = 0, random_state: Seed = 0
    ) -> None:
        if not 1 <= side <= FARTHEST or n_shifts < 1 or not 0 <= finest_level <= 29:
            raise ValueError(
                f"side={side}, n_shifts={n_shifts}, finest_level={finest_level}: expected "
                f"1 … {FARTHEST}, at least 1, and 0 … 29"
            )
        self.side = side
        self.n_shifts = n_shifts
        self.finest_level = finest_level
        self.random_state = random_state

    @property
    def top_level(self) -> int:
        """L, the level of the one bin for everything."""
        return max(int(self.side - 1).bit_length(), self.finest_level)

    @property
    def top_weight(self) -> float:
        """Weight of the top bin."""
        return 2.0**-self.top_level

    @property
    def own_weight(self) -> float:
        """What a point matched to itself counts."""
        return 2.0**-self.finest_level

    def fit(self, points: np.ndarray) -> "GridBins":
        """Draw the shifts, and note where points are.

        Parameters
        ----------
        points : (n, d) array of int
            All points that will be compared, or those of the training sets.
        """
        d = points.shape[1]
        from sklearn.utils import check_random_state

        draws = check_random_state(self.random_state).randint(FARTHEST, size=(self.n_shifts, d))
        period = self._period
        self.shifts_ = draws.astype(np.int64) % period
        lowest = points.min(axis=0, initial=FARTHEST) if len(points) else np.zeros(d, np.int64)
        highest = points.max(axis=0, initial=-FARTHEST) if len(points) else np.zeros(d, np.int64)
        self.origins_ = (lowest + self.shifts_) // period * period - self.shifts_
        self.n_cells_ = ((highest - self.origins_) // period).max(axis=1, initial=0) + 1
        return self

    def origin(self, layer: int) -> np.ndarray:
        """The lower corner of one of the T grids: (d,) int32."""
        return self.origins_[layer].astype(np.int32)

    def inside(self, points: np.ndarray, layer: int) -> np.ndarray:
        """Whether points can share a bin, other than the top one, with any seen by ``fit``.

        Parameters
        ----------
        points : (n, d) array of int
        layer : int
            Which of the T grids.
        """
        moved = points - self.origin(layer)
        return ((moved >= 0) & (moved < int(self.n_cells_[layer]) * self._period)).all(axis=1)

    def steps(self, layer: int) -> list[Step]:
        """The refinements from level L − 1 to the finest, for one of the T grids."""
        steps: list[Step] = []
        top = self.top_level - 1
        ceiling = top + max(int(self.n_cells_[layer] - 1).bit_length(), 1)
        while ceiling > top + 1:  # several cells of level L − 1 may lie beside each other
            bits = min(ceiling - top, MAX_PLANES)
            weight = 2.0**-self.top_level if ceiling - bits == top else 0.0
            steps += self._step(ceiling - bits, bits, weight)
            ceiling -= bits
        for level in range(ceiling - 1, self.finest_level - 1, -1):
            steps += self._step(level, 1, 2.0 ** -(level + 1))
        return steps if self.top_level > self.finest_level else []

    def get_state(self) -> dict[str, np.ndarray]:
        """Everything learned, as arrays that ``numpy.save`` keeps without pickle."""
        return {"shifts": self.shifts_, "origins": self.origins_, "n_cells": self.n_cells_}

    def set_state(self, state: dict[str, np.ndarray]) -> "GridBins":
        """Restore what :meth:`get_state` returned; the parameters must be the same."""
        self.shifts_ = np.asarray(state["shifts"], np.int64)
        self.origins_ = np.asarray(state["origins"], np.int64)
        self.n_cells_ = np.asarray(state["n_cells"], np.int64)
        grids = (self.n_shifts, self.origins_.shape[-1])
        if (
            not self.origins_.shape == self.shifts_.shape == grids
            or self.n_cells_.shape != grids[:1]
            or self.n_cells_.min(initial=1) < 1
        ):
            raise ValueError("the grids do not belong together; the file is damaged")
        return self

    @property
    def _period(self) -> int:
        """Side of the bins of level L − 1."""
        return 1 << max(self.top_level - 1, 0)

    def _step(self, shift: int, bits: int, weight: float) -> list[Step]:
        """One step, or several where the columns' bits are more than 64."""
        d = self.origins_.shape[1]
        width = 64 // bits
        return [
            Step(j, min(j + width, d), shift, bits, weight if j + width >= d else 0.0, shift)
            for j in range(0, d, width)
        ]


def refine(
    points: np.ndarray,
    origin: np.ndarray,
    set_of: np.ndarray,
    steps: Sequence[Step],
    *,
    least: int = 1,
    boundary: int = 0,
) -> Iterator[tuple[Step, Bins]]:
    """Give the occupied bins after every step; each refines the one before.

    A bin that too few sets share is left out, with all bins inside it: they can't be shared by
    more. This is what makes fine levels cheap.

    Parameters
    ----------
    points : (n, d) int32, C order
    origin : (d,) int32
        Taken from the points first; no coordinate may be negative then.
    set_of : (n,) int
        The set of each point, ascending.
    steps : sequence of Step
    least : int
        Number of sets that must share a bin.
    boundary : int
        If positive, a set below it and one not below it must share a bin.

    Examples
    --------
    >>> import numpy as np
    >>> steps = [Step(0, 1, 2, 1, 0.25, 2), Step(0, 1, 0, 2, 0.5, 0)]
    >>> points, owners = np.array([[0], [3], [7], [3]], np.int32), np.array([0, 0, 0, 1])
    >>> for step, bins in refine(points, np.zeros(1, np.int32), owners, steps, least=2):
    ...     print(step.level, bins.counts.tolist())
    2 [2, 1]
    0 [1, 1]
    """
    n = len(points)
    tags = tag_points(set_of)
    starts = np.array([0, n] if n else [0])
    codes = np.empty(0, np.uint64)
    packed = 0  # steps whose bits are in the codes
    for i, step in enumerate(steps):
        if i == packed:
            packed = i + _steps_that_fit(steps[i:])
            codes = pack(points, origin, tags, step, steps[packed - 1])
        width = step.last - step.first
        low = (step.shift - steps[packed - 1].shift) * width
        sort_inside_bins(codes, tags, starts, low, step.bits * width)
        n = len(tags)
        places = tuple(np.empty(n + 1, np.int64) for _ in range(3))
        members = (np.empty(n, np.int32), np.empty(n, np.int32))
        kept, n_bins, n_members = split_bins(
            codes, tags, starts, low, least, boundary, places, members
        )
        codes, tags, starts = codes[:kept], tags[:kept], places[0][: n_bins + 1]
        mask = np.uint64((1 << (step.bits * width)) - 1)
        yield (
            step,
            Bins(
                tags.copy(),
                starts,
                places[1][:n_bins],
                codes[starts[:-1]] >> np.uint64(low) & mask,
                places[2][: n_bins + 1],
                members[0][:n_members],
                members[1][:n_members],
            ),
        )


def _steps_that_fit(steps: Sequence[Step]) -> int:
    """Number of steps, from the first on, whose bits 64 bits hold."""
    width = steps[0].last - steps[0].first
    room = min(64 // width, MAX_PLANES) - steps[0].bits
    count = 1
    while count < len(steps) and steps[count].continues(steps[count - 1]):
        room -= steps[count].bits
        if room < 0:
            break
        count += 1
    return count


def tag_points(set_of: np.ndarray) -> np.ndarray:
    """Number the points, with their set in the high 32 bits."""
    numbers = np.arange(len(set_of), dtype=np.uint64)
    return np.asarray(set_of, np.uint64) << np.uint64(32) | numbers


def pack(
    points: np.ndarray, origin: np.ndarray, tags: np.ndarray, top: Step, bottom: Step
) -> np.ndarray:
    """The codes of the points in ``tags``, for the steps from ``top`` to ``bottom``."""
    width, planes = top.last - top.first, top.shift + top.bits - bottom.shift
    values = np.arange(1 << planes, dtype=np.uint64)
    spread = np.zeros_like(values)
    for plane in range(planes):
        bit = values >> np.uint64(plane) & np.uint64(1)
        spread |= bit << np.uint64(plane * width)
    codes = np.empty(len(tags), np.uint64)
    pack_codes(points, origin, tags, top.first, top.last, bottom.shift, spread, codes)
    return codes
