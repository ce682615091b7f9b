"""The thresholds of the cascade's stages, and the confidence of scores."""

import numpy as np
import pytest

from visualwords.apps.detection.detector_training import with_stages
from visualwords.apps.detection.held_out import HeldOut, fit_confidence
from visualwords.apps.detection.window_model import WindowModel
from visualwords.errors import FolderError


def test_stages_keep_their_share_of_what_is_found_in_the_end():
    nothing = WindowModel({}, np.float32([-np.inf]), (-np.inf,))
    tables = np.array([np.linspace(-2, 2, 401), np.zeros(401)])  # 150 of them below -1/2
    linear = tables[:1].T * 3
    model = with_stages(nothing, linear, tables, 0.99)
    found = tables[0] >= -0.5
    for threshold, scores in (
        (model.first_thresholds[0], linear[:, 0]),
        (model.stage_thresholds[0], tables[0]),
    ):
        assert 0.985 <= (scores[found] >= threshold).mean() <= 0.995
    # where nothing is found, all count
    assert with_stages(nothing, linear - 9, tables - 9, 0.5).stage_thresholds == (-9,)


def test_a_share_of_the_windows_passes_all_thresholds_of_the_first_stage(rng):
    first = rng.normal(0, 1, (1000, 1)) + rng.normal(0, 0.5, (1000, 8)).cumsum(axis=1)
    tables = np.array([first[:, -1] + 20, np.zeros(1000)])
    model = with_stages(WindowModel({}, np.float32([0]), (0.0,)), first, tables, 0.97)
    assert 0.97 <= (first >= model.first_thresholds).all(axis=1).mean() <= 0.975


def held_out(right, false):
    first, tables = np.zeros((len(right), 1)), np.zeros((1, len(right)))
    scores = np.array(right, float), np.array(false, float)
    return HeldOut(first, tables, scores[0], box_scale=1.0, false=scores[1], n_photographs=4)


def test_confidence_grows_with_the_score():
    slope, _ = fit_confidence(held_out([0.5, 1.0, 1.5], [-0.4, -0.2]))
    assert slope > 0


def test_crops_that_score_below_their_surroundings_are_one_sentence():
    with pytest.raises(FolderError, match="can't be told from its surroundings"):
        fit_confidence(held_out([-0.9, -0.8, -0.9], [1.0, 1.2, 1.1, 0.9]))
