"""Gigantic images are refused from their headers, in little memory."""

import subprocess
import sys
import zlib

import pytest
from PIL import Image

from visualwords.errors import ImageError, ImageTooLargeError
from visualwords.images import read_image

PNG = (
    "import struct, zlib\n"
    "def chunk(k, d): return struct.pack('>I', len(d)) + k + d"
    " + struct.pack('>I', zlib.crc32(k + d))\n"
    "def png(width, height, bits, colour, rows): return b'\\x89PNG\\r\\n\\x1a\\n'"
    " + chunk(b'IHDR', struct.pack('>IIBBBBB', width, height, bits, colour, 0, 0, 0))"
    " + chunk(b'IDAT', rows) + chunk(b'IEND', b'')\n"
    "squeeze = zlib.compressobj(9)\n"
)
BOMBS = {
    "200 MP PNG of 24 KB": (
        "png(20000, 10000, 1, 0,"
        " b''.join(squeeze.compress(bytes(2501)) for _ in range(10000)) + squeeze.flush())"
    ),
    "1.6 GP PNG": "png(40000, 40000, 8, 2, zlib.compress(bytes(1000)))",
    "4.3 GP GIF that Pillow would draw at once": (
        "b'GIF89a' + struct.pack('<HHBBB', 65535, 65535, 0xf0, 0, 0) + bytes(6)"
        " + b'\\x21\\xf9\\x04\\x08' + bytes(4) + b','"
        " + struct.pack('<HHHHB', 0, 0, 65535, 65535, 0) + b'\\x02\\x02\\x44\\x01\\x00;'"
    ),
    "1.6 GP PPM": "b'P6 40000 40000 255\\n' + bytes(1000)",
    "4.2 GP BMP": (
        "b'BM' + struct.pack('<IHHI', 54, 0, 0, 54)"
        " + struct.pack('<IiiHHIIiiII', 40, 65000, 65000, 1, 24, 0, 0, 0, 0, 0, 0) + bytes(100)"
    ),
}
READ = """
import resource
from visualwords.errors import ImageTooLargeError
from visualwords.images import read_image
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for data in files:
    assert len(data) < 40_000
    before = peak()
    try:
        read_image(data)
    except ImageTooLargeError as refusal:
        print(peak() - before, refusal)
"""


def test_a_gigantic_image_is_refused_from_its_header_in_little_memory():
    code = PNG + f"files = [{', '.join(BOMBS.values())}]\n" + READ
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    lines = run.stdout.splitlines()
    assert len(lines) == len(BOMBS)
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
