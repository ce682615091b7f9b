"""BagOfWords against its definition, and its promises."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from tests.reference.words import nearest_words, windows_of_words
from visualwords.codebook import BagOfWords, KMeansCodebook, SpatialPyramid

N_WORDS = 9


@pytest.fixture
def codebook(sets):
    return KMeansCodebook(N_WORDS, random_state=0).fit(sets)


def counts_of(sets, codebook, pyramid):
    return np.stack(
        [
            windows_of_words(
                nearest_words(one.descriptors, codebook.words_), one.positions, pyramid.boxes, 9
            )
            if len(one)
            else np.zeros((pyramid.n_windows, N_WORDS))
            for one in sets
        ]
    )


@pytest.mark.parametrize("pyramid", [31, 1], ids=str)
@pytest.mark.parametrize("output", ["dense", "sparse", "auto"])
def test_counts_match_the_definition(sets, codebook, pyramid, output):
    encoder = BagOfWords(codebook, pyramid, output=output)
    result = encoder.transform(sets)
    expected = counts_of(sets, codebook, encoder._pyramid).reshape(len(sets), -1)
    assert result.dtype == np.int32
    smaller = output == "auto" and encoder._pyramid.n_windows > 1
    assert sparse.issparse(result) == (output == "sparse" or smaller)
    dense = result.toarray() if sparse.issparse(result) else result
    np.testing.assert_array_equal(dense, expected)


def test_a_list_of_images_is_taken_as_well(sets, codebook):
    encoder = BagOfWords(codebook, 8, output="dense")
    np.testing.assert_array_equal(encoder.transform(list(sets)), encoder.transform(sets))
    assert encoder.transform([]).shape == (0, 8 * N_WORDS)
    with pytest.raises(TypeError, match="list of images"):
        encoder.transform(sets[0])
    with pytest.raises(TypeError, match="not ndarray"):
        encoder.transform(np.zeros((3, 4)))


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("scope", ["window", "level", "image"])
@pytest.mark.parametrize("power", [1.0, 0.5])
def test_norms_are_one_in_their_scope(sets, codebook, norm, scope, power):
    encoder = BagOfWords(codebook, 21, norm=norm, scope=scope, power=power, output="dense")
    values = encoder.transform(sets).reshape(len(sets), 21, N_WORDS).astype(np.float64)
    sizes = (values ** (1 / power) if norm == "l1" else values**2).sum(axis=2)
    levels = encoder._pyramid.level_of_window
    if scope == "level":
        sizes = np.stack([sizes[:, levels == level].sum(axis=1) for level in range(3)], axis=1)
    elif scope == "image":
        sizes = sizes.sum(axis=1, keepdims=True)
    empty = ~values.any(axis=(1, 2))
    assert empty.tolist() == [i == 5 for i in range(12)]
    near_one = np.isclose(sizes, 1, atol=1e-5)
    assert (near_one | (sizes == 0)).all()
    assert near_one[~empty].any(axis=1).all()


def test_weights_multiply_the_levels(sets, codebook):
    plain = BagOfWords(codebook, 21, norm="l1", output="dense").transform(sets)
    weighted = BagOfWords(
        codebook, SpatialPyramid(21, weights=(5, 2, 1)), norm="l1", output="dense"
    )
    factors = np.repeat([5] + [2] * 4 + [1] * 16, N_WORDS)
    np.testing.assert_allclose(weighted.transform(sets), plain * factors, rtol=1e-6)


def test_the_codebook_learns_if_it_has_not(sets):
    encoder = BagOfWords(KMeansCodebook(4, random_state=0), 8)
    with pytest.raises(NotFittedError, match="call fit"):
        encoder.transform(sets)
    histograms = encoder.fit_transform(sets)
    assert histograms.shape == (12, 32)
    assert not hasattr(encoder.codebook, "words_")


def test_columns_are_named_by_window_and_word(codebook):
    names = BagOfWords(codebook, 31).get_feature_names_out()
    assert len(set(names)) == 31 * N_WORDS
    assert names[N_WORDS * 6 + 2] == "level2_window0_word2"


def test_shares_of_the_patches_add_up_to_the_columns(sets, codebook, rng):
    encoder = BagOfWords(codebook, 31, output="dense")
    values = rng.normal(size=(31 * N_WORDS, 3))
    for one, row in zip(sets, encoder.transform(sets)):
        shares = encoder.share(one, values)
        assert shares.shape == (len(one), 3)
        np.testing.assert_allclose(shares.sum(axis=0), values[row > 0].sum(axis=0), atol=1e-9)
        np.testing.assert_array_equal(encoder.encode(one), row)
