"""What "auto" plans to try, and that the plan depends on the images alone."""

import subprocess
import sys
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import click
import numpy as np
import pytest

from tests.apps.conftest import COLORS, noisy, write_png
from visualwords import ImageClassifier, load
from visualwords.apps.classify_images.main import main
from visualwords.apps.classify_images.running import _repeating
from visualwords.apps.classify_images.train import train
from visualwords.apps.pipeline import image_classifier
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.recipes import RECIPES, Channel, recipes_to_try
from visualwords.apps.pipeline.search import choosing, sample, steps
from visualwords.apps.pipeline.search.costs import Images, cost_of
from visualwords.apps.pipeline.search.joining import BESIDE_FISHER, alone, join, seconds_to_join
from visualwords.apps.pipeline.search.noise import Result, leads
from visualwords.apps.pipeline.search.sample import some_images
from visualwords.apps.pipeline.search.steps import plan, plan_with, search
from visualwords.apps.pipeline.search.variations import changes
from visualwords.apps.pipeline.view import View
from visualwords.progress import Silent


@pytest.mark.parametrize("n", [400, 1500, 25_000])
@pytest.mark.parametrize("budget", [0.1, 10, 30, 600])
def test_cheap_recipes_come_first_and_the_budget_holds(budget, n):
    planned = plan(recipes_to_try(), Images(n), budget)
    some = Images(planned.n_images)
    costs = [cost_of([recipe], some) for recipe in planned.recipes]
    assert costs == sorted(costs)
    assert planned.seconds == sorted(planned.seconds)
    assert planned.seconds[-1] <= budget or len(planned.recipes) == 1
    names = {recipe.name for recipe in planned.recipes + planned.left_out}
    assert names == set(RECIPES) - {"rich-words", "pyramid-match"}


def test_a_shared_channel_counts_once():
    scene, photo = (replace(RECIPES[name], max_side=600) for name in ("scene", "photo"))
    images = Images(100)
    both = cost_of([photo, scene], images)
    assert both < cost_of([photo], images) + cost_of([scene], images)
    assert both == pytest.approx(cost_of([photo], images) + cost_of([scene], images, known=[photo]))
    enough = both / steps.FOR_FIRST
    assert plan([scene, photo], images, enough + 1e-9).recipes == [photo, scene]
    assert plan([scene, photo], images, enough - 0.01).recipes == [photo]


def test_copies_cost_as_much_as_originals_but_learn_nothing():
    recipe, images = RECIPES["fast"], Images(5)  # few: the classifier costs next to nothing
    mirrored = replace(recipe, copies=("mirror",))
    turned = replace(recipe, copies=("mirror", "rotations"))
    one = cost_of([mirrored], images) - cost_of([recipe], images)
    assert one < cost_of([recipe], images)
    all_copies = cost_of([turned], images) - cost_of([recipe], images)
    assert all_copies == pytest.approx(7 * one, rel=0.02)  # more rows for the classifier


def test_many_images_are_ranked_on_a_sample_that_leaves_half_of_the_budget():
    sizes = ((96, 96),)
    planned = plan(recipes_to_try(), Images(25_000, sizes), 60)
    assert planned.n_images in (500, 1000, 2000)
    assert planned.seconds[-1] <= 30
    latest = steps.LATER * 60
    assert all(cost_of([r], Images(25_000, sizes)) <= latest for r in planned.recipes)
    assert "photo" in {recipe.name for recipe in planned.recipes}
    assert plan(recipes_to_try(), Images(400, sizes), 60).n_images == 400


def test_words_make_room_for_fisher_vectors_where_the_budget_does_not_hold_both():
    candidates, images = [RECIPES["words"], RECIPES["scene"]], Images(1000)
    both = cost_of(sorted(candidates, key=lambda r: cost_of([r], images)), images)
    enough = both / steps.FOR_RECIPES
    assert len(plan(candidates, images, 1.01 * enough).recipes) == 2
    tight = plan(candidates, images, 0.99 * enough)
    assert [recipe.name for recipe in tight.recipes] == ["scene"]
    assert [recipe.name for recipe in tight.left_out] == ["words"]
    assert [recipe.name for recipe in plan(candidates[:1], images, 0.1).recipes] == ["words"]


