"""Recipes as TOML, Python values and flags: three forms of one thing, and their errors."""

import json
from dataclasses import replace

import pytest

from visualwords.apps.classify_images.main import main
from visualwords.apps.pipeline.channel import Channel, Fisher, Hashes, SecondOrder, Words
from visualwords.apps.pipeline.composing import compose, feature_table, read_recipe, variations
from visualwords.apps.pipeline.recipe import Recipe
from visualwords.apps.pipeline.recipe_check import check_recipe
from visualwords.apps.pipeline.recipes import RECIPES
from visualwords.errors import RecipeError

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


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_survives_toml_to_the_byte(name):
    restored = Recipe.from_toml(RECIPES[name].to_toml())
    assert restored == RECIPES[name]
    assert json.dumps(restored.to_json()) == json.dumps(RECIPES[name].to_json())


def test_a_built_in_recipe_and_its_text_give_the_same_model_bytes(photos, tmp_path, capsys):
    assert main(["recipes", "--show", "words"]) == 0
    (tmp_path / "w.toml").write_text(capsys.readouterr().out)
    for recipe, model in (("words", "built-in.vw"), (str(tmp_path / "w.toml"), "text.vw")):
        command = ["train", str(photos), "-o", str(tmp_path / model), "--recipe", recipe, "--quiet"]
        assert main([*command, "--cache", str(tmp_path / "cache"), "--jobs", "1"]) == 0
    assert (tmp_path / "text.vw").read_bytes() == (tmp_path / "built-in.vw").read_bytes()


COUNTS = Words(norm=None, scope="image", pyramid=["1x1", "3x1"])
OWN = [
    Recipe("a", "", (Channel("HOG", power=0.5, weight=2.0),), max_side=None),
    Recipe(
        "b",
        'a "quoted" \\ ü',
        (Channel("Centrist", hashes=Hashes(64)),),
        classifier="LinearClassifier",
    ),
    Recipe(
        "c",
        "",
        (Channel("DenseSIFT", words=COUNTS, rescale=False),),
        classifier_params={"loss": "hinge", "C": 0.5},
    ),
    Recipe(
        "d",
        "",
        (Channel("DenseSIFT", fisher=Fisher(pyramid=31, weights=None)),),
        classifier="KernelSVC",
        classifier_params={
            "kernel": "laplace",
            "kernel_params": {"sigma": 2.0},
            "sub_polynomial": None,
        },
    ),
    Recipe(
        "second",
        "",
        (
            Channel("DenseSIFT", second_order=SecondOrder(32), linear=True),
            Channel(
                "DenseSIFT",
                second_order=SecondOrder(pyramid=31, weights=(2.2, 1.4, 1.0)),
                linear=True,
            ),
            Channel(
                "DenseSIFT", second_order=SecondOrder(pyramid="3x1", weights=None), linear=True
            ),
        ),
        classifier="ByteLinearClassifier",
    ),
    Recipe(
        "e",
        "",
        (Channel("DenseSIFT", words=Words("HIKCodebook", {"n_levels": 64})),),
        classifier="PmSVMClassifier",
        classifier_params={"kernel": "power_mean", "p": float("-inf"), "table_size": None},
    ),
]


@pytest.mark.parametrize("recipe", OWN, ids=lambda recipe: recipe.name)
def test_every_setting_survives_toml(recipe):
    assert Recipe.from_toml(recipe.to_toml()) == recipe


def test_the_documented_example_means_what_it_says(tmp_path):
    (tmp_path / "mine.toml").write_text(DESIGN)
    recipe = Recipe.from_toml(tmp_path / "mine.toml")
    assert recipe == Recipe.from_toml(DESIGN)
    (channel,) = recipe.channels
    assert channel.params == {"bin_size": [4, 8], "step": 6}
    assert channel.words == Words("HIKCodebook", {}, 500, 31)
    assert (recipe.max_side, recipe.classifier) == (480, "KernelSVC")
    assert recipe.classifier_params == {
        "kernel": "gcs",
        "C": 10.0,
        "kernel_params": {"radius": 4.0},
    }


