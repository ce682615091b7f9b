"""How much each channel counts, chosen on folds by kernel ridge regression.

A recipe's kernel is the sum of the kernels of its channels, each times its share. Held-out scores
of ridge regression follow from one inverse of that matrix, so that some fifty choices of shares
take about as long as one training of an SVM, and rank them alike. What comes out is trained as
other recipes are, and compared with them by its figures.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from visualwords.parallel import with_one_library_thread

RIDGE = 0.05  # beside a kernel whose diagonal has the mean 1
FACTORS = (0.0, 0.5, 2.0)  # of the share of a channel that a recipe has
ENTRIES = (0.25, 1.0)  # of the median share, for one that it does not have yet
ROUNDS = 2  # over all channels
LEAST_LEAD = 1.0  # standard errors of log-likelihoods, that a change must be ahead
LEAST_CHANCE = 1e-3  # smaller probabilities of the true class count as this
STEEPEST = (-1.0, 4.0)  # logarithms of the factor between scores and logits


class Held(NamedTuple):
    """Images that scores are held out of.

    Attributes
    ----------
    codes : (n,) int
    divisions : sequence of (n,) int
        The fold of each, in one or several divisions.
    weights : (n,) or None
        How often each counts.
    """

    codes: np.ndarray
    divisions: Sequence[np.ndarray]
    weights: np.ndarray | None = None


@with_one_library_thread
def mix(kernels: Sequence[np.ndarray], starts: Sequence[Sequence[float]], held: Held) -> np.ndarray:
    """The share of every kernel that held-out images prefer.

    Of several starts the best is taken. Then one share after the other, those of 0 last, is set to
    0, halved and doubled, or, where it is 0, to a quarter of the median and to the median; what
    raises the likelihood of the true classes, each class counting alike, by more than a standard
    error of paired images is kept. A single share of 0 comes first, and if it stays 0, all stays as
    it is.

    Parameters
    ----------
    kernels : (n, n) arrays
        The diagonal of each has the mean 1.
    starts : shares to begin with, 0 for a kernel that is not used yet
    held : Held

    Returns
    -------
    (n_kernels,) of sum 1
    """
    weights = _of_images(held)
    known: dict[tuple[float, ...], np.ndarray] = {}

    def likelihoods(shares: np.ndarray) -> np.ndarray:
        normal = shares / shares.sum()
        key = tuple(np.round(normal, 9))
        if key not in known:
            total = np.zeros_like(kernels[0], float)
            for share, kernel in zip(normal, kernels):
                total += share * kernel
            scores = held_out_scores(total, held, RIDGE / weights)
            chances = [log_chances(one, held.codes, weights) for one in scores]
            known[key] = weights * np.mean(chances, axis=0)
        return known[key]

    shares = max((np.asarray(s, float) for s in starts), key=lambda s: likelihoods(s).sum())
    best = likelihoods(shares)
    is_single = (shares == 0).sum() == 1
    order = np.argsort(shares > 0 if is_single else shares == 0, kind="stable")
    for _ in range(ROUNDS):
        before = shares
        for number in order:
            if is_single and number != order[0] and not shares[order[0]]:
                return shares / shares.sum()
            found = [(likelihoods(tried), tried) for tried in _changed(shares, number)]
            found = [(one, tried) for one, tried in found if _leads(one, best)]
            if found:
                best, shares = max(found, key=lambda pair: pair[0].sum())
        if shares is before:
            break
    return shares / shares.sum()


def held_out_scores(kernel: np.ndarray, held: Held, ridge: np.ndarray) -> list[np.ndarray]:
    """Scores of one-vs-rest ridge regression, each by the images outside of its fold.

    They are (n, n_classes) for each division.

    With G = (K + diag(ridge))⁻¹ and targets Y of ±1, those of a fold b are Y_b − G_bb⁻¹ (G Y)_b:
    the same as of a regression without it.
    """
    from scipy.linalg import lapack

    factor, failed = lapack.dpotrf(kernel + np.diag(ridge), lower=True)
    inverse, failed_again = lapack.dpotri(factor, lower=True)
    if failed or failed_again:
        raise ValueError("the kernel is not positive semi-definite")
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    targets = np.where(held.codes[:, None] == np.unique(held.codes), 1.0, -1.0)
    solved = inverse @ targets
    found = []
    for folds in held.divisions:
        scores = np.empty_like(targets)
        for fold in np.unique(folds):
            b = np.flatnonzero(folds == fold)
            scores[b] = targets[b] - np.linalg.solve(inverse[np.ix_(b, b)], solved[b])
        found.append(scores)
    return found


def _changed(shares: np.ndarray, number: int) -> list[np.ndarray]:
    """What is tried of one share; never nothing at all."""
    share, used = shares[number], shares[shares > 0]
    values = [f * share for f in FACTORS] if share else [f * np.median(used) for f in ENTRIES]
    tried = [np.where(np.arange(len(shares)) == number, value, shares) for value in values]
    return [one for one in tried if one.any()]


def _leads(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether paired likelihoods are ahead by more than chance."""
    lead = one - other
    return bool(lead.mean() > LEAST_LEAD * lead.std() / np.sqrt(len(lead)))


def _of_images(held: Held) -> np.ndarray:
    """What each image counts, so that all classes count alike; the mean is 1."""
    codes = np.unique(held.codes, return_inverse=True)[1]
    weights = np.ones(len(codes)) if held.weights is None else held.weights
    counts = np.bincount(codes, weights)
    return len(codes) / len(counts) * weights / counts[codes]


def log_chances(scores: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Log-probabilities of the true classes, scores being logits but for one factor."""
    truth = np.unique(codes, return_inverse=True)[1]

    def of_factor(logarithm: float) -> np.ndarray:
        logits = np.exp(logarithm) * scores
        logits -= logits.max(axis=1, keepdims=True)
        chances = logits[np.arange(len(truth)), truth] - np.log(np.exp(logits).sum(axis=1))
        return np.maximum(chances, np.log(LEAST_CHANCE))

    from scipy.optimize import minimize_scalar

    found = minimize_scalar(
        lambda logarithm: -(weights * of_factor(logarithm)).mean(),
        bounds=STEEPEST,
        method="bounded",
        options={"xatol": 0.05},
    )
    return of_factor(found.x)
