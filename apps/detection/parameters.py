"""A detector's parameters: scikit-learn's conventions, and ranges whoever gives them."""

from collections.abc import Mapping
from inspect import signature
from numbers import Integral, Real
from typing import Any, Self

__all__ = ["WithParameters", "check_numbers"]

WHOLE = {  # least and most
    "padding": (0, 1000),
    "n_rounds": (0, 1000),
    "n_random": (0, 100_000),
    "max_negatives": (1, 10**9),
    "n_trees": (1, 100_000),
    "tree_depth": (1, 8),
    "stride": (4, 10_000),
}
NUMBERS = {  # bounds of the search keep its time and its memory bounded, too
    "scale_factor": (1.01, 100),
    "min_height": (8, 100_000),
    "overlap": (0, 1),
    "fusion": (0, 100),
    "C": (1e-30, 1e30),
    "linear_C": (1e-30, 1e30),
    "census_weight": (0, 1e6),
    "acf_weight": (0, 1e6),
    "cosine_weight": (0, 1e6),
    "training_enlargement": (0.01, 100),
    "stage_recall": (0, 1),
}
PAIRS = {"window": (Integral, 8, 10_000), "object_share": (Real, 0.01, 1)}


def check_numbers(parameters: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` for a parameter outside its range.

    Examples
    --------
    >>> check_numbers({"padding": 16, "window": (64, 128)})
    >>> check_numbers({"padding": -1})
    Traceback (most recent call last):
    ...
    ValueError: padding=-1; needed is a whole number from 0 to 1000
    """
    for names, kind, word in (WHOLE, Integral, "a whole number"), (NUMBERS, Real, "a number"):
        for name in names.keys() & parameters.keys():
            least, most = names[name]
            if not _is_within(parameters[name], kind, least, most):
                raise ValueError(
                    f"{name}={parameters[name]!r}; needed is {word} from {least:g} to {most:g}"
                )
    for name in PAIRS.keys() & parameters.keys():
        pair, (kind, least, most) = parameters[name], PAIRS[name]
        is_pair = isinstance(pair, tuple | list) and len(pair) == 2
        if not (is_pair and all(_is_within(value, kind, least, most) for value in pair)):
            raise ValueError(f"{name}={pair!r}; needed are two numbers from {least:g} to {most:g}")


def _is_within(value: Any, kind: type, least: float, most: float) -> bool:
    if not isinstance(value, kind) or isinstance(value, bool):
        return False
    number: Any = value
    return bool(least <= number <= most)


class WithParameters:
    """The parameters of ``__init__`` as scikit-learn's estimators have them, so `clone` works.

    Importing ``sklearn.base`` takes a second, most of what a new process would need for its first
    detection, so detectors do not derive from ``BaseEstimator``.
    """

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted(signature(cls).parameters)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name."""
        return {name: getattr(self, name) for name in self._get_param_names()}

    def set_params(self, **parameters: Any) -> Self:
        """Change parameters and return this object."""
        names = self._get_param_names()
        for name in parameters:
            if name not in names:
                raise ValueError(
                    f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(names)}"
                )
        for name, value in parameters.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        changed = [
            f"{name}={getattr(self, name)!r}"
            for name, parameter in signature(type(self)).parameters.items()
            if getattr(self, name) != parameter.default
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_tags__(self) -> Any:
        from sklearn.base import BaseEstimator

        return BaseEstimator().__sklearn_tags__()
