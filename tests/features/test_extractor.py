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
    """Return all arrays that an extractor computes of an image."""
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
def test_odd_images_give_finite_features_and_pictures(extractor, odd_images):
    columns = len(extractor.get_feature_names_out())
    for name, image in odd_images.items():
        found, *places = arrays_of(extractor, image)
        assert np.isfinite(found).all(), name
        assert found.shape[-1] == columns
        for positions in places[:1]:
            assert ((positions >= 0) & (positions <= 1)).all()
        picture = extractor.visualize(image)
        assert (picture.dtype, picture.ndim, picture.shape[2]) == (np.uint8, 3, 3)


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
    expected = arrays_of(extractor, np.ascontiguousarray(view))
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


@pytest.mark.parametrize("extractor", [HOG(), *LOCAL[:5]], ids=repr)
def test_an_image_smaller_than_a_patch_has_no_descriptors(extractor, photo):
    found = extractor.extract(photo[:5, :5]).descriptors
    assert found.shape == (0, extractor.extract(photo[:64]).descriptors.shape[1])


@pytest.mark.parametrize(
    ("kind", "name", "values"),
    [
        (HOG, "cell_size", [0]),
        (HOG, "block_size", [1.5]),
        (HOG, "n_orientations", [0, 256]),
        (HOG, "color", ["hsv"]),
        (HOG, "resize_wh", [64, (0, 64)]),
        (Centrist, "layout", ["round"]),
        (Centrist, "patch_size", [2]),
        (Centrist, "step", [0]),
        (ColorHistogram, "bins", [0, 257, (4, 4), 2.5, 200]),
        (ColorHistogram, "space", ["cmyk"]),
        (ColorHistogram, "window", [0, [[0, 0, 2, 1]], [[0.5, 0, 0.5, 1]], [0, 0, 1]]),
        (ColorHistogram, "layout", ["sparse"]),
        (ColorHistogram, "step", [0]),
        (ColorStatistics, "bin_size", [0, [], 101]),
        (ColorStatistics, "step", [0]),
        (ColorStatistics, "space", ["hsv"]),
        (DenseFilters, "bin_size", [3, [], (4, 101)]),
        (DenseFilters, "step", [0]),
        (DenseFilters, "order", [0, 5]),
        (DenseFilters, "color", ["hsv"]),
        (DenseSIFT, "bin_size", [0, (), 2.5, (4, 101)]),
        (DenseSIFT, "step", [0, 1.5]),
        (DenseSIFT, "contrast_threshold", [-1, float("nan")]),
        (DenseSIFT, "dtype", ["float64"]),
        (DenseSIFT, "color", ["lab"]),
        (KeypointSIFT, "max_keypoints", [0]),
        (KeypointSIFT, "detector", ["surf"]),
        (KeypointSIFT, "threshold", [-1]),
        (KeypointSIFT, "patch_size", [2]),
        (KeypointSIFT, "dtype", ["int"]),
    ],
)
def test_wrong_parameters_are_named(kind, name, values):
    for value in values:
        parameter = "windows" if name == "window" else name
        with pytest.raises((ValueError, TypeError), match=name):
            kind(**{parameter: value}).fit()


def test_columns_are_named_by_window_cell_and_what_they_count():
    for extractor, n, first, last in (
        (Centrist("pyramid"), 7936, "window0_census0", "window30_census255"),
        (Centrist("pedestrian"), 6144, "block0.0_census0", "block7.2_census255"),
        (ColorHistogram((2, 1, 3)), 6, "red0_green0_blue0", "red1_green0_blue2"),
        (ColorHistogram(1, "hsv", windows=2), 4, *["window0_hue0_saturation0_value0"] * 2),
        (ColorStatistics(), 96, "cell0.0_mean_lightness", "cell3.3_spread_b"),
        (
            DenseFilters(order=2, color="rgb"),
            480,
            "plane0_cell0.0_filter0.1_above",
            "plane2_cell3.3_filter2.0_below",
        ),
        (DenseSIFT(), 128, "cell0.0_direction0", "cell3.3_direction315"),
        (HOG(resize_wh=(32, 24)), 216, "block0.0_cell0.0_angle0", "block1.2_cell1.1_angle160"),
    ):
        names = extractor.get_feature_names_out()
        assert (len(names), names[0]) == (n, first)
        assert names[-1] == last.replace("window0_hue", "window3_hue")


