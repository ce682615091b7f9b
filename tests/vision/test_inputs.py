"""Images as people have them: what is taken, and that all forms give the same pixels."""

import io

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from visualwords.errors import ImageError, ImageTooLargeError
from visualwords.features import ColorHistogram
from visualwords.images import read_image
from visualwords.inputs import as_images, as_pixels, as_source, is_one_image

MODES = ["L", "LA", "La", "RGB", "RGBA", "RGBa", "P", "PA", "CMYK", "YCbCr", "HSV", "I", "F", "1"]


@pytest.fixture
def files(tmp_path, photo, encode):
    """Three PNG files and their pixels."""
    pictures = [photo, photo[:, ::-1], photo[::-1]]
    paths = [tmp_path / f"{i}.png" for i in range(3)]
    for path, picture in zip(paths, pictures, strict=True):
        path.write_bytes(encode(np.ascontiguousarray(picture), "PNG"))
    return paths, pictures


def forms(path):
    data = path.read_bytes()
    yield from (str(path), path, data, bytearray(data), memoryview(data), Image.open(path))
    yield from (np.array(Image.open(path)), np.array(Image.open(path).convert("RGBA")))
    yield from ({"image": Image.open(path), "label": 3}, {"img": {"bytes": data, "path": None}})
    yield {"bytes": None, "path": str(path)}


def test_one_image_has_the_same_pixels_in_every_form(files):
    paths, pictures = files
    for image in forms(paths[0]):
        assert is_one_image(image), type(image)
        for mode in "rgb", "grey":
            expected = read_image(paths[0], mode, max_side=50)
            np.testing.assert_array_equal(as_pixels(image, mode, max_side=50), expected)
        np.testing.assert_array_equal(as_pixels(image), pictures[0])
        assert len(as_images(image).images) == 1


@pytest.mark.parametrize("mode", MODES)
def test_pil_images_of_every_mode_become_what_their_file_becomes(photo, mode):
    image = Image.fromarray(photo[:, :, 0] if mode in "IF1" else photo)
    opaque = {"LA": "LA", "La": "LA", "RGBA": "RGBA", "RGBa": "RGBA", "PA": "P"}.get(mode)
    image = image.convert(opaque or mode)
    if opaque and opaque != "P":
        image.putalpha(Image.fromarray(photo[:, :, 1]))
        over_white = Image.alpha_composite(
            Image.new("RGBA", image.size, "white"), image.convert("RGBA")
        )
    expected = np.asarray((over_white if opaque in ("LA", "RGBA") else image).convert("RGB"), int)
    pixels = as_pixels(image.convert(mode))
    assert pixels.dtype == np.uint8
    np.testing.assert_allclose(pixels, expected, atol=2 if mode in ("La", "RGBa") else 1)


def test_pil_images_of_16_bits_keep_their_range(encode):
    deep = np.arange(0, 4096, 16, dtype=np.uint16).reshape(16, 16)  # 12 of 16 bits
    pixels = as_pixels(Image.fromarray(deep), "grey")
    np.testing.assert_array_equal(pixels, read_image(encode(deep, "PNG"), "grey"))
    assert pixels.max() == 254


@pytest.mark.parametrize("form", ["JPEG", "PNG", "TIFF", "WEBP"])
def test_pil_images_are_turned_upright(photo, form, encode):
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[274] = orientation
        data = encode(photo, form, exif=exif)
        expected = read_image(data).astype(int)
        for loads in False, True:
            image = Image.open(io.BytesIO(data))
            if loads:
                image.load()
            pixels = as_pixels(image)
            assert pixels.shape == expected.shape
            assert np.abs(pixels - expected).mean() < 1.5  # decoders of JPEG differ a little


def test_an_image_that_pil_has_not_loaded_is_bounded_and_may_be_damaged(encode, photo):
    with pytest.raises(ImageTooLargeError, match="101 x 77 is 7,777 pixels; at most 7,000"):
        as_pixels(Image.fromarray(photo), max_pixels=7000)
    truncated = Image.open(io.BytesIO(encode(photo, "PNG")[:-3000]))
    with pytest.raises(ImageError, match="a PIL image that can't be used"):
        as_pixels(truncated)


def many(paths):
    names = [str(path) for path in paths]
    pictures = [Image.open(path) for path in paths]
    arrays = [np.array(picture) for picture in pictures]
    objects = np.empty(3, object)
    objects[:] = pictures
    yield from (paths, tuple(names), iter(names), [path.read_bytes() for path in paths], pictures)
    yield from (arrays, np.stack(arrays), objects, objects[:, None], np.array(names))
    yield from (pd.Series(names, index=[7, 8, 9]), pd.Series(pictures), pd.DataFrame({"x": names}))
    yield from ({"image": names}, [{"image": name} for name in names])


def test_many_images_have_the_same_pixels_in_every_form(files):
    paths, pictures = files
    for images in many(paths):
        assert not is_one_image(images), type(images)
        sources, labels = as_images(images)
        assert labels is None
        for source, picture in zip(sources, pictures, strict=True):
            np.testing.assert_array_equal(as_pixels(source), picture)
    assert as_images([]).images == []
    grey = np.zeros((5, 9, 8), np.uint8)
    assert [image.shape for image in as_images(grey).images] == [(9, 8)] * 5


