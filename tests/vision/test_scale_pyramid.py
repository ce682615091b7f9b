"""The scale pyramid: sizes, and brightness that stays where it was."""

import numpy as np
import pytest

from visualwords.boxes import ScalePyramid, pyramid_scales


def test_scales_end_where_the_window_no_longer_fits():
    scales = pyramid_scales((640, 480), (64, 128), factor=1.2)
    sizes = [(round(640 * s), round(480 * s)) for s in scales]
    assert sizes[0] == (640, 480)
    assert sizes[-1][1] >= 128 > round(480 * scales[-1] / 1.2)
    np.testing.assert_allclose(np.array(scales[:-1]) / scales[1:], 1.2)


def test_padding_lets_a_window_fit_longer():
    assert pyramid_scales((64, 100), (64, 128), 1.2) == []
    assert len(pyramid_scales((64, 100), (64, 128), 1.2, padding=14)) == 1


def test_tiny_images_have_no_scale():
    assert pyramid_scales((1, 1), (64, 128), 1.1, largest=2.0, padding=16) == []


def test_a_factor_of_one_would_never_end():
    with pytest.raises(ValueError, match="must be above 1"):
        pyramid_scales((640, 480), (64, 128), factor=1.0)


@pytest.mark.parametrize("scale", [1.7, 1.0, 0.6, 0.5, 0.21])
def test_a_ramp_stays_a_ramp_at_its_place(scale):
    ramp = np.repeat(np.linspace(0, 250, 400)[None], 300, axis=0).astype(np.uint8)
    level = ScalePyramid(ramp).level(scale)
    assert level.shape == (round(300 * scale), round(400 * scale))
    centers = (np.arange(level.shape[1]) + 0.5) / level.shape[1] * 400 - 0.5
    expected = centers * 250 / 399
    assert np.abs(level[level.shape[0] // 2] - expected)[2:-2].max() < 1.5


def test_fine_patterns_are_averaged_not_sampled(rng):
    noise = rng.integers(0, 256, (400, 400), dtype=np.uint8)
    assert ScalePyramid(noise).level(0.125).std() < noise.std() / 6
