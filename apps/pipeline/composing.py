"""Recipes from flags: what to start from, and settings to change, each by its name."""

import ast
import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from visualwords.apps.pipeline.channel import (
    KINDS,
    OF_CODEBOOKS,
    PARTS,
    Channel,
    Classifier,
    Hashes,
    settings_of,
)
from visualwords.apps.pipeline.recipe import Recipe
from visualwords.apps.pipeline.recipe_text import (
    Table,
    check_name,
    classifier_parameters,
    extractor_parameters,
    kind_for,
    read,
    spelled_out,
    usual_kind,
)
from visualwords.apps.pipeline.recipes import RECIPES, find_recipe
from visualwords.errors import RecipeError
from visualwords.features.extractor import Extractor
from visualwords.features.registry import find_extractor, list_extractors

NETWORK = "onnx:"
BASE = "words"  # what flags change if no recipe is named
COSTS = {"kernel": 10.0, "pmsvm": 1.0}  # C of a classifier that a flag chose
NUMBERS = {"words": "n_words", "fisher": "n_gaussians", "second_order": "n_components"}
ICD_SOLVERS = ("dual", "gram", "primal")
FLAGS = ("codebook", *PARTS, "pyramid", "kernel", "solver")  # beside the fields of the schema


def read_recipe(name: str) -> Recipe:
    """A recipe by its name, or from a file whose name ends in .toml."""
    if name.endswith(".toml"):
        return Recipe.from_table(*read(name))
    return find_recipe(check_name("recipe", name, RECIPES))


def compose(
    base: Recipe | None = None,
    features: Sequence[str] = (),
    changes: Iterable[tuple[str, Any]] = (),
) -> Recipe:
    """A recipe of extractors, or one that others were changed to.

    Parameters
    ----------
    base : Recipe, optional
        What to start from; "words" where there are no features either.
    features : sequence of str
        Extractors with parameters, such as ``"DenseSIFT(step=4, bin_size=[4, 8])"``, in place of
        those of a recipe.
    changes : pairs of a setting's name and its value
        Names are those of `FLAGS`, or of any field of the schema: dotted, such as "words.norm",
        "classifier.loss", "params.step", "channels.weight"; where only one part has such a
        setting, its last word.

    Examples
    --------
    >>> made = compose(features=["DenseSIFT(step=16)"], changes=[("words", 50), ("kernel", "chi2")])
    >>> made.channels[0].words.n_words, made.classifier.kind
    (50, 'pmsvm')
    """
    changes = [(key.replace("-", "_"), value) for key, value in changes]
    if features:
        table: Table = {"channels": [feature_table(text) for text in features]}
    else:
        table = (base or find_recipe(BASE)).to_json()
    before = [_representation(channel) for channel in table["channels"]]
    for key, value in changes:  # what patches become decides which settings there are
        if _is_of_patches(key):
            _change(table, key, value)
    for channel in table["channels"]:
        if not _representation(channel) and _is_local(channel):
            channel["words"] = {}
    if [_representation(channel) for channel in table["channels"]] != before:
        table.pop("classifier", None)  # the one that suits the new rows
    if changes or features:  # a name and a summary among the changes come later
        table["name"] = _name(base, features, changes)
        table.pop("summary", None)
    order = {"kernel": 0, "solver": 1}  # these replace the classifier, whose settings come later
    for key, value in sorted(changes, key=lambda change: order.get(change[0], 2)):
        if not _is_of_patches(key):
            _change(table, key, value)
    return Recipe.from_table(table)


def change_recipe(recipe: Recipe, *, strict: bool = True, **settings: Any) -> Recipe:
    """A recipe with some settings changed, by the names of flags or fields; None changes nothing.

    Unless ``strict``, a setting that the recipe does not have changes nothing either.

    Examples
    --------
    >>> change_recipe(find_recipe("words"), n_words=50).channels[0].words.n_words
    50
    """
    given = {key: value for key, value in settings.items() if value is not None}
    table = recipe.to_json() if given else {}
    for key, value in given.items():
        if strict or _has(table, key):
            _change(table, key, list(value) if isinstance(value, tuple) else value)
    return Recipe.from_table(table) if given else recipe


