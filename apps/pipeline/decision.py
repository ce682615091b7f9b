"""From probabilities to labels: costs, thresholds, and images that are none of the classes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

__all__ = ["UNKNOWN", "Alarm", "Decided", "Decision", "HeldOut", "class_weights"]

UNKNOWN = "unknown"  # the label of an image that is none of the classes


class Decided(NamedTuple):
    """What a model makes of the scores of n images.

    Attributes
    ----------
    labels : (n,) array of str
    probabilities : (n, n_classes) float64 or None
    novelty : (n,) float64 or None
    alarms : (n,) bool or None
        Where the model has an alarm.
    """

    labels: np.ndarray
    probabilities: np.ndarray | None
    novelty: np.ndarray | None
    alarms: np.ndarray | None = None


class HeldOut(NamedTuple):
    """Labels of training images by classifiers that were trained without their fold.

    Attributes
    ----------
    truth, guesses : list of str
    groups : list of str or None
        What each image belongs to.
    """

    truth: list[str]
    guesses: list[str]
    groups: list[str | None] | None


@dataclass(frozen=True)
class Alarm:
    """Whether an image shows any of some classes: their probabilities add up to a threshold.

    Attributes
    ----------
    names : tuple of str
        The classes.
    members : (n_classes,) bool
        Which of the model's classes they are.
    threshold : float

    Examples
    --------
    >>> alarm = Alarm(("crack", "hole"), np.array([True, True, False]), 0.3)
    >>> alarm.raised(np.array([[0.2, 0.2, 0.6], [0.1, 0.1, 0.8]])).tolist()
    [True, False]
    """

    names: tuple[str, ...]
    members: np.ndarray
    threshold: float

    @classmethod
    def of(cls, classes: "Sequence[str] | np.ndarray", names: "str | Sequence[str]") -> "Alarm":
        """The alarm of some classes, or of one, at the probability 0.5.

        Raises
        ------
        ValueError
            If there is no such class, or no other.
        """
        names = [names] if isinstance(names, str) else names
        for name in names:
            _check_class(name, list(classes), "an alarm")
        members = np.isin(classes, list(names))
        if members.all() or not members.any():
            raise ValueError("an alarm needs classes that raise it and classes that do not")
        return cls(tuple(names), members, 0.5)

    def fitted(
        self,
        probabilities: np.ndarray,
        truth: np.ndarray,
        escapes: float | None = None,
        false_alarms: float | None = None,
        costs: np.ndarray | None = None,
    ) -> "Alarm":
        """The alarm with the threshold that held-out images ask for.

        Parameters
        ----------
        probabilities : (n, n_classes)
            Of images by models that did not learn from them.
        truth : (n,) int
            Columns of their classes.
        escapes : float, optional
            Share of the classes' images that may raise no alarm; the highest such threshold.
        false_alarms : float, optional
            Share of the other images that may raise it; the lowest such threshold.
        costs : (n_classes, n_classes), optional
            Without a share, the mean cost is lowest: an escape costs the least of costs[true,
            other class], a false alarm the least of costs[true, class of the alarm].
        """
        p, is_member = self.probability(probabilities), self.members[truth]
        never = np.nextafter(p.max(initial=1.0), 2)  # sums of probabilities may exceed 1 a little
        tried = np.unique(np.concatenate([p, [0.0, never]]))
        escaped = np.searchsorted(np.sort(p[is_member]), tried) / max(is_member.sum(), 1)
        false = 1 - np.searchsorted(np.sort(p[~is_member]), tried) / max((~is_member).sum(), 1)
        if escapes is not None:
            threshold = tried[np.flatnonzero(escaped <= escapes)[-1]]
        elif false_alarms is not None:
            threshold = tried[np.flatnonzero(false <= false_alarms)[0]]
        else:
            prices = 1 - np.eye(len(self.members)) if costs is None else costs
            escape, alarm = (
                prices[:, ~self.members].min(axis=1),
                prices[:, self.members].min(axis=1),
            )
            price = np.where(is_member, escape[truth], alarm[truth])
            order = np.argsort(p)
            missed = np.concatenate([[0], np.cumsum(np.where(is_member, price, 0)[order])])
            calm = np.concatenate([[0], np.cumsum(np.where(is_member, 0, price)[order])])
            below = np.searchsorted(p[order], tried)
            threshold = tried[(missed[below] + calm[-1] - calm[below]).argmin()]
        lower = p[p < threshold].max(initial=0.0)
        middle = (threshold + lower) / 2  # of the gap, as other images differ
        return replace(self, threshold=float(middle if 0 < lower < middle else threshold))

    def __str__(self) -> str:
        names = " or ".join(self.names)
        return f"{names}, where their probability is {self.threshold:.3g} or more"

    def probability(self, probabilities: np.ndarray) -> np.ndarray:
        """The probability that an image is of any of the classes, (n,)."""
        return probabilities[:, self.members].sum(axis=1)

    def raised(self, probabilities: np.ndarray) -> np.ndarray:
        """Whether images raise the alarm, (n,) bool."""
        return self.probability(probabilities) >= self.threshold


@dataclass(frozen=True)
class Decision:
    """How probabilities become a label.

    1. The label is the class with the highest probability; with costs, the one whose expected
       cost Σ_t P(t)·cost(t, said) is lowest.
    2. A class with a threshold is the label from that probability on, and never below it. Of
       several that reach theirs, the most probable is the label. Where no class may be the label,
       it is "unknown".
    3. An image whose novelty exceeds 1 − ``unknown`` is "unknown".

    Attributes
    ----------
    classes : (n_classes,) array of str
    costs : (n_classes, n_classes) float64 or None
        costs[true, said].
    thresholds : (n_classes,) float64
        NaN for a class that has none.
    unknown : float or None
        Share of known images that may be called unknown.
    alarm : Alarm or None
        Changes no label.

    Examples
    --------
    >>> rule = Decision.of(["defect", "ok"], costs={("defect", "ok"): 10})
    >>> rule.labels(np.array([[0.2, 0.8], [0.05, 0.95]])).tolist()
    ['defect', 'ok']
    """

    classes: np.ndarray
    costs: np.ndarray | None
    thresholds: np.ndarray
    unknown: float | None
    alarm: Alarm | None = None

    @classmethod
    def of(
        cls,
        classes: Any,
        costs: Mapping[tuple[str, str], float] | None = None,
        thresholds: Mapping[str, float] | None = None,
        unknown: float | None = None,
    ) -> "Decision":
        """Check what people give, and return the rule.

        Parameters
        ----------
        classes : sequence of str
        costs : dict of (true class, predicted class) → cost, optional
            Other mistakes cost 1, right labels 0.
        thresholds : dict of class → probability, optional
        unknown : float, optional

        Raises
        ------
        ValueError
            If a class does not exist, or a number is out of range.
        """
        names = [str(name) for name in classes]
        return cls(
            np.asarray(names),
            None if not costs else _cost_matrix(names, costs),
            _thresholds(names, thresholds or {}),
            _rate(unknown),
        )

    def labels(self, probabilities: np.ndarray, novelty: np.ndarray | None = None) -> np.ndarray:
        """The labels of images, (n,) array of str."""
        return self._names[self.codes(probabilities, novelty)]

    @cached_property
    def _names(self) -> np.ndarray:
        """The labels of all codes; the last is that of −1."""
        return np.append(self.classes, self.rejected)

    @cached_property
    def rejected(self) -> str:
        """The label of an image that is none of the classes: "unknown", or a name that is free."""
        number, label = 1, UNKNOWN
        while label in self.classes:
            number += 1
            label = f"{UNKNOWN}-{number}"
        return label

    def codes(self, probabilities: np.ndarray, novelty: np.ndarray | None = None) -> np.ndarray:
        """The columns of the labels; −1 is unknown.

        Parameters
        ----------
        probabilities : (n, n_classes)
        novelty : (n,), optional
            What `visualwords.apps.pipeline.novelty.Novelty` gives; needed for ``unknown``.
        """
        merit = probabilities if self.costs is None else -(probabilities @ self.costs)
        has = ~np.isnan(self.thresholds)
        if has.any():
            reached = probabilities >= np.where(has, self.thresholds, 2.0)
            merit = np.where(has, -np.inf, merit)
            merit = np.where(reached, 2.0 + probabilities, merit)
        codes = merit.argmax(axis=1)
        codes[np.isneginf(merit.max(axis=1))] = -1
        if self.unknown is not None and novelty is not None:
            codes[novelty > 1 - self.unknown] = -1
        return codes

    def expected_costs(self, codes: np.ndarray, truth: np.ndarray) -> np.ndarray:
        """What each label costs; unknown costs 1, as any mistake without a price.

        Parameters
        ----------
        codes : (n,) int
            Columns of the labels; −1 is unknown.
        truth : (n,) int
            Columns of the true classes.
        """
        costs = 1 - np.eye(len(self.classes)) if self.costs is None else self.costs
        return np.where(codes < 0, 1.0, costs[truth, codes])

    def get_state(self) -> dict[str, np.ndarray]:
        """The rule as plain arrays; the classes are kept elsewhere in a model file."""
        state = {"thresholds": self.thresholds}
        if self.costs is not None:
            state["costs"] = self.costs
        if self.unknown is not None:
            state["unknown"] = np.array(self.unknown)
        if self.alarm is not None:
            state["alarm"] = np.where(self.alarm.members, self.alarm.threshold, np.nan)
        return state

    @classmethod
    def from_state(cls, state: dict[str, np.ndarray], classes: np.ndarray) -> "Decision":
        """Restore what `get_state` returned."""
        n = len(classes)
        costs = state.get("costs")
        if state["thresholds"].shape != (n,) or (costs is not None and costs.shape != (n, n)):
            raise ValueError("costs and thresholds do not fit the classes")
        unknown = float(state["unknown"]) if "unknown" in state else None
        classes, alarm = np.asarray(classes), None
        if "alarm" in state:
            members = ~np.isnan(state["alarm"])
            if members.shape != (n,) or not members.any() or members.all():
                raise ValueError("the alarm does not fit the classes")
            threshold = float(np.nanmax(state["alarm"]))
            alarm = Alarm(tuple(classes[members].tolist()), members, threshold)
        return cls(classes, costs, state["thresholds"], unknown, alarm)


def _cost_matrix(names: Sequence[str], costs: Mapping[tuple[str, str], float]) -> np.ndarray:
    matrix = 1 - np.eye(len(names))
    for (true, said), cost in costs.items():
        for name in (true, said):
            _check_class(name, names, "a cost")
        if true == said:
            raise ValueError(f"the cost {true}:{said} is that of a right label, which is 0")
        if not 0 <= cost < np.inf:
            raise ValueError(f"the cost {true}:{said} is {cost}; it must be 0 or more")
        matrix[names.index(true), names.index(said)] = cost
    return matrix


def _thresholds(names: Sequence[str], thresholds: Mapping[str, float]) -> np.ndarray:
    found = np.full(len(names), np.nan)
    for name, value in thresholds.items():
        _check_class(name, names, "a threshold")
        if not 0 <= value <= 1:
            raise ValueError(f"the threshold of {name} is {value}; a probability is 0 to 1")
        found[names.index(name)] = value
    return found


def _rate(unknown: float | None) -> float | None:
    if unknown is not None and not 0 < unknown < 1:
        raise ValueError(
            f"unknown={unknown}: the share of known images that may be rejected is between 0 and "
            "1, such as 0.05"
        )
    return unknown


def _check_class(name: str, names: Sequence[str], what: str) -> None:
    if name not in names:
        shown = ", ".join(names[:10]) + (", …" if len(names) > 10 else "")
        raise ValueError(f"{what} is given for {name!r}, which is no class; there are {shown}")


def class_weights(
    classes: np.ndarray, labels: np.ndarray, class_weight: Any, counts_images: bool
) -> np.ndarray | None:
    """What an image of each class counts for the probabilities.

    Without ``class_weight`` it is 1 where images are counted, as for costs, else None: the
    default, between images and classes.
    """
    from sklearn.utils.class_weight import compute_class_weight

    if class_weight is None:
        return np.ones(len(classes)) if counts_images else None
    if isinstance(class_weight, dict):
        for name in class_weight:
            if name not in classes:
                known = ", ".join(classes)
                raise ValueError(
                    f"a class weight is given for {name!r}, which is no class; there are {known}"
                )
    elif class_weight != "balanced":
        raise ValueError(f"class_weight={class_weight!r}; give 'balanced', a dict or None")
    return compute_class_weight(class_weight, classes=classes, y=labels)
