"""What each kind of image file becomes: always upright uint8, RGB or grey, by documented rules."""

import io

import cv2
import numpy as np
import pytest
from PIL import Image, features

from visualwords.errors import UnknownFormatError
from visualwords.images import read_image

LOSSLESS = ["PNG", "BMP", "TIFF", "PPM"]
TURNS = {  # EXIF orientation → how a camera would have stored the upright picture
    1: lambda a: a,
    2: lambda a: a[:, ::-1],
    3: lambda a: a[::-1, ::-1],
    4: lambda a: a[::-1],
    5: lambda a: a.swapaxes(0, 1),
    6: lambda a: np.rot90(a, 1),
    7: lambda a: a[::-1, ::-1].swapaxes(0, 1),
    8: lambda a: np.rot90(a, -1),
}


def grey_of(rgb):
    return cv2.cvtColor(np.ascontiguousarray(rgb), cv2.COLOR_RGB2GRAY)


def over_white(rgb, alpha):
    share = alpha.astype(float)[..., None] / 255
    return np.rint(rgb * share + 255 * (1 - share)).astype(int)


def exif(orientation):
    tags = Image.Exif()
    tags[0x0112] = orientation
    return tags


@pytest.mark.parametrize("form", [*LOSSLESS, "JPEG", "GIF", "WEBP", "JPEG2000"])
def test_the_result_is_uint8_in_c_order_with_the_pixels_of_the_file(form, photo, encode):
    data, of_grey = encode(photo, form), encode(grey_of(photo), form)
    for mode, expected in [("rgb", photo), ("grey", grey_of(photo))]:
        image = read_image(data, mode=mode)
        assert (image.dtype, image.shape) == (np.uint8, expected.shape)
        assert image.flags.c_contiguous
        if form in LOSSLESS:
            np.testing.assert_array_equal(image, expected)
    if form not in ("GIF", "WEBP"):
        assert np.ptp(read_image(of_grey).astype(int), axis=2).max() == 0


@pytest.mark.usefixtures("either_decoder")
def test_the_grey_of_a_jpeg_is_its_luma_plane(photo, encode):
    data = encode(photo, "JPEG", quality=90)
    luma = Image.open(io.BytesIO(data))
    luma.draft("L", luma.size)
    np.testing.assert_array_equal(read_image(data, mode="grey"), np.asarray(luma))


@pytest.mark.usefixtures("either_decoder")
@pytest.mark.parametrize("orientation", TURNS)
@pytest.mark.parametrize("mode", ["rgb", "grey"])
def test_a_turned_jpeg_is_read_upright(orientation, mode, photo, encode):
    # Sides that are whole blocks and no chroma subsampling: then turning commutes with the DCT.
    square = photo[:64, :96]
    stored = np.ascontiguousarray(TURNS[orientation](square))
    options = {"quality": 100, "subsampling": 0}
    turned = read_image(encode(stored, "JPEG", exif=exif(orientation), **options), mode=mode)
    plain = read_image(encode(square, "JPEG", **options), mode=mode)
    assert turned.shape == plain.shape
    assert np.abs(turned.astype(int) - plain).max() <= 4


@pytest.mark.parametrize("orientation", TURNS)
@pytest.mark.parametrize("form", ["PNG", "TIFF", "WEBP"])
def test_a_turned_lossless_file_is_read_upright(orientation, form, photo, encode):
    stored = np.ascontiguousarray(TURNS[orientation](photo))
    options = {"lossless": True, "exact": True} if form == "WEBP" else {}
    data = encode(stored, form, exif=exif(orientation), **options)
    np.testing.assert_array_equal(read_image(data), photo)
    np.testing.assert_array_equal(read_image(data, mode="grey"), grey_of(photo))


