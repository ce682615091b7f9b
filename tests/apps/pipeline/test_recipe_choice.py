"""What "auto" plans to try, and that the plan depends on the images alone."""

import subprocess
import sys

import numpy as np
import pytest

from tests.apps.conftest import COLORS, noisy, write_png
from visualwords import ImageClassifier, load
from visualwords.apps.classify_images.main import main
from visualwords.apps.pipeline import recipe_choice
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.recipe_choice import Images, estimate, plan
from visualwords.apps.pipeline.recipes import RECIPES, recipes_to_try
from visualwords.progress import Silent


def seconds_of(recipe, images, channels=None):
    channels = recipe.channels if channels is None else channels
    return estimate([(channel, recipe.max_side) for channel in channels], images)


@pytest.mark.parametrize("budget", [0.1, 10, 30, 600])
def test_cheap_recipes_come_first_and_the_budget_holds(budget):
    images = Images(1500)
    planned = plan(recipes_to_try(), images, budget)
    costs = [seconds_of(recipe, images) for recipe in planned.recipes]
    assert costs == sorted(costs)
    assert planned.seconds == sorted(planned.seconds)
    assert planned.seconds[-1] <= budget or len(planned.recipes) == 1
    names = {recipe.name for recipe in planned.recipes + planned.left_out}
    assert names == set(RECIPES) - {"pyramid-match"}
    assert bool(planned.left_out) == (budget < 600)


def test_a_shared_channel_counts_once():
    scene, photo, images = RECIPES["scene"], RECIPES["photo"], Images(100)
    alone = seconds_of(scene, images)
    more = seconds_of(photo, images, photo.channels[1:])
    assert plan([scene, photo], images, alone + more + 1e-9).recipes == [photo, scene]
    assert plan([scene, photo], images, alone).recipes == [photo]


def test_large_images_cost_more_until_they_are_shrunk():
    object_recipe = RECIPES["object"]
    small, large, huge = (Images(500, ((side, side),)) for side in (64, 640, 6400))
    costs = [seconds_of(object_recipe, images) for images in (small, large, huge)]
    assert costs[1] > 3 * costs[0]
    assert huge.megapixels(640) == pytest.approx(large.megapixels(640))
    names = {r.name for r in plan(recipes_to_try(), small, 30).recipes}
    assert names > {r.name for r in plan(recipes_to_try(), large, 30).recipes}


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
    monkeypatch.setattr(recipe_choice, "perf_counter", lambda: next(clock))
    slow = ImageClassifier("auto", representation="histogram").fit(photos)
    assert slow.tried_ == fast.tried_
    assert not slow.cut_off_


def test_what_a_deadline_cuts_off_is_kept_and_a_budget_repeats_it(photos, tmp_path, monkeypatch):
    clock = iter(range(0, 10**6, 1000))
    monkeypatch.setattr(recipe_choice, "perf_counter", lambda: next(clock))
    late = ImageClassifier("auto", representation="histogram", deadline=100).fit(photos)
    assert list(late.tried_) == ["color"]
    assert late.cut_off_ == ["texture", "shape", "tiny"]
    late.save(tmp_path / "late.vw")
    assert load(tmp_path / "late.vw").cut_off_ == late.cut_off_
    budget = late.repeated_by_
    again = ImageClassifier("auto", representation="histogram", budget=budget).fit(photos)
    assert again.tried_ == late.tried_


def test_no_budget_repeats_a_choice_that_left_out_what_costs_nothing_more(photos, monkeypatch):
    clock = iter(range(0, 10**6, 1000))
    monkeypatch.setattr(recipe_choice, "perf_counter", lambda: next(clock))
    late = ImageClassifier("auto", representation="histogram", deadline=7000).fit(photos)
    assert late.cut_off_ == ["shape", "tiny"]  # the channels of tiny are those of color and texture
    assert late.repeated_by_ is None


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


@pytest.mark.posix  # busy loops are ended by a signal
def test_equal_commands_write_equal_bytes_idle_or_busy(photos, tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    busy: list[subprocess.Popen] = []
    models = []
    try:
        for number in range(3):
            path = tmp_path / f"{number}.vw"
            words = ["train", str(photos), "-o", str(path), "--no-cache", "--budget", "0.05s"]
            assert main(words) == 0
            models.append(path.read_bytes())
            busy.append(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
    finally:
        for process in busy:
            process.kill()
            process.wait()
    assert len(load(path).tried_) > 1
    assert models[0] == models[1] == models[2]
