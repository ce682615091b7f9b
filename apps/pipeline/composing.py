"""Recipes from flags: what to start from, and settings to change, each by its name."""

import ast
import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from typing import Any

from visualwords.apps.pipeline.recipe import PARTS, PARTS_OF_PATCHES, Recipe, Words
from visualwords.apps.pipeline.recipe_names import (
    KINDS,
    check_extractor,
    check_name,
    classifier_parameters,
    kernel_parameters,
    parameters_of,
    spelled_out,
)
from visualwords.apps.pipeline.recipe_text import from_table, from_toml, kind_for, usual_kind
from visualwords.apps.pipeline.recipes import RECIPES, find_recipe
from visualwords.errors import RecipeError
from visualwords.features.extractor import Extractor
from visualwords.features.registry import find_extractor

NETWORK = "onnx:"
BASE = "words"  # what flags change if no recipe is named
COSTS = {"kernel": 10.0, "pmsvm": 1.0}  # C of a classifier that a flag chose
NUMBERS = {"words": "n_words", "fisher": "n_gaussians", "second_order": "n_components"}
IN_WINDOWS = tuple(NUMBERS)
ICD_SOLVERS = ("dual", "gram", "primal")
FLAGS = (
    *("codebook", *PARTS_OF_PATCHES, "pyramid"),
    *("kernel", "solver", "C", "max_side", "min_side", "views"),
)


def read_recipe(name: str) -> Recipe:
    """Return a recipe by its name, or from a file whose name ends in .toml."""
    if name.endswith(".toml"):
        return from_toml(name)
    return find_recipe(check_name("recipe", name, RECIPES))


def compose(
    base: Recipe | None = None,
    features: Sequence[str] = (),
    changes: Iterable[tuple[str, Any]] = (),
) -> Recipe:
    """Return a recipe of extractors, or one that others were changed to.

    Parameters
    ----------
    base : Recipe, optional
        What to start from; "words" where there are no features either.
    features : sequence of str
        Extractors with parameters, such as ``"DenseSIFT(step=4, bin_size=[4, 8])"``, in place of
        those of a recipe.
    changes : pairs of a setting's name and its value
        Names are those of `FLAGS`, or dotted ones such as "words.norm", "classifier.loss",
        "params.step", "channels.weight"; where only one part has such a setting, its last word.

    Examples
    --------
    >>> made = compose(features=["DenseSIFT(step=16)"], changes=[("words", 50), ("kernel", "chi2")])
    >>> made.channels[0].words.n_words, made.classifier
    (50, 'PmSVMClassifier')
    """
    changes = [(key.replace("-", "_"), value) for key, value in changes]
    if features:
        table: dict[str, Any] = {"channels": [feature_table(text) for text in features]}
    else:
        table = tomllib.loads((base or find_recipe(BASE)).to_toml())
    before = [_representation(channel) for channel in table["channels"]]
    for key, value in changes:
        if _is_of_patches(key):
            _change(table, key, value)
    for channel in table["channels"]:
        _represent(channel)
    if [_representation(channel) for channel in table["channels"]] != before:
        table.pop("classifier", None)  # the one that suits the new rows
    for wanted in ("kernel", "solver"):
        for key, value in changes:
            if key == wanted:
                _change(table, key, value)
    for key, value in changes:
        if not _is_of_patches(key) and key not in ("kernel", "solver"):
            _change(table, key, value)
    if changes or features:
        table["name"] = _name(base, features, changes)
        table.pop("summary", None)
    return from_table(table)


def varied(
    base: Recipe | None,
    features: Sequence[str],
    changes: Iterable[tuple[str, Any]],
    values: Iterable[tuple[str, Any]],
) -> Recipe:
    """Return one recipe of a comparison, named by the settings that vary.

    Parameters
    ----------
    base, features, changes : as in `compose`
    values : pairs of a setting that varies and its value; "recipe" and "feature" are such, too
    """
    others = []
    for key, value in values:
        if key == "recipe":
            base = read_recipe(str(value))
        elif key == "feature":
            features = (str(value),)
        else:
            others.append((key, value))
    made = compose(base, features, [*changes, *others])
    if not others:
        return made
    start = "" if base is None and not features else f"{_name(base, features, [])} "
    return replace(made, name=start + " ".join(f"{key}={_short(v)}" for key, v in others))


def feature_table(text: str) -> dict[str, Any]:
    """Return the channel that an extractor with parameters means; nothing is executed.

    Examples
    --------
    >>> feature_table("DenseSIFT(step=4, bin_size=[4, 8])")
    {'extractor': 'DenseSIFT', 'params': {'step': 4, 'bin_size': [4, 8]}}
    >>> feature_table("onnx:net.onnx(mean=0.5)")
    {'extractor': 'ONNXFeatures', 'params': {'path': 'net.onnx', 'mean': 0.5}}
    """
    name, rest = _named(text.strip())
    if not name.startswith(NETWORK):
        check_extractor(name)
    if not rest:
        return spelled_out({"extractor": name})
    wrong = RecipeError(
        f"feature {text!r} is not understood; write it as {name}(name=value, …), texts in quotes"
    )
    try:
        call = ast.parse(f"extractor{rest}", mode="eval").body
        if not isinstance(call, ast.Call) or call.args:
            raise wrong
        values = {word.arg: ast.literal_eval(word.value) for word in call.keywords}
    except (SyntaxError, ValueError):
        raise wrong from None
    if None in values:
        raise wrong
    params = {str(key): _without_none(value) for key, value in values.items()}
    return spelled_out({"extractor": name, "params": params})