def varied(
    base: Recipe | None,
    features: Sequence[str],
    changes: Iterable[tuple[str, Any]],
    values: Iterable[tuple[str, Any]],
) -> Recipe:
    """One recipe of a comparison, named by the settings that vary.

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


def feature_table(text: str) -> Table:
    """The channel that an extractor with parameters means; nothing is executed.

    Examples
    --------
    >>> feature_table("DenseSIFT(step=4, bin_size=[4, 8])")
    {'extractor': 'DenseSIFT', 'params': {'step': 4, 'bin_size': [4, 8]}}
    >>> feature_table("onnx:net.onnx(mean=0.5)")
    {'extractor': 'ONNXFeatures', 'params': {'path': 'net.onnx', 'mean': 0.5}}
    """
    text = text.strip()
    if text.startswith(NETWORK):  # a file's name may have brackets
        path, end, rest = text.partition(".onnx(")
        name, rest = (f"{path}.onnx", f"({rest}") if end else (text, "")
    else:
        name, bracket, rest = text.partition("(")
        name = check_name("extractor", name.strip(), list_extractors())
        rest = bracket + rest
    if not rest:
        return spelled_out({"extractor": name})
    wrong = RecipeError(
        f"feature {text!r} is not understood; write it as {name}(name=value, …), texts in quotes"
    )
    try:
        call = ast.parse(f"extractor{rest}", mode="eval").body
        if not isinstance(call, ast.Call) or call.args or None in {w.arg for w in call.keywords}:
            raise wrong
        values = {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
    except (SyntaxError, ValueError):
        raise wrong from None
    params = {key: "none" if value is None else value for key, value in values.items()}
    return spelled_out({"extractor": name, "params": params})


def setting(text: str) -> tuple[str, Any]:
    """The name and the value of ``key=value``; values are TOML, or words as they are.

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
    """The value that a text means in TOML; a word without quotes is itself."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text.strip()


def variations(text: str) -> tuple[str, list[Any]]:
    """The name of a setting and the values to try of ``key=a,b,c``.

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


def _is_of_patches(key: str) -> bool:
    return key in ("codebook", *PARTS) or key.startswith("hashes.")


def _representation(channel: Table) -> str | None:
    found = next((part for part in PARTS if part in channel), None)
    return "hashes" if "hashes" in channel else found


def _change(table: Table, key: str, value: Any) -> None:
    """Change one setting of a recipe's table."""
    if key in PARTS:
        number = {} if value is True or key not in NUMBERS else {NUMBERS[key]: value}
        for channel in [] if value is False else _with_patches(table):
            _turn_into(channel, key, number)
    elif key == "codebook":
        for channel in _with_patches(table):
            kept = {k: v for k, v in channel.get("words", {}).items() if k not in OF_CODEBOOKS}
            channel["words"] = kept
            _turn_into(channel, "words", {"codebook": value})
    elif key == "pyramid":
        parts = [c[name] for c in table["channels"] for name in NUMBERS if name in c]
        if not parts:
            raise RecipeError(
                "no channel has words, Fisher vectors or second moments; pyramid can't be set"
            )
        for part in parts:
            part["pyramid"] = value
            part.pop("weights", None)
    elif key == "kernel":
        kind = kind_for(value)
        table["classifier"] = {"kind": kind, "kernel": value} | _cost(table, kind)
    elif key == "solver":
        _set_solver(table, value)
    else:
        _set_field(table, key, value)


def _turn_into(channel: Table, part: str, values: Table) -> None:
    for other in PARTS:
        if other != part:
            channel.pop(other, None)
    channel[part] = channel.get(part, {}) | values


def _with_patches(table: Table) -> list[Table]:
    """The channels whose patches a flag means: those that have some, else can have some."""
    channels = table["channels"]
    found = [c for c in channels if _representation(c) or _is_local(c)]
    if not found:
        extractors = [(c, find_extractor(c["extractor"])) for c in channels]
        found = [c for c, one in extractors if one.extract is not Extractor.extract]
    if not found:
        names = ", ".join(channel["extractor"] for channel in channels)
        raise RecipeError(
            f"{names}: one vector an image, no patches to count as words; take DenseSIFT, "
            "KeypointSIFT or Centrist(layout='dense')"
        )
    return found


