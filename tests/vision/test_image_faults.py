"""Files that are no image, or a broken, lying one: refused with one typed line."""

import contextlib
import io
import itertools
import struct

import numpy as np
import pytest
from PIL import Image

from visualwords.errors import (
    DamagedImageError,
    ImageError,
    UnknownFormatError,
    UnreadableImageError,
)
from visualwords.images import read_image

FORMS = {
    "JPEG": {},
    "PNG": {},
    "GIF": {},
    "WEBP": {},
    "TIFF": {},
    "BMP": {},
    "PPM": {},
    "progressive JPEG": {"form": "JPEG", "progressive": True},
    "CMYK JPEG": {"form": "JPEG", "mode": "CMYK"},
    "lossless WEBP": {"form": "WEBP", "lossless": True},
    "packed TIFF": {"form": "TIFF", "compression": "tiff_lzw"},
    "JPEG in TIFF": {"form": "TIFF", "compression": "jpeg"},
}


@pytest.fixture
def sample(photo, encode):
    """Give ``sample(name)`` → a good file of one of FORMS."""

    def sample(name):
        options = dict(FORMS[name])
        image = Image.fromarray(photo).convert(options.pop("mode", "RGB"))
        return encode(image, options.pop("form", name), **options)

    return sample


def refuse(data, kind=ImageError, match=None):
    """Assert that both modes refuse the bytes with one line, and return it."""
    for mode in "rgb", "grey":
        with pytest.raises(kind, match=match) as caught:
            read_image(data, mode=mode)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) > 10
    return str(caught.value)


def raise_jpeg_height(data, factor=4):
    """Multiply the height that a JPEG's frame header declares."""
    start = next(i for i in range(len(data)) if data[i : i + 2] in (b"\xff\xc0", b"\xff\xc2"))
    (height,) = struct.unpack_from(">H", data, start + 5)
    return data[: start + 5] + struct.pack(">H", factor * height) + data[start + 7 :]


def test_what_is_no_image_that_is_read_is_told_from_a_damaged_one(tmp_path, photo, encode, sample):
    assert refuse(b"", UnreadableImageError) == "the file is empty"
    path = tmp_path / "notes.png"
    path.write_text("Dear diary,\ntoday I renamed a file.\n")
    with pytest.raises(UnknownFormatError, match="Dear dia"):
        read_image(path)
    for form in "EPS", "PDF", "ICO", "TGA":  # some of which could start programs
        refuse(encode(photo, form), UnknownFormatError)
    refuse(sample("PNG")[:12], DamagedImageError, "header")
    refuse(sample("JPEG")[:12], DamagedImageError)