@pytest.mark.parametrize("orientation", TURNS)
def test_a_turned_png_of_16_bit_colours_is_read_upright(orientation, photo, png):
    stored = TURNS[orientation](photo).astype(">u2") * 257
    height, width = stored.shape[:2]
    rows = b"".join(b"\0" + np.ascontiguousarray(row).tobytes() for row in stored)
    tags = exif(orientation).tobytes()[6:]
    data = png(width, height, 16, 2, rows, extra=[(b"eXIf", tags)])
    np.testing.assert_array_equal(read_image(data), photo)


@pytest.mark.usefixtures("either_decoder")
def test_a_damaged_or_impossible_orientation_counts_as_upright(photo, encode):
    good = encode(photo, "JPEG", exif=exif(6))
    bad = good.replace(b"Exif\0\0MM\0*", b"Exif\0\0XX\0*")
    assert bad != good
    impossible = [encode(photo, "JPEG", exif=exif(value)) for value in (0, 9, 200)]
    for data in bad, *impossible:
        np.testing.assert_array_equal(read_image(data), read_image(encode(photo, "JPEG")))


@pytest.mark.parametrize("form", ["PNG", "TIFF", "WEBP"])
def test_transparent_pixels_are_laid_over_white(form, photo, encode, rng):
    alpha = rng.integers(0, 256, photo.shape[:2], dtype=np.uint8)
    options = {"lossless": True, "exact": True} if form == "WEBP" else {}
    image = read_image(encode(np.dstack([photo, alpha]), form, **options))
    assert np.abs(image - over_white(photo, alpha)).max() <= 1
    if form == "PNG":
        grey = grey_of(photo)
        image = read_image(encode(np.dstack([grey, alpha]), form), mode="grey")
        assert np.abs(image - over_white(grey[..., None], alpha)[..., 0]).max() <= 1


@pytest.mark.parametrize("form", ["PNG", "GIF", "TIFF", "BMP"])
def test_a_palette_becomes_its_colours_and_its_transparent_one_white(form, photo, encode):
    indexed = Image.fromarray(photo).quantize(32)
    expected = np.asarray(indexed.convert("RGB")).copy()
    np.testing.assert_array_equal(read_image(encode(indexed, form)), expected)
    if form in ("PNG", "GIF"):
        expected[np.asarray(indexed) == 3] = 255
        np.testing.assert_array_equal(read_image(encode(indexed, form, transparency=3)), expected)


@pytest.mark.parametrize(
    ("bits", "colour", "rows", "key", "expected"),
    [
        (8, 2, b"\0\1\2\3\4\5\6", b"\0\1\0\2\0\3", [[[255, 255, 255], [4, 5, 6]]]),
        (8, 0, b"\0\7\x09", b"\0\7", [[[255, 255, 255], [9, 9, 9]]]),
        (1, 0, b"\0\x40", b"\0\0", [[[255, 255, 255], [255, 255, 255]]]),
    ],
)
def test_a_png_colour_declared_transparent_becomes_white(bits, colour, rows, key, expected, png):
    data = png(2, 1, bits, colour, rows, extra=[(b"tRNS", key)])
    np.testing.assert_array_equal(read_image(data), expected)


@pytest.mark.parametrize("form", ["PNG", "TIFF", "BMP", "PPM"])
def test_one_bit_images_are_black_and_white(form, rng, encode):
    bits = rng.random((11, 19)) < 0.5
    image = read_image(encode(Image.fromarray(bits), form), mode="grey")
    np.testing.assert_array_equal(image, np.where(bits, 255, 0))


@pytest.mark.parametrize("form", ["JPEG", "TIFF"])
def test_cmyk_is_converted_to_rgb(form, photo, encode):
    options = {"quality": 100, "subsampling": 0} if form == "JPEG" else {}
    image = read_image(encode(Image.fromarray(photo).convert("CMYK"), form, **options))
    assert np.abs(image.astype(int) - photo).max() <= 8


