"""Tracks: known paths keep their numbers through misses, noise, false detections and crossings."""

import numpy as np
import pytest
from scipy.stats import norm

from visualwords.apps.detection.tracking import Track, Tracker
from visualwords.boxes import intersection_over_union, suppress

N_FRAMES = 100


def walk(start, velocity, height=100, sway=0.0):
    """The boxes of somebody who walks, (frames, 4)."""
    t = np.arange(N_FRAMES)
    x = start[0] + velocity[0] * t + sway * np.sin(t / 7)
    y = start[1] + velocity[1] * t
    half = np.array([0.2, 0.5]) * height
    middle = np.stack([x, y], axis=1)
    return np.hstack([middle - half, middle + half])


PATHS = {
    "side by side": [walk((50 + 90 * k, 100), (3, 0.5), sway=4) for k in range(4)],
    "crossing": [walk((40, 120), (5, 0)), walk((540, 130), (-5, 0), 110)],
    "crossing slowly": [walk((200, 120), (1.5, 0)), walk((350, 120), (-1.5, 0), 120)],
    "overtaking": [walk((40, 120), (2, 0)), walk((0, 130), (4.5, 0), 120)],
    "towards the camera": [walk((100, 100), (2, 1)), walk((420, 160), (-2, 0.3), 90)],
    "standing and passing": [walk((300, 120), (0, 0)), walk((40, 125), (5, 0), 90)],
}


def tracked(paths, rng):
    """How often the number of each path changes, and how many numbers are used.

    A tenth of the detections is missed, places are noisy, of two people who overlap the one behind
    is lost as by the detector, and there are false detections.
    """
    tracker, given = Tracker(), [[] for _ in paths]
    for t in range(N_FRAMES):
        boxes = np.array([path[t] for path in paths])
        height = boxes[:, 3] - boxes[:, 1]
        boxes = boxes + rng.normal(0, 0.02, boxes.shape) * height[:, None]
        kept = suppress(boxes, height + rng.normal(0, 5, len(boxes)))  # the one in front is larger
        kept = kept[rng.random(len(kept)) >= 0.1]
        false = rng.uniform(0, 400, (rng.poisson(0.3), 2))
        numbers = tracker.update(
            np.vstack([boxes[kept], np.hstack([false, false + np.array([40, 100])])])
        )
        for path, number in zip(kept, numbers):
            given[path] += [number] if number else []
    assert all(len(numbers) > 50 for numbers in given)
    return [int((np.diff(numbers) != 0).sum()) for numbers in given], tracker.n_numbers


@pytest.mark.parametrize("name", PATHS)
def test_paths_change_their_numbers_once_at_most_and_false_detections_use_up_few(name):
    found = [tracked(PATHS[name], np.random.default_rng(seed)) for seed in range(8)]
    changes = [changed for changed, _ in found]
    assert np.mean(changes) <= 0.1, changes
    assert np.max(changes) <= 1, changes
    assert max(n_numbers for _, n_numbers in found) <= len(PATHS[name]) + 3


def test_an_object_keeps_its_number_through_hidden_and_dropped_frames_and_then_loses_it():
    path, tracker = walk((50, 100), (9, 0)), Tracker(max_age=25)
    numbers = [tracker.update(path[t : t + 1]).tolist() for t in range(10)]
    assert numbers == [[0], [0], *[[1]] * 8]
    assert intersection_over_union(path[9:10], path[19:20])[0, 0] == 0
    assert tracker.update(path[19:20], elapsed=10.0).tolist() == [1]
    for _ in range(20, 44):
        assert tracker.update(np.empty((0, 4))).shape == (0,)
    assert tracker.update(path[44:45]).tolist() == [1]
    for _ in range(30):
        tracker.update(np.empty((0, 4)))
    assert tracker.tracks == []
    assert [tracker.update(path[t : t + 1]).tolist() for t in (75, 76, 77)] == [[0], [0], [2]]
    tracker.forget()  # for the next video
    assert [tracker.update(path[t : t + 1]).tolist() for t in (78, 79, 80)] == [[0], [0], [3]]


def test_the_filter_agrees_with_the_matrices_of_its_definition(rng):
    """Kalman (1960): each coordinate has a state of place and velocity."""
    track = Track.of(np.array([10, 20, 50, 120.0]))
    state = np.stack([track.place, track.velocity], axis=1)  # (4, 2)
    covariance = np.array([[[p, b], [b, v]] for p, v, b in track.variances.T])
    for elapsed in (1.0, 1.0, 3.0, 1.0):
        height = track.place[3]
        noise = np.zeros((4, 2, 2))
        noise[:2, 1, 1] = elapsed * (height / 160) ** 2
        noise[2:, 0, 0] = elapsed * (height / 120) ** 2
        step = np.array([[1, elapsed], [0, 1]])
        state = state @ step.T
        covariance = step @ covariance @ step.T + noise
        track.predict(elapsed)
        np.testing.assert_allclose(track.place, state[:, 0])
        box = track.box_xyxy + rng.normal(0, 3, 4)
        seen = np.array([*(box[:2] + box[2:]) / 2, *(box[2:] - box[:2])])
        likely = track.likelihoods(box[None])[0]
        spread = np.sqrt(covariance[:, 0, 0] + (seen[3] / 30) ** 2)
        best = norm.logpdf(0, scale=seen[3] / 30)
        np.testing.assert_allclose(
            likely, 2 * (norm.logpdf(seen, state[:, 0], spread) - best).sum()
        )
        for k in range(4):
            total = covariance[k, 0, 0] + (seen[3] / 30) ** 2
            gain = covariance[k, :, 0] / total
            state[k] = state[k] + gain * (seen[k] - state[k, 0])
            covariance[k] = covariance[k] - np.outer(gain, covariance[k, 0])
        track.correct(box)
        np.testing.assert_allclose(track.place, state[:, 0])
        np.testing.assert_allclose(track.velocity, state[:, 1], atol=1e-12)
        found = np.stack([covariance[:, 0, 0], covariance[:, 1, 1], covariance[:, 0, 1]])
        np.testing.assert_allclose(track.variances, found, atol=1e-9)


@pytest.mark.parametrize("wrong", [{"min_overlap": 0}, {"min_hits": 0}, {"max_age": 0}])
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(ValueError, match="needed are"):
        Tracker(**wrong)
