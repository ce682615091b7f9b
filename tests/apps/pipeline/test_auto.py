"""The search on images: the same for any clock, jobs and order; deadlines; what is left out."""

import numpy as np
import pytest

from tests.apps.conftest import COLORS, noisy
from visualwords import ImageClassifier, load
from visualwords.apps.pipeline import auto
from visualwords.progress import Silent


@pytest.fixture(scope="module")
def textures():
    """Images of two textures in colours that have nothing to do with them; some are mislabelled."""
    rng, images, labels = np.random.default_rng(0), [], []
    for k in range(40):
        place = np.indices((48, 48))[k % 2] + rng.integers(9)
        waves = 0.5 + 0.5 * np.sin(place * rng.uniform(0.5, 1.2))
        color, noise = rng.integers(60, 250, 3), rng.integers(0, 60, (48, 48, 3))
        images.append((waves[:, :, None] * color * 0.7 + noise).astype(np.uint8))
        labels.append(["across", "down"][(k + (k % 10 == 0)) % 2])
    return images, labels


class Notes(Silent):
    def __init__(self):
        self.lines = []

    def note(self, line):
        self.lines.append(line)


def test_a_budget_depends_neither_on_the_clock_nor_on_jobs_and_a_larger_one_tries_more(
    textures, monkeypatch, tmp_path
):
    notes = Notes()
    fast = ImageClassifier(budget=3, n_jobs=1).fit(*textures, progress=notes)
    assert fast.cross_validated_ > 0.8
    assert max(fast.tried_.values()) > 0.8
    assert "chosen by mean accuracy per class" in notes.lines[0]
    less = ImageClassifier(budget=0.001).fit(*textures)
    assert len(less.tried_) < len(fast.tried_)
    assert len(less.recipe_.channels) == 1
    clock = iter(range(0, 10**9, 1000))  # a very slow machine
    monkeypatch.setattr(auto, "perf_counter", lambda: next(clock))
    slow = ImageClassifier(budget=3, n_jobs=3).fit(*textures)
    assert slow.tried_ == fast.tried_
    assert len(fast.tried_) > 3
    assert slow.recipe_ == fast.recipe_
    assert slow.cut_off_ == fast.cut_off_ == []
    assert slow.tried_seconds_.keys() == slow.tried_.keys()
    fast.save(tmp_path / "fast.vw")
    slow.save(tmp_path / "slow.vw")
    assert (tmp_path / "fast.vw").read_bytes() == (tmp_path / "slow.vw").read_bytes()


def test_a_deadline_cuts_off_what_the_clock_has_no_time_for(textures, monkeypatch, tmp_path):
    clock = iter(range(0, 10**9, 1000))
    monkeypatch.setattr(auto, "perf_counter", lambda: next(clock))
    late = ImageClassifier(budget=3, deadline=100).fit(*textures)
    assert len(late.tried_) == 1
    assert late.cut_off_
    late.save(tmp_path / "late.vw")
    assert load(tmp_path / "late.vw").cut_off_ == late.cut_off_


def test_channels_of_colours_are_left_out_where_images_have_none(photos):
    rng, notes = np.random.default_rng(0), Notes()
    images = [rng.integers(0, 255, (40, 48), np.uint8) for _ in range(12)]
    images = [image // (1 + i % 2) for i, image in enumerate(images)]
    ImageClassifier(budget=2).fit(images, ["a", "b"] * 6, progress=notes)
    assert "Color" not in notes.lines[0]
    colored = Notes()
    ImageClassifier(budget=2).fit(photos, progress=colored)
    assert "Color" in colored.lines[0]


def test_of_many_images_some_are_searched_and_all_are_learned_from(photos, monkeypatch):
    monkeypatch.setattr(auto, "SAMPLES", (12,))
    monkeypatch.setattr(auto, "FEWEST", 2)
    notes = Notes()
    model = ImageClassifier(budget=1).fit(photos, progress=notes)
    assert "on 12 of the images" in notes.lines[0]
    assert model.class_counts_.sum() == 24
    assert model.score(photos) == 1.0


def test_images_smaller_than_a_patch_and_classes_of_one_image_are_no_fault(rng):
    images = [noisy(color, rng, (8, 8)) for color in COLORS.values() for _ in range(4)]
    labels = [name for name in COLORS for _ in range(4)]
    model = ImageClassifier(min_side=1, budget=1).fit(images, labels)
    assert model.score(images, labels) == 1.0
    few = ImageClassifier(budget=1).fit(images[::4], labels[::4])
    assert few.tried_ == {}
    assert few.predict(images[::4]).tolist() == labels[::4]


def test_settings_of_the_user_are_those_of_what_is_chosen(photos):
    model = ImageClassifier(budget=1, max_side=40, views="mirror", n_gaussians=4).fit(photos)
    assert (model.recipe_.max_side, model.recipe_.views) == (40, ("mirror",))
    assert model.score(photos) == 1.0
