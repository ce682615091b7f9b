"""Which changes are tried, and what is kept of them."""

from dataclasses import replace

import numpy as np
import pytest

from tests.apps.pipeline.search.made_up import result, searched
from visualwords.apps.pipeline.channel import Channel
from visualwords.apps.pipeline.costs import (
    SHARE_OF_A_CORE,
    Images,
    bytes_of,
    cost_of,
    ms_of_logarithms,
)
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.decision import Decision
from visualwords.apps.pipeline.metric import Metric
from visualwords.apps.pipeline.recipe import Recipe
from visualwords.apps.pipeline.recipes import LINEAR, RECIPES, recipes_to_try
from visualwords.apps.pipeline.search import steps
from visualwords.apps.pipeline.search.noise import Result, leads
from visualwords.apps.pipeline.search.planning import plan
from visualwords.apps.pipeline.search.variations import changes, kind_of
from visualwords.apps.pipeline.stages import Environment
from visualwords.apps.pipeline.training import Training

GIVEN = Channel("ONNXFeatures", {"path": "a.onnx"}, linear=True, weight=4.0)


def test_the_last_changes_are_more_gaussians_or_words_and_another_size():
    def last(recipe, size):
        return [change(recipe) for change in changes([recipe], Images(100, (size,)))[-3:]]

    finer, smaller, larger = last(RECIPES["photo"], (100, 80))
    assert finer.channels[0].fisher.n_gaussians == 128
    assert finer.channels[0].cost > RECIPES["photo"].channels[0].cost
    assert finer.channels[1:] == RECIPES["photo"].channels[1:]
    assert smaller is None
    assert larger.min_side == 200
    finer, smaller, larger = last(replace(RECIPES["words"], max_side=240), (500, 300))
    assert finer.channels[0].words.n_words == 400
    assert smaller.max_side == 180
    assert larger.max_side == 480
    _, _, larger = last(replace(RECIPES["photo"], max_side=240), (128, 128))
    assert (larger.min_side, larger.max_side) == (256, 256)  # not shrunk, if a budget is short
    finer, smaller, larger = last(RECIPES["color"], (500, 300))
    assert finer is larger is None
    assert smaller.max_side == 375
    _, _, larger = last(smaller, (500, 300))
    assert larger.max_side == RECIPES["color"].max_side  # which was tried


def test_ridge_regression_is_tried_in_place_of_linear_svms_alone():
    best, tried = searched({"ridge": 0.1}, Images(100), 10_000, [RECIPES["photo"]])
    assert best.classifier_params["loss"] == "squared_error"
    assert max(step.recipe.name.count("ridge") for step in tried) == 1
    best, _ = searched({"ridge": -0.1}, Images(100), 10_000, [RECIPES["photo"]])
    assert "loss" not in best.classifier_params
    _, tried = searched({}, Images(100), 10_000, [RECIPES["words"]])
    assert not any("ridge" in step.recipe.name for step in tried)


def test_second_moments_are_tried_of_the_patches_that_fisher_vectors_are_of():
    best, tried = searched({"second-order": 0.1}, Images(100), 10_000, [RECIPES["object"]])
    added, first = best.channels[-1], RECIPES["object"].channels[0]
    assert (added.extractor, added.params) == (first.extractor, first.params)
    assert added.second_order.pyramid == first.fisher.pyramid
    assert added.second_order.weights == first.fisher.weights
    assert added.cost > first.cost
    assert sum("second-order" in step.recipe.name.split("+") for step in tried) >= 1
    assert max(step.recipe.name.count("second-order") for step in tried) == 1
    _, tried = searched({}, Images(100), 10_000, [RECIPES["words"]])
    assert not any("second-order" in step.recipe.name for step in tried)


