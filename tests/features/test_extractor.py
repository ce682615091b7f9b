"""What every extractor promises, whatever it computes."""

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays, scalar_dtypes
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
from visualwords.features.extractor import Extractor, as_grey, as_rgb
from visualwords.features.local_features import LocalFeatures, LocalFeatureSets

WHOLE = [
    ColorHistogram(),
    ColorHistogram((3, 2, 5), "hsv", windows=2),
    ColorHistogram(2, "lab"),
    Centrist(),
    Centrist("pyramid"),
    Centrist("pedestrian", sobel=True),
    HOG(resize_wh=(40, 48)),
    HOG(6, 3, 8, interpolated=True, sqrt=True, resize_wh=(64, 40)),
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


@pytest.mark.parametrize("extractor", WHOLE, ids=repr)
def test_transform_stacks_what_describe_gives(extractor, photo):
    images = [photo[:64, :80], photo[100:164, :80], photo[:64, 300:380, 0]]
    rows = extractor.fit(images).transform(iter(images))
    assert rows.shape == (3, len(extractor.get_feature_names_out()))
    for row, image in zip(rows, images):
        np.testing.assert_array_equal(row, extractor.describe(image))


@pytest.mark.parametrize("extractor", LOCAL, ids=repr)
def test_transform_concatenates_what_extract_gives(extractor, photo):
    images = [photo[:64, :80], photo[:3, :3], photo[:90, :100]]
    sets = extractor.fit(images).transform(iter(images))
    assert isinstance(sets, LocalFeatureSets)
    assert len(sets) == 3
    assert sets.descriptors.shape[1] == len(extractor.get_feature_names_out())
    for one, image in zip(sets, images):
        np.testing.assert_array_equal(one.descriptors, extractor.extract(image).descriptors)
        np.testing.assert_array_equal(one.positions, extractor.extract(image).positions)
        np.testing.assert_array_equal(one.sizes, extractor.extract(image).sizes)


@pytest.mark.parametrize("extractor", [HOG(), *LOCAL[:5]], ids=repr)
def test_an_image_smaller_than_a_patch_has_no_descriptors(extractor, photo):
    found = extractor.extract(photo[:5, :5])
    assert found.descriptors.shape[0] == 0
    assert found.descriptors.shape[1] == extractor.extract(photo[:64]).descriptors.shape[1]


@pytest.mark.parametrize("extractor", WHOLE + LOCAL, ids=repr)
def test_order_and_memory_layout_of_images_change_nothing(extractor, photo):
    compute = extractor.extract if extractor.is_local else extractor.describe
    value = (lambda f: f.descriptors) if extractor.is_local else (lambda f: f)
    image = photo[:64, :80]
    expected = value(compute(image))
    read_only = image.copy()
    read_only.flags.writeable = False
    wide = np.zeros((128, 160, 3), np.uint8)
    wide[::2, ::2] = image
    for same in (image.copy(), read_only, np.asfortranarray(image), wide[::2, ::2]):
        np.testing.assert_array_equal(value(compute(same)), expected)
    compute(photo[50:114, 7:87])
    np.testing.assert_array_equal(value(compute(image)), expected)


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from([*WHOLE, *LOCAL]),
    arrays(np.uint8, (60, 70, 3), fill=st.integers(0, 255)),
    st.tuples(*[st.tuples(st.integers(0, 20), st.sampled_from([-2, -1, 1, 2]))] * 2),
    st.booleans(),
)
def test_any_view_gives_what_its_copy_gives(extractor, base, slices, grey):
    (top, down), (left, right) = slices
    view = base[top:, left:][::down, ::right]
    view = view[..., 1] if grey else view
    copy = np.ascontiguousarray(view)
    if extractor.is_local:
        found, expected = extractor.extract(view), extractor.extract(copy)
        np.testing.assert_array_equal(found.descriptors, expected.descriptors)
        np.testing.assert_array_equal(found.positions, expected.positions)
    else:
        np.testing.assert_array_equal(extractor.describe(view), extractor.describe(copy))


@given(st.sampled_from([*WHOLE, *LOCAL]), scalar_dtypes())
def test_only_bytes_are_pixels(extractor, dtype):
    if dtype != np.uint8:
        with pytest.raises(TypeError, match="uint8"):
            extractor.fit_transform([np.zeros((64, 80, 3), dtype)])


@pytest.mark.parametrize("extractor", WHOLE + LOCAL, ids=repr)
def test_odd_images_give_finite_features(extractor, odd_images):
    for image in odd_images.values():
        if extractor.is_local:
            found = extractor.extract(image)
            assert np.isfinite(found.descriptors).all()
            assert ((found.positions >= 0) & (found.positions <= 1)).all()
            assert found.descriptors.shape == (
                len(found),
                len(extractor.get_feature_names_out()),
            )
        else:
            row = extractor.describe(image)
            assert np.isfinite(row).all()
            assert len(row) == len(extractor.get_feature_names_out())


