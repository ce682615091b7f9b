"""The pyramid match as an embedding: sparse vectors of sets of points."""

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy import sparse

from visualwords.codebook._pyramid_match import find_children
from visualwords.codebook.feature_sets import FeatureSets, as_feature_sets
from visualwords.codebook.grid_bins import GridBins, Step, pack, refine, tag_points
from visualwords.estimator import Labels, Seed, TakesObjects, Transformer, check_fitted
from visualwords.model_file import part_of, prefixed
from visualwords.parallel import with_one_library_thread

_POINTS_AT_A_TIME = 1 << 19


@dataclass(frozen=True)
class _Branches:
    """The bins seen after one step: their place under the bins before, and their columns."""

    child_starts: np.ndarray
    codes: np.ndarray
    first_column: np.ndarray
    most: np.ndarray

    def follow(self, n_parents: int, n_columns: int) -> bool:
        """Whether these can be children of so many bins; the search does not check."""
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


@dataclass(eq=False, repr=False)
class PyramidMatchEmbedding(Transformer, TakesObjects):
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

    n_shifts: int = 1
    normalization: str | None = "self"
    _: KW_ONLY
    finest_level: int = 0
    side: int | None = None
    min_sets: int = 1
    random_state: Seed = 0

    @with_one_library_thread
    def fit(self, sets: Any, y: Labels = None) -> "PyramidMatchEmbedding":
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
        """One sparse row for every set.

        Parameters
        ----------
        sets : FeatureSets, or sequence of (n_i, d) arrays

        Returns
        -------
        (n_sets, n_columns) CSR array of float64
        """
        check_fitted(self, "branches_")
        sets = as_feature_sets(sets, self.side_)
        if len(sets.points) and sets.points.shape[1] != self.n_dimensions_:
            raise ValueError(
                f"points have {sets.points.shape[1]} dimensions; "
                f"the embedding was fitted on {self.n_dimensions_}"
            )
        blocks = [self._embed(part) for part in _parts(sets)]
        if not blocks:
            return sparse.csr_array((0, self.n_columns_))
        return sparse.csr_array(sparse.vstack(blocks, format="csr"))

    def get_state(self) -> dict[str, np.ndarray]:
        """Everything learned, as arrays that ``numpy.save`` keeps without pickle.

        Returns
        -------
        dict of str to ndarray
            For :meth:`set_state` of an embedding with the same parameters.
        """
        check_fitted(self, "branches_")
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
        if self.n_columns_ < 2**31:  # what LIBLINEAR and others need
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
        tags = tag_points(sets.owners)[self.bins_.inside(sets.points, layer)]
        bins = np.zeros(len(tags), np.int64)
        for step, branches in zip(self.bins_.steps(layer), self.branches_[layer], strict=True):
            codes = pack(sets.points, origin, tags, step, step)
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