def test_second_moments_of_filters_are_tried_in_the_windows_of_the_recipe():
    merits = {"filter-moments": 0.1, "second-order": 0.1}
    best, _ = searched(merits, Images(100), 10_000, [RECIPES["object"]])
    filters, sift = best.channels[-2:]
    assert (filters.extractor, sift.extractor) == ("DenseFilters", "DenseSIFT")
    assert filters.second_order == sift.second_order
    assert filters.params == RECIPES["moments"].channels[1].params
    assert filters.second_order == RECIPES["moments"].channels[1].second_order
    for name in ("moments", "words"):
        _, tried = searched({}, Images(100), 10_000, [RECIPES[name]])
        assert not any("filter-moments" in step.recipe.name for step in tried)


def test_second_moments_of_filters_come_first_where_the_budget_left_recipes_out():
    for budget, is_first in ((45, True), (10_000, False)):
        candidates = [RECIPES["photo"], RECIPES["object"]]
        planned = plan(candidates, Images(500), budget)
        assert bool(planned.left_out) is is_first
        _, tried = searched({"photo": 0.2}, Images(500), budget, candidates)
        changed = next(step.recipe.name for step in tried if "+" in step.recipe.name)
        assert changed == ("photo+filter-moments" if is_first else "photo+DenseFilters-fisher")


def test_logarithms_of_second_moments_cost_the_same_whatever_the_size():
    moments = [replace(RECIPES["moments"], channels=RECIPES["moments"].channels[:1])]
    tiny, small, large = (cost_of(moments, Images(500, ((n, n),))) for n in (16, 64, 640))
    logarithms = 0.5 * SHARE_OF_A_CORE * ms_of_logarithms(moments[0].channels[0].second_order)
    assert logarithms < tiny < small < tiny + 1
    assert large > 5 * small


def test_channels_of_all_linear_recipes_are_mixed_with_those_of_the_best():
    candidates = [RECIPES[name] for name in ("color", "photo", "scene")]
    best, tried = searched({"photo": 0.1, " mixed": 0.1}, Images(100), 10_000, candidates)
    first = tried[3]
    assert first.recipe == replace(RECIPES["photo"], name="photo mixed")
    assert first.others == RECIPES["scene"].channels[1:]
    assert best.channels[:3] == (*RECIPES["photo"].channels, *first.others)
    assert first.until > tried[2].until
    _, tried = searched({"color": 0.4}, Images(100), 10_000, [RECIPES["color"]])
    assert not any(step.others for step in tried)


def test_a_channel_that_folds_refuse_beside_others_is_not_tried_again():
    _, tried = searched({"photo": 0.1}, Images(100), 10_000, [RECIPES["photo"]])
    first, *added = [step for step in tried if step.mixes]
    assert (first.recipe.name, first.others) == ("photo mixed", ())  # its own channels
    assert all(len(step.others) == 1 for step in added)
    assert len({repr(step.others[0].unweighted) for step in added}) == len(added)


def test_channels_are_offered_again_in_another_size():
    merits = {"photo": 0.1, "225 pixels": 0.1}
    _, tried = searched(merits, Images(100, ((300, 250),)), 10_000, [RECIPES["photo"]])
    for pixels in (640, 225):
        offered = [step.others[0] for step in tried if step.others]
        sides = [step.recipe.max_side for step in tried if step.others]
        assert any(c.extractor == "HOG" and s == pixels for c, s in zip(offered, sides))


@pytest.mark.parametrize("given", [None, Recipe("net", "", (GIVEN,), classifier=LINEAR)])
def test_names_are_unique_with_views_and_given_channels(given):
    merits = {"photo": 0.1, "mirror": 0.1, " mixed": 0.05, "C=1": 0.05, "net": 0.05}
    candidates = [RECIPES["photo"], RECIPES["scene"], *([] if given is None else [given])]
    _, tried = searched(merits, Images(100), 10_000, candidates, given)
    names = [step.recipe.name for step in tried]
    assert len(set(names)) == len(names)
    assert not any(step.mixes and step.recipe.views and not step.others for step in tried)


