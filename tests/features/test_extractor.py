"""What every extractor promises, whatever it computes."""

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from visualwords.errors import ImageError
from visualwords.features import (
    HOG,
    Centrist,
    ColorHistogram,
    ColorStatistics,
    DenseFilters,
    DenseSIFT,
    KeypointSIFT,
)
from visualwords.features.extractor import Extractor, as_grey, as_rgb, places_of_pixels
from visualwords.features.local_features import LocalFeatures, LocalFeatureSets

WHOLE = [
    ColorHistogram(),
    ColorHistogram((3, 2, 5), "hsv", windows=2),
    ColorHistogram(2, "lab"),
    Centrist(),
    Centrist("pyramid"),
    Centrist("pedestrian", sobel=True),
    HOG(resize_wh=(40, 48)),
    HOG(6, 3, 8, interpolated=True, resize_wh=(64, 40)),
]
LOCAL = [
    ColorHistogram(2, layout="dense"),
    ColorStatistics((2, 3), 5),
    Centrist("dense"),
    DenseSIFT(),
    DenseSIFT((3, 4), 5, color="opponent", dtype="float32", root=True),
    DenseSIFT(2, 3, sobel=True, contrast_threshold=1.0),
    DenseFilters((4, 7), 5, order=2, signs=False, color="opponent"),
    KeypointSIFT(),
    KeypointSIFT(30, detector="harris", dtype="float32", root=True),
]
EVERY = pytest.mark.parametrize("extractor", WHOLE + LOCAL, ids=repr)


def arrays_of(extractor, image):
    """All arrays that an extractor computes of an image."""
    if not extractor.is_local:
        return [extractor.describe(image)]
    found = extractor.extract(image)
    return [found.descriptors, found.positions, found.sizes]


def assert_equal(some, others):
    for one, other in zip(some, others, strict=True):
        np.testing.assert_array_equal(one, other)


@EVERY
def test_an_extractor_is_a_transformer_of_scikit_learn(extractor, photo):
    copy = clone(extractor)
    assert copy.get_params() == extractor.get_params()
    assert copy.fit(None) is copy
    assert isinstance(copy.version, int)
    assert copy.color_mode in ("rgb", "grey")
    images = [photo[:64, :80], photo[100:164, :80], photo[:64, 300:380, 0]]
    found = make_pipeline(copy, FunctionTransformer()).fit(images).transform(iter(images))
    assert len(found) == 3
    columns = found.descriptors.shape[1] if extractor.is_local else found.shape[1]
    names = extractor.get_feature_names_out()
    assert len(set(names)) == len(names) == columns
    for one, image in zip(found, images):
        one = [one.descriptors, one.positions, one.sizes] if extractor.is_local else [one]
        assert_equal(one, arrays_of(extractor, image))
    assert len(extractor.transform([])) == 0


@EVERY
def test_odd_images_give_finite_features(extractor, odd_images):
    columns = len(extractor.get_feature_names_out())
    for name, image in odd_images.items():
        found, *places = arrays_of(extractor, image)
        assert np.isfinite(found).all(), name
        assert found.shape[-1] == columns
        for positions in places[:1]:
            assert ((positions >= 0) & (positions <= 1)).all()
        if name == "smaller than a patch" and extractor in LOCAL[2:7]:
            assert len(found) == 0


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([*WHOLE, *LOCAL]),
    arrays(np.uint8, (60, 70, 3), fill=st.integers(0, 255)),
    st.tuples(*[st.tuples(st.integers(0, 20), st.sampled_from([-2, -1, 1, 2]))] * 2),
    st.booleans(),
)
def test_any_view_gives_what_its_copy_gives(extractor, base, slices, grey):
    (top, down), (left, right) = slices
    base.flags.writeable = False
    view = base[top:, left:][::down, ::right]
    view = view[..., 1] if grey else view
    expected = arrays_of(extractor, view.copy())
    for same in (view, np.asfortranarray(view)):
        assert_equal(arrays_of(extractor, same), expected)


