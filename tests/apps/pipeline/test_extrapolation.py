"""Distances of held-out images, as a model of all images would measure them."""

import numpy as np

from visualwords.apps.pipeline.class_distances import ClassDistances
from visualwords.apps.pipeline.extrapolation import measure_held_out
from visualwords.classifiers.calibration import divide


def distances_of(rows, codes):
    def measure(train, test):
        return ClassDistances.fit(rows[train], codes[train]).relative(rows[test])

    return measure


def test_held_out_distances_are_those_that_new_images_have_to_all():
    folds = np.arange(150) % 5
    plain, ours = [], []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        means = rng.normal(0, 2, (6, 20))
        codes, others = np.repeat(np.arange(6), 25), np.repeat(np.arange(6), 200)
        rows = means[codes] + rng.normal(size=(150, 20))
        new = means[others] + rng.normal(size=(1200, 20))
        measure = distances_of(rows, codes)
        expected = ClassDistances.fit(rows, codes).relative(new).mean()
        found = [measure(*division).mean() for division in divide(folds)]
        plain.append(np.mean(found) - expected)
        ours.append(measure_held_out(measure, folds).mean() - expected)
    assert np.mean(plain) > 0.5
    assert abs(np.mean(ours)) < 0.2 * np.mean(plain)


def test_two_folds_have_no_half_and_measure_as_they_are():
    found = measure_held_out(lambda train, test: np.full(len(test), len(train)), np.arange(7) % 2)
    assert found.tolist() == [3, 4, 3, 4, 3, 4, 3]


def test_rows_come_in_the_order_of_the_images_whatever_folds_are_called():
    folds = np.array([7, -1, 7, 3, -1])
    found = measure_held_out(lambda train, test: np.stack([test, 10 * test], axis=1), folds)
    assert found.tolist() == [[i, 10 * i] for i in range(5)]