def _is_local(channel: Table) -> bool:
    try:
        return find_extractor(channel["extractor"])(**channel.get("params", {})).is_local
    except (TypeError, ValueError):  # a wrong parameter, which gets its sentence later
        return False


def _set_solver(table: Table, value: Any) -> None:
    check_name("solver", value, [*KINDS, *ICD_SOLVERS])
    if value in ICD_SOLVERS:
        table["classifier"] = {"kind": "icd", "params": {"solver": value}} | _cost(table, "icd")
        return
    kept = {k: v for k, v in table.get("classifier", {}).items() if k == "kernel"}
    if value == "kernel" and not kept:
        kept = {"kernel": "hik"}
    table["classifier"] = {"kind": value} | kept | _cost(table, value)


def _cost(table: Table, kind: str) -> Table:
    """C of a classifier that replaces another: the same of the same kind, else usual."""
    earlier = table.get("classifier", {})
    if earlier.get("kind") == kind and "C" in earlier:
        return {"C": earlier["C"]}
    return {"C": COSTS[kind]} if kind in COSTS else {}


def _set_field(table: Table, key: str, value: Any) -> None:
    """Set a field of the schema, in the one part of the recipe that has it."""
    group, _, name = key.rpartition(".")
    if group == "hashes":
        for channel in table["channels"]:
            channel.setdefault("hashes", {})
    places = _places(table)
    if group:
        check_name("part of a recipe", group, [*places, "hashes"])
        check_name(f"setting of {group}", name, _names(places[group]))
    else:
        having = [one for one, tables in places.items() if name in _names(tables)]
        if not having:
            every = {known for tables in places.values() for known in _names(tables)}
            check_name("setting of this recipe", name, sorted(every | set(FLAGS)))
        if len(having) > 1:
            ways = " or ".join(f"{one}.{name}" for one in having)
            raise RecipeError(f"setting {name!r} is of several parts of the recipe; write {ways}")
        group = having[0]
    for known, part in places[group]:
        if name in known:
            part[name] = value


Places = dict[str, list[tuple[Iterable[str], Table]]]


def _names(tables: Iterable[tuple[Iterable[str], Any]]) -> list[str]:
    return [name for names, _ in tables for name in names]


def _has(table: Table, name: str) -> bool:
    """Whether a recipe has a setting of a name."""
    if name == "pyramid":
        return any(part in channel for channel in table["channels"] for part in NUMBERS)
    return any(name in _names(tables) for tables in _places(table).values())


def _places(table: Table) -> Places:
    """The parts of a recipe: the names of their settings, and the tables that hold them."""
    channels = table["channels"]
    places: Places = {
        "recipe": [(settings_of(Recipe), table)],
        "channels": [(settings_of(Channel), channel) for channel in channels],
    }
    for channel in channels:
        for name, part in {**PARTS, "hashes": Hashes}.items():
            if name in channel:
                places.setdefault(name, []).append((settings_of(part), channel[name]))
        own = extractor_parameters(channel["extractor"]), channel.setdefault("params", {})
        for group in ("params", channel["extractor"]):
            places.setdefault(group, []).append(own)
    classifier = table.setdefault("classifier", {})
    kernel = classifier.get("kernel")
    kind = classifier.get("kind") or usual_kind(kernel, channels)
    known = classifier_parameters(check_name("kind of classifier", kind, KINDS), kernel)
    parameters = known, classifier.setdefault("params", {})
    return places | {"classifier": [(settings_of(Classifier), classifier), parameters]}


def _name(base: Recipe | None, features: Sequence[str], changes: list[tuple[str, Any]]) -> str:
    start = "+".join(features) or (base.name if base else BASE)
    return " ".join([start, *(f"{key}={_short(value)}" for key, value in changes)])


def _short(value: Any) -> str:
    return re.sub(r"\s+", " ", str(value))
