"""[Boughorbel06], Sec. 4: what the zeros of a GCS Gram matrix save."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.spatial.distance import pdist

from benchmarks.papers import _loops as loops
from benchmarks.papers.datasets import color_histograms
from benchmarks.papers.experiments import GCS, experiment
from benchmarks.papers.generated import generated_colors
from benchmarks.papers.lab import Lab, timed
from benchmarks.papers.results import Panel, Results, Row, Table
from visualwords.classifiers import kernels

A = 0.25  # [Boughorbel06], Sec. 5
ZEROS = 0.9  # of the Gram matrix of CS, likewise
SIZES, QUICK_SIZES = (1000, 2000, 5000, 10_000, 20_000), (100, 200)
PASSES, TOLERANCE, C = 200, 1e-2, 10.0  # of coordinate descent; C of a diagonal of one


class Reordering(NamedTuple):
    """A reordered Gram matrix, and the largest |i − j| of a non-zero before and after."""

    gram: sparse.csr_array
    bandwidth_before: int
    bandwidth: int


@experiment(
    *("gcs-fig2", GCS, "Figure 2, Sec. 4"),
    data=("corel1000",),
    minutes=2,
    missing="the paper's images are not public.",
)
def figure2(lab: Lab) -> Results:
    """Sparsity of the GCS Gram matrix, its reordering, and what that saves.

    (a) zeros of the Gram matrix at a radius that leaves 90 % of the pairs without overlap, (b) the
    same matrix after the reverse Cuthill–McKee permutation, (c) entries inside the band, n × B(n),
    against n² for growing training sets. The paper prints curves, not figures, for a radius of 0.4
    on its own images. Zeros are more than 90 %, because Φ₆₄ is zero to within rounding well before
    the edge of its support. Groups of like images (the blocks in (b)) keep the band wide; a sparse
    matrix (CSR), which stores the non-zero entries wherever they are, saves more.

    The paper plots the complexity of the SVM's quadratic term and times nothing. The last table
    does: generated colour histograms of three classes (the first against the others), the Gram
    matrix at 90 % pairs without overlap as a dense and as a CSR matrix, and the same coordinate
    descent of the hinge loss on both, which keeps all scores: a step costs n numbers on one, the
    non-zeros of a row on the other. Both stop at the same tolerance after the same passes.
    """
    X, y = color_histograms(lab)
    X = X[np.random.default_rng(0).permutation(len(X))]
    radius = sparse_radius(X)
    sizes = [int(share * len(X)) for share in (0.125, 0.25, 0.5, 0.75, 1.0)]
    grams = [kernels.gcs(X[:n], radius=radius, a=A, sparse=True) for n in sizes]
    reordered = [reorder(gram) for gram in lab.steps("reordering", grams)]
    cells = [
        [str(n), zeros(gram), *map(str, (done.bandwidth_before, done.bandwidth))]
        for n, gram, done in zip(sizes, grams, reordered)
    ]
    largest = reordered[-1]
    n = sizes[-1]
    shown = (("(a) in random order", grams[-1]), ("(b) reordered", largest.gram))
    entries = {
        "n²": (sizes, [n * n for n in sizes]),
        "n B(n)": (sizes, [n * one.bandwidth for n, one in zip(sizes, reordered)]),
        "non-zero (CSR)": (sizes, [gram.nnz for gram in grams]),
    }
    return Results(
        f"{len(y)} images in random order (seed 0), radius {radius:.3f} at a = {A}.",
        [
            Row(
                "zeros of the Gram matrix",
                *(zeros(grams[-1]), 90.0),
                unlike="Corel-1000 in place of the paper's images",
            ),
            Row("bandwidth B(n) / n before", 100 * largest.bandwidth_before / n),
            Row("bandwidth B(n) / n after", 100 * largest.bandwidth / n),
        ],
        tables=[
            Table("Growing training sets", ("n", "zeros, %", "bandwidth", "reordered B(n)"), cells),
            training_table(lab),
        ],
        panels=[
            *(Panel(title, "", "", {"": gram.nonzero()}, mark=",") for title, gram in shown),
            Panel("(c)", "training samples n", "entries", entries),
        ],
    )


def sparse_radius(X: np.ndarray, share_of_zeros: float = ZEROS) -> float:
    """Return the radius beyond which (times two) this share of all pairs of samples lies."""
    n = len(X)
    # The diagonal's n entries are never zero, so a little less of the rest may be non-zero.
    share = ((1 - share_of_zeros) * n * n - n) / (n * n - n)
    return float(np.quantile(pdist(X**A), max(share, 0.0)) / 2)


def zeros(gram: sparse.csr_array) -> float:
    """Share of entries that are not stored, in percent."""
    return 100 * (1 - gram.nnz / gram.shape[0] ** 2)


def reorder(gram: sparse.csr_array) -> Reordering:
    """Permute a symmetric sparse Gram matrix to a band: [Boughorbel06], Sec. 4 and Fig. 2."""
    order = reverse_cuthill_mckee(sparse.csr_matrix(gram), symmetric_mode=True)
    banded = sparse.csr_array(gram[order][:, order])
    return Reordering(banded, *(bandwidth(matrix) for matrix in (gram, banded)))


def bandwidth(gram: sparse.csr_array) -> int:
    """Return the largest |i − j| of a stored entry of a sparse matrix."""
    entries = sparse.coo_array(gram)
    return int(np.max(np.abs(entries.row.astype(np.int64) - entries.col), initial=0))


def training_table(lab: Lab) -> Table:
    """Seconds of the Gram matrix and of training, dense and sparse, over growing training sets."""
    cells: list[list[object]] = []
    sizes = QUICK_SIZES if lab.quick else SIZES
    X, y = generated_colors(n=max(sizes))
    radius = sparse_radius(X[:1000])
    signs = np.where(y == y[0], 1.0, -1.0)
    for warm, n in lab.steps("training", [(True, sizes[0]), *((False, n) for n in sizes)]):
        cell: list[object] = [f"{n:,}"]
        answers = []
        for as_sparse in (False, True):
            gram, building = timed(
                lambda n=n, s=as_sparse: kernels.gcs(X[:n], radius=radius, a=A, sparse=s)
            )
            gram *= 1 / kernels.gcs(X[:1], radius=radius, a=A)[0, 0]  # a diagonal of one
            (scores, passes), training = timed(train, gram, signs[:n])
            size = gram.data.nbytes + gram.indices.nbytes if as_sparse else gram.nbytes
            answers.append(scores)
            cell += [building, training, size / 1e6]
            if as_sparse:
                cell += [str(passes), zeros(gram)]
        if not warm:  # the first round compiles
            cells.append([*cell, f"{np.abs(answers[0] - answers[1]).max():.0e}"])
    header = [
        f"{kind}: {what}" for kind in ("dense", "CSR") for what in ("Gram, s", "SVM, s", "MB")
    ]
    return Table(
        "Training on dense and on sparse Gram matrices, generated histograms",
        ("n", *header, "passes", "zeros, %", "largest difference of a score"),
        cells,
    )


def train(gram: Any, signs: np.ndarray) -> tuple[np.ndarray, int]:
    """Dual coordinate descent on a dense or a CSR Gram matrix: scores of training rows, passes."""
    alpha, scores, rng = np.zeros(len(signs)), np.zeros(len(signs)), np.random.default_rng(0)
    diagonal = gram.diagonal()
    passes, worst = 0, np.inf
    while worst > TOLERANCE and passes < PASSES:
        passes += 1
        order = rng.permutation(len(signs))
        if sparse.issparse(gram):
            parts = gram.data, gram.indices, gram.indptr, diagonal
            worst = loops.hinge_pass_sparse(*parts, signs, C, order, alpha, scores)
        else:
            worst = loops.hinge_pass_dense(gram, signs, C, order, alpha, scores)
    return scores, passes
