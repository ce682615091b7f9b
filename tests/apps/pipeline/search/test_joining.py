"""Channels that the user gives, beside what the search without them finds."""

from dataclasses import replace

import pytest

from tests.apps.pipeline.search.made_up import result_of, searched
from visualwords.apps.pipeline.channel import Channel
from visualwords.apps.pipeline.costs import Images, cost_of
from visualwords.apps.pipeline.recipes import RECIPES, recipes_to_try
from visualwords.apps.pipeline.search import steps
from visualwords.apps.pipeline.search.joining import BESIDE_FISHER, alone, join, seconds_to_join
from visualwords.apps.pipeline.search.noise import Result, leads
from visualwords.apps.pipeline.search.planning import plan, plan_with

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
        return Result(GIVEN, merit, merit, gains, gains, everywhere)

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


def test_time_is_kept_for_given_channels_of_views_where_it_is_little():
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
