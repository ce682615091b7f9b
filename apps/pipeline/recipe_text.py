"""Recipes as tables: what TOML, JSON and flags read and write, by the fields of the schema."""

import inspect
import json
import math
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any, TypeAlias

from visualwords.apps.pipeline.channel import (
    KINDS,
    PARTS,
    Channel,
    Classifier,
    Hashes,
    Words,
    check_name,
    settings_of,
)
from visualwords.errors import RecipeError
from visualwords.features.registry import PREFIX, find_extractor, list_extractors

Table: TypeAlias = dict[str, Any]  # of a TOML or JSON file
NONE = "none"  # TOML has no word for it
OWN = frozenset({"self", "random_state", "n_jobs", "probability"})  # parameters not of a recipe
HIK = (None, "hik", "intersection")
ADDITIVE = ("chi2", "hik", "intersection", "jensen_shannon", "power_mean")


def parameters_of(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The parameters of a class or function that a recipe may set."""
    found = inspect.signature(function).parameters
    return {name: one for name, one in found.items() if name not in OWN}


def extractor_parameters(extractor: Any) -> dict[str, inspect.Parameter]:
    """The parameters of an extractor, which exists; a transformer of this program has none."""
    if str(extractor).startswith(PREFIX):
        return {}
    return parameters_of(find_extractor(check_name("extractor", extractor, list_extractors())))


def classifier_parameters(kind: str, kernel: str | None) -> dict[str, inspect.Parameter]:
    """The parameters of a kind of classifier and of its kernel, beside the kernel and C."""
    known = _parameters_of_kind(kind)
    if kind == "kernel":
        from visualwords.classifiers.kernels import KERNELS

        found = parameters_of(KERNELS[check_name("kernel", kernel or "hik", KERNELS)])
        known |= {
            name: one
            for name, one in found.items()
            if one.kind == one.KEYWORD_ONLY and name not in ("sparse", "diag")
        }
    return {n: one for n, one in known.items() if n not in ("kernel", "C", "kernel_params")}


def _parameters_of_kind(kind: str) -> dict[str, inspect.Parameter]:
    module, _, name = KINDS[kind].rpartition(".")
    return parameters_of(getattr(import_module(module), name))


def kernel_names() -> list[str]:
    """The names that a kernel may be called by."""
    from visualwords.classifiers.kernels import KERNELS

    return list(KERNELS)


def kind_for(kernel: str | None) -> str:
    """The kind of classifier that suits a kernel: the fastest that computes it."""
    if kernel in HIK:
        return "icd"
    if kernel == "linear":
        return "linear"
    return "pmsvm" if kernel in ("chi2", "jensen_shannon", "power_mean") else "kernel"


def usual_kind(kernel: str | None, channels: list[Table]) -> str:
    """The kind of classifier where none is given, by the kernel and what channels make."""
    vectors = ("fisher", "second_order", "sets", "hashes")
    as_vectors = any(part in channel for channel in channels for part in vectors)
    return "linear" if kernel is None and as_vectors else kind_for(kernel)


def spelled_out(channel: Table) -> Table:
    """A channel's table with "onnx:net.onnx" as the extractor and the parameter it means.

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


# Reading


def read(path_or_text: "str | os.PathLike[str]") -> tuple[Table, str]:
    """The table of a TOML file, or of the text of one, and how messages about it begin."""
    where, text = "", os.fspath(path_or_text)
    if "\n" not in text and "=" not in text:
        where = f"{text}: "
        try:
            with open(text, encoding="utf-8") as file:
                text = file.read()
        except OSError as problem:
            raise RecipeError(f"{where}{(problem.strerror or str(problem)).lower()}") from None
        except UnicodeDecodeError:
            raise RecipeError(f"{where}not a text file; a recipe is TOML") from None
    try:
        return tomllib.loads(text), where
    except tomllib.TOMLDecodeError as problem:
        raise RecipeError(f"{where}not TOML: {problem}") from None


def from_table(table: Table, recipe: Any) -> Table:
    """The fields of a recipe (of the class ``recipe``) that a table describes."""
    own = _given("setting", settings_of(recipe), table, ("channels", "classifier"))
    channels = table.get("channels", [])
    if not (isinstance(channels, list) and channels and all(isinstance(c, dict) for c in channels)):
        raise RecipeError(
            "a recipe needs at least one channel; write [[channels]] and an extractor"
        )
    channels = [spelled_out(channel) for channel in channels]
    made = tuple(_channel(channel, f"channel {i}") for i, channel in enumerate(channels, 1))
    named = {"name": "+".join(channel.extractor for channel in made)}
    classifier = _table("classifier", table.get("classifier", {}))
    kind = usual_kind(classifier.get("kernel"), channels)
    return named | own | {"channels": made, "classifier": _classifier(classifier, kind)}


def _given(what: str, known: Mapping[str, Any], table: Table, others: Iterable[str] = ()) -> Table:
    """The values of a table whose names are those of fields, or of ``others``."""
    for key in table:
        check_name(what, key, [*known, *others])
    return {
        key: None if table[key] == NONE and one.metadata["none"] else table[key]
        for key, one in known.items()
        if key in table
    }


def _channel(table: Table, where: str) -> Channel:
    if "extractor" not in table:
        raise RecipeError(f'{where} has no extractor; write extractor = "DenseSIFT" or another')
    extractor, parts = table["extractor"], {**PARTS, "hashes": Hashes}
    known = extractor_parameters(extractor)
    what = f"setting of {where}"
    values = _given(what, settings_of(Channel), table, ("extractor", "params", *parts))
    params = _table("params", table.get("params", {}))
    for name in params:
        check_name(f"parameter of {extractor}", name, known)
    values["params"] = _with_none(params, known)
    try:
        for name, part in parts.items():
            if name in table:
                given = _given(f"setting of {name}", settings_of(part), _table(name, table[name]))
                if part is Words:  # signed numbers have no square roots
                    signed = find_extractor(extractor).is_signed
                    given.setdefault("codebook", "kmeans" if signed else "kmeans-root")
                elif "pyramid" in given:
                    given.setdefault("weights", None)
                values[name] = part(**given)
        return Channel(extractor, **values)
    except RecipeError as problem:
        raise RecipeError(f"{where}: {problem}") from None


def _classifier(table: Table, usual: str) -> Classifier:
    """The classifier of a table; parameters of its kernel go to the kernel."""
    given = _given("setting of the classifier", settings_of(Classifier), table, ("params",))
    kind = check_name("kind of classifier", given.get("kind", usual), KINDS)
    kernel = given.get("kernel")
    _check_kernel(kind, kernel)
    if kind in ("icd", "linear"):
        kernel = None  # which they compute anyway
    known = classifier_parameters(kind, kernel)
    params = _table("params", table.get("params", {}))
    for name in params:
        check_name(f"parameter of classifier {kind!r}", name, known)
    params = _with_none(params, known)
    if kind == "kernel":
        own = _parameters_of_kind("kernel")
        of_kernel = {name: value for name, value in params.items() if name not in own}
        params = {name: value for name, value in params.items() if name in own}
        params |= {"kernel_params": of_kernel} if of_kernel else {}
    return Classifier(kind, kernel, given.get("C"), params)


def _check_kernel(kind: str, kernel: str | None) -> None:
    """Refuse kernels that a kind of classifier does not compute."""
    if kernel is None:
        return
    if kind == "linear":
        check_name("kernel of a linear classifier", kernel, ["linear"])
    elif kernel == "linear":
        raise RecipeError('the linear kernel is the classifier\'s kind: write kind = "linear"')
    else:
        check_name("kernel", kernel, kernel_names())
    for name, computed, what in (
        ("icd", ("hik", "intersection"), "the kernel hik"),
        ("pmsvm", ADDITIVE, f"additive kernels ({', '.join(ADDITIVE)})"),
    ):
        if kind == name and kernel not in computed:
            raise RecipeError(
                f"classifier {name!r} computes {what}, not {kernel}; for {kernel} the kind is "
                f"{kind_for(kernel)!r}"
            )


def _with_none(values: Mapping[str, Any], known: Mapping[str, inspect.Parameter]) -> Table:
    """Parameters with "none" as None where they can be None."""
    can = {n for n, one in known.items() if one.default is None or "None" in str(one.annotation)}
    return {n: None if value == NONE and n in can else value for n, value in values.items()}


def _table(name: str, value: Any) -> Table:
    if not isinstance(value, dict):
        raise RecipeError(f"{name} = {written(value)} must be a table such as {{ key = value }}")
    return value


# Writing


def to_table(recipe: Any) -> Table:
    """A recipe as a table of its settings that differ from their defaults."""
    table = {"name": recipe.name} | recipe.to_table()
    table = {key: list(v) if isinstance(v, tuple) else v for key, v in table.items()}
    table["channels"] = [_channel_table(channel) for channel in recipe.channels]
    params = dict(recipe.classifier.params)
    params |= params.pop("kernel_params", None) or {}
    classifier = {"kind": recipe.classifier.kind} | recipe.classifier.to_table()
    table["classifier"] = classifier | ({"params": params} if params else {})
    return _with_words(table)


def _channel_table(channel: Channel) -> Table:
    table: Table = {"extractor": channel.extractor}
    if channel.params:
        table["params"] = channel.params
    for name in (*PARTS, "hashes"):
        part = getattr(channel, name)
        if part is not None:
            table[name] = part.to_table()
            if name == "words":
                first = {key: getattr(part, key) for key in ("codebook", "n_words", "pyramid")}
                table[name] = first | table[name]
            elif "weights" in table[name]:  # a pyramid that is named alone has equal weights
                table[name]["pyramid"] = part.pyramid
                if part.weights is None:
                    del table[name]["weights"]
            elif "pyramid" in table[name]:
                table[name]["weights"] = part.weights
    return table | channel.to_table()


def _with_words(value: Any) -> Any:
    """A table as JSON and TOML can hold it: "none" for None, lists for tuples."""
    if isinstance(value, dict):
        return {key: _with_words(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_with_words(one) for one in value]
    return NONE if value is None else value


def to_toml(recipe: Any) -> str:
    """A recipe as the text of a TOML file."""
    table = to_table(recipe)
    channels, classifier = table.pop("channels"), table.pop("classifier")
    lines = [f"{key} = {written(value)}" for key, value in table.items()]
    for title, part in [*(("[[channels]]", one) for one in channels), ("[classifier]", classifier)]:
        lines += ["", title, *(f"{key} = {written(value)}" for key, value in part.items())]
    return "\n".join([*lines, ""])


def written(value: Any) -> str:
    """A value as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        inside = ", ".join(f"{_key(key)} = {written(one)}" for key, one in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(written, value))}]"
    if isinstance(value, float):
        return "nan" if math.isnan(value) else repr(value)
    if isinstance(value, int):
        return str(value)
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else written(name)
