"""Recipes as Python values, TOML and changes by name: three doors to one schema."""

import json
from dataclasses import replace

import numpy as np
import pytest

from visualwords.apps.classify_images.main import main
from visualwords.apps.pipeline.channel import (
    PARTS,
    Channel,
    Classifier,
    Fisher,
    Hashes,
    MatchedSets,
    Words,
    settings_of,
)
from visualwords.apps.pipeline.composing import (
    change_recipe,
    compose,
    feature_table,
    read_recipe,
    variations,
)
from visualwords.apps.pipeline.recipe import Recipe
from visualwords.apps.pipeline.recipe_check import check_recipe
from visualwords.apps.pipeline.recipes import RECIPES
from visualwords.errors import RecipeError

NAMED = {"name": 'a "quoted" \\ ü', "summary": "one = two", "kernel": "chi2", "max_descriptors": 99}
TUPLES = [("1x1", "3x1"), ("mirror", "rotations"), (1.0, 3.0, 2.0)]
TEXTS = ["kmeans", "l2", "image", "k-means++", "median", "min_cardinality", "pmsvm"]
SCHEMA = {"recipe": Recipe, "channels": Channel, "classifier": Classifier}
SCHEMA |= {**PARTS, "hashes": Hashes}
FIELDS = [(group, name) for group, part in SCHEMA.items() for name in settings_of(part)]


def another(name, field):
    """A value that a field may have, and by default has not."""
    for value in [NAMED[name]] if name in NAMED else [False, True, *TUPLES, *TEXTS, 7]:
        try:
            if field.metadata["check"](value) == value != field.default:
                return value
        except RecipeError:
            pass
    raise AssertionError(f"no value is known that {name} may have")


def base_for(group, name):
    """A recipe whose parts a change of a field fits."""
    words = Words("hik") if name in ("n_levels", "center") else Words()
    channel = Channel("DenseSIFT", words=words)
    if group in PARTS and group != "words":
        own = {"weights": None} if name == "pyramid" else {}  # a pyramid alone has equal weights
        channel = Channel("DenseSIFT", **{group: SCHEMA[group](**own)})
    if group == "hashes":
        return Recipe("r", "", (Channel("HOG", hashes=Hashes()),), classifier=Classifier("linear"))
    if group == "sets" and name == "normalization":
        return Recipe("r", "", (channel,), classifier=Classifier("kernel", "pyramid_match"))
    kernel = "chi2" if (group, name) == ("classifier", "kernel") else None
    linear = group in PARTS and group != "words"
    kind = "linear" if linear else "pmsvm" if kernel else "icd"
    return Recipe("r", "", (channel,), classifier=Classifier(kind))


def changed(base, group, name, value):
    """The recipe that Python makes."""
    if group == "recipe":
        return replace(base, **{name: value})
    if group == "classifier":
        return replace(base, classifier=replace(base.classifier, **{name: value}))
    (channel,) = base.channels
    if group == "channels":
        channel = replace(channel, **{name: value})
    else:
        part = replace(getattr(channel, group), **{name: value})
        channel = replace(channel, **{group: part})
    return replace(base, channels=(channel,))


@pytest.mark.parametrize(("group", "name"), FIELDS)
def test_every_field_goes_through_all_doors(group, name):
    field = settings_of(SCHEMA[group])[name]
    assert len(field.metadata["help"]) > 5
    base, value = base_for(group, name), another(name, field)
    made = changed(base, group, name, value)
    assert made != base or name == "cost"  # which changes nothing
    restored = Recipe.from_toml(made.to_toml())
    assert restored == made
    assert restored.channels[0].cost == made.channels[0].cost
    assert Recipe.from_table(json.loads(json.dumps(made.to_json()))) == made
    written = list(value) if isinstance(value, tuple) else value
    composed = compose(base, changes=[(f"{group}.{name}", written)])
    own = {"name": made.name, "summary": made.summary}  # a changed recipe has a name of its own
    assert replace(composed, **own) == made
    assert composed.channels[0].cost == made.channels[0].cost
    if (group, name) in (("recipe", "name"), ("recipe", "summary")):
        assert getattr(composed, name) == value
    check_recipe(replace(made, min_side=None))


@pytest.mark.parametrize(("group", "name"), FIELDS)
def test_a_wrong_value_is_one_sentence_that_names_the_field(group, name):
    wrong = 3 if name in ("name", "summary", "kernel") else {"a": 1}
    with pytest.raises(RecipeError, match=name) as problem:
        compose(base_for(group, name), changes=[(f"{group}.{name}", wrong)])
    assert "\n" not in str(problem.value)


