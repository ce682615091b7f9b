"""Probabilities from decision values, fitted on held-out scores."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from visualwords.classifiers.one_vs_rest import both_classes
from visualwords.compiled import take
from visualwords.estimator import Seed
from visualwords.model_file import part_of, prefixed
from visualwords.parallel import map_on_workers

BALANCE = 0.7  # an image of a class of n counts nᴮ⁻¹: between images (1) and classes (0)
SHRINKAGE = 8.0  # of β, in images
PREFIX = "calibration_"  # of its arrays in the state of a classifier
MOST_POWER = 3.0  # of e: how far the highest probabilities correct the slope by


def held_out_scores(
    estimator: Any,
    X: Any,
    y: np.ndarray,
    sample_weight: np.ndarray | None = None,
    *,
    folds: np.ndarray | None = None,
) -> np.ndarray:
    """Decision values of every sample from a clone trained without it.

    Folds are trained one after the other, or each on a worker of joblib's active backend where
    that has other processes, with the same result.

    Parameters
    ----------
    estimator : classifier with ``decision_function``
        Cloned for every fold; must not calibrate itself.
    X : array or sparse matrix of shape (n_samples, n_features)
    y : array of shape (n_samples,)
    sample_weight : array of shape (n_samples,), optional
    folds : array of int of shape (n_samples,), optional
        The fold of every sample, in place of `random_folds`; without any fold, the others must
        have all classes.

    Returns
    -------
    array of shape (n_samples,) or (n_samples, n_classes)
    """
    if folds is None:
        folds = random_folds(y)
    n_classes = np.unique(y).size
    scores = np.empty(y.size if n_classes == 2 else (y.size, n_classes))
    divisions = divide(folds)
    shared = [estimator, X, y, sample_weight]
    scored = map_on_workers(_score_fold, divisions, shared=shared, n_jobs=1)
    for (_, test), found in zip(divisions, scored, strict=True):  # workers warn of an end unseen
        scores[test] = found
    return scores


def divide(folds: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return, for every fold, the positions of the samples outside of it and of those in it.

    Examples
    --------
    >>> [(train.tolist(), test.tolist()) for train, test in divide(np.array([0, 1, 1]))]
    [([1, 2], [0]), ([0], [1, 2])]
    """
    return [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in np.unique(folds)]


def random_folds(y: np.ndarray, random_state: Seed = 0) -> np.ndarray:
    """The one of five folds of every sample; fewer where the smallest class has fewer samples.

    Raises
    ------
    ValueError
        If a class has a single sample: it can't be held out and learned from.
    """
    from sklearn.model_selection import StratifiedKFold

    classes, counts = np.unique(y, return_counts=True)
    if counts.min() < 2:
        raise ValueError(
            f"probabilities need two samples of every class, but {classes[counts.argmin()]!r} "
            "has one; use probability=False"
        )
    splitter = StratifiedKFold(min(5, counts.min()), shuffle=True, random_state=random_state)
    folds = np.zeros(y.size, np.intp)
    for number, (_, members) in enumerate(splitter.split(folds, y)):
        folds[members] = number
    return folds


def _score_fold(
    estimator: Any,
    X: Any,
    y: np.ndarray,
    sample_weight: np.ndarray | None,
    train: np.ndarray,
    test: np.ndarray,
) -> np.ndarray:
    from sklearn.base import clone

    weight = {} if sample_weight is None else {"sample_weight": sample_weight[train]}
    model = clone(estimator).fit(take(X, train), y[train], **weight)
    return model.decision_function(take(X, test))


def calibrate(
    estimator: Any, X: Any, y: np.ndarray, sample_weight: np.ndarray | None = None
) -> "SoftmaxCalibration":
    """The calibration of a classifier with a parameter ``probability``.

    It is fitted on the scores of a stratified five-fold cross-validation.
    """
    from sklearn.base import clone

    scores = held_out_scores(clone(estimator).set_params(probability=False), X, y, sample_weight)
    codes = np.unique(y, return_inverse=True)[1]
    return SoftmaxCalibration.fit(scores, codes, sample_weight=sample_weight)


