"""A small detector, trained once for all tests."""

import numpy as np
import pytest

from tests.apps.detection.figures import SHARE, WINDOW, crop, scene
from visualwords import PedestrianDetector


def train(**parameters):
    rng = np.random.default_rng(7)
    crops = [crop(rng) for _ in range(40)]
    photographs = [scene(rng, height=150, width=200, n_shapes=20) for _ in range(9)]
    settings = {"window": WINDOW, "object_share": SHARE, "min_height": 60, "n_rounds": 2}
    settings |= {"scale_factor": 1.1, "n_trees": 64}
    return PedestrianDetector(**(settings | parameters)).fit(crops, photographs)


@pytest.fixture(scope="session")
def detector():
    return train()


@pytest.fixture(scope="session")
def street():
    """A scene with two figures of different sizes."""
    boxes = np.array([[40, 60, 64, 132], [150, 30, 187, 141]])
    return scene(np.random.default_rng(3), boxes.tolist()), boxes