DESIGN = """
name = "my-words"
max_side = 480
[[channels]]
extractor = "DenseSIFT"
params = { bin_size = [4, 8], step = 6 }
words = { codebook = "hik", n_words = 500, pyramid = 31 }
weight = 1.0
[classifier]
kind = "kernel"
kernel = "gcs"
C = 10.0
params = { radius = 4.0 }
"""

OWN = Recipe(
    "own",
    "",
    (
        Channel("HOG", {"resize_wh": [64, 64]}, power=None),
        Channel("DenseSIFT", fisher=Fisher(pyramid=31, weights=(2.2, 1.4, 1.0)), weight=0.5),
        Channel("DenseSIFT", sets=MatchedSets()),
    ),
    classifier=Classifier("pmsvm", "power_mean", params={"p": float("-inf"), "table_size": None}),
    max_side=None,
)


@pytest.mark.parametrize("recipe", [*RECIPES.values(), OWN], ids=lambda recipe: recipe.name)
def test_every_recipe_survives_toml_to_the_byte_and_built_in_ones_pass_their_check(recipe):
    restored = Recipe.from_toml(recipe.to_toml())
    assert restored == recipe
    assert restored.to_toml() == recipe.to_toml()
    if recipe is not OWN:
        check_recipe(recipe)


def test_the_documented_example_means_what_it_says_as_flags_do(tmp_path):
    (tmp_path / "mine.toml").write_text(DESIGN)
    recipe = read_recipe(str(tmp_path / "mine.toml"))
    assert recipe == Recipe.from_toml(DESIGN)
    (channel,) = recipe.channels
    assert channel.params == {"bin_size": [4, 8], "step": 6}
    assert channel.words == Words("hik", 500, 31)
    assert recipe.max_side == 480
    params = {"kernel_params": {"radius": 4.0}}
    assert recipe.classifier == Classifier("kernel", "gcs", 10.0, params)
    flags = compose(
        features=["DenseSIFT(bin_size=[4, 8], step=6)"],
        changes=[
            *[("codebook", "hik"), ("words", 500), ("kernel", "gcs"), ("C", 10.0)],
            *[("radius", 4.0), ("max_side", 480), ("recipe.name", "my-words")],
        ],
    )
    assert flags == recipe


def test_numbers_of_numpy_are_plain_numbers_in_a_recipe():
    recipe = change_recipe(
        RECIPES["words"], n_words=np.int64(50), pyramid=np.int64(21), C=np.float64(0.5)
    )
    assert Recipe.from_toml(recipe.to_toml()) == recipe
    assert json.dumps(recipe.to_json())


def test_a_built_in_recipe_and_its_text_give_the_same_model_bytes(photos, tmp_path, capsys):
    assert main(["recipes", "--show", "fast"]) == 0
    (tmp_path / "w.toml").write_text(capsys.readouterr().out)
    for recipe, model in (("fast", "built-in.vw"), (str(tmp_path / "w.toml"), "text.vw")):
        command = ["train", str(photos), "-o", str(tmp_path / model), "--recipe", recipe, "--quiet"]
        assert main([*command, "--cache", str(tmp_path / "cache"), "--jobs", "1"]) == 0
    assert (tmp_path / "text.vw").read_bytes() == (tmp_path / "built-in.vw").read_bytes()


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('"DenseSIFT"', '"DenseSift"', "no extractor 'DenseSift'; did you mean 'DenseSIFT'"),
        ("step = 6", "stap = 6", "no parameter of DenseSIFT 'stap'; did you mean 'step'"),
        ('"hik"', '"hick"', "codebook = 'hick' must be one of kmeans, kmeans-root, hik"),
        ("n_words = 500", "n_words = 0", "n_words = 0 must be a whole number, at least 1"),
        ("n_words = 500", "words = 500", "no setting of words 'words'; did you mean 'n_words'"),
        ("n_words = 500", 'init = "k-means++"', "init is no setting of the codebook 'hik'"),
        ("pyramid = 31", "pyramid = 30", "pyramid = 30: choose 1, 8, 21 or 31"),
        ('"gcs"', '"gsc"', "no kernel 'gsc'; did you mean 'gcs'"),
        ("radius", "radios", "no parameter of classifier 'kernel' 'radios'; did you mean 'radius'"),
        ("C = 10.0", "C = inf", "C = inf must be a positive number"),
        ("max_side = 480", "min_side = 800", "min_side = 800 must be at most max_side = 640"),
        ("max_side = 480", 'views = "flip"', 'must be "mirror", "rotations"'),
        ("[[channels]]", "[channels]", r"write \[\[channels\]\]"),
        ("weight", "wait", "no setting of channel 1 'wait'; did you mean 'weight'"),
        ('name = "my-words"', "name = my-words", "not TOML"),
    ],
)
def test_a_wrong_name_or_value_is_one_sentence_with_the_choices(old, new, sentence):
    assert old in DESIGN
    with pytest.raises(RecipeError, match=sentence) as problem:
        Recipe.from_toml(DESIGN.replace(old, new, 1))
    assert "\n" not in str(problem.value)


