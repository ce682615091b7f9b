"""What all codebooks promise: the same words for any number of jobs; one line registers one."""

import numpy as np
import pytest

from visualwords.codebook import CODEBOOKS, BagOfWords, HIKCodebook, KMeansCodebook, find_codebook
from visualwords.codebook.codebook import in_parts, map_parts


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


def test_parts_cover_all_rows_in_order(small_parts):
    X = np.arange(150).reshape(150, 1)
    with in_parts(X) as parts:
        assert len(parts) == 3
        np.testing.assert_array_equal(np.concatenate(map_parts(np.ravel, parts, 2)), np.arange(150))


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