def test_two_networks_are_channels_of_two_kinds():
    other = replace(GIVEN, params={"path": "b.onnx"})
    assert kind_of(GIVEN) != kind_of(other)


def test_channels_that_are_mixed_fit_into_memory():
    candidates = [RECIPES[name] for name in ("photo", "object", "moments")]
    many = Images(2000, ((96, 96),))
    assert cost_of([RECIPES["moments"]], many) < cost_of([RECIPES["object"]], many)
    _, tried = searched({"photo": 0.1, " mixed": 0.1}, many, 10_000, candidates)
    mixes = [step for step in tried if step.recipe.name == "photo mixed"]
    assert len(mixes) == 1
    for step in mixes:
        largest = replace(step.recipe, channels=(*step.recipe.channels, *step.others))
        assert bytes_of(largest, many) <= steps.MOST_BYTES
    assert {*map(kind_of, mixes[0].others)} == {*map(kind_of, RECIPES["moments"].channels)} - {
        *map(kind_of, RECIPES["photo"].channels)
    }
    assert RECIPES["object"].channels[1] not in mixes[0].others


def test_colors_of_patches_are_not_described_where_images_are_grey():
    grey = Images(100, grey=True)
    planned = plan(recipes_to_try(), grey, 10_000)
    names = [recipe.name for recipe in planned.recipes]
    assert "vivid in grey" not in names  # it is photo
    assert not any("chromatic" in name for name in names)  # all its patches are coloured
    assert {"photo", "color", "object in grey", "combined in grey"} <= set(names)
    assert names.index("tiny") < names.index("photo") < names.index("object in grey")
    _, tried = searched({}, grey, 1e5, recipes_to_try())
    channels = [channel for step in tried for channel in step.recipe.channels]
    assert not any(c.extractor == "ColorStatistics" or "color" in c.params for c in channels)
    _, tried = searched({}, Images(100), 1e5, recipes_to_try())
    assert any(step.recipe.name == "vivid" for step in tried)


def test_channels_that_do_not_help_are_left_out():
    merits = {"words": 0.2, "without Centrist-words": 0.1}
    best, _ = searched(merits, Images(100), 10_000, [RECIPES["words"]])
    assert best.channels == RECIPES["words"].channels[:1]
    alone = replace(RECIPES["words"], channels=best.channels)
    made = [change(alone) for change in changes([alone], Images(100))]
    assert all(recipe is None or recipe.channels for recipe in made)


def test_changes_are_tried_again_on_what_became_of_the_best():
    merits = {"rotations": 0.1, "rotations mirror": 0.1}  # which helps with rotations alone
    best, tried = searched(merits, Images(100), 1e5, [RECIPES["photo"]])
    assert best.views == ("mirror", "rotations")
    made = [
        repr((sorted(map(repr, r.channels)), r.views, r.classifier_params, r.min_side, r.max_side))
        + repr((step.mixes, step.others))
        for step in tried
        for r in [step.recipe]
    ]
    assert len(made) == len(set(made))


def test_what_gains_is_kept_one_change_after_the_other():
    candidates = [RECIPES[name] for name in ("color", "photo", "scene")]
    merits = {"photo": 0.2, "HOG": 0.1, "mirror": -0.1, "rotations": 0.1, "C=1": 0.05}
    best, tried = searched(merits, Images(100), 10_000, candidates)
    assert [channel.extractor for channel in best.channels] == [
        "DenseSIFT",
        "ColorHistogram",
        "HOG",
    ]
    assert best.views == ("rotations",)
    assert best.classifier_params == {"C": 1.0}
    names = [step.recipe.name for step in tried]
    assert len(set(names)) == len(names)
    assert [step.until for step in tried] == sorted(step.until for step in tried)
    assert tried[-1].until <= 10_000