@pytest.mark.parametrize(
    ("features", "changes", "sentence"),
    [
        (["DenseSIFT(step=0)"], [], "DenseSIFT.*step=0 must be at least 1"),
        (["DenseSIFT(print(1))"], [], "is not understood; write it as DenseSIFT"),
        (["DenseSIFT"], [("sets", True), ("kernel", "hik")], "sets are compared by the pyramid"),
        (["DenseSIFT"], [("kernel", "pyramid_match")], "every channel needs sets"),
        (["DenseSIFT"], [("sets", 1), ("normalization", "min_cardinality")], "no other channel"),
        (["DenseSIFT"], [("fisher", 4), ("solver", "pmsvm")], "Fisher vectors have negative"),
        (["ColorHistogram"], [("hashes.n_hashes", 8), ("kernel", "hik")], "hashes need a class"),
        (["DenseSIFT"], [("solver", "icd"), ("kernel", "gcs")], "'icd' computes the kernel hik"),
        (["DenseSIFT"], [("solver", "pmsvm"), ("kernel", "gcs")], "computes additive kernels"),
        (["DenseSIFT"], [("loss", "huber")], "loss='huber'"),
        (["DenseSIFT"], [("power", 0.5)], "write channels.power or words.power"),
        (["DenseSIFT"], [("fisher", 4), ("fisher.n_components", 500)], "n_components"),
        (["HOG(resize_wh=[64, 64])"], [("pyramid", 8)], "pyramid can't be set"),
    ],
)
def test_parts_that_do_not_fit_are_found_without_images(features, changes, sentence):
    with pytest.raises(RecipeError, match=sentence) as problem:
        check_recipe(compose(None, features, changes))
    assert "\n" not in str(problem.value)


@pytest.mark.parametrize("group", ["words", "sets", "hashes"])
def test_none_is_a_word_in_texts(group):
    name = {"words": "norm", "sets": "normalization", "hashes": "n_bits"}[group]
    base = base_for(group, name)
    made = changed(base, group, name, None)
    assert made != base
    assert Recipe.from_toml(made.to_toml()) == made
    composed = compose(base, changes=[(f"{group}.{name}", "none")])
    assert composed.channels == made.channels


def test_a_file_that_is_not_there_and_a_name_that_is_not_known(tmp_path):
    with pytest.raises(RecipeError, match=r"missing\.toml: no such file"):
        read_recipe("missing.toml")
    with pytest.raises(RecipeError, match="no recipe 'wrods'; did you mean 'words'"):
        read_recipe("wrods")
    (tmp_path / "not.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(RecipeError, match=r"not\.toml: not a text file"):
        read_recipe(str(tmp_path / "not.toml"))


def test_a_feature_is_parsed_not_executed(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("")
    with pytest.raises(RecipeError, match="is not understood"):
        feature_table(f"HOG(cell_size=__import__('os').remove({str(victim)!r}))")
    assert victim.exists()
    assert feature_table("HOG")["extractor"] == "HOG"


def test_values_to_vary_are_split_outside_of_brackets():
    assert variations("params.bin_size=4,[4, 8]") == ("params.bin_size", [4, [4, 8]])
    with pytest.raises(RecipeError, match="write it as key=first,second"):
        variations("kernel")


def test_settings_that_a_recipe_does_not_have_are_refused():
    assert change_recipe(RECIPES["rich-fisher"], pyramid=21).channels[0].fisher.weights is None
    with pytest.raises(ValueError, match="no setting of this recipe 'n_words'"):
        change_recipe(RECIPES["tiny"], n_words=5)
    assert change_recipe(RECIPES["tiny"], n_words=5, strict=False) == RECIPES["tiny"]
