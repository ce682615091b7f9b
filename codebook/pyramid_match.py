"""The pyramid match: nested grids of bins, the points in them, and sparse vectors of sets."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from visualwords.codebook._pyramid_match import (
    find_children,
    pack_codes,
    sort_inside_bins,
    split_bins,
)
from visualwords.codebook.feature_sets import FARTHEST, FeatureSets, as_feature_sets
from visualwords.model_file import part_of, prefixed
from visualwords.parallel import with_one_library_thread

MAX_PLANES = 8  # bits of a coordinate that are packed at a time
_POINTS_AT_A_TIME = 1 << 19


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
        self,
        side: int,
        n_shifts: int = 1,
        finest_level: int = 0,
        random_state: int | np.random.RandomState | None = 0,
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
        draws = check_random_state(self.random_state).randint(FARTHEST, size=(self.n_shifts, d))
        period = self._period
        self.shifts_ = draws.astype(np.int64) % period
        lowest = points.min(axis=0, initial=FARTHEST) if len(points) else np.zeros(d, np.int64)
        highest = points.max(axis=0, initial=-FARTHEST) if len(points) else np.zeros(d, np.int64)
        self.origins_ = (lowest + self.shifts_) // period * period - self.shifts_
        self.n_cells_ = ((highest - self.origins_) // period).max(axis=1, initial=0) + 1
        return self

    def origin(self, layer: int) -> np.ndarray:
        """Return the lower corner of one of the T grids: (d,) int32."""
        return self.origins_[layer].astype(np.int32)

    def inside(self, points: np.ndarray, layer: int) -> np.ndarray:
        """Return which points can share a bin, other than the top one, with any seen by ``fit``.

        Parameters
        ----------
        points : (n, d) array of int
        layer : int
            Which of the T grids.
        """
        moved = points - self.origin(layer)
        return ((moved >= 0) & (moved < int(self.n_cells_[layer]) * self._period)).all(axis=1)

    def steps(self, layer: int) -> list[Step]:
        """Return the refinements from level L − 1 to the finest, for one of the T grids."""
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
        """Return everything learned, as arrays that ``numpy.save`` keeps without pickle."""
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
    tags = _tag_points(set_of)
    starts = np.array([0, n] if n else [0])
    codes = np.empty(0, np.uint64)
    packed = 0  # steps whose bits are in the codes
    for i, step in enumerate(steps):
        if i == packed:
            packed = i + _steps_that_fit(steps[i:])
            codes = _pack(points, origin, tags, step, steps[packed - 1])
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


def _tag_points(set_of: np.ndarray) -> np.ndarray:
    """Number the points, with their set in the high 32 bits."""
    numbers = np.arange(len(set_of), dtype=np.uint64)
    return np.asarray(set_of, np.uint64) << np.uint64(32) | numbers


def _pack(
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


@dataclass(frozen=True)
class _Branches:
    """The bins seen after one step: their place under the bins before, and their columns."""

    child_starts: np.ndarray
    codes: np.ndarray
    first_column: np.ndarray
    most: np.ndarray

    def follow(self, n_parents: int, n_columns: int) -> bool:
        """Return whether these can be children of so many bins; the search does not check."""
        n = len(self.codes)
        return bool(
            self.child_starts.shape == (n_parents + 1,)
            and self.codes.shape == self.first_column.shape == self.most.shape == (n,)
            and self.child_starts[0] == 0
            and self.child_starts[-1] == n
            and np.diff(self.child_starts).min(initial=0) >= 0
            and self.most.min(initial=0) >= 0
            and self.first_column.min(initial=0) >= 0
            and (self.most <= n_columns - self.first_column).all()
        )


def match_by_smaller_set(X: Any, Y: Any = None) -> np.ndarray:
    """The pyramid match of embedded sets, divided by the size of the smaller one.

    Rows are those of a `PyramidMatchEmbedding` without normalisation; the last column is the size
    of the set.
    """
    Y = X if Y is None else Y
    x, y = sparse.csr_matrix(X), sparse.csr_matrix(Y)
    sizes = np.minimum(x[:, [-1]].toarray(), y[:, [-1]].toarray().T)
    return (x[:, :-1] @ y[:, :-1].T).toarray() / np.maximum(sizes, 1)


class PyramidMatchEmbedding(TransformerMixin, BaseEstimator):
    """Write sets as sparse vectors, so that a linear classifier is a pyramid match.

    The smaller of two counts is the number of thresholds 1, 2, … that both reach. One column for
    every threshold of every bin, 0 or √weight, makes the pyramid match a scalar product. Training
    then takes memory proportional to the points instead of the square of the sets.

    Parameters
    ----------
    n_shifts : int, default 1
        T, as in :func:`visualwords.classifiers.kernels.pyramid_match`.
    normalization : {"self", None}, default "self"
        Divide by √(K̃(y, y) K̃(z, z)), or not.
    finest_level : int, default 0, keyword only
        Smallest bins have side 2^finest_level.
    side : int, optional
        D; by default the training sets' own.
    min_sets : int, default 1
        Bins that fewer training sets share get no column. 1 loses nothing; 2 is much smaller and
        drops what distinguishes a single training set from all others, the dominant diagonal.
    random_state : int, RandomState or None, default 0
        Random seed of the shifts.

    Attributes
    ----------
    n_columns_ : int
    bins_ : GridBins

    Notes
    -----
    Products with training sets equal the kernel (``min_sets=1``). Of two *new* sets, bins and
    counts beyond those in the training sets are left out. Deviations from the paper: it uses the
    expansion for a proof and "never" computes it (Sec. 3.3); sparse, it is small.

    References
    ----------
    .. [Grauman06] K. Grauman, T. Darrell, "Pyramid Match Kernels: Discriminative Classification
       with Sets of Image Features", MIT-CSAIL-TR-2006-020.

    Examples
    --------
    >>> import numpy as np
    >>> sets = [np.array([[0, 0], [7, 7]]), np.array([[1, 0], [100, 100], [50, 0]])]
    >>> rows = PyramidMatchEmbedding(normalization=None, random_state=1).fit_transform(sets)
    >>> (rows @ rows.T).toarray().round(7)
    array([[2.       , 0.2578125],
           [0.2578125, 3.       ]])
    """

    def __init__(
        self,
        n_shifts: int = 1,
        normalization: str | None = "self",
        *,
        finest_level: int = 0,
        side: int | None = None,
        min_sets: int = 1,
        random_state: Any = 0,
    ) -> None:
        self.n_shifts = n_shifts
        self.normalization = normalization
        self.finest_level = finest_level
        self.side = side
        self.min_sets = min_sets
        self.random_state = random_state

    @with_one_library_thread
    def fit(self, sets: Any, y: Any = None) -> "PyramidMatchEmbedding":
        """Learn which bins there are, and how many points of one set they hold at most.

        Parameters
        ----------
        sets : FeatureSets, or sequence of (n_i, d) arrays
        y : ignored
        """
        self._check_parameters()
        sets = as_feature_sets(sets, self.side)
        self.side_ = sets.side
        grids = GridBins(sets.side, self.n_shifts, self.finest_level, self.random_state)
        self.bins_ = grids.fit(sets.points)
        self.n_dimensions_ = sets.points.shape[1]
        self.largest_ = int(sets.sizes.max(initial=0))
        self.n_columns_ = self.largest_
        self.branches_ = [
            self._learn_branches(sets.points, sets.owners, layer)
            for layer in range(self.bins_.n_shifts)
        ]
        return self

    @with_one_library_thread
    def transform(self, sets: Any) -> sparse.csr_array:
        """Return one sparse row for every set.

        Parameters
        ----------
        sets : FeatureSets, or sequence of (n_i, d) arrays

        Returns
        -------
        (n_sets, n_columns) CSR array of float64
        """
        check_is_fitted(self, "branches_")
        sets = as_feature_sets(sets, self.side_)
        if len(sets.points) and sets.points.shape[1] != self.n_dimensions_:
            raise ValueError(
                f"points have {sets.points.shape[1]} dimensions; "
                f"the embedding was fitted on {self.n_dimensions_}"
            )
        blocks = [self._embed(part) for part in _parts(sets)]
        if not blocks:
            return sparse.csr_array((0, self.n_columns_))
        rows = sparse.csr_array(sparse.vstack(blocks, format="csr"))
        if max(rows.nnz, self.n_columns_) < 2**31:  # what LIBLINEAR and others need
            rows.indices = rows.indices.astype(np.int32, copy=False)
            rows.indptr = rows.indptr.astype(np.int32, copy=False)
        return rows

    def get_state(self) -> dict[str, np.ndarray]:
        """Return everything learned, as arrays that ``numpy.save`` keeps without pickle.

        Returns
        -------
        dict of str to ndarray
            For :meth:`set_state` of an embedding with the same parameters.
        """
        check_is_fitted(self, "branches_")
        every = [branches for layer in self.branches_ for branches in layer]
        columns = {
            name: [getattr(branches, name) for branches in every]
            for name in ("child_starts", "codes", "first_column", "most")
        }
        numbers = (self.side_, self.n_dimensions_, self.largest_, self.n_columns_)
        state = {name: np.concatenate(parts or [[]]) for name, parts in columns.items()}
        state["sizes"] = np.array([[len(b.child_starts), len(b.codes)] for b in every])
        state["numbers"] = np.array(numbers)
        return state | prefixed("grid_", self.bins_.get_state())

    def set_state(self, state: dict[str, np.ndarray]) -> "PyramidMatchEmbedding":
        """Restore what :meth:`get_state` returned; the parameters must be the same."""
        numbers = (int(v) for v in state["numbers"])
        self.side_, self.n_dimensions_, self.largest_, self.n_columns_ = numbers
        grids = GridBins(self.side_, self.n_shifts, self.finest_level)
        self.bins_ = grids.set_state(part_of("grid_", state))
        sizes = np.asarray(state["sizes"], np.int64).reshape(-1, 2)
        starts, codes = (np.concatenate([[0], np.cumsum(sizes[:, i])]) for i in (0, 1))
        every = [
            _Branches(
                np.asarray(state["child_starts"][starts[i] : starts[i + 1]], np.int64),
                np.asarray(state["codes"][codes[i] : codes[i + 1]], np.uint64),
                np.asarray(state["first_column"][codes[i] : codes[i + 1]], np.int64),
                np.asarray(state["most"][codes[i] : codes[i + 1]], np.int64),
            )
            for i in range(len(sizes))
        ]
        self.branches_ = []
        for layer in range(self.bins_.n_shifts):
            n = len(self.bins_.steps(layer))
            self.branches_.append(every[:n])
            every = every[n:]
        self._check_state()
        return self

    def _check_state(self) -> None:
        """Raise ``ValueError`` where what came from a file does not belong together."""
        sound = self.bins_.origins_.shape[1] == self.n_dimensions_
        for layer, every in enumerate(self.branches_):
            sound = sound and len(every) == len(self.bins_.steps(layer))
            n_parents = 1
            for branches in every:
                sound = sound and branches.follow(n_parents, self.n_columns_)
                n_parents = len(branches.codes)
        if not sound:
            raise ValueError("the bins do not belong together; the file they came from is damaged")

    def _learn_branches(
        self, points: np.ndarray, owners: np.ndarray, layer: int
    ) -> list[_Branches]:
        """The bins of one pyramid, step by step, and their columns."""
        origin, steps = self.bins_.origin(layer), self.bins_.steps(layer)
        n_parents, branches = 1, []
        for step, found in refine(points, origin, owners, steps, least=self.min_sets):
            most = np.zeros(len(found.codes), np.int64)
            if step.weight > 0 and len(most):
                most[:] = np.maximum.reduceat(found.counts, found.member_starts[:-1])
            first = self.n_columns_ + np.cumsum(most) - most
            self.n_columns_ += int(most.sum())
            child_starts = np.searchsorted(found.parents, np.arange(n_parents + 1))
            branches.append(_Branches(child_starts, found.codes, first, most))
            n_parents = len(found.codes)
        return branches

    def _embed(self, sets: FeatureSets) -> sparse.csr_array:
        """The rows of some sets."""
        weight = self.bins_.n_shifts * self.bins_.top_weight
        top = np.zeros(len(sets), np.int64)
        entries = [(np.arange(len(sets)), top, np.minimum(sets.sizes, self.largest_), weight)]
        for layer in range(self.bins_.n_shifts):
            for step, branches, owners, bins in self._descend(sets, layer):
                pairs, counts = np.unique(
                    owners * np.int64(len(branches.codes)) + bins, return_counts=True
                )
                owner, where = np.divmod(pairs, max(len(branches.codes), 1))
                counts = np.minimum(counts, branches.most[where])
                entries.append((owner, branches.first_column[where], counts, step.weight))
        rows, columns, values = (np.concatenate(part) for part in zip(*map(_thresholds, entries)))
        shape = (len(sets), self.n_columns_)
        if self.n_columns_ < 2**31:
            rows, columns = rows.astype(np.int32), columns.astype(np.int32)
        embedded = sparse.csr_array(sparse.coo_array((values, (rows, columns)), shape=shape))
        if self.normalization == "self":
            scale = 1 / np.sqrt(self.bins_.own_weight * np.maximum(sets.sizes, 1))
            embedded.data *= np.repeat(scale, np.diff(embedded.indptr))
        return embedded

    def _descend(
        self, sets: FeatureSets, layer: int
    ) -> Iterator[tuple[Step, _Branches, np.ndarray, np.ndarray]]:
        """For every level, the set and the bin of the points that are in a known bin."""
        origin = self.bins_.origin(layer)
        tags = _tag_points(sets.owners)[self.bins_.inside(sets.points, layer)]
        bins = np.zeros(len(tags), np.int64)
        for step, branches in zip(self.bins_.steps(layer), self.branches_[layer], strict=True):
            codes = _pack(sets.points, origin, tags, step, step)
            find_children(codes, bins, branches.child_starts, branches.codes)
            tags, bins = tags[bins >= 0], bins[bins >= 0]
            if step.weight > 0:
                yield step, branches, (tags >> np.uint64(32)).astype(np.int64), bins

    def _check_parameters(self) -> None:
        if self.normalization not in ("self", None):
            raise ValueError(
                f"normalization={self.normalization!r}: choose 'self' or None; no vectors have "
                "the products of 'min_cardinality', which is not positive semi-definite"
            )
        if self.min_sets < 1:
            raise ValueError(f"min_sets={self.min_sets}: must be at least 1")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        return tags


def _thresholds(entry: tuple) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One column for every point counted, √weight in each."""
    rows, columns, counts, weight = entry
    total = int(counts.sum())
    within = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(rows, counts), np.repeat(columns, counts) + within, np.full(total, weight**0.5)


def _parts(sets: FeatureSets) -> Iterator[FeatureSets]:
    """The sets, some at a time, so that temporary arrays stay small."""
    begin = 0
    while begin < len(sets):
        reach = sets.offsets[begin] + _POINTS_AT_A_TIME
        end = max(int(np.searchsorted(sets.offsets, reach, side="right")) - 1, begin + 1)
        yield sets[begin:end]
        begin = end