@pytest.mark.usefixtures("either_decoder")
@pytest.mark.parametrize("name", FORMS)
def test_a_file_that_ends_early_is_refused_unless_it_only_lost_its_end_mark(name, sample):
    data = sample(name)
    whole = read_image(data)
    cuts = {*range(1, 40), *range(40, len(data), len(data) // 40), *range(-20, 0)}
    for cut in cuts:
        try:
            image = read_image(data[:cut])
        except ImageError:
            continue
        assert -4 <= cut < 0
        np.testing.assert_array_equal(image, whole)


@pytest.mark.parametrize("chunk", [b"IHDR", b"IDAT", b"tEXt"])
def test_a_png_chunk_with_a_wrong_checksum_is_refused(chunk, png):
    data = png(4, 4, 8, 0, bytes(20), extra=[(b"tEXt", b"Comment\0hello")])
    read_image(data)
    place = data.index(chunk) + 4
    (length,) = struct.unpack_from(">I", data, place - 8)
    crc = place + length
    refuse(data[:crc] + bytes([data[crc] ^ 1]) + data[crc + 1 :], DamagedImageError)


@pytest.mark.usefixtures("either_decoder")
@pytest.mark.parametrize("name", ["JPEG", "progressive JPEG", "CMYK JPEG"])
def test_a_jpeg_that_has_fewer_rows_than_it_promises_is_refused(name, sample, encode):
    data = sample(name)
    for mode, max_side in itertools.product(("rgb", "grey"), (None, 40)):
        with pytest.raises(DamagedImageError):
            read_image(raise_jpeg_height(data), mode=mode, max_side=max_side)
    n_read = 0
    for cut in range(data.index(b"\xff\xda") + 30, len(data) - 100, 17):
        with contextlib.suppress(DamagedImageError):
            read_image(data[:cut] + b"\xff\xd9")  # an end mark was put after the cut
            n_read += 1
    rgb = read_image(data)
    stereo = encode(rgb, "MPO", save_all=True, append_images=[Image.fromarray(255 - rgb)])
    refuse(raise_jpeg_height(stereo), DamagedImageError)
    # A progressive file that is cut between two scans is a whole picture of lower quality.
    assert n_read <= (6 if name == "progressive JPEG" else 0)


LIES = {  # what stands before the height, and how it is written
    "GIF": (b"," + struct.pack("<HHH", 0, 0, 101), "<H"),
    "BMP": (struct.pack("<II", 40, 101), "<I"),
    "PPM": (b"P6\n101 ", ">2s"),
    "TIFF": (struct.pack("<HHI", 257, 4, 1), "<I"),
    "WEBP": (b"\x9d\x01\x2a" + struct.pack("<H", 101), "<H"),
}


def test_any_file_that_promises_more_rows_than_it_has_is_refused(sample, png):
    for form, (before, code) in LIES.items():
        data = sample(form)
        place = data.index(before) + len(before)
        more = struct.pack(code, b"99" if form == "PPM" else 99)
        refuse(data[:place] + more + data[place + len(more) :], DamagedImageError)
    for bits, colour in itertools.product((8, 16), (0, 2)):
        row = b"\0" + bytes(5 * bits // 8 * (3 if colour == 2 else 1))
        read_image(png(5, 6, bits, colour, 6 * row))
        refuse(png(5, 60, bits, colour, 6 * row), DamagedImageError)
    passes = [(2, 1), (2, 1), (1, 2), (3, 1), (2, 3), (5, 2), (4, 5)]  # of an interlaced PNG
    rows = bytes(sum(n * (1 + 3 * m) for n, m in passes))
    read_image(png(5, 9, 8, 2, rows, interlaced=1))
    refuse(png(5, 9, 8, 2, rows[:-1], interlaced=1), DamagedImageError)


@pytest.mark.usefixtures("either_decoder")
@pytest.mark.parametrize("mode", ["L", "RGB", "CMYK"])
def test_a_constant_jpeg_is_not_taken_for_an_unfinished_one(mode, encode):
    for value, max_side in itertools.product((0, 127, 128, 129, 255), (None, 10)):
        colour = value if mode == "L" else (value,) * len(mode)
        data = encode(Image.new(mode, (50, 40), colour), "JPEG", quality=95)
        assert np.ptp(read_image(data, mode="grey", max_side=max_side)) == 0


@pytest.mark.usefixtures("either_decoder")
def test_stray_bytes_around_the_picture_do_no_harm(photo, encode):
    data = encode(photo, "JPEG")
    expected = read_image(data)
    for spoilt in (data + b"junk" * 50, data[:-2] + b"\0\0\0" + data[-2:]):
        np.testing.assert_array_equal(read_image(spoilt), expected)


def test_a_picture_with_odd_tags_is_read_even_where_warnings_are_errors(photo, encode):
    info = {33432: "a" * 9, 305: "b" * 9}
    data = bytearray(encode(photo, "TIFF", tiffinfo=info))
    # Let the copyright's text lie beyond the end of the file: Pillow warns and reads on.
    place = data.index(struct.pack("<H", 33432))
    data[place + 8 : place + 12] = struct.pack("<I", len(data) + 1000)
    with pytest.warns(UserWarning, match="Truncated|larger"), Image.open(io.BytesIO(data)) as image:
        image.load()
    np.testing.assert_array_equal(read_image(bytes(data)), photo)
