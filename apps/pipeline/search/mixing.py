"""How much each channel of a recipe counts, chosen on folds by kernel ridge regression.

A recipe's kernel is the sum of the kernels of its channels, each times its share. Held-out scores
of ridge regression follow from one inverse of that matrix, so that some fifty choices of shares
take about as long as one training of an SVM, and rank them alike. What comes out is trained as
other recipes are, and compared with them by its figures.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack
from scipy.optimize import minimize_scalar

from visualwords.apps.pipeline.channel_products import are_shared
from visualwords.apps.pipeline.encoding import chosen_images
from visualwords.apps.pipeline.recipe import Channel, Recipe
from visualwords.apps.pipeline.search.costs import MIXED_IMAGES
from visualwords.apps.pipeline.training import FOLDS, Training, divisions_of, n_divisions
from visualwords.parallel import with_one_library_thread

RIDGE = 0.05  # beside a kernel whose diagonal has the mean 1
FACTORS = (0.0, 0.5, 2.0)  # of the share of a channel that a recipe has
ENTRIES = (0.25, 1.0)  # of the median share, for one that it does not have yet
ROUNDS = 2  # over all channels
LEAST_LEAD = 1.0  # standard errors of log-likelihoods, that a change must be ahead
LEAST_CHANCE = 1e-3  # smaller probabilities of the true class count as this
STEEPEST = (-1.0, 4.0)  # logarithms of the factor between scores and logits


def mixed(recipe: Recipe, others: Sequence[Channel], training: Training) -> Recipe | None:
    """Return a recipe whose channels, and others, count as much as folds prefer.

    The heaviest of its channels of patches that is left keeps its weight. Where there is one other
    channel, and that does not gain, all stays as it is. Copies of images have no part in it.

    Parameters
    ----------
    recipe : Recipe
        Of channels of bytes.
    others : channels of bytes that it may get; none: only its own are mixed
    training : Training
        The images; channels that are new are encoded.

    Returns
    -------
    Recipe, or None if nothing else is preferred or a class is too small for folds
    """
    channels = [*recipe.channels, *others]
    every = replace(recipe, channels=tuple(channels), views=())
    training.channels.encode(every, training.channels.learn(every))
    kept = np.array(training.channels.kept(every), np.intp)
    some = np.arange(len(kept))
    if len(kept) > MIXED_IMAGES:
        some = chosen_images(training.data.codes[kept], training.seed, MIXED_IMAGES)
    data = training.data.part(kept[some])
    divisions = divisions_of(data, training.seed, n_divisions(len(data)))
    if divisions[0] is None:
        return None
    if not are_shared(len(kept), len(data.classes), 1 + FOLDS):  # by classifiers: so many suffice
        kept, some = kept[some], np.arange(len(some))
    views, inside = [recipe.view], np.ix_(some, some)
    products = [training.channels.products_of(c.unweighted, views, kept)[inside] for c in channels]
    means = np.array([max(float(np.diagonal(one).mean()), 1e-9) for one in products])
    start = np.array([channel.weight**2 for channel in channels]) * means
    start[len(recipe.channels) :] = 0
    start /= start.sum()
    kernels = np.stack([one / mean for one, mean in zip(products, means)])
    shares = mix(kernels, start, Held(data.codes, divisions))
    if np.allclose(shares, start):
        return None
    weights = np.sqrt(shares / means)
    heaviest = max(
        np.flatnonzero(shares), key=lambda k: (start[k] > 0, channels[k].learns, shares[k])
    )
    weights *= channels[heaviest].weight / weights[heaviest]
    found = tuple(
        replace(channel, weight=round(float(weight), 4))
        for channel, weight in zip(channels, weights)
        if weight > 0
    )
    summary = "; ".join(channel.described() for channel in found)
    return replace(recipe, channels=found, summary=summary)


class Held(NamedTuple):
    """Images that scores are held out of.

    Attributes
    ----------
    codes : (n,) int
    divisions : sequence of (n,) int
        The fold of each, in one or several divisions.
    """

    codes: np.ndarray
    divisions: Sequence[np.ndarray]


@with_one_library_thread
def mix(kernels: np.ndarray, start: Sequence[float], held: Held) -> np.ndarray:
    """Return the share of every kernel that held-out images prefer.

    One share after the other, those of 0 last, is set to 0, halved and doubled, or, where it is 0,
    to a quarter of the median and to the median; what raises the likelihood of the true classes,
    each class counting alike, by more than a standard error of paired images is kept. A single
    share of 0 comes first, and if it stays 0, all stays as it is.

    Parameters
    ----------
    kernels : (n_kernels, n, n)
        The diagonal of each has the mean 1.
    start : shares to begin with, 0 for a kernel that is not used yet
    held : Held

    Returns
    -------
    (n_kernels,) of sum 1
    """
    shares = np.asarray(start, float)
    weights = _of_images(held.codes)
    known: dict[tuple[float, ...], np.ndarray] = {}

    def likelihoods(shares: np.ndarray) -> np.ndarray:
        normal = shares / shares.sum()
        key = tuple(np.round(normal, 9))
        if key not in known:
            total = np.tensordot(normal, kernels, 1)
            found = held_out_scores(total, held, RIDGE / weights)
            chances = [log_chances(scores, held.codes, weights) for scores in found]
            known[key] = weights * np.mean(chances, axis=0)
        return known[key]

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
    """Return scores of one-vs-rest ridge regression, each by the images outside of its fold.

    They are (n, n_classes) for each division.

    With G = (K + diag(ridge))⁻¹ and targets Y of ±1, those of a fold b are Y_b − G_bb⁻¹ (G Y)_b:
    the same as of a regression without it.
    """
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
    """Return what is tried of one share; never nothing at all."""
    share, used = shares[number], shares[shares > 0]
    values = [f * share for f in FACTORS] if share else [f * np.median(used) for f in ENTRIES]
    tried = [np.where(np.arange(len(shares)) == number, value, shares) for value in values]
    return [one for one in tried if one.any()]


def _leads(one: np.ndarray, other: np.ndarray) -> bool:
    """Return whether paired likelihoods are ahead by more than chance."""
    lead = one - other
    return bool(lead.mean() > LEAST_LEAD * lead.std() / np.sqrt(len(lead)))


def _of_images(codes: np.ndarray) -> np.ndarray:
    """Return what each image counts, so that all classes count alike; the mean is 1."""
    counts = np.unique(codes, return_counts=True)[1]
    return (len(codes) / len(counts) / counts)[np.unique(codes, return_inverse=True)[1]]


def log_chances(scores: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return log-probabilities of the true classes, scores being logits but for one factor."""
    truth = np.unique(codes, return_inverse=True)[1]

    def of_factor(logarithm: float) -> np.ndarray:
        logits = np.exp(logarithm) * scores
        logits -= logits.max(axis=1, keepdims=True)
        chances = logits[np.arange(len(truth)), truth] - np.log(np.exp(logits).sum(axis=1))
        return np.maximum(chances, np.log(LEAST_CHANCE))

    found = minimize_scalar(
        lambda logarithm: -(weights * of_factor(logarithm)).mean(),
        bounds=STEEPEST,
        method="bounded",
        options={"xatol": 0.05},
    )
    return of_factor(found.x)
