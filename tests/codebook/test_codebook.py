"""What all codebooks and encoders promise, whatever they compute."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from visualwords.codebook import (
    CODEBOOKS,
    BagOfWords,
    FeatureSetEncoder,
    FisherVectors,
    HIKCodebook,
    KMeansCodebook,
    PyramidMatchEmbedding,
    SecondOrderPooling,
    SpatialPyramid,
    find_codebook,
)


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr("visualwords.codebook.codebook.ROWS", 64)


def states(codebook, X):
    return {
        n_jobs: codebook.set_params(n_jobs=n_jobs).fit(X).get_state() for n_jobs in (None, 1, 3)
    }


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize("kind", [KMeansCodebook, HIKCodebook])
def test_words_are_the_same_for_any_number_of_jobs(kind, dtype, small_parts):
    X = np.random.default_rng(0).gamma(1.0, 30.0, (300, 6)).clip(0, 255).astype(dtype)
    found = states(kind(7, random_state=0), X)
    for other in (1, 3):
        for name, array in found[None].items():
            np.testing.assert_array_equal(found[other][name], array, err_msg=name)


def test_parts_of_bytes_give_the_words_of_the_whole(monkeypatch):
    X = np.random.default_rng(1).integers(0, 256, (500, 8), dtype=np.uint8)
    whole = KMeansCodebook(9, random_state=0).fit(X).words_
    monkeypatch.setattr("visualwords.codebook.codebook.ROWS", 37)
    np.testing.assert_array_equal(KMeansCodebook(9, random_state=0).fit(X).words_, whole)


class FirstDescriptors(KMeansCodebook):
    """Words that are descriptors: a codebook of one's own."""

    def fit(self, X, y=None, *, progress=None):
        descriptors, _ = self._training_descriptors(X, y)
        self.set_params(init=descriptors[: self.n_words], max_iter=0)
        return super().fit(X, y, progress=progress)


def test_one_line_registers_a_codebook(sets, monkeypatch):
    monkeypatch.setitem(CODEBOOKS, "first", (f"{__name__}:FirstDescriptors", {"root": True}))
    kind, parameters = find_codebook("first")
    assert (kind, parameters) == (FirstDescriptors, {"root": True})
    words = BagOfWords(kind(4, **parameters), 1).fit(sets)
    assert words.transform(sets).shape == (12, 4)
    with pytest.raises(ValueError, match="no codebook is named 'second'; choose one of kmeans"):
        find_codebook("second")


@parametrize_with_checks(
    [kind(n_words=3, random_state=0) for kind in (KMeansCodebook, HIKCodebook)]
)
def test_codebooks_are_estimators_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("codebook", [KMeansCodebook, HIKCodebook])
def test_progress_is_reported(sets, codebook):
    reported = []

    class Listener:
        def start(self, stage, total):
            reported.append((stage, total))

        def advance(self, steps=1):
            reported.append(steps)

    codebook(5, random_state=0, max_iter=3, tol=0).fit(sets, progress=Listener())
    assert reported == [("learning words", 3), 1, 1, 1]


ENCODERS = [
    BagOfWords(KMeansCodebook(4, random_state=0), 21, norm="l1", power=0.5),
    BagOfWords(HIKCodebook(4, 64, random_state=0), 8, output="dense"),
    FisherVectors(3, 4, random_state=0),
    SecondOrderPooling(4),
    FeatureSetEncoder(4),
]


def plain(rows):
    rows = getattr(rows, "points", rows)
    return rows.toarray() if sparse.issparse(rows) else rows


@pytest.mark.parametrize("encoder", ENCODERS, ids=repr)
def test_state_is_plain_arrays_and_restores_the_encoder(sets, encoder):
    encoder = clone(encoder).fit(sets, np.arange(12) % 3)
    state = encoder.get_state()
    assert all(isinstance(v, np.ndarray) and v.dtype != object for v in state.values())
    rows = plain(encoder.transform(sets))
    assert np.isfinite(rows).all()
    np.testing.assert_array_equal(plain(clone(encoder).set_state(state).transform(sets)), rows)
    embedding = PyramidMatchEmbedding(2, finest_level=2)
    if isinstance(encoder, FeatureSetEncoder):
        points = encoder.transform(sets)
        expected = embedding.fit_transform(points)
        restored = clone(embedding).set_state(embedding.get_state())
        assert (restored.transform(points) != expected).nnz == 0