def fit_sigmoid(
    scores: np.ndarray, positive: np.ndarray, weight: np.ndarray
) -> tuple[float, float]:
    """Slope a and intercept b of P(positive | s) = 1 / (1 + exp(−(a·s + b))).

    Targets are Platt's, (N₊ + 1)/(N₊ + 2) and 1/(N₋ + 2), so that separable scores have a finite
    answer.

    Parameters
    ----------
    scores, weight : (n,)
    positive : (n,) bool

    Examples
    --------
    >>> slope, intercept = fit_sigmoid(np.array([-1.0, 1.0]), np.array([False, True]), np.ones(2))
    >>> round(slope, 4), round(abs(intercept), 4)
    (0.6931, 0.0)
    """
    from scipy.optimize import minimize
    from scipy.special import expit

    n_positive, n_negative = weight[positive].sum(), weight[~positive].sum()
    target = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    spread = float(scores.std()) or 1.0
    unit, share = scores / spread, weight / weight.sum()

    def loss(line: np.ndarray) -> tuple[float, np.ndarray]:
        odds = line[0] * unit + line[1]
        excess = share * (expit(odds) - target)
        value = share @ (np.logaddexp(0, odds) - target * odds)
        return value, np.array([excess @ unit, excess.sum()])

    found = minimize(loss, [0.0, 0.0], jac=True, method="BFGS", options={"gtol": 1e-9})
    return float(found.x[0]) / spread, float(found.x[1])


@dataclass(frozen=True)
class SoftmaxCalibration:
    """P(c | s) = exp(a·s_c + b_c) / Σ_j exp(a·s_j + b_j)  (temperature scaling [1]_).

    One slope a > 0 serves all classes, so that no class has a slope of its own which a few images
    have decided and which others extrapolate. Offsets b_c = −β·log(share of class c) correct what
    one-vs-rest machines lose of rare classes; β is shared, too. Where classes have equal numbers
    of images, offsets are 0, and the class with the highest score has the highest probability.

    By default two losses decide. That of all classes, in which rare ones count more, gives the
    offsets and with them the labels. Then all a·s + b are multiplied by one number, which changes
    no label, so that the highest probability is the share of labels that are right: every image
    counts the same there, and only whether its label is right.

    Attributes
    ----------
    slope : float
    offsets : (n_classes,) float64
        Of mean 0.

    References
    ----------
    .. [1] C. Guo, G. Pleiss, Y. Sun, K. Weinberger: On calibration of modern neural networks,
       ICML 2017.

    Examples
    --------
    >>> found = SoftmaxCalibration(2.0, np.zeros(2))
    >>> found.probabilities(np.array([0.0, 0.5])).round(2).tolist()
    [[0.5, 0.5], [0.12, 0.88]]
    """

    slope: float
    offsets: np.ndarray

    @classmethod
    def fit(
        cls,
        scores: np.ndarray,
        codes: np.ndarray,
        weight: np.ndarray | None = None,
        folds: np.ndarray | None = None,
        shrinkage: float = SHRINKAGE,
        sample_weight: np.ndarray | None = None,
    ) -> "SoftmaxCalibration":
        """Minimise the weighted log loss of held-out scores.

        Targets are 1 − 1/(n + 2), not 1, so that separable scores have a finite answer.

        Parameters
        ----------
        scores : (n,) for two classes, else (n, n_classes)
        codes : (n,) int
            Index of every sample's class; every class occurs.
        weight : (n_classes,), optional
            What a sample of each class counts; the default is `default_weights`, and then the
            highest probability is matched to right labels.
        folds : (n,) int, optional
            In which the samples were held out. Where a class has few groups, a fold has much of
            it, and what was learned without it is worse than the final model: such samples count
            less for the highest probability.
        shrinkage : float
            Of β towards 0, which few samples of a rare class can't tell it from.
        sample_weight : (n,), optional
            How often every sample counts.
        """
        from scipy.optimize import minimize
        from scipy.special import log_softmax

        scores = both_classes(scores)
        n, n_classes = scores.shape
        times = np.ones(n) if sample_weight is None else sample_weight
        counts = np.bincount(codes, times, minlength=n_classes)
        is_default = weight is None
        weight = default_weights(counts) if weight is None else np.asarray(weight, np.float64)
        importance = times * weight[codes]
        importance *= times.sum() / importance.sum()
        rarity = -np.log(np.maximum(counts, 1) / times.sum())
        rarity -= rarity.mean()
        spread = float(scores.std()) or 1.0
        unit, rows, slack = scores / spread, np.arange(n), 1 / (n + 2)

        def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
            slope, beta = np.exp(parameters[0]), parameters[1]
            logs = log_softmax(slope * unit + beta * rarity, axis=1)
            share = slack / n_classes
            value = -importance @ ((1 - slack) * logs[rows, codes] + share * logs.sum(axis=1))
            excess = np.exp(logs) - share
            excess[rows, codes] -= 1 - slack
            excess *= importance[:, None]
            gradient = [slope * (excess * unit).sum(), (excess @ rarity).sum() + shrinkage * beta]
            return value + shrinkage * beta**2 / 2, np.array(gradient)

        bounds = [(-10, 10), (-5, 5)]
        found = minimize(loss, [1.0, 0.0], jac=True, method="L-BFGS-B", bounds=bounds)
        fitted = cls(float(np.exp(found.x[0])) / spread, found.x[1] * rarity)
        return fitted._matched_to_labels(scores, codes, times, folds) if is_default else fitted

    def _matched_to_labels(
        self, scores: np.ndarray, codes: np.ndarray, times: np.ndarray, folds: np.ndarray | None
    ) -> "SoftmaxCalibration":
        """The same, times the number for which right and wrong labels are most likely."""
        from scipy.optimize import minimize_scalar
        from scipy.special import logsumexp

        logits = self.slope * scores + self.offsets
        rows, labels, slack = np.arange(len(codes)), logits.argmax(axis=1), 1 / (len(codes) + 2)
        right = np.where(labels == codes, 1 - slack, slack)
        behind = logits - logits[rows, labels][:, None]
        behind[rows, labels] = -np.inf
        trust = times if folds is None else times * trust_of_folds(codes, folds)

        def loss(power: float) -> float:
            odds = logsumexp(np.exp(power) * behind, axis=1)  # log((1 − P) / P) of the label
            losses = np.logaddexp(0, odds) - (1 - right) * odds
            return float((trust * losses).sum())  # no product of BLAS: it differs by processor

        found = minimize_scalar(loss, bounds=(-MOST_POWER, MOST_POWER), method="bounded")
        factor = float(np.exp(found.x))
        return type(self)(factor * self.slope, factor * self.offsets)

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Class probabilities, (n_samples, n_classes); rows sum to one."""
        logits = self.slope * both_classes(scores) + self.offsets
        chances = np.exp(logits - logits.max(axis=1, keepdims=True))
        return chances / chances.sum(axis=1, keepdims=True)

    def get_state(self) -> dict[str, np.ndarray]:
        """The learned state as plain arrays."""
        return {"slope": np.array(self.slope), "offsets": self.offsets}

    @classmethod
    def from_state(cls, state: dict[str, np.ndarray]) -> "SoftmaxCalibration":
        """Restore what `get_state` returned."""
        slope, offsets = float(state["slope"]), np.asarray(state["offsets"], np.float64)
        if not (np.isfinite(slope) and slope > 0 and np.isfinite(offsets).all()):
            raise ValueError("the calibration is not finite")
        return cls(slope, offsets)


def calibration_state(model: Any) -> dict[str, np.ndarray]:
    """The part of a classifier's state that holds its ``calibration_``, if it has one."""
    learned = getattr(model, "calibration_", None)
    return {} if learned is None else prefixed(PREFIX, learned.get_state())


