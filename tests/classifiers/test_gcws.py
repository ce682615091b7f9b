"""GCWS codes: the float64 definition, collisions against the kernels, and the contract."""

import numpy as np
import pytest
from scipy import sparse

from visualwords.classifiers import GCWSHasher, gcws, kernels
from visualwords.classifiers.kernels.rows import split_signs

PINNED_I = [[4, 3, 0, 3, 3, 4, 3, 4], [7, 7, 7, 7, 7, 7, 0, 2]]
PINNED_T = [[0, 0, 0, 0, -1, 0, 0, 0], [-1, 0, 0, -1, 0, -1, -1, 0]]


def definition(X, seed, n_hashes, normalize):
    """[Li16], Algorithm 1, in float64 with the hasher's draws."""
    X = split_signs(np.asarray(X, dtype=float))
    draws = np.empty((X.shape[1], 3, n_hashes), np.float32)
    gcws.draw(seed, 0, np.arange(X.shape[1]), draws)
    r, beta, log_c = (draws[:, k].astype(float) for k in range(3))
    i, t = np.full((len(X), n_hashes), -1), np.zeros((len(X), n_hashes))
    for row, u in enumerate(X):
        at = np.flatnonzero(u)
        if at.size:
            u = u[at] / (u.sum() if normalize else 1.0)
            level = np.floor(np.log(u)[:, None] / r[at] + beta[at])
            z = np.exp(r[at] * (level - beta[at]))
            a = np.exp(log_c[at]) / (z * np.exp(r[at]))
            i[row] = at[np.argmin(a, axis=0)]
            t[row] = level[np.argmin(a, axis=0), np.arange(n_hashes)]
    return i, t


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("shape", [(70, 5), (67, 300)])
def test_codes_are_those_of_the_float64_definition(rng, normalize, signed, shape):
    X = rng.normal(size=shape) * (rng.random(shape) < 0.5)
    X[3] = 0
    X = X if signed else np.abs(X)
    hasher = GCWSHasher(n_hashes=100, normalize=normalize, random_state=4).fit(X)
    i, t = hasher.codes(X)
    expected_i, expected_t = definition(X, hasher.seed_, 100, normalize)
    np.testing.assert_array_equal(i, expected_i)
    np.testing.assert_array_equal(t, expected_t)


@pytest.mark.parametrize("normalize", [True, False])
def test_collisions_estimate_the_kernel_within_their_standard_error(rng, normalize):
    X = rng.normal(size=(12, 20)) + np.linspace(0, 2, 20)
    n_hashes = 4096
    K = (kernels.ngmm if normalize else kernels.gmm)(X)
    hasher = GCWSHasher(n_hashes, normalize=normalize, random_state=1).fit(X)
    i, t = hasher.codes(X)
    pairs = np.triu_indices(len(X), 1)
    same_i = i[pairs[0]] == i[pairs[1]]
    full = (same_i & (t[pairs[0]] == t[pairs[1]])).mean(axis=1)
    error = np.sqrt(K[pairs] * (1 - K[pairs]) / n_hashes)
    assert np.abs((full - K[pairs]) / error).max() < 4  # [Li16], Eq. (6)
    assert abs(np.mean((full - K[pairs]) / error)) < 1
    assert np.abs(same_i.mean(axis=1) - K[pairs]).max() < 0.06  # Eq. (7) is an approximation


def test_a_coordinate_is_chosen_in_proportion_to_its_weight():
    u = np.array([[3.0, -1.0, 0.5, 0.0]])
    i, _ = GCWSHasher(n_hashes=20000, random_state=1).fit(u).codes(u)
    shares = np.bincount(i[0], minlength=8) / 20000
    np.testing.assert_allclose(shares, split_signs(u)[0] / 4.5, atol=0.012)


def test_draws_follow_their_distributions():
    draws = np.empty((500, 3, 64), np.float32)
    gcws.draw(3, 0, np.arange(500), draws)
    r, beta, c = draws[:, 0], draws[:, 1], np.exp(draws[:, 2])
    for gamma in (r, c):  # Gamma(2, 1): mean 2, variance 2
        assert gamma.mean() == pytest.approx(2, abs=0.04)
        assert gamma.var() == pytest.approx(2, abs=0.1)
    assert beta.mean() == pytest.approx(0.5, abs=0.01)
    assert np.abs(np.corrcoef([r.ravel(), c.ravel(), beta.ravel()]) - np.eye(3)).max() < 0.03