def _named(text: str) -> tuple[str, str]:
    """Return an extractor's name, and its parameters in brackets; networks are named by files."""
    if text.startswith(NETWORK):
        path, end, rest = text.partition(".onnx(")
        return (f"{path}.onnx", f"({rest}") if end else (text, "")
    name, bracket, rest = text.partition("(")
    return name.strip(), bracket + rest


def setting(text: str) -> tuple[str, Any]:
    """Return the name and the value of ``key=value``; values are TOML, or words as they are.

    Examples
    --------
    >>> setting("bin_size=[4, 8]"), setting("norm=none"), setting("C=1e-2")
    (('bin_size', [4, 8]), ('norm', 'none'), ('C', 0.01))
    """
    key, separator, value = text.partition("=")
    if not separator or not key.strip():
        raise RecipeError(f"setting {text!r} is not understood; write it as key=value")
    return key.strip(), parsed(value)


def parsed(text: str) -> Any:
    """Return the value that a text means in TOML; a word without quotes is itself."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text.strip()


def variations(text: str) -> tuple[str, list[Any]]:
    """Return the name of a setting and the values to try of ``key=a,b,c``.

    Examples
    --------
    >>> variations("words=100,200"), variations("feature=HOG,DenseSIFT(step=4, root=True)")
    (('words', [100, 200]), ('feature', ['HOG', 'DenseSIFT(step=4, root=True)']))
    """
    key, separator, values = text.partition("=")
    if not separator or not key.strip() or not values.strip():
        raise RecipeError(f"{text!r} is not understood; write it as key=first,second,…")
    depth, parts = 0, [""]
    for letter in values:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return key.strip(), [parsed(part) for part in parts if part.strip()]


def _change(table: dict[str, Any], key: str, value: Any) -> None:
    """Change one setting of a recipe's table."""
    if key in NUMBERS:
        for channel in _with_patches(table):
            _turn_into(channel, key, {} if value is True else {NUMBERS[key]: value})
    elif key == "codebook":
        for channel in _with_patches(table):
            kept = {k: v for k, v in channel.get("words", {}).items() if k in _own(Words)}
            channel["words"] = kept
            _turn_into(channel, "words", {"codebook": value})
    elif key == "sets":
        for channel in _with_patches(table) if value else []:
            _turn_into(channel, "sets", {})
    elif key == "pyramid":
        _set_pyramid(table, value)
    elif key == "kernel":
        kind = kind_for(value)
        table["classifier"] = {"kind": kind, "kernel": value} | _cost(table, kind)
    elif key == "solver":
        _set_solver(table, value)
    elif key == "C":
        _classifier(table)["C"] = value
    elif key in ("max_side", "min_side", "views"):
        table[key] = value
    else:
        _set_other(table, key, value)


def _is_of_patches(key: str) -> bool:
    """Return whether a setting decides what patches become; such come first."""
    return key in ("codebook", *PARTS_OF_PATCHES) or key.startswith("hashes.")


def _turn_into(channel: dict[str, Any], part: str, values: dict[str, Any]) -> None:
    for other in PARTS_OF_PATCHES:
        if other != part:
            channel.pop(other, None)
    channel[part] = channel.get(part, {}) | values