class TorchDataset:
    """What torchvision's datasets have."""

    classes = ("cat", "dog")

    def __init__(self, paths):
        self.paths = paths

    def __getitem__(self, index):
        return Image.open(self.paths[index]), [1, 0, 1][index]


class TorchFolder(TorchDataset):
    """What `torchvision.datasets.ImageFolder` has."""

    @property
    def samples(self):
        return list(zip(map(str, self.paths), [1, 0, 1], strict=True))


def test_labels_come_with_pairs_rows_and_datasets_of_torchvision(files):
    paths, pictures = files
    labels = ["dog", "cat", "dog"]
    rows = [{"image": path, "label": label} for path, label in zip(paths, labels)]
    for images in (
        list(zip(map(str, paths), labels)),
        list(zip(pictures, labels)),
        rows,
        {"image": paths, "label": labels},
        TorchFolder(paths),
        TorchDataset(paths),
    ):
        found = as_images(images)
        assert found.labels == labels
        for source, picture in zip(found.images, pictures, strict=True):
            np.testing.assert_array_equal(as_pixels(source), picture)
    with pytest.raises(TypeError, match="some images have labels and others have none"):
        as_images([(paths[0], "dog"), paths[1]])


@pytest.fixture
def dataset(files):
    datasets = pytest.importorskip("datasets")
    kinds = {"photo": datasets.Image(), "kind": datasets.ClassLabel(names=["cat", "dog"])}
    columns = {"photo": [str(path) for path in files[0]], "kind": [1, 0, 1]}
    return datasets.Dataset.from_dict(columns, features=datasets.Features(kinds))


def test_datasets_of_hugging_face_give_images_and_names_of_classes(dataset, files):
    paths, pictures = files
    embedded = dataset.map(lambda row: {"photo": Image.fromarray(pictures[0])})  # without a path
    for images in dataset, dataset.to_iterable_dataset(), dataset.with_format("numpy"):
        found = as_images(images)
        assert found.images == [str(path) for path in paths]  # not decoded
        assert found.labels == ["dog", "cat", "dog"]
        assert not is_one_image(images)
    assert as_images(dataset["photo"]) == (found.images, None)
    assert as_images(list(dataset["photo"])).labels is None
    assert all(isinstance(source, bytes) for source in as_images(embedded).images)
    np.testing.assert_array_equal(as_pixels(as_images(embedded["photo"]).images[2]), pictures[0])
    rows = [{"image": row["photo"], "label": row["kind"]} for row in dataset]
    assert is_one_image(rows[0])
    assert as_images(rows).labels == [1, 0, 1]


def test_datasets_that_leave_open_what_is_meant_are_refused(dataset):
    datasets = pytest.importorskip("datasets")
    unlabelled = dataset.map(lambda row: {"kind": -1})
    assert as_images(unlabelled).labels is None
    with pytest.raises(TypeError, match="of columns kind has no image column; give a path"):
        as_images(dataset.remove_columns("photo"))
    twice = dataset.add_column("other", dataset["kind"]).cast_column(
        "other", dataset.features["kind"]
    )
    with pytest.raises(TypeError, match="ClassLabel columns kind, other; give one of them"):
        as_images(twice)
    assert as_images(twice.rename_column("other", "label")).labels == ["dog", "cat", "dog"]
    with pytest.raises(TypeError, match="a mapping of 'train'; give one of its values"):
        as_images(datasets.DatasetDict(train=dataset))


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (None, "None is no image; give a path, the bytes of a file, a uint8 array"),
        (3, "int is no image"),
        ({"x": 1}, "dict is no image"),
        (np.zeros((4, 4)), "pixels are float64, but uint8 is needed"),
        (np.zeros((4, 4, 3), np.uint16), "scale yours to 0..255 and convert it"),
        (np.zeros((4, 4, 2), np.uint8), r"shape is \(4, 4, 2\); expected \(height, width\)"),
        (np.zeros((0, 4), np.uint8), "at least 1x1"),
    ],
)
def test_what_is_no_image_gets_a_sentence_that_says_what_is_taken(wrong, reason, files):
    with pytest.raises((TypeError, ImageError), match=f"^(?!image).*{reason}"):
        as_source(wrong)
    with pytest.raises((TypeError, ImageError), match=f"^image 1: .*{reason}"):
        as_images([files[0][0], wrong])
    with pytest.raises(TypeError, match="a table of 2 columns; give the column"):
        as_images(pd.DataFrame({"x": files[0], "y": 1}))
    if wrong is None or isinstance(wrong, int):
        with pytest.raises(TypeError, match="is no image; give a path"):
            as_images(wrong)


def test_extractors_take_images_in_every_form(files):
    paths, pictures = files
    expected = ColorHistogram().fit_transform(pictures)
    for images in paths, pd.Series(map(str, paths)), np.stack(pictures):
        np.testing.assert_array_equal(ColorHistogram().fit_transform(images), expected)
    for image in paths[0], Image.open(paths[0]):
        np.testing.assert_array_equal(ColorHistogram().fit_transform(image), expected[:1])
    with pytest.raises(ImageError, match=r"^nowhere\.png: "):
        ColorHistogram().transform("nowhere.png")
