"""Rounds of collecting hard windows, the thresholds of stages, and the confidence of scores."""

import numpy as np
import pytest

from tests.apps.detection.figures import SHARE, WINDOW, crop, scene
from visualwords import PedestrianDetector
from visualwords.apps.detection.cascade import Cascade
from visualwords.apps.detection.detector_training import Bootstrap, HeldOut, with_stages
from visualwords.apps.detection.windows import Search, WindowShape
from visualwords.errors import FolderError
from visualwords.progress import Silent


def test_rounds_collect_windows_and_crops_are_shown_enlarged_where_the_search_enlarges(rng):
    crops = [crop(rng) for _ in range(6)]
    photographs = [scene(rng, height=120, width=160, n_shapes=20) for _ in range(3)]
    readers = [[lambda image=image: image for image in every] for every in (crops, photographs)]
    search = Search(WindowShape(*WINDOW), SHARE, 8, 1.2, 60, 0)
    settings = PedestrianDetector(n_trees=16, n_rounds=2, n_jobs=1).get_params()
    bootstrap = Bootstrap(search, settings, smallest=0.5, progress=Silent())
    samples = bootstrap.run(*readers)
    assert samples.positive.sum() == 24  # six crops, as they are and enlarged, and mirror images
    assert [len(rows) for rows in samples.vectors] == [len(samples.positive)] * 3
    assert bootstrap.rounds[0] == [60, 60]
    assert (
        bootstrap.rounds[-1][0] == (~samples.positive).sum() == sum(n for _, n in bootstrap.rounds)
    )
    own, blurred = bootstrap.views(1, crops[1])
    assert own.shape == blurred.shape
    detail, less = (np.abs(np.diff(view.astype(int), axis=0)).sum() for view in (own, blurred))
    assert less < detail
    np.testing.assert_array_equal(blurred, bootstrap.views(1, crops[1])[1])


def held_out(right, false):
    right, false = np.array(right, float), np.array(false, float)
    return HeldOut(np.zeros((1, 1)), np.zeros((1, 1)), right, np.full(len(right), 1.1), false, 4)


def thresholds(parts, scores, recall):
    cascade = Cascade(WindowShape(), None, (), np.float32([-np.inf]), (-np.inf,))
    found = with_stages(cascade, parts, scores, recall)
    return found.tree_thresholds, found.stage_thresholds


def test_stages_keep_their_share_of_what_is_found_in_the_end():
    scores = np.array([np.linspace(-2, 2, 401), np.zeros(401)])  # 150 of them below -1/2
    parts = scores[:1].T * 3
    found = scores[0] >= -0.5
    (first,), (second,) = thresholds(parts, scores, 0.99)
    for threshold, own in ((first, parts[:, 0]), (second, scores[0])):
        assert 0.985 <= (own[found] >= threshold).mean() <= 0.995
    # where nothing is found, all count
    assert thresholds(parts - 9, scores - 9, 0.5)[1] == (-9,)


def test_a_share_of_the_windows_passes_all_thresholds_of_the_trees(rng):
    parts = rng.normal(0, 1, (1000, 1)) + rng.normal(0, 0.5, (1000, 8)).cumsum(axis=1)
    first, _ = thresholds(parts, np.array([parts[:, -1] + 20, np.zeros(1000)]), 0.97)
    assert 0.97 <= (parts >= first).all(axis=1).mean() <= 0.975


def test_confidence_grows_with_the_score_and_figures_count_what_is_found():
    scores = held_out(right=[0.5, 1.0, np.nan], false=[-0.4, 0.7])
    assert scores.confidence()[0] > 0
    assert scores.box_scale == 1.1
    assert scores.figures(0.6) == {"crops": 3, "photographs": 4, "found": 1, "false": 1}


def test_crops_that_score_below_their_surroundings_are_one_sentence():
    with pytest.raises(FolderError, match="can't be told from its surroundings"):
        held_out(right=[-0.9, -0.8, -0.9], false=[1.0, 1.2, 1.1, 0.9]).confidence()
