"""Where columns come from: every extractor that has places accounts for each column once."""

import numpy as np
import pytest

from visualwords.features import HOG, Centrist, ColorHistogram
from visualwords.features.extractor import places_of_pixels

WITH_PLACES = [
    ColorHistogram(),
    ColorHistogram(bins=3, space="lab", windows=(2, 3)),
    Centrist(),
    Centrist("pyramid", sobel=True),
    HOG(resize_wh=(48, 32)),
]


@pytest.mark.parametrize("extractor", WITH_PLACES, ids=repr)
def test_the_shares_of_a_column_sum_to_one_where_something_was_counted(extractor, rng):
    image = rng.integers(0, 256, (43, 61, 3), dtype=np.uint8)
    vector, places = extractor.describe(image), extractor.column_places(image)
    assert (
        places.shares.shape
        == (len(places.positions), len(vector))
        == (
            len(places.sizes),
            len(places.name_of),
        )
    )
    sums = np.asarray(places.shares.sum(axis=0)).ravel()
    counted = np.ones(len(vector), bool) if isinstance(extractor, HOG) else vector > 0
    np.testing.assert_allclose(sums, counted, rtol=1e-12)
    names = extractor.get_feature_names_out()
    for column in rng.integers(0, len(vector), 20):
        name = places.names[places.name_of[column]].replace(" ", "")
        assert names[column].endswith(name)


def test_a_place_of_a_histogram_has_the_share_of_its_pixels():
    codes = np.zeros((16, 8), int)
    codes[10:, :4] = 1
    places = places_of_pixels(codes, np.array([[0, 0, 8, 16], [0, 8, 8, 16]]), ["a", "b"])
    upper, lower = places.shares.toarray()
    np.testing.assert_allclose(upper, [64 / 104, 0, 0, 0])
    np.testing.assert_allclose(lower, [40 / 104, 1, 1, 1])


def test_a_layout_that_resizes_the_image_has_no_places(rng):
    assert Centrist("pedestrian").column_places(rng.integers(0, 256, (50, 40), np.uint8)) is None