def _with_patches(table: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the channels whose patches a flag means: those that have some, else can have some."""
    found = [c for c in table["channels"] if _representation(c) or _is_local(c)]
    if not found:
        found = [c for c in table["channels"] if _can_be_local(c)]
    if not found:
        names = ", ".join(channel["extractor"] for channel in table["channels"])
        raise RecipeError(
            f"{names}: one vector an image, no patches to count as words; take DenseSIFT, "
            "KeypointSIFT or Centrist(layout='dense')"
        )
    return found


def _set_pyramid(table: dict[str, Any], value: Any) -> None:
    found = [c[name] for c in table["channels"] for name in IN_WINDOWS if name in c]
    if not found:
        raise RecipeError(
            "no channel has words, Fisher vectors or second moments; pyramid can't be set"
        )
    for part in found:
        part["pyramid"] = value
        part.pop("weights", None)


def _set_solver(table: dict[str, Any], value: Any) -> None:
    check_name("solver", value, [*KINDS, *ICD_SOLVERS])
    classifier = _classifier(table)
    if value in ICD_SOLVERS:
        table["classifier"] = {"kind": "icd", "params": {"solver": value}} | _cost(table, "icd")
        return
    kept = {k: v for k, v in classifier.items() if k == "kernel"}
    if value == "kernel" and not kept:
        kept = {"kernel": "hik"}
    table["classifier"] = {"kind": value} | kept | _cost(table, value)


def _cost(table: dict[str, Any], kind: str) -> dict[str, Any]:
    """Return C of a classifier that replaces another: the same of the same kind, else usual."""
    earlier = _classifier(table)
    if earlier.get("kind") == kind and "C" in earlier:
        return {"C": earlier["C"]}
    return {"C": COSTS[kind]} if kind in COSTS else {}


def _set_other(table: dict[str, Any], key: str, value: Any) -> None:
    """Set what has no flag, in the one part of the recipe that knows it."""
    group, _, name = key.rpartition(".")
    places = _places(table)
    if group:
        check_name("part of a recipe", group, [*places, "hashes"])
        if group == "hashes":
            for channel in table["channels"]:
                channel["hashes"] = channel.get("hashes", {})
            places = _places(table)
        check_name(f"setting of {group}", name, places[group])
        _put(table, group, name, value)
        return
    found = [place for place, names in places.items() if name in names]
    if not found:
        known = sorted({name for names in places.values() for name in names} | set(FLAGS))
        check_name("setting of this recipe", name, known)
    if len(found) > 1:
        ways = " or ".join(f"{place}.{name}" for place in found)
        raise RecipeError(f"setting {name!r} is of several parts of the recipe; write {ways}")
    _put(table, found[0], name, value)


def _places(table: dict[str, Any]) -> dict[str, list[str]]:
    """Return the parts of a recipe and the names of their settings."""
    places: dict[str, list[str]] = {
        "recipe": ["name", "summary", "max_side", "min_side", "views"],
        "channels": ["power", "weight", "rescale", "cost"],
    }
    for channel in table["channels"]:
        for part, kind in PARTS.items():
            if part in channel:
                names = [name for name in _own(kind) if name != "codebook_params"]
                if part == "words":
                    names += ["n_levels", "max_iter", "tol", "max_descriptors"]
                places[part] = names
        known = parameters_of(find_extractor(check_extractor(channel["extractor"])))
        places["params"] = [*places.get("params", []), *known]
        places[channel["extractor"]] = list(known)
    classifier = _classifier(table)
    chosen = classifier.get("kind") or usual_kind(classifier.get("kernel"), table["channels"])
    found = KINDS[check_name("kind of classifier", chosen, KINDS)]
    names = ["kind", *classifier_parameters(found)]
    if chosen == "kernel":
        names += kernel_parameters(classifier.get("kernel", "hik"))
    return places | {"classifier": names}


def _put(table: dict[str, Any], group: str, name: str, value: Any) -> None:
    channels = table["channels"]
    if group == "recipe":
        table[name] = value
    elif group == "channels":
        for channel in channels:
            channel[name] = value
    elif group == "classifier":
        _put_in_classifier(_classifier(table), name, value)
    elif group in PARTS:
        for channel in channels:
            if group in channel:
                channel[group] = channel[group] | {name: value}
    else:
        for channel in channels:
            wanted = group in ("params", channel["extractor"])
            if wanted and name in parameters_of(find_extractor(channel["extractor"])):
                channel["params"] = channel.get("params", {}) | {name: value}


def _put_in_classifier(classifier: dict[str, Any], name: str, value: Any) -> None:
    if name in ("kind", "kernel", "C"):
        classifier[name] = value
    else:
        classifier["params"] = classifier.get("params", {}) | {name: value}


def _classifier(table: dict[str, Any]) -> dict[str, Any]:
    return table.setdefault("classifier", {})


def _represent(channel: dict[str, Any]) -> None:
    """Count the patches of an extractor as words where nothing else is said."""
    if not _representation(channel) and _is_local(channel):
        channel["words"] = {}


def _representation(channel: dict[str, Any]) -> str | None:
    found = next((part for part in PARTS_OF_PATCHES if part in channel), None)
    return "hashes" if "hashes" in channel else found


def _is_local(channel: dict[str, Any]) -> bool:
    try:
        return find_extractor(channel["extractor"])(**channel.get("params", {})).is_local
    except (TypeError, ValueError):  # a wrong parameter, which gets its sentence later
        return False


def _can_be_local(channel: dict[str, Any]) -> bool:
    return find_extractor(channel["extractor"]).extract is not Extractor.extract


def _own(kind: Any) -> list[str]:
    return [field.name for field in fields(kind)]


def _without_none(value: Any) -> Any:
    return "none" if value is None else value


def _name(base: Recipe | None, features: Sequence[str], changes: list[tuple[str, Any]]) -> str:
    start = "+".join(features) or (base.name if base else BASE)
    return " ".join([start, *(f"{key}={_short(value)}" for key, value in changes)])


def _short(value: Any) -> str:
    return re.sub(r"\s+", " ", str(value))
