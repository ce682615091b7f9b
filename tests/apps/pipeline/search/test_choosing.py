"""The search on images: budgets, deadlines, and what is said about them."""

import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import click
import numpy as np
import pytest

from visualwords import ImageClassifier, load
from visualwords.apps.classify_images.main import main
from visualwords.apps.classify_images.running import repeating
from visualwords.apps.classify_images.train import train
from visualwords.apps.pipeline import image_classifier
from visualwords.apps.pipeline.channel import Channel
from visualwords.apps.pipeline.costs import Images, cost_of
from visualwords.apps.pipeline.recipes import RECIPES, recipes_to_try
from visualwords.apps.pipeline.search import choosing, planning, sample
from visualwords.progress import Silent


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
            words = repeating(model).split()
            assert words[words.index("--recipe") + 1] == named
            assert "--deadline" not in words


@pytest.mark.posix  # busy loops are ended by a signal
def test_equivalent_commands_write_equal_bytes_idle_or_busy(photos, tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    busy: list[subprocess.Popen] = []
    models = []
    try:
        for number in range(2):
            path = tmp_path / f"{number}.vw"
            for _ in range(3 * number):
                busy.append(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
            words = ["train", str(photos), "-o", str(path), "--no-cache", "--budget", "2s"]
            assert main(words) == 0
            models.append(path.read_bytes())
    finally:
        for process in busy:
            process.kill()
            process.wait()
    assert len(load(path).tried_) > 1
    assert models[0] == models[1]


def test_what_wins_on_a_sample_is_trained_on_all_images(photos, monkeypatch):
    monkeypatch.setattr(planning, "SAMPLES", (6,))
    monkeypatch.setattr(planning, "GROWTH", 2)
    monkeypatch.setattr(planning, "FOR_ALL", 0.6)
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
