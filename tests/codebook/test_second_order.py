"""Second-order pooling against its definition, and what it promises."""

import numpy as np
import pytest
from scipy.linalg import logm
from sklearn.base import clone
from sklearn.decomposition import PCA

from tests.reference.words import second_moments_by_definition
from visualwords.codebook import SecondOrderPooling
from visualwords.features.local_features import LocalFeatures, LocalFeatureSets


@pytest.fixture
def encoder(sets):
    return SecondOrderPooling(6, pyramid=8, random_state=0).fit(sets)


def inside(one, box):
    (x, y), (x0, y0, x1, y1) = one.positions.T, np.asarray(box, np.float32)
    return (x >= x0) & (x < x1) & (y >= y0) & (y < y1)


def test_every_window_follows_the_definition(sets, encoder):
    rows = encoder.transform(sets).reshape(len(sets), 8, -1)
    for row, one in zip(rows, sets):
        x = encoder.whitened(one.descriptors)
        for window, box in zip(row, encoder._pyramid.boxes):
            mine = x[inside(one, box)]
            expected = np.zeros(window.size)
            if len(mine):
                expected = second_moments_by_definition(mine, regularization=0.1, power=0.75)
            np.testing.assert_allclose(window, expected, atol=1e-4)


def test_components_are_principal_and_whitened(sets, encoder):
    x = sets.descriptors.astype(float)
    peer = PCA(6, whiten=True, svd_solver="full").fit(x)
    ours, theirs = encoder.whitened(sets.descriptors), peer.transform(x)
    cosines = np.abs((ours * theirs).mean(axis=0))
    assert (cosines > 0.99).all()  # but for signs, and the rounding of directions
    np.testing.assert_allclose(ours.std(axis=0), 1, atol=1e-4)
    np.testing.assert_allclose(ours.mean(axis=0), 0, atol=1e-4)


def test_products_of_vectors_are_those_of_the_logarithms(sets):
    encoder = SecondOrderPooling(5, pyramid=1, power=1.0, scope="image").fit(sets)
    rows = encoder.transform(sets)
    moments = [encoder.moments(one)[0][0].astype(float) for one in sets if len(one)]
    logs = [logm(m + 0.1 * np.eye(5)) for m in moments]
    logs = [one / np.linalg.norm(one) for one in logs]
    expected = [[np.sum(a * b) for b in logs] for a in logs]
    used = rows[[bool(len(one)) for one in sets]]
    np.testing.assert_allclose(used @ used.T, expected, atol=1e-4)


def test_an_image_without_patches_is_zero_and_one_patch_is_finite(sets, encoder):
    assert not encoder.transform(sets)[5].any()  # the fixture's image without patches
    one = sets[0]
    single = LocalFeatures(one.descriptors[:1], one.positions[:1], one.sizes[:1])
    row = encoder.transform([single])
    assert np.isfinite(row).all()
    assert row.any()


def test_patches_of_one_colour_and_more_components_than_numbers_are_fine():
    flat = LocalFeatures(
        np.full((20, 4), 7, np.uint8), np.full((20, 2), 0.5), np.full(20, 8, np.float32)
    )
    row = SecondOrderPooling(64, pyramid=1).fit_transform([flat])
    assert row.shape == (1, 4 * 5 // 2)
    assert np.isfinite(row).all()


def test_the_order_of_patches_does_not_matter(sets, encoder, rng):
    one = sets[1]
    order = rng.permutation(len(one))
    turned = LocalFeatures(one.descriptors[order], one.positions[order], one.sizes[order])
    np.testing.assert_allclose(encoder.encode(one), encoder.encode(turned), atol=1e-5)


def test_float_descriptors_and_plain_samples_are_taken(sets):
    as_floats = LocalFeatureSets(
        sets.descriptors.astype(np.float32), sets.positions, sets.sizes, sets.offsets
    )
    rows = SecondOrderPooling(4).fit(as_floats.descriptors).transform(as_floats)
    whole = SecondOrderPooling(4).fit(sets).transform(sets)
    np.testing.assert_allclose(rows, whole, atol=1e-4)


def test_names_and_damaged_state(sets, encoder):
    names = encoder.get_feature_names_out()
    assert len(set(names)) == len(names) == encoder.transform(sets).shape[1]
    assert names[1] == "level0_window0_component0_component1"
    with pytest.raises(ValueError, match="do not fit together"):
        clone(encoder).set_state(encoder.get_state() | {"spread": np.zeros(6, np.float32)})
