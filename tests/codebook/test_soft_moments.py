"""Responsibilities and the sums they weight, against their definition, however computed."""

import os
import subprocess
import sys

import numpy as np
import pytest

from visualwords.codebook import soft_moments
from visualwords.codebook._fisher import GROUP, PLANES
from visualwords.codebook.byte_products import as_bytes, pack_columns
from visualwords.codebook.projection import AffineMap, Projection
from visualwords.codebook.soft_moments import LEAST, SoftMoments

K, D, CELLS = 37, 21, 3


def by_definition(x, cells, weights, means, variances):
    """Sums of q, q x, q x² of each cell and the log-likelihood, in float64."""
    x = x.astype(np.float64)
    logs = np.log(weights) - 0.5 * (
        (x[:, None] - means) ** 2 / variances + np.log(2 * np.pi * variances)
    ).sum(axis=2)
    q = np.exp(logs - logs.max(axis=1, keepdims=True))
    likelihood = (np.log(q.sum(axis=1)) + logs.max(axis=1)).sum()
    q[q < LEAST] = 0
    q /= q.sum(axis=1, keepdims=True)
    member = np.eye(CELLS)[cells]
    sums = [np.einsum("nc,nk,nd->ckd", member, q, x**p) for p in (1, 2)]
    return np.einsum("nc,nk->ck", member, q), *sums, likelihood


def mixture_and_points(n=500, narrow=0.3):
    """A mixture with one narrow Gaussian, points of it, some exactly there and some far away."""
    random = np.random.default_rng(0)
    means, variances = random.normal(0, 0.7, (K, D)), random.uniform(0.2, 2, (K, D))
    variances[4] = narrow
    weights = random.dirichlet(np.ones(K))
    labels = random.integers(0, K, n)
    x = means[labels] + np.sqrt(variances[labels]) * random.normal(size=(n, D))
    x[:30], x[30:34] = means[4], 9 * x[30:34]
    padded = np.zeros((n, SoftMoments.padded(D)), np.float32)
    padded[:, :D] = x
    return (weights, means, variances), padded, random.integers(0, CELLS, n).astype(np.int32)


def assert_as_defined(mixture, x, cells):
    *sums, likelihood = SoftMoments(*mixture).of(x, cells, CELLS)
    *expected, exact_likelihood = by_definition(x[:, :D], cells, *mixture)
    for ours, theirs in zip(sums, expected):
        np.testing.assert_allclose(ours, theirs, atol=2e-4 * max(1, np.abs(theirs).max()))
    np.testing.assert_allclose(likelihood, exact_likelihood, rtol=1e-4)


@pytest.mark.parametrize("narrow", [0.3, 1e-2, 1e-4])
@pytest.mark.parametrize("n", [500, 41])
def test_sums_follow_the_definition(narrow, n):
    assert_as_defined(*mixture_and_points(n, narrow))


def wide_mixture_and_points():
    """A mixture of so many Gaussians that responsibilities below the least have a large sum."""
    random = np.random.default_rng(1)
    mixture = np.full(150, 1 / 150), random.normal(0, 1, (150, D)), np.full((150, D), 0.5)
    x = np.zeros((80, SoftMoments.padded(D)), np.float32)
    x[:, :D] = random.normal(size=(80, D))
    return mixture, x, random.integers(0, CELLS, 80).astype(np.int32)


@pytest.mark.parametrize("make", [mixture_and_points, wide_mixture_and_points])
def test_processors_without_products_of_bytes_compute_the_same(make, monkeypatch):
    monkeypatch.setattr(soft_moments, "LANES", 0)
    assert_as_defined(*make())


def test_no_points_are_no_sums():
    mixture, x, cells = mixture_and_points()
    *sums, likelihood = SoftMoments(*mixture).of(x[:0], cells[:0], CELLS)
    assert likelihood == 0
    assert all(not part.any() for part in sums)


def test_wide_mixtures_have_several_groups_of_columns():
    assert_as_defined(*wide_mixture_and_points())


@pytest.mark.parametrize("shape", [(64, 128), (5, 7), (33, 128), (1, 1)])
@pytest.mark.parametrize("n", [0, 3, 10, 111])
def test_bytes_are_projected_exactly(shape, n):
    random = np.random.default_rng(0)
    projection = Projection(random.random(shape[1]), random.normal(size=shape)).rounded()
    x = random.integers(0, 256, (n, shape[1])).astype(np.uint8)
    exact = (x - projection.mean.astype(float)) @ projection.directions.T.astype(float)
    np.testing.assert_allclose(projection.apply(x), exact, rtol=2e-6, atol=2e-3)
    np.testing.assert_allclose(projection.apply(x.astype(np.float32)), exact, rtol=2e-6, atol=2e-3)


def test_rounding_turns_directions_by_less_than_a_degree():
    x = np.random.default_rng(0).normal(size=(400, 128)).astype(np.float32)
    learned = Projection.learn(x, 64)
    rounded = learned.rounded()
    cosine = (learned.directions * rounded.directions).sum(axis=1)
    cosine /= np.linalg.norm(rounded.directions, axis=1)
    assert np.degrees(np.arccos(cosine.min())) < 1


def test_directions_that_are_no_small_numbers_are_not_rounded():
    directions = np.random.default_rng(0).normal(size=(3, 8))
    x = np.random.default_rng(1).integers(0, 256, (20, 8)).astype(np.uint8)
    result = AffineMap(directions, np.arange(3), width=5).apply(x)
    np.testing.assert_allclose(result[:, :3], x @ directions.T - np.arange(3), atol=1e-3)
    assert not result[:, 3:].any()


def test_columns_are_packed_in_groups_of_quads():
    codes, _ = as_bytes(np.random.default_rng(0).normal(size=(GROUP + 1, 9)))
    assert np.abs(codes).max(axis=1).min() == 127
    assert pack_columns(codes).shape == (2, 3, PLANES, GROUP)
    assert not pack_columns(codes)[1, :, :, 1:].any()


OTHER_PROCESSOR = """
from visualwords import compiled
compiled.vector_bytes, compiled.has_byte_products = lambda: 32, lambda: False
from tests.codebook.test_soft_moments import *
assert PLANES == 2 and GROUP == 16
assert_as_defined(*mixture_and_points())
test_bytes_are_projected_exactly((33, 128), 111)
"""


@pytest.mark.skipif(PLANES != 1 or GROUP != 32, reason="this processor is the other one")
def test_older_processors_multiply_even_and_odd_bytes(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", OTHER_PROCESSOR], check=True, env=environment)
