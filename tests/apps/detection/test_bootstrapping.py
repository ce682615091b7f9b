"""Rounds of collecting hard windows, and the crops that they are told from."""

import numpy as np
import pytest

from tests.apps.detection.figures import SHARE, WINDOW, crop, scene
from visualwords.apps.detection.bootstrapping import Bootstrap
from visualwords.apps.detection.detector_training import Learning, enlarged_again
from visualwords.apps.detection.levels import Search
from visualwords.apps.detection.window import WindowShape
from visualwords.progress import Silent


class Noting(Bootstrap):
    """Notes the channels whose mistakes each round collects."""

    def __init__(self, features, **settings):
        search = Search(WindowShape(*WINDOW), SHARE, 8, 1.2, 60, 0)
        learning = Learning(1e-4, 1.0, 1.0, 0, n_trees=16)
        super().__init__(features, search, learning, n_jobs=1, progress=Silent(), **settings)
        self.by = []

    def scanner(self, samples, *, by_all):
        scanner = super().scanner(samples, by_all=by_all)
        self.by.append([channel.name for channel in scanner.channels])
        return scanner


def images(rng):
    crops = [crop(rng) for _ in range(6)]
    photographs = [scene(rng, height=120, width=160, n_shapes=20) for _ in range(3)]
    return [[lambda image=image: image for image in every] for every in (crops, photographs)]


@pytest.mark.parametrize(
    ("features", "by"),
    [("all", [["acf"], ["acf", "census", "hog", "cosines"]]), ("hog", [["hog"], ["hog"]])],
)
def test_trees_collect_their_own_mistakes_before_the_last_round(rng, features, by):
    bootstrap = Noting(features)
    samples = bootstrap.run(*images(rng), 2)
    assert bootstrap.by == by[: len(bootstrap.by)]
    assert all(len(rows) == len(samples.positive) for rows in samples.vectors)
    assert samples.positive.sum() == 12  # six crops and their mirror images


def test_crops_are_shown_enlarged_where_the_search_enlarges(rng):
    readers, photographs = images(rng)
    bootstrap = Noting("acf", smallest=0.5)
    samples = bootstrap.run(readers, photographs, 0)
    assert samples.positive.sum() == 24
    own, blurred = bootstrap.views(1, readers[1]())
    assert own.shape == blurred.shape
    assert np.abs(np.diff(blurred.astype(int), axis=0)).sum() < (
        np.abs(np.diff(own.astype(int), axis=0)).sum()
    )
    np.testing.assert_array_equal(blurred, bootstrap.views(1, readers[1]())[1])


def test_detail_is_lost_and_the_size_stays():
    grid = np.indices((40, 24)).sum(axis=0).astype(np.uint8) % 2 * 200
    assert enlarged_again(grid, 0.5).shape == (40, 24)
    assert np.ptp(enlarged_again(grid, 0.5)) == 0  # every square of four pixels has one mean
    np.testing.assert_array_equal(enlarged_again(grid, 1.0), grid)
