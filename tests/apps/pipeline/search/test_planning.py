"""What a budget holds, by the images alone."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from tests.apps.conftest import COLORS, noisy, write_png
from visualwords.apps.pipeline.costs import Images, cost_of
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.recipes import RECIPES, recipes_to_try
from visualwords.apps.pipeline.search import costs, planning
from visualwords.apps.pipeline.search.planning import plan
from visualwords.apps.pipeline.search.sample import some_images
from visualwords.apps.pipeline.view import View


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
    enough = both / planning.FOR_NEXT
    assert plan([scene, photo], images, enough + 1e-9).recipes == [photo, scene]
    assert plan([scene, photo], images, enough - 0.01).recipes == [photo]


def test_views_cost_as_much_as_originals_but_learn_nothing(monkeypatch):
    monkeypatch.setattr(costs, "n_divisions", lambda n_images: 1)
    recipe, images = RECIPES["fast"], Images(5)  # few: the classifier costs next to nothing
    mirrored = replace(recipe, views=("mirror",))
    turned = replace(recipe, views=("mirror", "rotations"))
    one = cost_of([mirrored], images) - cost_of([recipe], images)
    assert one < cost_of([recipe], images)
    all_views = cost_of([turned], images) - cost_of([recipe], images)
    assert all_views == pytest.approx(7 * one, rel=0.02)  # more rows for the classifier


def test_many_images_are_ranked_on_a_sample_that_leaves_half_of_the_budget():
    sizes = ((96, 96),)
    planned = plan(recipes_to_try(), Images(25_000, sizes), 60)
    assert planned.n_images in (500, 1000, 2000)
    assert planned.seconds[-1] <= 30
    latest = planning.LATER * 60
    assert all(cost_of([r], Images(25_000, sizes)) <= latest for r in planned.recipes)
    assert "photo" in {recipe.name for recipe in planned.recipes}
    assert plan(recipes_to_try(), Images(400, sizes), 60).n_images == 400


def test_words_make_room_for_fisher_vectors_where_the_budget_does_not_hold_both():
    candidates, images = [RECIPES["words"], RECIPES["scene"]], Images(1000)
    both = cost_of(sorted(candidates, key=lambda r: cost_of([r], images)), images)
    enough = both / planning.FOR_ALL
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
            assert {"photo"} <= names
            assert n >= 2000 or set(planning.FIRST) <= names
            assert n >= 1000 or {*planning.FIRST, *planning.NEXT} <= names
            assert planned.seconds[-1] <= planning.FOR_FIRST * 60
            assert names <= set(planning.FIRST) or planned.seconds[-1] <= planning.FOR_NEXT * 60


def test_large_images_are_shrunk_where_the_budget_is_short_and_no_size_is_given():
    many, few = Images(2000, ((500, 375),)), Images(100, ((500, 375),))
    candidates = [RECIPES["photo"], replace(RECIPES["scene"], max_side=600)]
    assert {r.max_side for r in plan(candidates, few, 60).recipes} == {640, 600}
    sides = [r.max_side for r in plan([RECIPES["photo"], RECIPES["vivid"]], many, 60).recipes]
    assert len(set(sides)) == 1
    assert sides[0] in planning.SIDES[1:]
    assert plan(candidates[1:], many, 60).recipes[0].max_side == 600


def test_images_are_not_shrunk_below_the_size_that_small_ones_are_enlarged_to():
    candidates = [replace(RECIPES["photo"], min_side=300), RECIPES["vivid"]]
    planned = plan(candidates, Images(1500, ((640, 480),)), 30)
    assert {r.max_side for r in [*planned.recipes, *planned.left_out]} == {240, 300}


def test_ridge_regression_in_blocks_takes_more_passes():
    images = Images(60_000, ((96, 96),), n_classes=2)
    recipe = RECIPES["photo"]
    ridge = replace(recipe, classifier_params={"loss": "squared_error"})
    assert cost_of([ridge], images) > cost_of([recipe], images) + 1
    few = Images(100)
    assert cost_of([ridge], few) == cost_of([recipe], few)


def test_large_images_cost_more_until_they_are_shrunk():
    object_recipe = RECIPES["object"]
    small, large, huge = (Images(500, ((side, side),)) for side in (64, 640, 6400))
    costs = [cost_of([object_recipe], images) for images in (small, large, huge)]
    assert costs[1] > 3 * costs[0]
    assert huge.megapixels(View(640)) == pytest.approx(large.megapixels(View(640)))
    promising = {*planning.FIRST, *planning.NEXT}
    few, many = (
        {recipe.name for recipe in plan(recipes_to_try(), images, 30).recipes} & promising
        for images in (large, small)
    )
    assert few < many


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