def test_a_sample_of_descriptors_is_enough_to_learn(sets):
    words = BagOfWords(KMeansCodebook(9, random_state=0), 21).fit(sets.descriptors)
    assert words.transform(sets).sum() == 3 * len(sets.descriptors)  # the image, 2×2, 4×4 windows
    for encoder in (FisherVectors(3, 4, random_state=0), SecondOrderPooling(4)):
        sample = clone(encoder).fit(sets.descriptors)
        np.testing.assert_array_equal(sample.transform(sets), encoder.fit(sets).transform(sets))
        few = clone(encoder).set_params(max_descriptors=50).fit(sets, np.arange(12) % 3)
        assert few.transform(sets).shape == sample.transform(sets).shape
        with pytest.raises(ValueError, match="finite"):
            clone(encoder).fit(np.full((30, 8), np.nan))


def test_windows_have_length_one_times_their_weight(sets):
    weights = (2.0, 1.0, 0.5)
    pyramid = SpatialPyramid(8, weights=weights)
    for encoder in (SecondOrderPooling(4, pyramid), FisherVectors(3, 4, pyramid, random_state=0)):
        lengths = np.linalg.norm(encoder.fit_transform(sets)[0].reshape(8, -1), axis=1)
        np.testing.assert_allclose(lengths, np.repeat(weights, [1, 4, 3]), rtol=1e-5)


@pytest.mark.parametrize(
    ("make", "sentences"),
    [
        (lambda **given: KMeansCodebook(**{"n_words": 4, **given}), {
            "n_words=0": {"n_words": 0},
            "n_samples=.* n_words=9999": {"n_words": 9999},
            "init='best'": {"init": "best"},
            r"numbers of shape \(4, 16\)": {"init": np.zeros((2, 2))},
        }),
        (lambda **given: HIKCodebook(4, **given), {
            "center": {"center": "mode"},
            "n_levels=1;": {"n_levels": 1},
            "n_levels=257": {"n_levels": 257},
        }),
        (lambda **given: BagOfWords(KMeansCodebook(4, random_state=0), **given), {
            "norm": {"norm": "l3"},
            "scope": {"scope": "row"},
            "output": {"output": "csc"},
            "power": {"power": 0},
            "windows=7": {"pyramid": 7},
        }),
        (lambda **given: FisherVectors(2, **{"n_components": 3, **given}), {
            "scope": {"scope": "row"},
            "power": {"power": 0},
            "n_components=99": {"n_components": 99},
            "n_components=0": {"n_components": 0},
        }),
        (lambda **given: SecondOrderPooling(4, **given), {
            "scope": {"scope": "everything"},
            "power": {"power": 0},
            "regularization": {"regularization": -1.0},
        }),
        (FeatureSetEncoder, {
            "descriptors have 16 numbers": {"n_components": 21},
            "take 1 … 16": {"n_components": 0},
            "side=0": {"side": 0},
            "negative": {"position_weight": -1},
        }),
        (PyramidMatchEmbedding, {
            "not positive semi-definite": {"normalization": "min_cardinality"},
            "at least 1": {"min_sets": 0},
        }),
    ],
    ids=["kmeans", "hik", "words", "fisher", "second order", "sets", "embedding"],
)  # fmt: skip
def test_wrong_parameters_are_named(make, sentences, sets):
    for sentence, parameters in sentences.items():
        with pytest.raises(ValueError, match=sentence):
            make(**parameters).fit(sets).transform(sets)


@pytest.mark.parametrize(
    "parameters",
    [
        {"windows": []},
        {"windows": [[0, 0, 2, 1]]},
        {"windows": [(0, 1)]},
        {"weights": (1, 2)},
        {"weights": (1, 2, -1)},
    ],
)
def test_wrong_windows_and_weights_are_named(parameters):
    with pytest.raises(ValueError, match=next(iter(parameters)).rstrip("s")):
        SpatialPyramid(**parameters).window_weights  # noqa: B018