def test_a_lead_inside_noise_does_not_change_the_choice():
    best, _ = searched({"photo": 0.3}, Images(1000), 1e5, [RECIPES["photo"]])
    assert best == RECIPES["photo"]
    cheaper = result(0.8)
    gains = {i: float(i < 78 or 80 <= i < 83) for i in range(100)}  # three more, two less
    assert not leads(replace(cheaper, figure=0.81, merit=0.81, gains=gains), cheaper)
    assert leads(replace(result(0.83), likelihoods=cheaper.likelihoods), cheaper)


def test_probabilities_decide_between_labels_that_differ_by_chance():
    everywhere = dict.fromkeys(range(50), 0)
    right = {i: float(i % 5 > 0) for i in everywhere}
    likelihoods = {i: -0.5 - 0.01 * (i % 7) for i in everywhere}
    plain = Result(RECIPES["photo"], 0.8, 0.8, right, likelihoods, everywhere)
    surer = replace(plain, likelihoods={i: p + 0.1 for i, p in plain.likelihoods.items()})
    mixed = replace(plain, likelihoods={i: (-1.0) ** i for i in everywhere})
    assert leads(surer, plain)
    assert not leads(plain, surer)
    assert not leads(
        mixed, replace(mixed, likelihoods={i: -v for i, v in mixed.likelihoods.items()})
    )


def test_changes_come_after_all_recipes_that_the_budget_holds():
    planned = plan(recipes_to_try(), Images(400), 20)
    _, tried = searched({}, Images(400), 20, recipes_to_try())
    assert planned.left_out
    n = len(planned.recipes)
    assert [step.recipe for step in tried[:n]] == planned.recipes
    assert all(step.recipe not in RECIPES.values() for step in tried[n:])


def test_the_best_of_a_sample_are_tried_on_more_images():
    images = Images(25_000, ((96, 96),))
    candidates = [RECIPES[name] for name in ("color", "texture", "tiny", "fast", "words")]
    best, tried = searched({"words": 0.2, "fast": 0.1, "tiny": 0.05}, images, 240, candidates)
    sizes = {step.n_images for step in tried}
    first = min(sizes)
    assert sizes == {first, 4 * first}
    finals = [step.recipe.name for step in tried if step.n_images > first]
    assert finals[:3] == ["tiny", "fast", "words"]
    assert best.name.startswith("words")


def test_a_search_among_histograms_adds_no_patches():
    candidates = recipes_to_try("histogram")
    _, tried = searched({}, Images(100), 1e5, candidates)
    assert all(channel.representation is None for step in tried for channel in step.recipe.channels)


def test_views_are_not_tried_where_they_were_given_or_can_not_be_trained_on():
    def tries_views(candidates, **options):
        possible = changes(candidates, Images(100), **options)
        made = [change(candidates[0]) for change in possible]
        return any(recipe is not None and recipe.views for recipe in made)

    photo = RECIPES["photo"]
    assert tries_views([photo])
    assert not tries_views([photo], with_views=False)
    given = replace(photo, views=("mirror",))
    assert all(
        recipe is None or recipe.views == ("mirror",)
        for recipe in (change(given) for change in changes([given], Images(100)))
    )


def test_figures_of_few_images_are_means_over_divisions(photos):
    data = Dataset.of(photos)
    trained = Training(data, 0, Environment()).try_recipe(RECIPES["color"])
    decision = Decision.of(data.classes, None, None, None)
    metric = Metric("mean-per-class", decision, None)
    divisions = [trained.held_out, *trained.held_out_again]
    assert len(divisions) == 5
    alone = [
        Result.of(replace(trained, held_out=scores, held_out_again=()), metric)
        for scores in divisions
    ]
    found = Result.of(trained, metric)
    assert found.figure == pytest.approx(np.mean([one.figure for one in alone]))
    for i in (0, 7):
        assert found.gains[i] == pytest.approx(np.mean([one.gains[i] for one in alone]))
        expected = np.mean([one.likelihoods[i] for one in alone])
        assert found.likelihoods[i] == pytest.approx(expected)