def test_vectors_of_different_lengths_are_refused():
    class Pixels(Extractor):
        def describe(self, image):
            return as_grey(image).ravel()

    with pytest.raises(ImageError, match="image 1 gives 12 numbers where image 0 gives 9"):
        Pixels().transform([np.zeros((3, 3), np.uint8), np.zeros((3, 4), np.uint8)])


def test_a_custom_local_descriptor_needs_one_method(photo):
    class Corner(Extractor):
        is_local = True

        def extract(self, image):
            return LocalFeatures(
                as_rgb(image)[0, :1].astype(np.float32),
                np.zeros((1, 2), np.float32),
                np.ones(1, np.float32),
            )

    sets = Corner().fit_transform([photo, photo])
    assert sets.descriptors.shape == (2, 3)
    assert list(Corner().get_feature_names_out()) == ["corner0", "corner1", "corner2"]
    with pytest.raises(NotImplementedError, match="Corner"):
        Corner().describe(photo)
    with pytest.raises(NotImplementedError, match="Extractor"):
        Extractor().extract(photo)


def test_transform_takes_paths_bytes_and_arrays_alike(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (40, 48, 3), dtype=np.uint8)
    content = cv2.imencode(".png", pixels[:, :, ::-1])[1].tobytes()
    (tmp_path / "a.png").write_bytes(content)
    for extractor in (ColorHistogram(), Centrist()):
        rows = extractor.transform([tmp_path / "a.png", str(tmp_path / "a.png"), content])
        assert len(rows) == 3
        assert (rows == rows[0]).all()
    colors = ColorHistogram().transform([pixels, content])
    np.testing.assert_array_equal(colors[0], colors[1])
    assert len(DenseSIFT().transform([tmp_path / "a.png"])) == 1


def test_a_single_vector_wants_an_array():
    for extractor in (HOG(), ColorHistogram()):
        with pytest.raises(TypeError, match=r"given as .*, but an array is needed"):
            extractor.describe("cat.jpg")


def test_sets_of_many_images_are_indexed_like_lists():
    rng = np.random.default_rng(1)
    sizes = [3, 0, 5, 2]
    images = [LocalFeatures(rng.random((n, 4)), rng.random((n, 2)), rng.random(n)) for n in sizes]
    sets = LocalFeatureSets.concatenate(images)
    assert sets.shape == (4,)
    assert (len(sets[-1]), len(sets[1])) == (2, 0)
    some = np.array([True, False, True, True])
    for index in (slice(1, 3), slice(None, None, -1), [2, 0, 2], some, []):
        chosen = np.arange(4)[index]
        part = sets[index]
        assert [len(one) for one in part] == [sizes[i] for i in chosen]
        for one, i in zip(part, chosen):
            np.testing.assert_array_equal(one.descriptors, images[i].descriptors)
            np.testing.assert_array_equal(one.positions, images[i].positions)
            np.testing.assert_array_equal(one.sizes, images[i].sizes)
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


def test_a_place_of_a_histogram_has_the_share_of_its_pixels(rng):
    codes = np.zeros((16, 8), int)
    codes[10:, :4] = 1
    places = places_of_pixels(codes, np.array([[0, 0, 8, 16], [0, 8, 8, 16]]), ["a", "b"])
    upper, lower = places.shares.toarray()
    np.testing.assert_allclose(upper, [64 / 104, 0, 0, 0])
    np.testing.assert_allclose(lower, [40 / 104, 1, 1, 1])
    resized = Centrist("pedestrian")
    assert resized.column_places(rng.integers(0, 256, (50, 40), np.uint8)) is None
