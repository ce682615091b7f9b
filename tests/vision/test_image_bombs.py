"""Gigantic images are refused from their headers, in little memory."""

import struct
import subprocess
import sys
import zlib

import pytest
from PIL import Image

from visualwords.errors import ImageError, ImageTooLargeError
from visualwords.images import read_image

READ = """
import resource, sys
from visualwords.errors import ImageTooLargeError
from visualwords.images import read_image
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for path in sys.argv[1:]:
    before = peak()
    try:
        read_image(path)
    except ImageTooLargeError as refusal:
        print(peak() - before, refusal)
"""


def test_a_gigantic_image_is_refused_from_its_header_in_little_memory(png, tmp_path):
    bombs = {
        "200 MP.png": png(20_000, 10_000, 1, 0, bytes(2501 * 10_000)),
        "1.6 GP.png": png(40_000, 40_000, 8, 2, bytes(1000)),
        "4.3 GP.gif": b"GIF89a"  # which Pillow would draw at once
        + struct.pack("<HHBBB", 65535, 65535, 0xF0, 0, 0)
        + b"\0\0\0\0\0\0\x21\xf9\x04\x08\0\0\0\0,"
        + struct.pack("<HHHHB", 0, 0, 65535, 65535, 0)
        + b"\x02\x02\x44\x01\x00;",
        "1.6 GP.ppm": b"P6 40000 40000 255\n" + bytes(1000),
        "4.2 GP.bmp": b"BM"
        + struct.pack("<IHHI", 54, 0, 0, 54)
        + struct.pack("<IiiHHIIiiII", 40, 65000, 65000, 1, 24, 0, 0, 0, 0, 0, 0)
        + bytes(100),
    }
    paths = [tmp_path / name for name in bombs]
    for path in paths:
        path.write_bytes(bombs[path.name])
        assert path.stat().st_size < 40_000
    command = [sys.executable, "-c", READ, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) == len(bombs)
    for line in lines:
        kilobytes, message = line.split(maxsplit=1)
        assert int(kilobytes) < 20_000
        assert "raise max_pixels" in message


@pytest.mark.parametrize("form", ["JPEG", "PNG", "GIF", "WEBP", "TIFF", "BMP"])
def test_the_limit_is_on_pixels_and_pillows_own_is_left_alone(form, photo, encode, monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10)
    data, n_pixels = encode(photo, form), photo.shape[0] * photo.shape[1]
    assert read_image(data, max_pixels=n_pixels).shape == photo.shape
    with pytest.raises(ImageTooLargeError):
        read_image(data, max_pixels=n_pixels - 1)
    with pytest.raises(ImageError):
        read_image(data[:30])
    assert Image.MAX_IMAGE_PIXELS == 10


def test_a_compressed_text_that_explodes_is_refused(png):
    text = b"Comment\0\0" + zlib.compress(bytes(80_000_000), 9)
    with pytest.raises(ImageError):
        read_image(png(4, 4, 8, 0, bytes(20), extra=[(b"zTXt", text)]))
