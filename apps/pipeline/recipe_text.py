"""Recipes as text: TOML → recipe → TOML, with nothing lost on the way."""

import json
import math
import os
import re
import tomllib
from dataclasses import fields, replace
from typing import Any, TypeVar

from visualwords.apps.pipeline.recipe import (
    PARTS,
    Channel,
    Fisher,
    Hashes,
    MatchedSets,
    Recipe,
    SecondOrder,
    Words,
    windows_of,
)
from visualwords.apps.pipeline.recipe_names import (
    CODEBOOKS,
    KINDS,
    check_extractor,
    check_name,
    classifier_parameters,
    kernel_names,
    kernel_parameters,
    parameters_of,
    spelled_out,
    with_values,
)
from visualwords.apps.pipeline.view import check_views
from visualwords.errors import RecipeError
from visualwords.features.registry import find_extractor

NONE = "none"  # TOML has no word for it
CHANNEL_KEYS = ("extractor", "params", *PARTS, "power", "weight", "rescale", "linear", "cost")
RECIPE_KEYS = ("name", "summary", "max_side", "min_side", "views", "channels", "classifier")
CLASSIFIER_KEYS = ("kind", "kernel", "C", "params")
Part = TypeVar("Part", Fisher, Hashes, MatchedSets, SecondOrder)
VECTORS = ("fisher", "second_order", "sets", "hashes")  # what linear classifiers take


def from_toml(path_or_text: "str | os.PathLike[str]") -> Recipe:
    """Read a recipe from a TOML file, or from the text of one."""
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
        return from_table(tomllib.loads(text))
    except tomllib.TOMLDecodeError as problem:
        raise RecipeError(f"{where}not TOML: {problem}") from None
    except RecipeError as problem:
        raise RecipeError(f"{where}{problem}") from None


def from_table(table: dict[str, Any]) -> Recipe:
    """Return the recipe that a TOML table describes."""
    for key in table:
        check_name("setting", key, RECIPE_KEYS)
    channels = table.get("channels", [])
    if not (isinstance(channels, list) and channels and all(isinstance(c, dict) for c in channels)):
        raise RecipeError(
            "a recipe needs at least one channel; write [[channels]] and an extractor"
        )
    channels = [spelled_out(channel) for channel in channels]
    made = [_channel(channel, f"channel {i + 1}") for i, channel in enumerate(channels)]
    classifier = _table("classifier", table.get("classifier", {}))
    kind, params = _classifier(classifier, usual_kind(classifier.get("kernel"), channels))
    name = _text("name", table.get("name", "+".join(c.extractor for c in made)))
    recipe = Recipe(
        name,
        _text("summary", table.get("summary", "")),
        tuple(made),
        _side("max_side", table.get("max_side", 640)),
        KINDS[kind],
        params,
        _side("min_side", table.get("min_side", NONE)),
        check_views(table.get("views")),
    )
    return fitted_to_classifier(recipe, [channel.get("linear") for channel in channels])


def fitted_to_classifier(recipe: Recipe, given: "list[bool | None] | None" = None) -> Recipe:
    """Return a recipe whose channels make the rows that its classifier takes.

    A linear classifier takes signed bytes, unless a channel makes sparse rows (sets or hashes).
    """
    is_linear = recipe.classifier in ("LinearClassifier", "ByteLinearClassifier")
    as_bytes = is_linear and not any(c.sets or c.hashes for c in recipe.channels)
    given = given or [None] * len(recipe.channels)
    channels = tuple(
        replace(c, linear=as_bytes if linear is None else bool(linear))
        for c, linear in zip(recipe.channels, given)
    )
    classifier = recipe.classifier
    if is_linear:
        classifier = "ByteLinearClassifier" if as_bytes else "LinearClassifier"
    return replace(recipe, channels=channels, classifier=classifier)


def to_toml(recipe: Recipe) -> str:
    """Return a recipe as the text of a TOML file."""
    lines = [f"name = {_written(recipe.name)}"]
    if recipe.summary:
        lines.append(f"summary = {_written(recipe.summary)}")
    lines.append(f"max_side = {_written(recipe.max_side)}")
    if recipe.min_side is not None:
        lines.append(f"min_side = {recipe.min_side}")
    if recipe.views:
        lines.append(f"views = {_written(list(recipe.views))}")
    usual = fitted_to_classifier(recipe)
    for channel, as_usual in zip(recipe.channels, usual.channels):
        lines += ["", "[[channels]]"]
        table = _channel_table(channel, channel.linear != as_usual.linear)
        lines += [f"{key} = {_written(value)}" for key, value in table.items()]
    lines += ["", "[classifier]"]
    table = _classifier_table(recipe)
    return "\n".join([*lines, *(f"{k} = {_written(v)}" for k, v in table.items()), ""])


def codebook_name(words: Words) -> str:
    """Return the name in recipes of a codebook: "kmeans", "kmeans-root" or "hik"."""
    if words.codebook == "HIKCodebook":
        return "hik"
    return "kmeans-root" if words.codebook_params.get("root") else "kmeans"


