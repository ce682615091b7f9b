"""From local features to sets of points on the grid."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from visualwords.codebook import FeatureSetEncoder, FeatureSets
from visualwords.features import DenseSIFT
from visualwords.features.local_features import LocalFeatures, LocalFeatureSets


def some_features(rng, sizes=(30, 0, 1, 25), d=20):
    images = [
        LocalFeatures(
            rng.integers(0, 200, (n, d)).astype(np.uint8) + np.uint8(1),
            rng.random((n, 2)).astype(np.float32),
            np.full(n, 16, np.float32),
        )
        for n in sizes
    ]
    return LocalFeatureSets.concatenate(images)


def test_points_are_scaled_principal_components_and_positions(rng):
    features = some_features(rng)
    encoder = FeatureSetEncoder(n_components=4, position_weight=0.5).fit(features)
    sets = encoder.transform(features)
    projected = PCA(4).fit_transform(features.descriptors.astype(float))
    signs = np.array([np.corrcoef(projected[:, j], sets.points[:, j])[0, 1] for j in range(4)])
    projected *= np.sign(signs)
    wanted = (projected - projected.min(axis=0)) * encoder.scale_
    assert np.abs(sets.points[:, :4] + 0.5 - wanted).max() < 0.5 + 1e-3
    np.testing.assert_array_equal(sets.points[:, 4:], np.floor(features.positions * 128))


def test_training_points_fill_the_range_and_stay_in_it(rng):
    features = some_features(rng)
    points = FeatureSetEncoder(n_components=4, side=100).fit_transform(features).points
    assert points.min() == 0
    assert points[:, :4].max() == 99


def test_sets_keep_their_sizes_and_order(rng):
    features = some_features(rng)
    sets = FeatureSetEncoder(n_components=4).fit_transform(features)
    assert sets.sizes.tolist() == [30, 0, 1, 25]
    assert (sets.points.shape, sets.points.dtype, sets.side) == ((56, 6), np.int32, 256)
    listed = FeatureSetEncoder(n_components=4).fit_transform(list(features))
    np.testing.assert_array_equal(sets.points, listed.points)
    assert FeatureSetEncoder(4, positions=False).fit_transform(features).points.shape == (56, 4)


def test_blank_descriptors_are_left_out():
    image = np.zeros((64, 64), np.uint8)
    image[40:, 40:] = np.random.default_rng(0).integers(0, 256, (24, 24))
    features = DenseSIFT().transform([image, np.full((64, 64), 9, np.uint8)])
    encoder = FeatureSetEncoder(n_components=3).fit(features)
    sets = encoder.transform(features)
    assert 0 < sets.sizes[0] < len(features[0])
    assert sets.sizes[1] == 0
    assert len(encoder.kept(features[0])) == sets.sizes[0]
    everything = FeatureSetEncoder(n_components=3, skip_blank=False).fit_transform(features)
    np.testing.assert_array_equal(everything.sizes, np.diff(features.offsets))


def test_a_new_image_may_have_points_beyond_the_range(rng):
    features = some_features(rng, sizes=(40,))
    encoder = FeatureSetEncoder(n_components=2, positions=False).fit(features)
    wild = LocalFeatures(np.full((1, 20), 1e6), np.zeros((1, 2)), np.ones(1))
    assert encoder.transform([wild]).points.min() < -256


def test_constant_and_few_descriptors_are_no_problem():
    one = LocalFeatures(np.full((3, 5), 7), np.full((3, 2), 0.5), np.ones(3))
    points = FeatureSetEncoder(n_components=2).fit_transform([one]).points
    np.testing.assert_array_equal(points, [[0, 0, 128, 128]] * 3)


def test_the_sample_does_not_change_the_range(rng):
    features = some_features(rng, sizes=(300,))
    points = FeatureSetEncoder(n_components=3, sample_size=50).fit_transform(features).points
    assert points.min() >= 0
    assert points.max() <= 255


def test_nothing_to_learn_from_is_an_error(rng):
    with pytest.raises(ValueError, match="nothing can be learned"):
        FeatureSetEncoder().fit(some_features(rng, sizes=(0, 0)))
    encoder = FeatureSetEncoder(n_components=4).fit(some_features(rng))
    with pytest.raises(ValueError, match="fitted on 20"):
        encoder.transform(some_features(rng, d=21))


def test_sets_can_be_taken_in_any_order(rng):
    sets = FeatureSets.from_arrays([rng.integers(0, 9, (n, 2)) for n in (3, 0, 2, 4)])
    taken = sets[[3, 1, 0]]
    assert taken.sizes.tolist() == [4, 0, 3]
    np.testing.assert_array_equal(taken[0], sets[3])
    np.testing.assert_array_equal(taken[2], sets[0])
    assert sets[np.array([False, False, True, True])].sizes.tolist() == [2, 4]
    assert sets[1:3].sizes.tolist() == [0, 2]
    assert sets[::-1].sizes.tolist() == [4, 2, 0, 3]
    assert sets[4:].sizes.tolist() == []
    with pytest.raises(IndexError):
        sets[4]


def test_an_image_gives_the_same_points_alone_and_among_others(rng):
    features = some_features(rng, sizes=(37, 1, 250, 8), d=128)
    encoder = FeatureSetEncoder(n_components=10).fit(features)
    together = encoder.transform(features)
    for i, alone in enumerate(features):
        np.testing.assert_array_equal(encoder.transform([alone]).points, together[i])


def test_descriptors_may_stay_as_they_are(rng):
    features = some_features(rng)
    points = FeatureSetEncoder(None, positions=False, side=200).fit_transform(features).points
    moved = features.descriptors - features.descriptors.min(axis=0).astype(float)
    wanted = np.floor(moved * (200 * (1 - 1e-9) / moved.max()))
    np.testing.assert_array_equal(points, wanted)
