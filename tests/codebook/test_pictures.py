"""Pictures of words show the right patches in the right places."""

import numpy as np
import pytest

from visualwords.codebook import KMeansCodebook
from visualwords.codebook.word_pictures import draw_words, typical_patches, word_colors, word_sheet
from visualwords.features.local_features import LocalFeatures, LocalFeatureSets


@pytest.fixture
def two_tones():
    """Give an image, dark on the left and bright on the right, with two patches and words."""
    image = np.zeros((20, 40), np.uint8)
    image[:, 20:] = 200
    descriptors = np.array([[0, 9], [9, 0]], np.uint8)
    positions = np.array([[0.25, 0.5], [0.75, 0.5]], np.float32)
    features = LocalFeatures(descriptors, positions, np.full(2, 16, np.float32))
    codebook = KMeansCodebook(2, init=descriptors).fit(descriptors)
    return image, features, codebook


def test_the_nearest_patches_of_a_word_come_first(sets):
    codebook = KMeansCodebook(6, random_state=0).fit(sets)
    found = typical_patches(codebook, sets, 4)
    similar = codebook.transform(sets.descriptors)
    words = codebook.predict(sets.descriptors)
    for k, patches in enumerate(found):
        mine = np.sort(similar[words == k, k])[::-1][:4]
        rows = sets.offsets[patches[:, 0]] + patches[:, 1]
        np.testing.assert_allclose(similar[rows, k], mine)


def test_the_sheet_has_a_row_for_each_word(two_tones):
    image, features, codebook = two_tones
    sheet = word_sheet(codebook, [image], [features], n_patches=3, side=8)
    assert sheet.shape == (22, 32, 3)
    assert (sheet[2:10, 2:10] == 0).all()  # the word of the dark patch
    assert (sheet[12:20, 2:10] == 200).all()
    assert (sheet[:, 10:] == 255).all()  # there are no more
    one = word_sheet(codebook, [image], [features], n_patches=1, words=[1], side=8)
    assert (one[2:10, 2:10] == 200).all()


def test_words_are_drawn_where_the_patches_are(two_tones):
    image, features, codebook = two_tones
    picture = draw_words(image, features, codebook.predict(features), 2)
    assert picture.shape == (20, 40, 3)
    assert picture.dtype == np.uint8
    left, right = picture[10, 10], picture[10, 30]
    assert left.tolist() == (2 * word_colors(2)[0].astype(int) // 3).tolist()
    assert right.tolist() != left.tolist()
    with pytest.raises(ValueError, match="1 words for 2 patches"):
        draw_words(image, features, [0])


def test_an_image_without_patches_is_drawn_as_it_is():
    none = LocalFeatures(np.zeros((0, 4)), np.zeros((0, 2)), np.zeros(0))
    image = np.full((5, 6), 9, np.uint8)
    assert (draw_words(image, none, np.zeros(0, int)) == 9).all()
    codebook = KMeansCodebook(1, random_state=0).fit(np.zeros((2, 4)))
    empty = LocalFeatureSets.concatenate([none])
    assert (word_sheet(codebook, [image], empty) == 255).all()
