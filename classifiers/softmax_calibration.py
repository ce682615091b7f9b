"""Probabilities from decision values: one slope for all classes, fitted on held-out scores."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from visualwords.classifiers.one_vs_rest import both_classes

BALANCE = 0.5  # of classes of n images each counts nᴮ⁻¹: halfway between images and classes
SHRINKAGE = 1.0  # of β, in images


@dataclass(frozen=True)
class SoftmaxCalibration:
    """P(c | s) = exp(a·s_c + b_c) / Σ_j exp(a·s_j + b_j)  (temperature scaling [1]_).

    One slope a > 0 serves all classes, so that no class has a slope of its own which a few images
    have decided and which others extrapolate. Offsets b_c = −β·log(share of class c) correct what
    one-vs-rest machines lose of rare classes; β is shared, too. Where classes have equal numbers
    of images, offsets are 0, and the class with the highest score has the highest probability.

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
        cls, scores: np.ndarray, codes: np.ndarray, weight: np.ndarray | None = None
    ) -> "SoftmaxCalibration":
        """Minimise the weighted log loss of held-out scores.

        Targets are 1 − 1/(n + 2), not 1, so that separable scores have a finite answer.

        Parameters
        ----------
        scores : (n,) for two classes, else (n, n_classes)
        codes : (n,) int
            Index of every sample's class; every class occurs.
        weight : (n_classes,), optional
            What a sample of each class counts; the default is `default_weights`.
        """
        scores = both_classes(scores)
        n, n_classes = scores.shape
        counts = np.bincount(codes, minlength=n_classes)
        weight = default_weights(counts) if weight is None else np.asarray(weight, np.float64)
        sample_weight = weight[codes] * (n / weight[codes].sum())
        rarity = -np.log(np.maximum(counts, 1) / n)
        rarity -= rarity.mean()
        spread = float(scores.std()) or 1.0
        unit, rows, slack = scores / spread, np.arange(n), 1 / (n + 2)

        def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
            slope, beta = np.exp(parameters[0]), parameters[1]
            logs = log_softmax(slope * unit + beta * rarity, axis=1)
            share = slack / n_classes
            value = -sample_weight @ ((1 - slack) * logs[rows, codes] + share * logs.sum(axis=1))
            excess = np.exp(logs) - share
            excess[rows, codes] -= 1 - slack
            excess *= sample_weight[:, None]
            gradient = [slope * (excess * unit).sum(), (excess @ rarity).sum() + SHRINKAGE * beta]
            return value + SHRINKAGE * beta**2 / 2, np.array(gradient)

        found = minimize(loss, [1.0, 0.0], jac=True, method="L-BFGS-B", bounds=[(-10, 10), (-5, 5)])
        return cls(float(np.exp(found.x[0])) / spread, found.x[1] * rarity)

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Return class probabilities, (n_samples, n_classes); rows sum to one."""
        return softmax(self.slope * both_classes(scores) + self.offsets, axis=1)

    def get_state(self) -> dict[str, np.ndarray]:
        """Return what was learned as plain arrays."""
        return {"slope": np.array(self.slope), "offsets": self.offsets}

    @classmethod
    def from_state(cls, state: dict[str, np.ndarray]) -> "SoftmaxCalibration":
        """Restore what `get_state` returned."""
        slope, offsets = float(state["slope"]), np.asarray(state["offsets"], np.float64)
        if not (np.isfinite(slope) and slope > 0 and np.isfinite(offsets).all()):
            raise ValueError("the calibration is not finite")
        return cls(slope, offsets)


@dataclass(frozen=True)
class SigmoidCalibration:
    """Normalised sigmoids, one of each one-vs-rest machine: the calibration of older model files.

    Attributes
    ----------
    sigmoids : (n_problems, 2) float64
        Slope and intercept; see `visualwords.classifiers.calibration.fit_sigmoids`.
    """

    sigmoids: np.ndarray

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Return class probabilities, (n_samples, n_classes); rows sum to one."""
        from visualwords.classifiers.calibration import probabilities

        return probabilities(scores, self.sigmoids)


def default_weights(counts: np.ndarray) -> np.ndarray:
    """Return what a sample of each class counts, by the numbers of samples: n ^ (BALANCE − 1).

    With exponent −1 all classes count the same, and the mean accuracy per class is the aim; with
    0 all images do, and rare classes are lost.

    Examples
    --------
    >>> default_weights(np.array([100, 25])).round(2).tolist()
    [0.1, 0.2]
    """
    return np.maximum(counts, 1).astype(np.float64) ** (BALANCE - 1)