def test_small_images_are_enlarged_unless_a_recipe_says_else():
    tiny, usual = Images(100, ((32, 30),)), Images(100, ((300, 200),))
    candidates = [RECIPES["words"], replace(RECIPES["fast"], min_side=48)]
    assert {r.min_side for r in plan(candidates, tiny, 60).recipes} == {96, 48}
    assert {r.min_side for r in plan(candidates, usual, 60).recipes} == {None, 48}


def test_a_budget_is_spent_on_the_most_promising_recipes_first():
    for n in (200, 500, 1000, 1500, 2000):
        for size in ((32, 32), (224, 224), (300, 250), (640, 480), (3000, 2000)):
            planned = plan(recipes_to_try(), Images(n, (size,)), 60)
            names = {recipe.name for recipe in planned.recipes}
            assert {"photo", "vivid"} <= names
            assert n >= 1500 or set(steps.FIRST) <= names
            assert planned.seconds[-1] <= steps.FOR_FIRST * 60


def test_large_images_are_shrunk_where_the_budget_is_short_and_no_size_is_given():
    many, few = Images(2000, ((500, 375),)), Images(100, ((500, 375),))
    candidates = [RECIPES["photo"], replace(RECIPES["scene"], max_side=600)]
    assert {r.max_side for r in plan(candidates, few, 60).recipes} == {640, 600}
    sides = [r.max_side for r in plan([RECIPES["photo"], RECIPES["vivid"]], many, 60).recipes]
    assert len(set(sides)) == 1
    assert sides[0] in steps.SIDES[1:]
    assert plan(candidates[1:], many, 60).recipes[0].max_side == 600


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
    finer, smaller, larger = last(RECIPES["color"], (500, 300))
    assert finer is larger is None
    assert smaller.max_side == 375
    _, _, larger = last(smaller, (500, 300))
    assert larger.max_side == RECIPES["color"].max_side  # which was tried


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


def test_colors_of_patches_may_count_more():
    best, _ = searched({"colors×2": 0.1}, Images(100), 10_000, [RECIPES["vivid"]])
    weights = [channel.weight for channel in best.channels]
    usual = [channel.weight for channel in RECIPES["vivid"].channels]
    assert weights == [usual[0], 2 * usual[1], usual[2]]


def test_colors_of_patches_are_not_described_where_images_are_grey():
    grey = Images(100, grey=True)
    planned = plan(recipes_to_try(), grey, 10_000)
    names = [recipe.name for recipe in planned.recipes]
    assert "vivid in grey" not in names  # it is photo
    assert {"photo", "color", "object in grey", "combined in grey"} <= set(names)
    assert names.index("tiny") < names.index("photo") < names.index("object in grey")
    _, tried = searched({}, grey, 1e5, recipes_to_try())
    channels = [channel for step in tried for channel in step.recipe.channels]
    assert not any(c.extractor == "ColorStatistics" or "color" in c.params for c in channels)
    _, tried = searched({}, Images(100), 1e5, recipes_to_try())
    assert any(step.recipe.name == "vivid" for step in tried)


def test_auto_knows_that_images_are_grey(monkeypatch):
    told = []

    def choose(*arguments):
        told.append(arguments[-1])
        return choosing.Choice(RECIPES["color"], {}, {}, [], None)

    monkeypatch.setattr(image_classifier, "choose_recipe", choose)
    rng = np.random.default_rng(0)
    images = [rng.integers(0, 255, (40, 48, 1), np.uint8).repeat(3, axis=2) for _ in range(8)]
    ImageClassifier().fit(images, ["a", "b"] * 4)
    images[3][:, :, 0] = 0
    ImageClassifier().fit(images, ["a", "b"] * 4)
    assert told == [True, False]