def words_of(values: dict[str, Any], usual: str = "kmeans-root") -> Words:
    """Return the words that a table describes; ``usual`` is the codebook where none is named."""
    own = [f.name for f in fields(Words) if f.name not in ("codebook", "codebook_params")]
    name = check_name("codebook", values.get("codebook", usual), CODEBOOKS)
    codebook, params = CODEBOOKS[name]
    known = _codebook_parameters(codebook)
    others = {key: v for key, v in values.items() if key not in own and key != "codebook"}
    for key in others:
        check_name("setting of words", key, ["codebook", *own, *known])
    params = params | with_values(codebook, others, known)
    given = {key: _fit("words", key, values[key], Words) for key in own if key in values}
    return Words(codebook=codebook, codebook_params=params, **given)


def _codebook_parameters(codebook: str) -> dict[str, Any]:
    import visualwords.codebook

    found = parameters_of(getattr(visualwords.codebook, codebook))
    return {name: one for name, one in found.items() if name not in ("n_words", "root")}


def part_of_table(kind: type[Part], what: str, values: dict[str, Any]) -> Part:
    """Return the Fisher vectors, second moments, sets or hashes that a table describes."""
    names = [f.name for f in fields(kind)]
    for key in values:
        check_name(f"setting of {what}", key, names)
    given = {key: _fit(what, key, value, kind) for key, value in values.items()}
    if kind in (Fisher, SecondOrder) and "pyramid" in given:
        given.setdefault("weights", None)
    return kind(**given)


def _fit(what: str, name: str, value: Any, kind: Any) -> Any:
    """Return a part's setting if it is of the right kind, which is that of its default."""
    usual = getattr(kind, name)
    if name == "pyramid":
        windows_of(value)
    elif name == "norm":
        check_name("norm of words", value, [NONE, "l1", "l2"])
    elif name == "weights":
        return None if value == NONE else tuple(_number(name, one) for one in value)
    elif isinstance(usual, bool):
        if not isinstance(value, bool):
            raise RecipeError(f"{what}: {name} = {_written(value)} must be true or false")
    elif isinstance(usual, int):
        least = 0 if name == "finest_level" else 1
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise RecipeError(
                f"{what}: {name} = {_written(value)} must be a whole number, at least {least}"
            )
    elif isinstance(usual, float):
        return _number(name, value)
    return None if value == NONE else value


def usual_codebook(extractor: str) -> str:
    """Return the codebook of patches where none is given: signed numbers have no square roots."""
    return "kmeans" if find_extractor(extractor).is_signed else "kmeans-root"


def usual_power(extractor: str) -> float | None:
    """Return the power of a channel where none is given: none of normalised numbers."""
    return None if find_extractor(extractor).is_normalized else Channel.power


def _channel(table: dict[str, Any], where: str) -> Channel:
    for key in table:
        check_name(f"setting of {where}", key, CHANNEL_KEYS)
    if "extractor" not in table:
        raise RecipeError(f'{where} has no extractor; write extractor = "DenseSIFT" or another')
    extractor = check_extractor(table["extractor"])
    known = parameters_of(find_extractor(extractor))
    values: dict[str, Any] = {
        "params": with_values(extractor, _table("params", table.get("params", {})), known)
    }
    for name, kind in PARTS.items():
        if name in table:
            part = _table(name, table[name])
            values[name] = (
                words_of(part, usual_codebook(extractor))
                if kind is Words
                else part_of_table(kind, name, part)
            )
    for name in ("weight", "cost"):
        if name in table:
            values[name] = _number(name, table[name])
    values["power"] = usual_power(extractor)
    if "power" in table:
        values["power"] = None if table["power"] == NONE else _number("power", table["power"])
    if "rescale" in table:
        values["rescale"] = _fit(where, "rescale", table["rescale"], Channel)
    try:
        return Channel(extractor, **values)
    except ValueError as problem:
        raise RecipeError(f"{where}: {problem}") from None


def _classifier(table: dict[str, Any], usual: str) -> tuple[str, dict[str, Any]]:
    """Return the kind of classifier and all its parameters."""
    for key in table:
        check_name("setting of the classifier", key, CLASSIFIER_KEYS)
    kind = check_name("kind of classifier", table.get("kind", usual), KINDS)
    params = _table("params", table.get("params", {}))
    return kind, classifier_params(kind, table.get("kernel"), table.get("C"), params)


def usual_kind(kernel: str | None, channels: list[dict[str, Any]]) -> str:
    """Return the kind of classifier where none is given, by the kernel and what channels make."""
    as_vectors = any(part in c for c in channels for part in VECTORS)
    return "linear" if kernel is None and as_vectors else kind_for(kernel)


def kind_for(kernel: str | None) -> str:
    """Return the kind of classifier that suits a kernel: the fastest that computes it."""
    if kernel in (None, "hik", "intersection"):
        return "icd"
    if kernel == "linear":
        return "linear"
    return "pmsvm" if kernel in ("chi2", "jensen_shannon", "power_mean") else "kernel"