@EVERY
def test_only_bytes_in_the_shape_of_an_image_are_pixels(extractor):
    for dtype in (bool, np.int8, np.uint16, np.float32, np.complex64, "U1", "M8[s]"):
        with pytest.raises(TypeError, match="uint8"):
            extractor.transform([np.zeros((64, 80, 3), dtype)])
    for shape in [(), (9,), (9, 9, 5), (9, 9, 2), (1, 9, 9, 3), (0, 9), (9, 0, 3)]:
        with pytest.raises(ImageError, match="shape"):
            extractor.transform([np.zeros(shape, np.uint8)])
    with pytest.raises(TypeError, match=r"given as .*, but an array is needed"):
        arrays_of(extractor, "cat.jpg")


WRONG = {
    HOG: {
        "cell_size": [0],
        "block_size": [1.5],
        "n_orientations": [0, 256],
        "color": ["hsv"],
        "resize_wh": [64, (0, 64)],
    },
    Centrist: {"layout": ["round"], "patch_size": [2], "step": [0]},
    ColorHistogram: {
        "bins": [0, 257, (4, 4), 2.5, 200],
        "space": ["cmyk"],
        "windows": [0, [[0, 0, 2, 1]], [[0.5, 0, 0.5, 1]], [0, 0, 1]],
        "layout": ["sparse"],
        "step": [0],
    },
    ColorStatistics: {"bin_size": [0, [], 101], "step": [0], "space": ["hsv"]},
    DenseFilters: {
        "bin_size": [3, [], (4, 101)],
        "step": [0],
        "order": [0, 5],
        "color": ["hsv"],
    },
    DenseSIFT: {
        "bin_size": [0, (), 2.5, (4, 101)],
        "step": [0, 1.5],
        "contrast_threshold": [-1, float("nan")],
        "dtype": ["float64"],
        "color": ["lab"],
    },
    KeypointSIFT: {
        "max_keypoints": [0],
        "detector": ["surf"],
        "threshold": [-1],
        "patch_size": [2],
        "dtype": ["int"],
    },
}


@pytest.mark.parametrize("kind", WRONG)
def test_wrong_parameters_are_named(kind):
    for name, values in WRONG[kind].items():
        for value in values:
            with pytest.raises((ValueError, TypeError), match=name.removesuffix("s")):
                kind(**{name: value}).fit()


def test_columns_are_named_by_window_cell_and_what_they_count():
    for extractor, n, first, last in (
        (Centrist("pyramid"), 7936, "window0_census0", "window30_census255"),
        (Centrist("pedestrian"), 6144, "block0.0_census0", "block7.2_census255"),
        (ColorHistogram((2, 1, 3)), 6, "red0_green0_blue0", "red1_green0_blue2"),
        (ColorStatistics(), 96, "cell0.0_mean_lightness", "cell3.3_spread_b"),
        (DenseFilters(order=2), 160, "cell0.0_filter0.1_above", "cell3.3_filter2.0_below"),
        (DenseSIFT(color="rgb"), 384, "plane0_cell0.0_direction0", "plane2_cell3.3_direction315"),
        (HOG(resize_wh=(32, 24)), 216, "block0.0_cell0.0_angle0", "block1.2_cell1.1_angle160"),
    ):
        names = extractor.get_feature_names_out()
        assert (len(names), names[0], names[-1]) == (n, first, last)