def test_flags_and_text_give_the_same_recipe():
    flags = compose(
        features=["DenseSIFT(bin_size=[4, 8], step=6)"],
        changes=[
            *[("codebook", "hik"), ("words", 500), ("kernel", "gcs"), ("C", 10.0)],
            *[("radius", 4.0), ("max_side", 480), ("recipe.name", "my-words")],
        ],
    )
    text = Recipe.from_toml(DESIGN)
    assert flags.to_json() | {"name": "my-words"} == text.to_json()


def test_older_manifests_without_the_new_settings_are_read():
    values = json.loads(json.dumps(RECIPES["words"].to_json()))
    assert "hashes" not in values["channels"][0]
    assert Recipe.from_json(values) == RECIPES["words"]


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('"DenseSIFT"', '"DenseSift"', "no extractor 'DenseSift'; did you mean 'DenseSIFT'"),
        ("step = 6", "stap = 6", "no parameter of DenseSIFT 'stap'; did you mean 'step'"),
        ('"hik"', '"hick"', "no codebook 'hick'; did you mean 'hik'"),
        ("n_words = 500", "n_words = 0", "n_words = 0 must be a whole number, at least 1"),
        ("n_words = 500", "words = 500", "no setting of words 'words'; did you mean 'n_words'"),
        ("pyramid = 31", "pyramid = 30", "pyramid = 30: choose 1, 8, 21 or 31"),
        ('"kernel"', '"svm"', "no kind of classifier 'svm'; did you mean 'pmsvm'"),
        ('"gcs"', '"gsc"', "no kernel 'gsc'; did you mean 'gcs'"),
        ("radius", "radios", "no parameter of kernel 'gcs' 'radios'; did you mean 'radius'"),
        ("C = 10.0", "C = -1", "C = -1 must be a positive number"),
        ("C = 10.0", 'C = "high"', 'C = "high" must be a positive number'),
        ("max_side = 480", "max_side = 0", "must be a whole number of pixels"),
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
        (["DenseSIFT"], [("fisher", 4), ("solver", "pmsvm")], "Fisher vectors have negative"),
        (["ColorHistogram"], [("hashes.n_hashes", 8), ("kernel", "hik")], "hashes need a class"),
        (["DenseSIFT"], [("solver", "icd"), ("kernel", "gcs")], "'icd' computes the kernel hik"),
        (["DenseSIFT"], [("solver", "pmsvm"), ("kernel", "gcs")], "computes additive kernels"),
        (["DenseSIFT"], [("loss", "huber")], "loss='huber'"),
        (["DenseSIFT"], [("power", 0.5)], "write channels.power or words.power"),
        (["DenseSIFT"], [("quantisation", "auto")], "did you mean 'quantization'"),
        (["DenseSIFT"], [("words.normm", "l2")], "no setting of words 'normm'"),
        (["DenseSIFT"], [("norm", "l3")], "no norm of words 'l3'"),
        (["DenseSIFT"], [("fisher", 4), ("fisher.n_components", 500)], "n_components"),
    ],
)
def test_parts_that_do_not_fit_are_found_without_images(features, changes, sentence):
    with pytest.raises(RecipeError, match=sentence) as problem:
        check_recipe(compose(None, features, changes))
    assert "\n" not in str(problem.value)


def test_a_file_that_is_not_there_and_a_name_that_is_not_known():
    with pytest.raises(RecipeError, match=r"missing\.toml: no such file"):
        read_recipe("missing.toml")
    with pytest.raises(RecipeError, match="no recipe 'wrods'; did you mean 'words'"):
        read_recipe("wrods")


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


@pytest.mark.parametrize("recipe", ["words", "scene", "object"])
def test_the_built_in_recipes_pass_their_own_check(recipe):
    check_recipe(RECIPES[recipe])


def test_ridge_regression_survives_a_round_trip():
    recipe = replace(RECIPES["photo"], classifier_params={"loss": "squared_error", "C": 100.0})
    assert Recipe.from_toml(recipe.to_toml()) == recipe
