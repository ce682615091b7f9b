"""Gigantic images are refused from their headers, in little memory."""

import subprocess
import sys
import zlib

import pytest
from PIL import Image

from visualwords.errors import ImageError, ImageTooLargeError
from visualwords.images import read_image

BOMBS = {
    "200 MP PNG of 24 KB": (
        "import struct, zlib\n"
        "def chunk(k, d): return struct.pack('>I', len(d)) + k + d"
        " + struct.pack('>I', zlib.crc32(k + d))\n"
        "squeeze = zlib.compressobj(9)\n"
        "rows = b''.join(squeeze.compress(bytes(2501)) for _ in range(10000)) + squeeze.flush()\n"
        "data = (b'\\x89PNG\\r\\n\\x1a\\n'"
        " + chunk(b'IHDR', struct.pack('>IIBBBBB', 20000, 10000, 1, 0, 0, 0, 0))"
        " + chunk(b'IDAT', rows) + chunk(b'IEND', b''))\n"
    ),
    "1.6 GP PNG": (
        "import struct, zlib\n"
        "def chunk(k, d): return struct.pack('>I', len(d)) + k + d"
        " + struct.pack('>I', zlib.crc32(k + d))\n"
        "data = (b'\\x89PNG\\r\\n\\x1a\\n'"
        " + chunk(b'IHDR', struct.pack('>IIBBBBB', 40000, 40000, 8, 2, 0, 0, 0))"
        " + chunk(b'IDAT', zlib.compress(bytes(1000))) + chunk(b'IEND', b''))\n"
    ),
    "4.3 GP GIF that Pillow would draw at once": (
        "import struct\n"
        "data = (b'GIF89a' + struct.pack('<HHBBB', 65535, 65535, 0xf0, 0, 0) + bytes(6)"
        " + b'\\x21\\xf9\\x04\\x08' + bytes(4) + b','"
        " + struct.pack('<HHHHB', 0, 0, 65535, 65535, 0) + b'\\x02\\x02\\x44\\x01\\x00;')\n"
    ),
    "1.6 GP PPM": "data = b'P6 40000 40000 255\\n' + bytes(1000)\n",
    "4.2 GP BMP": (
        "import struct\n"
        "data = (b'BM' + struct.pack('<IHHI', 54, 0, 0, 54)"
        " + struct.pack('<IiiHHIIiiII', 40, 65000, 65000, 1, 24, 0, 0, 0, 0, 0, 0) + bytes(100))\n"
    ),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_gigantic_image_is_refused_from_its_header_in_little_memory(bomb):
    code = BOMBS[bomb] + (
        "import resource\n"
        "from visualwords.errors import ImageTooLargeError\n"
        "from visualwords.images import read_image\n"
        "def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "before = peak()\n"
        "try:\n"
        "    read_image(data)\n"
        "except ImageTooLargeError as refusal:\n"
        "    print(len(data), peak() - before, refusal)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    n_bytes, kilobytes, message = run.stdout.split(maxsplit=2)
    assert int(n_bytes) < 40_000
    assert int(kilobytes) < 20_000
    assert "raise max_pixels" in message


@pytest.mark.parametrize("form", ["JPEG", "PNG", "GIF", "WEBP", "TIFF", "BMP"])
def test_the_limit_is_on_pixels_and_can_be_set(form, photo, encode):
    n_pixels = photo.shape[0] * photo.shape[1]
    assert read_image(encode(photo, form), max_pixels=n_pixels).shape == photo.shape
    with pytest.raises(ImageTooLargeError):
        read_image(encode(photo, form), max_pixels=n_pixels - 1)


@pytest.mark.parametrize("form", ["JPEG", "PNG", "GIF", "WEBP", "TIFF", "BMP"])
def test_pillows_own_limit_does_not_matter_and_is_left_alone(form, photo, encode, monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10)
    assert read_image(encode(photo, form)).shape == photo.shape
    with pytest.raises(ImageError):
        read_image(encode(photo, form)[:30])
    assert Image.MAX_IMAGE_PIXELS == 10


def test_a_compressed_text_that_explodes_is_refused(png):
    text = b"Comment\0\0" + zlib.compress(bytes(200_000_000), 9)
    with pytest.raises(ImageError):
        read_image(png(4, 4, 8, 0, bytes(20), extra=[(b"zTXt", text)]))