def test_channels_that_do_not_help_are_left_out():
    merits = {"scene": 0.2, "without Centrist-fisher": 0.1}
    best, _ = searched(merits, Images(100), 10_000, [RECIPES["scene"]])
    assert best.channels == RECIPES["scene"].channels[:1]
    alone = replace(RECIPES["scene"], channels=best.channels)
    made = [change(alone) for change in changes([alone], Images(100))]
    assert all(recipe is None or recipe.channels for recipe in made)


def result(merit, n=100):
    right = {i: float(i < merit * n) for i in range(n)}
    return Result(merit, merit, right, right, dict.fromkeys(right, 0))


def searched(merits, images, budget, candidates, given=None):
    """Run a search in which recipes reach what `merits` says by parts of their names."""
    planned = plan_with(given, candidates, images, budget)
    tries, tried, sent = search(planned, images, budget), [], None
    while True:
        try:
            step = tries.send(sent)
        except StopIteration as end:
            return end.value, tried
        tried.append(step)
        sent = result_of(merits, step.recipe)


def result_of(merits, recipe):
    return result(0.5 + sum(gain for part, gain in merits.items() if part in recipe.name))


def test_changes_are_tried_again_on_what_became_of_the_best():
    merits = {"rotations": 0.1, "rotations+HOG": 0.1}  # HOG helps with rotations alone
    best, tried = searched(merits, Images(100), 1e5, [RECIPES["photo"]])
    assert "HOG" in [channel.extractor for channel in best.channels]
    assert best.copies == ("rotations",)
    made = [
        repr((sorted(map(repr, r.channels)), r.copies, r.classifier_params, r.min_side, r.max_side))
        for r in (step.recipe for step in tried)
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
    assert best.copies == ("rotations",)
    assert best.classifier_params == {"C": 1.0}
    names = [step.recipe.name for step in tried]
    assert len(set(names)) == len(names)
    assert [step.until for step in tried] == sorted(step.until for step in tried)
    assert tried[-1].until <= 10_000


GIVEN = alone([Channel("ORB", power=None)])
BUILT_IN = [RECIPES[name] for name in ("color", "photo", "scene")]


def with_given(merits, images, budget, candidates=BUILT_IN):
    """Run a search with a given recipe; return the best, and the names tried before and after."""
    best, tried = searched(merits, images, budget, [*candidates, GIVEN], GIVEN)
    names = [step.recipe.name for step in tried]
    return best, names[: names.index("ORB")], names[names.index("ORB") :]


def test_given_channels_are_tried_alone_then_beside_the_best_with_several_weights():
    merits = {"photo": 0.1, "scene": 0.05, "ORB": 0.05, "×2": 0.05, "HOG": 0.02}
    best, before, after = with_given(merits, Images(400), 1e5)
    assert sorted(before[:3]) == ["color", "photo", "scene"]
    assert not any("ORB" in name for name in before)
    assert after[:6] == [
        "ORB",
        "photo+HOG+ORB",
        "scene+ORB",
        "photo+HOG+ORB weight×0.5",
        "photo+HOG+ORB weight×2",
        "photo+HOG+ORB weight×4",
    ]
    assert best.name == "photo+HOG+ORB weight×2"
    assert best.channels[-1].weight == 2 * BESIDE_FISHER


@pytest.mark.parametrize("budget", [20, 60, 300])
@pytest.mark.parametrize("n", [150, 1500, 25_000])
def test_built_in_recipes_are_searched_as_without_given_channels(n, budget):
    images = Images(n, ((96, 96),))
    merits = {"vivid": 0.2, "photo": 0.1, "mirror": 0.05, "HOG": 0.05, "ORB": 0.05}
    _, tried = searched(merits, images, budget, [*recipes_to_try(), GIVEN], GIVEN)
    planned = plan_with(GIVEN, [*recipes_to_try(), GIVEN], images, budget)
    assert planned.given is not None
    own, alone_ = searched(merits, images, budget - planned.kept, recipes_to_try())
    names = [(step.recipe, step.n_images, step.until) for step in tried]
    assert names[: len(alone_)] == [(step.recipe, step.n_images, step.until) for step in alone_]
    assert tried[len(alone_)].recipe.name == "ORB"
    assert tried[len(alone_)].best == own
    assert all(step.waiting[-1].name == "ORB" for step in tried[: len(alone_)])
    assert all("ORB" in step.recipe.name for step in tried[len(alone_) : len(alone_) + 3])


@pytest.mark.parametrize("budget", [20, 60, 300])
@pytest.mark.parametrize("n", [150, 1500, 25_000])
def test_the_budget_holds_given_channels_alone_and_beside_the_best(n, budget):
    images = Images(n, ((96, 96),))
    for merits in ({}, {"vivid": 0.2, "rotations": 0.1}, {"photo": 0.1, "pixels": 0.1}):
        _, tried = searched(merits, images, budget, [*recipes_to_try(), GIVEN], GIVEN)
        names = [step.recipe.name for step in tried]
        assert names.count("ORB") == 1
        assert sum("+ORB" in name for name in names) >= 2
        assert [step.until for step in tried] == sorted(step.until for step in tried)
        assert tried[-1].until <= budget


def test_the_weight_of_given_channels_is_doubled_as_long_as_this_helps():
    merits = {"photo": 0.1, "ORB": 0.05, "×2": 0.05, "×4": 0.1, "×8": 0.15, "×16": 0.15}
    best, _, after = with_given(merits, Images(400), 1e5)
    weights = [name for name in after if name.startswith("photo+ORB weight")]
    tried = [f"photo+ORB weight×{factor}" for factor in ("0.5", "2", "4", "8", "16")]
    assert weights[:5] == tried
    assert best.name == "photo+ORB weight×8"
    assert best.channels[-1].weight == 8 * BESIDE_FISHER
    merits = {"photo": 0.1, "ORB": 0.05, "×0.5": 0.05, "×0.25": 0.1}
    assert with_given(merits, Images(400), 1e5)[0].name == "photo+ORB weight×0.25"
    merits = {"photo": 0.1, "ORB": 0.05, "×0.5": 0.05, "×2": 0.1}  # both help, one more
    assert with_given(merits, Images(400), 1e5)[0].name == "photo+ORB weight×2"


def test_weights_are_tried_where_given_channels_are_better_alone():
    merits = {"ORB": 0.3, "+ORB": -0.02, "×2": 0.1}
    best, _, after = with_given(merits, Images(400), 1e5)
    assert best.name.endswith("+ORB weight×2")
    assert after[0] == "ORB"


def test_the_second_of_the_recipes_may_be_the_best_with_given_channels():
    merits = {"photo": 0.1, "scene": 0.05, "scene+ORB": 0.2}
    assert with_given(merits, Images(400), 1e5)[0].name == "scene+ORB"


def test_given_channels_that_are_better_alone_are_tried_beside_others_too():
    best, *_ = with_given({"ORB": 0.3, "photo": 0.1}, Images(400), 1e5)
    assert best.name == "photo+ORB"
    assert with_given({"ORB": 0.3, "+": -0.3}, Images(400), 1e5)[0] == GIVEN


def test_given_channels_that_cost_less_are_taken_where_nothing_is_ahead_of_them():
    cheap = alone([Channel("ORB", power=None, cost=0.01)])
    costly = alone([Channel("ORB", power=None, cost=100.0)])
    for given, name in ((cheap, "ORB"), (costly, "photo")):
        candidates = [RECIPES["photo"], given]
        assert searched({}, Images(400), 1e5, candidates, given)[0].name == name


def test_what_given_channels_do_not_help_stays_without_them():
    for budget in (20, 1e5):
        best, _, after = with_given({"photo": 0.2}, Images(400), budget)
        assert best.name == "photo"
        assert "photo+ORB" in after


def test_the_best_is_neither_behind_built_in_recipes_nor_behind_given_channels_alone(rng):
    for _ in range(20):
        parts = ("photo", "scene", "ORB", "+ORB", "×2", "HOG", "mirror", "C=", "without")
        gains = rng.uniform(-0.1, 0.1, len(parts))
        merits = dict(zip(parts, gains))
        budget = float(rng.choice([20, 60, 1000]))
        images, candidates = Images(400), [*BUILT_IN, GIVEN]
        best, _ = searched(merits, images, budget, candidates, GIVEN)
        kept = plan_with(GIVEN, candidates, images, budget).kept
        own, _ = searched(merits, images, budget - kept, BUILT_IN)
        for other in (own, GIVEN):
            assert not leads(result_of(merits, other), result_of(merits, best))


def test_what_leads_the_best_by_chance_may_not_be_behind_its_rivals():
    everywhere = dict.fromkeys(range(100), 0)

    def reached(right):
        gains = {i: float(i in right) for i in everywhere}
        merit = len(right) / 100
        return Result(merit, merit, gains, gains, everywhere)

    own = reached(set(range(60)))
    given = reached(set(range(42, 100)))  # 58, on other images: no less, by noise
    both = reached(set(range(41, 100)))
    fewer = reached(set(range(59)))
    round_ = steps._Round(Images(100))
    named = [replace(GIVEN, name=name) for name in ("own", "given", "both", "fewer")]
    round_.add(named[0], own, 1)
    round_.add(named[1], given, 2, is_cheaper=True)
    assert round_.best == named[1]
    round_.rivals = named[:2]
    round_.add(named[3], replace(fewer, likelihoods={i: 9.0 for i in everywhere}), 3)
    assert leads(replace(fewer, likelihoods={i: 9.0 for i in everywhere}), given)
    assert round_.best == named[1]  # it is behind "own"
    round_.add(named[2], both, 4)
    assert round_.best == named[2]


def test_a_plan_names_given_channels_what_they_cost_and_when_they_are_tried():
    images, candidates = Images(400), [*BUILT_IN, GIVEN]
    planned = plan_with(GIVEN, candidates, images, 60)
    line = planned.describe(images, 60)
    cost = cost_of([GIVEN], images)
    assert f", then changes of the best until {60 - planned.kept:.0f} s, then ORB alone" in line
    assert f"ORB alone ({cost:.0f} s), beside the best and with changes until 60 s" in line
    many = Images(25_000, ((96, 96),))
    planned = plan_with(GIVEN, candidates, many, 60)
    longest = max(cost_of([join(recipe, planned.given)], many) for recipe in planned.recipes)
    assert f"up to {longest:.0f} s more" in planned.describe(many, 60)


def test_given_channels_that_take_too_long_are_left_out_and_named():
    slow = alone([Channel("ORB", power=None, cost=500.0)])
    for n in (400, 25_000):
        images = Images(n, ((96, 96),))
        planned = plan_with(slow, [*BUILT_IN, slow], images, 20)
        own = plan(BUILT_IN, images, 20)
        assert planned == replace(own, left_out=[*own.left_out, slow])
        assert planned.describe(images, 20).split("too long for the budget: ")[1].endswith("ORB")
        _, tried = searched({"photo": 0.1}, images, 20, [*BUILT_IN, slow], slow)
        assert not any("ORB" in step.recipe.name for step in tried)


def test_given_channels_of_many_images_are_tried_on_as_many_as_the_best():
    images = Images(8000, ((96, 96),))
    for cost, finals in ((5.0, True), (100.0, False)):
        given = alone([Channel("ORB", power=None, cost=cost)])
        planned = plan_with(given, [*BUILT_IN, given], images, 60)
        assert planned.n_images < images.n
        assert (planned.n_more > planned.n_images) == finals
        _, tried = searched({"photo": 0.1}, images, 60, [*BUILT_IN, given], given)
        sizes = {step.n_images for step in tried if "ORB" in step.recipe.name}
        assert sizes == {tried[-1].n_images}
        assert tried[-1].until <= 60


def test_time_is_kept_for_given_channels_of_copies_where_it_is_little():
    images = Images(150)
    planned = plan_with(GIVEN, [*BUILT_IN, GIVEN], images, 60)
    mirrored = seconds_to_join(planned.recipes, planned.given, images, ("mirror",))
    assert mirrored <= planned.kept <= 60 / 4
    assert plan_with(GIVEN, [*BUILT_IN, GIVEN], images, 60, False).kept < mirrored
    merits = {"photo": 0.2, "mirror": 0.1, "ORB": 0.1}
    best, *_ = with_given(merits, images, 60)
    assert best.name == "photo mirror+ORB"


def test_a_network_whose_file_has_the_name_of_a_recipe_is_another_recipe():
    named = [
        alone([Channel("ONNXFeatures", {"path": f"/n/{name}.onnx"})]) for name in ("a", "tiny")
    ]
    assert [recipe.name for recipe in named] == ["a", "tiny.onnx"]


def test_a_given_channel_takes_the_form_of_the_classifier_beside_it():
    assert [join(RECIPES[name], GIVEN).channels[-1].linear for name in ("tiny", "photo")] == [0, 1]
    assert join(RECIPES["tiny"], GIVEN).channels[-1].weight == 1


def test_a_lead_inside_noise_does_not_change_the_choice():
    best, _ = searched({"photo": 0.3, "HOG": 1e-3}, Images(1000), 1e5, [RECIPES["photo"]])
    assert best == RECIPES["photo"]


def test_probabilities_decide_between_equal_labels_if_they_are_sure():
    everywhere = dict.fromkeys(range(50), 0)
    right = {i: float(i % 5 > 0) for i in everywhere}
    plain = Result(0.8, 0.8, right, {i: -0.5 - 0.01 * (i % 7) for i in everywhere}, everywhere)
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


def test_copies_are_not_tried_where_they_were_given_or_can_not_be_trained_on():
    def tries_copies(candidates, **options):
        possible = changes(candidates, Images(100), **options)
        made = [change(candidates[0]) for change in possible]
        return any(recipe is not None and recipe.copies for recipe in made)

    photo = RECIPES["photo"]
    assert tries_copies([photo])
    assert not tries_copies([photo], with_copies=False)
    given = replace(photo, copies=("mirror",))
    assert all(
        recipe is None or recipe.copies == ("mirror",)
        for recipe in (change(given) for change in changes([given], Images(100)))
    )


def test_a_sample_has_all_classes_and_whole_groups():
    labels = np.repeat(["many", "few", "rare"], [900, 90, 10])
    groups = [f"{label}{i // 3}" for i, label in enumerate(labels)]
    images = [np.zeros((4, 4), np.uint8)] * len(labels)
    data = Dataset.of(images, labels, groups)
    some = some_images(data, 100, 0)
    assert np.array_equal(some, some_images(data, 100, 0))
    counts = Counter(labels[some].tolist())
    assert 90 <= counts["many"] <= 93
    assert 20 <= counts["few"] <= 23
    assert counts["rare"] == 10
    chosen = Counter(groups[i] for i in some)
    assert all(n == Counter(groups)[group] for group, n in chosen.items())


def test_large_images_cost_more_until_they_are_shrunk():
    object_recipe = RECIPES["object"]
    small, large, huge = (Images(500, ((side, side),)) for side in (64, 640, 6400))
    costs = [cost_of([object_recipe], images) for images in (small, large, huge)]
    assert costs[1] > 3 * costs[0]
    assert huge.megapixels(View(640)) == pytest.approx(large.megapixels(View(640)))
    names = {r.name for r in plan(recipes_to_try(), small, 30).recipes}
    assert names > {r.name for r in plan(recipes_to_try(), large, 30).recipes}


def test_large_files_cost_time_to_decode(tmp_path, rng):
    recipe, small = RECIPES["tiny"], Images(100, ((4000, 3000),))
    assert cost_of([recipe], replace(small, megabytes=2.5)) > cost_of([recipe], small) + 2
    path = write_png(tmp_path / "noise.png", rng.integers(0, 256, (100, 100, 3), dtype=np.uint8))
    data = Dataset.of([path, path], ["a", "b"])
    assert Images.of(data, 10**6).megabytes == pytest.approx(path.stat().st_size / 1e6)
    arrays = Dataset.of([np.zeros((8, 8, 3), np.uint8)] * 2, ["a", "b"])
    assert Images.of(arrays, 10**6).megabytes == 0


def test_sizes_come_from_headers_and_broken_files_do_not_count(tmp_path, rng):
    paths = [write_png(tmp_path / f"{i}.png", noisy(COLORS["sea"], rng)) for i in range(3)]
    (tmp_path / "broken.png").write_bytes(b"no image")
    data = Dataset.unlabelled([*paths, tmp_path / "broken.png", np.zeros((10, 20), np.uint8)])
    assert Images.of(data, 10**8).sizes_wh == ((64, 48),) * 3 + ((20, 10),)


def test_a_small_budget_tries_less_and_says_how_long_it_took(photos):
    model = ImageClassifier("auto", budget=0.001).fit(photos)
    assert set(model.tried_) < {"color", "texture", "shape", "tiny"}
    assert model.tried_seconds_.keys() == model.tried_.keys()
    assert all(seconds > 0 for seconds in model.tried_seconds_.values())
    assert model.cross_validated_ == pytest.approx(max(model.tried_.values()))


def test_the_clock_has_no_part_in_a_budget(photos, monkeypatch):
    clock = iter(range(0, 10**6, 1000))  # a very slow machine
    fast = ImageClassifier("auto", representation="histogram").fit(photos)
    monkeypatch.setattr(choosing, "perf_counter", lambda: next(clock))
    slow = ImageClassifier("auto", representation="histogram").fit(photos)
    assert slow.tried_ == fast.tried_
    assert not slow.cut_off_


def test_what_a_deadline_cuts_off_is_kept_and_a_budget_repeats_it(photos, tmp_path, monkeypatch):
    clock = iter(range(0, 10**6, 1000))
    monkeypatch.setattr(choosing, "perf_counter", lambda: next(clock))
    late = ImageClassifier("auto", representation="histogram", deadline=100).fit(photos)
    assert list(late.tried_) == ["color"]
    assert late.cut_off_ == ["texture", "shape", "tiny"]
    late.save(tmp_path / "late.vw")
    assert load(tmp_path / "late.vw").cut_off_ == late.cut_off_
    budget = late.repeated_by_
    again = ImageClassifier("auto", representation="histogram", budget=budget).fit(photos)
    assert again.tried_ == late.tried_


def test_given_channels_that_a_deadline_cuts_off_are_named(photos, monkeypatch):
    clock = iter(range(0, 10**6, 1000))
    monkeypatch.setattr(choosing, "perf_counter", lambda: next(clock))
    settings = {"representation": "histogram", "channels": [Channel("ORB", power=None)]}
    late = ImageClassifier("auto", deadline=100, **settings).fit(photos)
    assert list(late.tried_) == ["color"]
    assert late.cut_off_ == ["texture", "shape", "tiny", "ORB"]
    again = ImageClassifier("auto", budget=late.repeated_by_, **settings).fit(photos)
    assert again.tried_ == late.tried_


def test_no_budget_repeats_a_choice_without_the_most_promising_recipe(photos, monkeypatch):
    clock = iter(range(0, 10**6, 1000))
    monkeypatch.setattr(choosing, "perf_counter", lambda: next(clock))
    late = ImageClassifier("auto", representation="histogram", deadline=12_000).fit(photos)
    assert late.cut_off_ == ["shape", "tiny"]  # the channels of tiny are those of color and texture
    assert late.repeated_by_ is None  # a budget would be spent on tiny first


def test_the_plan_the_status_and_results_are_reported(photos):
    class Listener(Silent):
        def __init__(self):
            self.lines = []

        def status(self, line):
            self.lines.append(line)

        note = status

    listener = Listener()
    model = ImageClassifier("auto", representation="histogram").fit(photos, progress=listener)
    assert listener.lines[0].startswith("auto tries color, texture, shape, tiny: about ")
    assert listener.lines[1].startswith("recipe 1 of 4: color · about ")
    assert listener.lines[2].startswith("recipe color: ")
    best = max(model.tried_.values())
    assert f"best so far {model.recipe_.name} {best:.1%}" in listener.lines[-2]


def test_the_command_says_what_a_deadline_cut_off(photos, tmp_path, capsys):
    words = ["train", str(photos), "-o", str(tmp_path / "m.vw"), "--no-cache", "--deadline", "0"]
    assert main(words) == 0
    err = capsys.readouterr().err
    assert "chosen: color" in err
    assert "the deadline of 0 s left no time for texture" in err
    repeated = err.split("repeats the choice: ")[1].splitlines()[0].split()
    assert "--deadline" not in repeated
    assert main([*repeated[1:], "-q"]) == 0
    assert load(tmp_path / "m.vw").tried_.keys() == {"color"}


def test_a_choice_that_no_budget_repeats_is_repeated_by_its_recipe():
    changed = replace(RECIPES["tiny"], name="tiny balanced", min_side=96)
    with click.Context(train, info_name="classify-images train") as ctx:
        for recipe, named in ((RECIPES["tiny"], "tiny"), (changed, "RECIPE.toml")):
            ctx.params = {"folder": "photos", "output": "m.vw", "deadline": 9.0, "recipe": "auto"}
            model = SimpleNamespace(recipe_=recipe, repeated_by_=None)
            words = _repeating(model).split()
            assert words[words.index("--recipe") + 1] == named
            assert "--deadline" not in words


@pytest.mark.posix  # busy loops are ended by a signal
def test_equivalent_commands_write_equal_bytes_idle_or_busy(photos, tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    busy: list[subprocess.Popen] = []
    models = []
    try:
        for number in range(3):
            path = tmp_path / f"{number}.vw"
            words = ["train", str(photos), "-o", str(path), "--no-cache", "--budget", "2s"]
            assert main(words) == 0
            models.append(path.read_bytes())
            busy.append(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
    finally:
        for process in busy:
            process.kill()
            process.wait()
    assert len(load(path).tried_) > 1
    assert models[0] == models[1] == models[2]


def test_what_wins_on_a_sample_is_trained_on_all_images(photos, monkeypatch):
    monkeypatch.setattr(steps, "SAMPLES", (6,))
    monkeypatch.setattr(steps, "GROWTH", 2)
    monkeypatch.setattr(sample, "FEWEST", 2)
    candidates = recipes_to_try("histogram")
    budget = 1.98 * cost_of(candidates, Images(24, ((64, 48),), 3))
    lines = []

    class Listener(Silent):
        def note(self, line):
            lines.append(line)

    model = ImageClassifier("auto", representation="histogram", budget=budget)
    model.fit(photos, progress=Listener())
    assert lines[0].startswith("auto tries shape, tiny on 6 of the images: about ")
    assert "then trains it on all 24" in lines[0]
    assert any("by cross-validation on 6 images" in line for line in lines)
    assert any("by cross-validation on 12 images" in line for line in lines)
    assert model.class_counts_.sum() == 24
    assert model.recipe_.name in model.tried_
    again = ImageClassifier("auto", representation="histogram", budget=budget).fit(photos)
    assert again.tried_ == model.tried_