def restore_calibration(model: Any, state: dict[str, np.ndarray]) -> None:
    """Give a classifier the ``calibration_`` that its state holds, if there is one."""
    learned = part_of(PREFIX, state)
    if learned:
        model.calibration_ = SoftmaxCalibration.from_state(learned)


def trust_of_folds(codes: np.ndarray, folds: np.ndarray) -> np.ndarray:
    """The trust in held-out samples as samples of the final model, (n,): (1 − q)².

    q is the share of a sample's class that was held out with it.

    Examples
    --------
    >>> trust_of_folds(np.array([0, 0, 1, 1, 1, 1]), np.array([0, 1, 0, 0, 0, 1])).tolist()
    [0.25, 0.25, 0.0625, 0.0625, 0.0625, 0.5625]
    """
    cells = np.unique(np.stack([codes, folds]), axis=1, return_inverse=True)[1].ravel()
    return (1 - np.bincount(cells)[cells] / np.bincount(codes)[codes]) ** 2


def default_weights(counts: np.ndarray) -> np.ndarray:
    """The weight of a sample of each class, by the numbers of samples: n ^ (BALANCE − 1).

    With exponent −1 all classes count the same, and the mean accuracy per class is the aim; with
    0 all images do, and rare classes are lost.

    Examples
    --------
    >>> default_weights(np.array([100, 25])).round(2).tolist()
    [0.25, 0.38]
    """
    return np.maximum(counts, 1).astype(np.float64) ** (BALANCE - 1)
