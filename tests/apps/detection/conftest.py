"""A small detector, trained once for all tests."""

import numpy as np
import pytest

import visualwords
from tests.apps.detection.figures import scene


@pytest.fixture(scope="session")
def detector(detector_file):
    return visualwords.load(detector_file)


@pytest.fixture(scope="session")
def street():
    """A scene with two figures of different sizes."""
    boxes = np.array([[40, 60, 64, 132], [150, 30, 187, 141]])
    return scene(np.random.default_rng(3), boxes.tolist()), boxes