def test_a_custom_descriptor_needs_one_method(photo):
    class Pixels(Extractor):
        def describe(self, image):
            return as_grey(image).ravel()

    class Corner(Extractor):
        is_local = True

        def extract(self, image):
            found = as_rgb(image)[0, :1].astype(np.float32)
            return LocalFeatures(found, np.zeros((1, 2), np.float32), np.ones(1, np.float32))

    with pytest.raises(ImageError, match="image 1 gives 12 numbers where image 0 gives 9"):
        Pixels().transform([np.zeros((3, 3), np.uint8), np.zeros((3, 4), np.uint8)])
    sets = Corner().fit_transform([photo, photo])
    assert sets.descriptors.shape == (2, 3)
    assert list(Corner().get_feature_names_out()) == ["corner0", "corner1", "corner2"]
    with pytest.raises(NotImplementedError, match="Corner"):
        Corner().describe(photo)
    with pytest.raises(NotImplementedError, match="Extractor"):
        Extractor().extract(photo)


def test_transform_takes_paths_bytes_and_arrays_alike(tmp_path, photo):
    content = cv2.imencode(".png", photo[:40, :48, ::-1])[1].tobytes()
    (tmp_path / "a.png").write_bytes(content)
    forms = [tmp_path / "a.png", str(tmp_path / "a.png"), content, photo[:40, :48]]
    for extractor in (ColorHistogram(), Centrist()):
        rows = extractor.transform(forms)
        assert len(rows) == 4
        assert (rows == rows[0]).all()
    assert len(DenseSIFT().transform([tmp_path / "a.png"])) == 1


def test_sets_of_many_images_are_indexed_like_lists(rng):
    sizes = [3, 0, 5, 2]
    images = [LocalFeatures(rng.random((n, 4)), rng.random((n, 2)), rng.random(n)) for n in sizes]
    sets = LocalFeatureSets.concatenate(images)
    assert sets.shape == (4,)
    assert (len(sets[-1]), len(sets[1])) == (2, 0)
    mask = np.array([True, False, True, True])
    for index in (slice(1, 3), slice(None, None, -1), [2, 0, 2], mask, []):
        chosen, part = np.arange(4)[index], sets[index]
        assert [len(one) for one in part] == [sizes[i] for i in chosen]
        for one, i in zip(part, chosen):
            for name in ("descriptors", "positions", "sizes"):
                np.testing.assert_array_equal(getattr(one, name), getattr(images[i], name))
    with pytest.raises(IndexError, match="number 4 of 4"):
        sets[4]
    with pytest.raises(ValueError, match="belong together"):
        LocalFeatures(np.zeros((3, 4)), np.zeros((2, 2)), np.zeros(3))


@pytest.mark.parametrize(
    "extractor",
    [
        ColorHistogram(bins=3, space="lab", windows=(2, 3)),
        Centrist(),
        Centrist("pyramid", sobel=True),
        HOG(resize_wh=(48, 32)),
    ],
    ids=repr,
)
def test_the_shares_of_a_column_sum_to_one_where_something_was_counted(extractor, rng):
    image = rng.integers(0, 256, (43, 61, 3), dtype=np.uint8)
    vector, places = extractor.describe(image), extractor.column_places(image)
    assert places.shares.shape == (len(places.positions), len(vector))
    assert len(places.sizes) == len(places.positions)
    sums = np.asarray(places.shares.sum(axis=0)).ravel()
    counted = np.ones(len(vector), bool) if isinstance(extractor, HOG) else vector > 0
    np.testing.assert_allclose(sums, counted, rtol=1e-12)
    names = extractor.get_feature_names_out()
    for column in rng.integers(0, len(vector), 20):
        name = places.names[places.name_of[column]].replace(" ", "")
        assert names[column].endswith(name)
    assert Centrist("pedestrian").column_places(image) is None  # which resizes it


def test_a_place_of_a_histogram_has_the_share_of_its_pixels():
    codes = np.zeros((16, 8), int)
    codes[10:, :4] = 1
    places = places_of_pixels(codes, np.array([[0, 0, 8, 16], [0, 8, 8, 16]]), ["a", "b"])
    upper, lower = places.shares.toarray()
    np.testing.assert_allclose(upper, [64 / 104, 0, 0, 0])
    np.testing.assert_allclose(lower, [40 / 104, 1, 1, 1])