@pytest.mark.parametrize("extractor", WHOLE + LOCAL, ids=repr)
def test_extractors_are_transformers_of_scikit_learn(extractor, photo):
    copy = clone(extractor)
    assert copy.get_params() == extractor.get_params()
    assert isinstance(copy.version, int)
    assert copy.color_mode in ("rgb", "grey")
    assert copy.fit(None) is copy
    pipeline = make_pipeline(copy, FunctionTransformer())
    images = [photo[:64, :80], photo[64:128, :80]]
    assert len(pipeline.fit(images).transform(images)) == 2


@pytest.mark.parametrize("extractor", WHOLE + LOCAL, ids=repr)
def test_visualize_gives_a_picture(extractor, photo, odd_images):
    for image in (photo[:64, :80], photo[:64, :80, 0], odd_images["one pixel"]):
        picture = extractor.visualize(image)
        assert picture.dtype == np.uint8
        assert picture.ndim == 3
        assert picture.shape[2] == 3


@pytest.mark.parametrize("extractor", WHOLE + LOCAL, ids=repr)
@pytest.mark.parametrize("shape", [(), (9,), (9, 9, 4), (9, 9, 1), (1, 9, 9, 3), (0, 9), (9, 0, 3)])
def test_other_shapes_are_refused(extractor, shape):
    with pytest.raises(ImageError, match="shape"):
        extractor.fit_transform([np.zeros(shape, np.uint8)])


@pytest.mark.parametrize("extractor", WHOLE + LOCAL, ids=repr)
def test_no_images_give_no_rows(extractor):
    assert len(extractor.fit_transform([])) == 0


def test_vectors_of_different_lengths_are_refused():
    class Pixels(Extractor):
        def describe(self, image):
            return as_grey(image).ravel()

    with pytest.raises(ImageError, match="image 1 gives 12 numbers where image 0 gives 9"):
        Pixels().transform([np.zeros((3, 3), np.uint8), np.zeros((3, 4), np.uint8)])


def test_an_extractor_says_what_it_does_not_give(photo):
    with pytest.raises(NotImplementedError, match="Extractor"):
        Extractor().extract(photo)
    with pytest.raises(NotImplementedError, match="Extractor"):
        Extractor().describe(photo)


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


def test_local_features_check_their_shapes():
    with pytest.raises(ValueError, match="belong together"):
        LocalFeatures(np.zeros((3, 4)), np.zeros((2, 2)), np.zeros(3))


def test_sets_are_indexed_like_a_sequence(photo):
    sets = ColorHistogram(2, layout="dense").transform([photo[:40, :40], photo[:20, :20]])
    assert len(sets[-1]) == len(sets[1]) == 1
    with pytest.raises(IndexError, match="image 2 of 2"):
        sets[2]


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


@pytest.mark.parametrize("shape", [(160, 160, 3), (160, 160, 4), (160, 160)])
def test_a_single_array_is_not_taken_for_as_many_images_as_it_has_rows(shape):
    with pytest.raises(TypeError, match="one image; give a list of images"):
        ColorHistogram().transform(np.zeros(shape, np.uint8))
    several = np.zeros((2, 40, 50, 3), np.uint8)
    assert ColorHistogram().transform(several).shape == (2, 64)


@pytest.mark.parametrize("extractor", [HOG(), ColorHistogram()])
def test_a_path_where_an_array_is_expected_is_said(extractor):
    with pytest.raises(TypeError, match=r"a file; read it with visualwords\.images\.read_image"):
        extractor.describe("cat.jpg")


def test_a_file_that_is_no_image_is_named():
    with pytest.raises(ImageError, match=r"nowhere\.png: "):
        ColorHistogram().transform(["nowhere.png"])
    with pytest.raises(TypeError, match="the image is a file"):
        ColorHistogram().describe("nowhere.png")
    with pytest.raises(TypeError, match="give a list of images"):
        ColorHistogram().transform("nowhere.png")


def test_sets_of_many_images_are_indexed_like_lists():
    rng = np.random.default_rng(1)
    sizes = [3, 0, 5, 2]
    images = [LocalFeatures(rng.random((n, 4)), rng.random((n, 2)), rng.random(n)) for n in sizes]
    sets = LocalFeatureSets.concatenate(images)
    assert sets.shape == (4,)
    some = np.array([True, False, True, True])
    for index in (slice(1, 3), slice(None, None, -1), [2, 0, 2], some, []):
        chosen = np.arange(4)[index]
        part = sets[index]
        assert [len(one) for one in part] == [sizes[i] for i in chosen]
        for one, i in zip(part, chosen):
            np.testing.assert_array_equal(one.descriptors, images[i].descriptors)
            np.testing.assert_array_equal(one.positions, images[i].positions)
            np.testing.assert_array_equal(one.sizes, images[i].sizes)
    with pytest.raises(IndexError):
        sets[4]
