"""Names of a recipe's parts, and the sentences for those that do not exist."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import Any

from visualwords.apps.pipeline.recipe import CLASSIFIERS
from visualwords.errors import RecipeError
from visualwords.features.registry import list_extractors

CODEBOOKS = {  # the class and the parameters that a name stands for
    "kmeans": ("KMeansCodebook", {}),
    "kmeans-root": ("KMeansCodebook", {"root": True}),
    "hik": ("HIKCodebook", {}),
}
KINDS = {
    "icd": "ICDClassifier",
    "pmsvm": "PmSVMClassifier",
    "kernel": "KernelSVC",
    "linear": "LinearClassifier",
}
OWN = frozenset({"self", "random_state", "n_jobs", "probability", "warm_start"})  # not a recipe's


def check_name(what: str, name: Any, choices: Iterable[str]) -> str:
    """Return a name that exists; else raise with those that do, the nearest one first.

    Examples
    --------
    >>> check_name("codebook", "kmean", ["kmeans", "hik"])
    Traceback (most recent call last):
    visualwords.errors.RecipeError: there is no codebook 'kmean'; did you mean 'kmeans'? \
Choose from kmeans, hik
    """
    known = list(choices)
    if name in known:
        return name
    near = get_close_matches(str(name).lower(), {k.lower(): k for k in known}, 1, 0.6)
    meant = next((k for k in known if near and k.lower() == near[0]), None)
    guess = f"did you mean {meant!r}? Choose" if meant else "choose"
    raise RecipeError(f"there is no {what} {name!r}; {guess} from {', '.join(known)}")


def check_extractor(name: Any) -> str:
    """Return the name of an extractor that exists."""
    return check_name("extractor", name, list_extractors())


def spelled_out(channel: dict[str, Any]) -> dict[str, Any]:
    """Return a channel's table with "onnx:net.onnx" as the extractor and the parameter it means.

    Examples
    --------
    >>> spelled_out({"extractor": "onnx:net.onnx"})
    {'extractor': 'ONNXFeatures', 'params': {'path': 'net.onnx'}}
    """
    kind, separator, path = str(channel.get("extractor")).partition(":")
    if kind != "onnx" or not separator:
        return channel
    params = {"path": path, **channel.get("params", {})}
    return channel | {"extractor": "ONNXFeatures", "params": params}


def kernel_names() -> list[str]:
    """Return the names that a kernel may be called by."""
    from visualwords.classifiers.kernels import KERNELS

    return list(KERNELS)


def parameters_of(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Return the parameters of a class or function that a recipe may set."""
    found = inspect.signature(function).parameters
    return {name: one for name, one in found.items() if name not in OWN}


def classifier_parameters(classifier: str) -> dict[str, inspect.Parameter]:
    """Return the parameters of a classifier that a recipe may set."""
    return parameters_of(getattr(import_module(CLASSIFIERS[classifier]), classifier))


def kernel_parameters(kernel: str) -> dict[str, inspect.Parameter]:
    """Return the parameters of a kernel beside the samples."""
    from visualwords.classifiers.kernels import KERNELS

    return {
        name: one
        for name, one in parameters_of(KERNELS[check_name("kernel", kernel, KERNELS)]).items()
        if one.kind == one.KEYWORD_ONLY and name not in ("sparse", "diag")
    }


def with_values(
    what: str, values: Mapping[str, Any], known: Mapping[str, inspect.Parameter]
) -> dict[str, Any]:
    """Return parameters whose names exist; "none" is None for those that can be None."""
    for name in values:
        check_name(f"parameter of {what}", name, known)
    return {
        name: None if value == "none" and can_be_none(known[name]) else value
        for name, value in values.items()
    }


def can_be_none(parameter: inspect.Parameter) -> bool:
    """Return whether a parameter's default or annotation is, or has, None."""
    return parameter.default is None or "None" in str(parameter.annotation)