def classifier_params(
    kind: str, kernel: str | None, cost: float | None, params: dict[str, Any]
) -> dict[str, Any]:
    """Return the parameters of a kind of classifier, those of its kernel among them."""
    known = {
        n: p for n, p in classifier_parameters(KINDS[kind]).items() if n not in ("kernel", "C")
    }
    known.pop("kernel_params", None)
    result = {} if kernel is None else _kernel_of(kind, kernel)
    if cost is not None:
        result["C"] = _number("C", cost)
    own = {name: value for name, value in params.items() if name in known}
    others = {name: value for name, value in params.items() if name not in known}
    if kind == "kernel":
        of_kernel = kernel_parameters(result.get("kernel", "hik"))
        for name in others:
            label = f"parameter of kernel {result.get('kernel', 'hik')!r}"
            check_name(label, name, [*of_kernel, *known])
        if others:
            result["kernel_params"] = others
    else:
        for name in others:
            check_name(f"parameter of classifier {kind!r}", name, known)
    return result | with_values(f"classifier {kind!r}", own, known)


def _kernel_of(kind: str, kernel: str) -> dict[str, Any]:
    """Return the parameter that a classifier has for a kernel; other kinds' kernels are refused."""
    if kind == "linear":
        check_name("kernel of a linear classifier", kernel, ["linear"])
        return {}
    if kernel == "linear":
        raise RecipeError('the linear kernel is the classifier\'s kind: write kind = "linear"')
    check_name("kernel", kernel, kernel_names())
    if kind == "icd":
        if kernel not in ("hik", "intersection"):
            raise RecipeError(
                f"classifier 'icd' computes the kernel hik, not {kernel}; for {kernel} the kind is "
                f"{kind_for(kernel)!r}"
            )
        return {}
    if kind == "pmsvm":
        additive = ("chi2", "hik", "intersection", "jensen_shannon", "power_mean")
        if kernel not in additive:
            raise RecipeError(
                f"classifier 'pmsvm' computes additive kernels ({', '.join(additive)}), not "
                f"{kernel}; for {kernel} the kind is {kind_for(kernel)!r}"
            )
    return {"kernel": kernel}


def _channel_table(channel: Channel, with_linear: bool) -> dict[str, Any]:
    usual = Channel(channel.extractor, power=usual_power(channel.extractor))
    table: dict[str, Any] = {"extractor": channel.extractor}
    if channel.params:
        table["params"] = channel.params
    if channel.words is not None:
        table["words"] = _words_table(channel.words)
    for name in ("fisher", "second_order"):
        part = getattr(channel, name)
        if part is not None:
            table[name] = _windows_table(part)
    for name in ("sets", "hashes"):
        part = getattr(channel, name)
        if part is not None:
            table[name] = {f.name: getattr(part, f.name) for f in fields(part)}
    for name in ("power", "weight", "rescale", "cost"):
        if getattr(channel, name) != getattr(usual, name):
            table[name] = getattr(channel, name)
    return table | ({"linear": channel.linear} if with_linear else {})


def _words_table(words: Words) -> dict[str, Any]:
    usual = Words()
    others = {name: v for name, v in words.codebook_params.items() if name != "root"}
    later = {
        name: getattr(words, name)
        for name in ("norm", "scope", "power")
        if getattr(words, name) != getattr(usual, name)
    }
    first = {"codebook": codebook_name(words), "n_words": words.n_words, "pyramid": words.pyramid}
    return first | later | others


def _windows_table(part: Fisher | SecondOrder) -> dict[str, Any]:
    table: dict[str, Any] = {f.name: getattr(part, f.name) for f in fields(part)}
    if not table.get("root"):
        table.pop("root", None)
    usual = type(part)()
    if part.pyramid == usual.pyramid and part.weights == usual.weights:
        del table["pyramid"], table["weights"]
    elif part.weights is None:
        del table["weights"]
    return table


def _classifier_table(recipe: Recipe) -> dict[str, Any]:
    kinds = {name: kind for kind, name in KINDS.items()} | {"ByteLinearClassifier": "linear"}
    params = dict(recipe.classifier_params)
    table: dict[str, Any] = {"kind": kinds[recipe.classifier]}
    for key in ("kernel", "C"):
        if key in params:
            table[key] = params.pop(key)
    params |= params.pop("kernel_params", None) or {}
    return table | ({"params": params} if params else {})


def _written(value: Any) -> str:
    """Return a value as TOML."""
    if value is None:
        return f'"{NONE}"'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        inside = ", ".join(f"{_key(k)} = {_written(v)}" for k, v in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_written(one) for one in value)}]"
    if isinstance(value, float):
        return "nan" if math.isnan(value) else repr(value)
    if isinstance(value, int):
        return str(value)
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _written(name)


def _table(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise RecipeError(f"{name} = {_written(value)} must be a table such as {{ key = value }}")
    return value


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise RecipeError(f"{name} = {_written(value)} must be a text in quotes")
    return value


def _number(name: str, value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise RecipeError(f"{name} = {_written(value)} must be a positive number")
    return value


def _side(name: str, value: Any) -> int | None:
    if value == NONE:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise RecipeError(f'{name} = {_written(value)} must be a whole number of pixels, or "none"')
    return value
