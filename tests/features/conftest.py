"""Images to extract features from."""

import numpy as np
import pytest
from skimage import data


@pytest.fixture(scope="session")
def photo():
    """Give a colour photograph, 300 × 451."""
    return np.ascontiguousarray(data.chelsea())


@pytest.fixture(scope="session")
def odd_images():
    """Give images that break careless code: tiny, thin, constant."""
    return {
        "one pixel": np.full((1, 1, 3), 200, np.uint8),
        "one row": np.arange(5000, dtype=np.uint8).reshape(1, 5000),
        "one column": np.arange(5000, dtype=np.uint8).reshape(5000, 1),
        "smaller than a patch": np.arange(35, dtype=np.uint8).reshape(5, 7),
        "constant": np.full((64, 48, 3), 77, np.uint8),
        "black": np.zeros((40, 40), np.uint8),
        "white": np.full((40, 40), 255, np.uint8),
    }