def test_logarithm_needs_no_library(rng):
    x = np.concatenate([rng.random(1000), rng.random(100) * 1e-300, [1.0, 5e-324, 1e300]])
    logs = np.empty_like(x)
    gcws.log_all(x, logs)
    np.testing.assert_allclose(logs, np.log(x), rtol=1e-14, atol=1e-16)


def test_codes_are_pinned_for_a_seed():
    X = np.array([[3.0, -1.0, 0.5, 0.0], [0.1, 2.0, 0.0, -7.0]])
    i, t = GCWSHasher(n_hashes=8, random_state=0).fit(X).codes(X)
    assert i.tolist() == PINNED_I
    assert t.tolist() == PINNED_T


def test_rows_are_hashed_alike_in_any_company_layout_and_number_of_threads(rng):
    X = rng.random((150, 40)) * (rng.random((150, 40)) < 0.4)
    hasher = GCWSHasher(n_hashes=70, random_state=2).fit(X)
    i, t = hasher.codes(X)
    pieces = [hasher.codes(piece) for piece in (X[:1], X[1:100], X[100:])]
    np.testing.assert_array_equal(i, np.vstack([piece[0] for piece in pieces]))
    np.testing.assert_array_equal(t, np.vstack([piece[1] for piece in pieces]))
    signed = np.vstack([X, -X[:1]])  # a negative value elsewhere changes nothing
    np.testing.assert_array_equal(i, hasher.codes(signed)[0][:-1])
    np.testing.assert_array_equal(i, hasher.codes(sparse.csr_array(X))[0])
    np.testing.assert_array_equal(i, hasher.set_params(n_jobs=3).codes(np.asfortranarray(X))[0])
    more = GCWSHasher(n_hashes=200, random_state=2).fit(X)
    np.testing.assert_array_equal(i, more.codes(X)[0][:, :70])


def test_draws_too_large_to_keep_give_the_same_codes(rng, monkeypatch):
    X = rng.random((5, 30))
    hasher = GCWSHasher(n_hashes=130).fit(X)
    expected = hasher.codes(X)
    monkeypatch.setattr("visualwords.classifiers.gcws.KEPT_BYTES", 0)
    np.testing.assert_array_equal(hasher.codes(X), expected)


@pytest.mark.parametrize(("n_bits", "t_bits"), [(8, 0), (2, 0), (4, 2), (None, 0), (None, 1)])
def test_expansion_marks_one_column_a_hash(rng, n_bits, t_bits):
    X = rng.normal(size=(9, 13))
    X[4] = 0
    hasher = GCWSHasher(n_hashes=50, n_bits=n_bits, t_bits=t_bits).fit(X)
    Z = hasher.transform(X)
    width = (26 if n_bits is None else 2**n_bits) * 2**t_bits
    assert Z.shape == (9, 50 * width) == (9, len(hasher.get_feature_names_out()))
    assert Z.format == "csr"
    blocks = Z.toarray().reshape(9, 50, width)
    np.testing.assert_array_equal(blocks.sum(axis=2), np.repeat(X.any(axis=1), 50).reshape(9, 50))
    i, t = hasher.codes(X)
    if n_bits is None or n_bits == 8:  # wide enough for a column of its own for each coordinate
        mask = 2**t_bits - 1
        same = (i[0] == i[1]) & ((t[0] & mask) == (t[1] & mask))
        assert (Z[[0]] @ Z[[1]].T).toarray()[0, 0] == same.sum()


def test_sign_takes_a_bit_of_its_own():
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    Z = GCWSHasher(n_hashes=3, n_bits=2).fit_transform(X)
    assert (Z @ Z.T).toarray().tolist() == (3 * np.eye(4)).tolist()


@pytest.mark.parametrize("bad", [{"n_hashes": 0}, {"n_bits": 0}, {"t_bits": -1}])
def test_impossible_parameters_are_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        GCWSHasher(**bad).fit([[1.0]])