@pytest.mark.usefixtures("either_decoder")
def test_a_jpeg_that_stores_rgb_or_two_pictures_is_read_right(photo, encode):
    data = encode(photo, "JPEG", quality=100, subsampling=0, keep_rgb=True)
    assert np.abs(read_image(data).astype(int) - photo).max() <= 3
    assert np.abs(read_image(data, mode="grey").astype(int) - grey_of(photo)).max() <= 3
    other = Image.fromarray(255 - photo)  # of a stereo JPEG the first picture is read
    data = encode(photo, "MPO", save_all=True, append_images=[other], quality=90)
    np.testing.assert_array_equal(read_image(data), read_image(encode(photo, "JPEG", quality=90)))


@pytest.mark.parametrize("form", ["PNG", "TIFF", "PPM"])
@pytest.mark.parametrize("bits", [10, 12, 14, 16])
def test_deep_grey_and_colours_keep_their_range(form, bits, photo, encode, encode_deep):
    ramp = np.linspace(0, (1 << bits) - 1, 256).round().astype(np.uint16).reshape(8, 32)
    image = read_image(encode(ramp, form), mode="grey")
    np.testing.assert_array_equal(image.ravel(), np.arange(256))
    if form != "PPM":
        deep = np.rint(photo * (((1 << bits) - 1) / 255)).astype(np.uint16)
        np.testing.assert_array_equal(read_image(encode_deep(deep, f".{form.lower()}")), photo)
    if form == "TIFF":
        big_endian = Image.frombytes("I;16B", (32, 8), ramp.astype(">u2").tobytes())
        image = read_image(encode(big_endian, form), mode="grey")
        np.testing.assert_array_equal(image.ravel(), np.arange(256))


def test_the_alpha_of_deep_samples_fills_its_range(photo, encode_deep, png):
    deep = np.rint(photo * (4095 / 255)).astype(np.uint16)
    opaque = np.full(photo.shape[:2], 65535, np.uint16)
    np.testing.assert_array_equal(read_image(encode_deep(np.dstack([deep, opaque]), ".png")), photo)
    samples = np.array([[0, 65535], [30000, 0], [65535, 65535]], dtype=">u2")
    image = read_image(png(3, 1, 16, 4, b"\0" + samples.tobytes()))
    np.testing.assert_array_equal(image, [[[0] * 3, [255] * 3, [255] * 3]])


def test_a_deep_ppm_is_scaled_by_its_declared_maximum():
    samples = np.array([[[0, 2048, 4095], [4095, 0, 1024]]], dtype=">u2")
    image = read_image(b"P6 2 1 4095\n" + samples.tobytes())
    np.testing.assert_array_equal(image, [[[0, 128, 255], [255, 0, 64]]])


@pytest.mark.parametrize("form", ["GIF", "WEBP", "PNG", "TIFF"])
def test_only_the_first_frame_of_an_animation_is_read(form, photo, encode):
    first = Image.fromarray(photo).quantize(64).convert("RGB")
    others = [Image.fromarray(255 - photo), Image.fromarray(photo // 2)]
    options = {"lossless": True} if form == "WEBP" else {}
    data = encode(first, form, save_all=True, append_images=others, **options)
    assert Image.open(io.BytesIO(data)).n_frames == 3
    image = read_image(data)
    assert np.abs(image.astype(int) - np.asarray(first)).mean() < (2 if form == "GIF" else 1e-9)


@pytest.mark.parametrize("compression", ["tiff_ccitt", "group3", "group4"])
@pytest.mark.parametrize(("version", "safe"), [("4.7.1", False), ("4.7.2", True), (None, False)])
def test_faxes_are_read_only_where_damage_in_them_is_seen(
    compression, version, safe, photo, encode, monkeypatch
):
    drawn = Image.fromarray(photo).convert("1")
    data = encode(drawn, "TIFF", compression=compression)
    monkeypatch.setattr(features, "version", lambda name: version)
    if safe:
        np.testing.assert_array_equal(read_image(data)[..., 0], np.asarray(drawn) * 255)
    else:
        with pytest.raises(UnknownFormatError, match=r"fax compression.*install Pillow 13"):
            read_image(data)
