"""The base of all estimators: scikit-learn's contract, without importing scikit-learn for it.

To import scikit-learn takes longer than to label an image. Parameters are read and set here.
Whatever else scikit-learn asks of an estimator (tags, metadata routing, ``set_output``, the picture
in a notebook), scikit-learn answers, once it is asked: names that a class lacks are looked up in
one that has scikit-learn's mixins and the methods of the class.
"""

import inspect
import sys
from collections.abc import Callable, Sequence
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from scipy import sparse

if TYPE_CHECKING:
    from sklearn.utils import Tags

Labels: TypeAlias = ArrayLike | None  # one a sample, where there are any
Seed: TypeAlias = int | np.random.RandomState | None


class Estimator:
    """Something with parameters, which ``__init__`` stores as they are given.

    Attributes
    ----------
    mixin : str
        A mixin of ``sklearn.base`` whose methods and tags a class has, beside those of its parents.

    Examples
    --------
    >>> class Scaler(Transformer):
    ...     def __init__(self, factor=1.0, power=1):
    ...         self.factor, self.power = factor, power
    >>> Scaler(2.0).set_params(power=3)
    Scaler(factor=2.0, power=3)
    >>> Scaler().get_params()
    {'factor': 1.0, 'power': 1}
    """

    mixin: ClassVar[str]
    _made_contract: ClassVar[type]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; ``deep``: also those of parameters that have some."""
        found = {name: getattr(self, name) for name in sorted(_defaults(type(self)))}
        for name, value in list(found.items()) if deep else ():
            if hasattr(value, "get_params") and not isinstance(value, type):
                found |= {f"{name}__{inner}": v for inner, v in value.get_params().items()}
        return found

    def set_params(self, **params: Any) -> Self:
        """Change parameters; ``name__inner`` is the parameter ``inner`` of a parameter."""
        nested: dict[str, dict[str, Any]] = {}
        known = _defaults(type(self))
        for key, value in params.items():
            name, is_nested, inner = key.partition("__")
            if name not in known:
                raise ValueError(
                    f"Invalid parameter {name!r} for estimator {self}. "
                    f"Valid parameters are: {sorted(known)!r}."
                )
            if is_nested:
                nested.setdefault(name, {})[inner] = value
            else:
                setattr(self, name, value)
        for name, values in nested.items():
            getattr(self, name).set_params(**values)
        return self

    def __repr__(self) -> str:
        usual = _defaults(type(self))
        given = {name: repr(value) for name, value in self.get_params(deep=False).items()}
        changed = [f"{name}={text}" for name, text in given.items() if text != repr(usual[name])]
        return f"{type(self).__name__}({', '.join(changed)})"

    @classmethod
    def _contract(cls) -> type:
        """scikit-learn's base and mixins, with the methods of the class for their signatures."""
        if "_made_contract" not in vars(cls):
            from sklearn import base

            mixins = [vars(part)["mixin"] for part in cls.__mro__ if "mixin" in vars(part)]
            bases = *(getattr(base, name) for name in mixins), base.BaseEstimator
            methods = {n: inspect.getattr_static(cls, n) for n in dir(cls) if n[0] != "_"}
            cls._made_contract = type(cls.__name__, bases, methods)
        return cls._made_contract

    def __sklearn_tags__(self) -> "Tags":
        return self._contract()().__sklearn_tags__()

    def __getattr__(self, name: str) -> Any:
        """An attribute that scikit-learn defines for its estimators."""
        if name.startswith(("_", "get_", "set_")) and not name.startswith("__"):
            contract = self._contract()
            if hasattr(contract, name):
                value = inspect.getattr_static(contract, name)
                return value.__get__(self, contract) if hasattr(value, "__get__") else value
        if hasattr(type(self), name):  # a property, whose own error says more
            return object.__getattribute__(self, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


class Classifier(Estimator):
    """An estimator that predicts classes."""

    mixin = "ClassifierMixin"

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The share of right labels."""
        from sklearn.base import ClassifierMixin

        return ClassifierMixin.score(self, X, y, sample_weight)


class Transformer(Estimator):
    """An estimator with a method ``transform``, whose output `set_output` chooses."""

    mixin = "TransformerMixin"

    def __init_subclass__(cls) -> None:
        if "transform" in vars(cls):
            cls.transform = _in_container(cls.transform)  # type: ignore[method-assign]

    def transform(self, X: Any) -> Any:
        """The transformed samples."""
        raise NotImplementedError

    def fit_transform(self, X: Any, y: Any = None, **fit_params: object) -> Any:
        """Fit, and transform the same samples."""
        from sklearn.base import TransformerMixin

        return TransformerMixin.fit_transform(self, X, y, **fit_params)


class TakesObjects(Estimator):
    """An estimator whose samples are images, their local features or sets: no rows of numbers."""

    def __sklearn_tags__(self) -> "Tags":
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        return tags


def _defaults(cls: type[Estimator]) -> dict[str, Any]:
    """The parameters of a class and their default values, in the order of its ``__init__``."""
    if cls.__init__ is object.__init__:
        return {}
    parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
    return {p.name: p.default for p in parameters if p.kind != p.VAR_KEYWORD}


def _in_container(transform: Callable[..., Any]) -> Callable[..., Any]:
    """A method ``transform`` that gives what scikit-learn's ``set_output`` asks for."""

    @cache
    def by_sklearn() -> Callable[..., Any]:
        from sklearn.base import TransformerMixin

        wrapper = type("Wrapper", (TransformerMixin,), {"transform": transform})
        return vars(wrapper)["transform"]

    @wraps(transform)
    def configured(self: Estimator, *args: Any, **kwargs: Any) -> Any:
        is_asked = "sklearn" in sys.modules  # else nobody has called `set_output`
        return (by_sklearn() if is_asked else transform)(self, *args, **kwargs)

    return configured


def check_choices(estimator: Estimator, **choices: Sequence[object]) -> None:
    """Refuse parameters that are none of the values that each may have."""
    for name, allowed in choices.items():
        if getattr(estimator, name) not in allowed:
            given, names = getattr(estimator, name), ", ".join(map(str, allowed))
            raise ValueError(f"{name}={given!r}; choose one of {names}")


def is_fitted(estimator: object) -> bool:
    """Whether an estimator has learned something, by the rule of scikit-learn."""
    if hasattr(estimator, "__sklearn_is_fitted__"):
        return estimator.__sklearn_is_fitted__()
    return any(name.endswith("_") and not name.startswith("__") for name in vars(estimator))


def check_fitted(estimator: object, learned: str | None = None) -> None:
    """Raise ``NotFittedError`` unless an estimator has learned something, or this attribute."""
    if not (is_fitted(estimator) if learned is None else hasattr(estimator, learned)):
        from sklearn.exceptions import NotFittedError

        raise NotFittedError(f"this {type(estimator).__name__} is not fitted; call fit first")


def checked_rows(
    estimator: Any,
    X: Any,
    dtype: str | Sequence[DTypeLike] = "numeric",
    accept_sparse: str | bool = "csr",
    **options: object,
) -> Any:
    """Rows for a fitted estimator, as scikit-learn's ``validate_data`` does.

    Where that would give an array or CSR matrix back as it is, scikit-learn is not needed.

    Examples
    --------
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> scaler, X = MinMaxScaler().fit([[1.0, 2.0], [3.0, 4.0]]), np.zeros((5, 2))
    >>> checked_rows(scaler, X) is X
    True
    >>> checked_rows(scaler, np.zeros((5, 3)))
    Traceback (most recent call last):
    ValueError: X has 3 features, but MinMaxScaler is expecting 2 features as input.
    """
    is_known = is_plain(X, dtype) and (accept_sparse or type(X) is np.ndarray)
    has_names = hasattr(estimator, "feature_names_in_")  # which X should have, too
    if is_known and X.shape[1] == estimator.n_features_in_ and not has_names:
        return X
    options |= {"dtype": dtype, "accept_sparse": accept_sparse}
    return validate_data(estimator, X, reset=False, **options)


def is_plain(X: Any, dtype: str | Sequence[DTypeLike] = "numeric") -> bool:
    """Whether scikit-learn's ``check_array`` would give back X as it is.

    That is an array in C order or a CSR matrix, of finite numbers.

    Parameters
    ----------
    X : object
    dtype : "numeric", or types that are fine
    """
    if type(X) is not np.ndarray and type(X) not in (sparse.csr_array, sparse.csr_matrix):
        return False
    values = X if type(X) is np.ndarray else X.data
    return (
        X.ndim == 2
        and X.shape[0] > 0
        and X.shape[1] > 0
        and values.dtype.kind in "fiu"
        and values.dtype.itemsize <= 8  # longer ones are no types of compiled loops
        and (dtype == "numeric" or values.dtype in dtype)
        and values.flags.c_contiguous
        and (values.dtype.kind != "f" or bool(np.isfinite(values.sum(dtype=np.float64))))
    )


def validate_data(estimator: object, *data: object, **options: object) -> Any:
    """scikit-learn's function of this name, which is imported by the first call."""
    from sklearn.utils import validation

    return validation.validate_data(estimator, *data, **options)


def check_non_negative(values: np.ndarray, whom: str) -> None:
    """Refuse negative values."""
    if values.size and values.min() < 0:
        raise ValueError(f"Negative values in data passed to {whom}")
