"""What every one-vs-rest classifier here shares: signs, costs, and labels from scores."""

import warnings
from collections.abc import Callable, Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from visualwords.estimator import Classifier, check_non_negative
from visualwords.parallel import n_workers

if TYPE_CHECKING:
    from visualwords.classifiers.calibration import SoftmaxCalibration

SMALLEST_COST, LARGEST_COST = 1e-8, 1e8
ClassWeight = Mapping[Any, float] | str | None

LINEAR_LOSSES = ("squared_hinge", "squared_error")


class ScoringClassifier(Classifier):
    """Labels and probabilities of a classifier with ``decision_function`` and ``classes_``."""

    classes_: np.ndarray
    calibration_: "SoftmaxCalibration"

    def decision_function(self, X: Any) -> np.ndarray:
        """The scores: (n_samples, n_classes), or (n_samples,) for two classes."""
        raise NotImplementedError

    def predict(self, X: Any) -> np.ndarray:
        """The label of every sample of X."""
        return labels_of(self.decision_function(X), self.classes_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @property
    def predict_proba(self) -> Callable[[Any], np.ndarray]:
        """What returns probabilities, (n_samples, n_classes); needs ``probability=True``."""
        if not getattr(self, "probability", False):
            raise AttributeError(f"{self} has no predict_proba without probability=True")
        return self._probabilities

    def _probabilities(self, X: Any) -> np.ndarray:
        return self.calibration_.probabilities(self.decision_function(X))


def warn_unless_converged(violation: float, tol: float, max_iter: int) -> None:
    """Warn where a training ended before its violation was small."""
    if violation > tol:
        from sklearn.exceptions import ConvergenceWarning

        warnings.warn(
            f"after max_iter={max_iter} passes the projected gradients still differ by "
            f"{violation:.3g} (tol={tol}); raise max_iter or tol",
            ConvergenceWarning,
            stacklevel=4,
        )


def encode_labels(y: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """The sorted classes and every label's index among them.

    Raises
    ------
    ValueError
        If there are fewer than two classes, or the labels are numbers with fractions.

    Examples
    --------
    >>> classes, codes = encode_labels(["dog", "cat", "dog"])
    >>> classes.tolist(), codes.tolist()
    (['cat', 'dog'], [1, 0, 1])
    """
    from sklearn.utils.multiclass import check_classification_targets

    y = np.asarray(y)
    check_classification_targets(y)  # refuses fractions, warns where nearly all are different
    classes, codes = np.unique(y, return_inverse=True)
    if classes.size < 2:
        raise ValueError(
            f"the labels hold one class only ({classes.tolist()}); a classifier needs at least two"
        )
    return classes, codes


def storable(classes: np.ndarray) -> np.ndarray:
    """Classes as an array that ``numpy.save`` keeps without pickle: objects as text."""
    return classes.astype(str) if classes.dtype == object else classes


def check_sample_weight(weight: ArrayLike, X: Any) -> np.ndarray:
    """The weights of all samples, float64; one number stands for all.

    Raises
    ------
    ValueError
        If there is not one finite number ≥ 0 a sample, or all are 0.

    Examples
    --------
    >>> check_sample_weight([1, 2], np.eye(2))
    array([1., 2.])
    """
    from sklearn.utils import check_array, check_consistent_length

    if isinstance(weight, Real):
        weight = np.full(X.shape[0], weight)
    checked: np.ndarray = check_array(
        weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight"
    )
    if checked.ndim != 1:
        raise ValueError(f"sample_weight has {checked.ndim} dimensions; give one number a sample")
    check_consistent_length(checked, X)
    check_non_negative(checked, "sample_weight")
    if not checked.any():
        raise ValueError("sample_weight is zero for all samples; at least one must be positive")
    return checked


def check_linear(loss: str, C: float) -> None:
    """Refuse a loss that linear classifiers do not know, and costs that are not positive."""
    if loss not in LINEAR_LOSSES:
        raise ValueError(f"loss={loss!r}; choose one of {', '.join(LINEAR_LOSSES)}")
    if not C > 0:
        raise ValueError(f"C={C}; expected a positive number")


def signs(codes: np.ndarray, n_classes: int) -> np.ndarray:
    """One-vs-rest targets ±1 of shape (n_problems, n_samples).

    Two classes are one problem, in which the second class is positive.

    Examples
    --------
    >>> signs(np.array([0, 2]), 3).astype(int).tolist()
    [[1, -1], [-1, -1], [-1, 1]]
    """
    positive = [1] if n_classes == 2 else range(n_classes)
    return np.where(codes == np.reshape(positive, (-1, 1)), np.float32(1), np.float32(-1))


def blocks(n_problems: int) -> list[np.ndarray]:
    """Divide problems among the other processes that joblib's active backend has.

    Examples
    --------
    >>> [block.tolist() for block in blocks(3)]
    [[0, 1, 2]]
    """
    return np.array_split(np.arange(n_problems), min(n_workers(), max(1, n_problems)))


def sample_costs(
    C: float,
    codes: np.ndarray,
    classes: np.ndarray,
    class_weight: ClassWeight = None,
    sample_weight: ArrayLike | None = None,
) -> np.ndarray:
    """The cost of every sample: C × weight of its class × its own weight.

    "balanced" class weights count samples by their weights, as repeated rows would. Costs end at
    `LARGEST_COST`: an infinite C means that no error is allowed, which such a cost does too, and
    the solvers compute with 32 bits.

    Examples
    --------
    >>> sample_costs(2.0, np.array([0, 1, 1]), np.array(["a", "b"]), {"b": 0.5}).tolist()
    [2.0, 1.0, 1.0]
    """
    cost = np.full(codes.size, min(float(C), LARGEST_COST))
    if sample_weight is not None:
        cost *= np.asarray(sample_weight)
    if class_weight is not None:
        from sklearn.utils.class_weight import compute_class_weight

        by_class = compute_class_weight(
            class_weight, classes=classes, y=classes[codes], sample_weight=sample_weight
        )
        cost *= by_class[codes]
    return np.minimum(cost, LARGEST_COST)


def labels_of(scores: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The labels that decision values name: the best class, or the sign of one column.

    Examples
    --------
    >>> labels_of(np.array([-0.5, 2.0]), np.array(["cat", "dog"])).tolist()
    ['cat', 'dog']
    """
    if scores.ndim == 1:
        return classes[(scores > 0).astype(np.intp)]
    return classes[np.argmax(scores, axis=1)]


def both_classes(scores: np.ndarray) -> np.ndarray:
    """One column for each class; of two classes, the first has minus the second's scores.

    Parameters
    ----------
    scores : (n,) or (n, 1) of two classes, or (n, n_classes)

    Examples
    --------
    >>> both_classes(np.array([0.5, -2.0])).tolist()
    [[-0.5, 0.5], [2.0, -2.0]]
    """
    scores = scores.reshape(len(scores), -1)
    return np.hstack([-scores, scores]) if scores.shape[1] == 1 else scores
