"""Points → the bins of every level that enough sets share, from coarse to fine."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from visualwords.codebook._partition import pack_codes, sort_inside_bins, split_bins

__all__ = ["MAX_PLANES", "Bins", "Step", "pack", "refine", "tag_points"]

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
    """Return the codes of the points in ``tags``, for the steps from ``top`` to ``bottom``."""
    width, planes = top.last - top.first, top.shift + top.bits - bottom.shift
    values = np.arange(1 << planes, dtype=np.uint64)
    spread = np.zeros_like(values)
    for plane in range(planes):
        bit = values >> np.uint64(plane) & np.uint64(1)
        spread |= bit << np.uint64(plane * width)
    codes = np.empty(len(tags), np.uint64)
    pack_codes(points, origin, tags, top.first, top.last, bottom.shift, spread, codes)
    return codes
