"""What "auto" plans to try, and that the plan depends on the images alone."""

import pytest

from visualwords import ImageClassifier
from visualwords.apps.pipeline.recipe_choice import estimate, plan
from visualwords.apps.pipeline.recipes import RECIPES, recipes_to_try


def test_cheap_recipes_come_first_and_the_budget_holds():
    for budget in (0.1, 10, 30, 600):
        chosen = plan(recipes_to_try(), 1500, budget)
        costs = [estimate(recipe.channels, 1500) for recipe in chosen]
        assert costs == sorted(costs)
        together = {repr(c): c for recipe in chosen for c in recipe.channels}
        assert estimate(together.values(), 1500) <= budget or len(chosen) == 1
    assert {recipe.name for recipe in chosen} == set(RECIPES) - {"pyramid-match"}


def test_a_shared_channel_counts_once():
    scene, photo = RECIPES["scene"], RECIPES["photo"]
    alone = estimate(scene.channels, 100)
    assert plan([scene, photo], 100, alone + estimate(photo.channels[1:], 100)) == [photo, scene]
    assert plan([scene, photo], 100, alone) == [photo]


def test_a_small_budget_tries_less_and_says_how_long_it_took(photos):
    model = ImageClassifier("auto", budget=0.02).fit(photos)
    assert set(model.tried_) < {"color", "texture", "shape", "tiny"}
    assert model.tried_seconds_.keys() == model.tried_.keys()
    assert all(seconds > 0 for seconds in model.tried_seconds_.values())
    assert model.cross_validated_ == pytest.approx(max(model.tried_.values()))
