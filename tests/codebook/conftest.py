"""Local features of made-up images."""

import numpy as np
import pytest

from visualwords.features.local_features import LocalFeatures, LocalFeatureSets


@pytest.fixture
def sets(rng):
    """Give local features of 12 images, one of them without any."""

    def image(n):
        descriptors = rng.gamma(0.6, 30, (n, 16)).clip(0, 255).astype(np.uint8)
        positions = rng.random((n, 2), np.float32)
        return LocalFeatures(descriptors, positions, np.full(n, 16, np.float32))

    sizes = rng.integers(30, 90, 12)
    sizes[5] = 0
    return LocalFeatureSets.concatenate([image(n) for n in sizes])
