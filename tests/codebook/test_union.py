"""EncoderUnion: kernels add up with their weights."""

import numpy as np
import pytest
from sklearn.base import clone

from visualwords.classifiers.kernels import intersection
from visualwords.codebook import BagOfWords, EncoderUnion, FisherVectors, KMeansCodebook


def words(n, output="auto"):
    return BagOfWords(KMeansCodebook(n, random_state=0), 8, output=output)


def dense(rows):
    return rows.toarray() if hasattr(rows, "toarray") else rows


@pytest.mark.parametrize("output", ["sparse", "dense", "auto"])
def test_intersections_add_up_with_their_weights(sets, output):
    union = EncoderUnion([("a", words(3, output)), ("b", words(7, output))], (1, 3))
    rows = union.fit_transform([sets, sets])
    grams = []
    for encoder in (words(3), words(7)):
        part = dense(encoder.fit_transform(sets)).astype(np.float64)
        grams.append(intersection(part) / part.sum(axis=1).mean())
    np.testing.assert_allclose(intersection(dense(rows)), grams[0] + 3 * grams[1], rtol=1e-4)
    np.testing.assert_array_equal(dense(union.transform([sets, sets])), dense(rows))


def test_linear_kernels_add_up_with_their_weights(sets):
    fisher = FisherVectors(2, 3, 1, random_state=0)
    union = EncoderUnion([("words", words(4)), ("fisher", fisher)], (2, 1), degree=2)
    rows = dense(union.fit_transform([sets, sets]))
    counts = dense(clone(words(4)).fit_transform(sets)).astype(float)
    vectors = clone(fisher).fit_transform(sets).astype(float)
    expected = sum(
        weight * (x @ x.T) / (x**2).sum(axis=1).mean() for weight, x in ((2, counts), (1, vectors))
    )
    np.testing.assert_allclose(rows @ rows.T, expected, rtol=1e-4, atol=1e-5)


def test_names_and_state(sets):
    union = EncoderUnion([("a", words(3)), ("b", words(4))]).fit([sets, sets])
    names = union.get_feature_names_out()
    assert len(set(names)) == len(names) == 8 * 7
    other = clone(union).set_state(union.get_state())
    np.testing.assert_array_equal(
        dense(other.transform([sets, sets])), dense(union.transform([sets, sets]))
    )


@pytest.mark.parametrize(
    ("parameters", "message"),
    [({"weights": (1,)}, "weights"), ({"weights": (1, -1)}, "weights"), ({"degree": 3}, "degree")],
)
def test_wrong_parameters_are_named(sets, parameters, message):
    with pytest.raises(ValueError, match=message):
        EncoderUnion([("a", words(3)), ("b", words(4))], **parameters).fit([sets, sets])


def test_every_encoder_needs_its_features(sets):
    with pytest.raises(ValueError, match="1 kinds of features for 2"):
        EncoderUnion([("a", words(3)), ("b", words(4))]).fit([sets])
