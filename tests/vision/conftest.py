"""Pictures and files that the tests of reading share."""

import io
import os
import struct
import zlib

import cv2
import numpy as np
import pytest
from PIL import Image

import visualwords.decoding as decoding


@pytest.fixture
def photo():
    """A smooth colour picture, 77 high and 101 wide, that no turn or mirror leaves as it is."""
    coarse = np.random.default_rng(7).integers(0, 256, (9, 13, 3), dtype=np.uint8)
    return cv2.resize(coarse, (101, 77), interpolation=cv2.INTER_CUBIC)


@pytest.fixture
def encode():
    """Give ``encode(picture, format, **options)`` → bytes of a file; by Pillow."""

    def encode(picture, form, **options):
        image = picture if isinstance(picture, Image.Image) else Image.fromarray(picture)
        buffer = io.BytesIO()
        image.save(buffer, form, **options)
        return buffer.getvalue()

    return encode


@pytest.fixture
def encode_deep():
    """Give ``encode_deep(samples, suffix)`` → bytes of a file of 16-bit colours; by OpenCV."""

    def encode_deep(samples, suffix):
        order = [2, 1, 0, 3][: samples.shape[2]]
        return cv2.imencode(suffix, np.ascontiguousarray(samples[:, :, order]))[1].tobytes()

    return encode_deep


@pytest.fixture
def png():
    """Give ``png(width, height, bits, colour, rows, …)`` → bytes, right down to the CRCs.

    rows : the rows as they are before compression     extra : (type, data) chunks before them
    """

    def png(width, height, bits, colour, rows, extra=(), interlaced=0):
        header = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, interlaced)
        chunks = [(b"IHDR", header), *extra, (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b"")]
        return b"\x89PNG\r\n\x1a\n" + b"".join(
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
            for kind, data in chunks
        )

    return png


@pytest.fixture(params=["with simplejpeg", "without simplejpeg"])
def either_decoder(request, monkeypatch):
    """Run the test once for each way of decoding JPEGs."""
    if request.param == "without simplejpeg":
        monkeypatch.setattr(decoding, "simplejpeg", None)
    elif decoding.simplejpeg is None:
        pytest.skip("needs simplejpeg: pip install 'visualwords[fast]'")


@pytest.fixture
def tree(tmp_path):
    """Give ``tree({"cat/1.jpg": b"…"})`` → a folder with these files (names: str or bytes)."""

    def tree(files):
        if not isinstance(files, dict):
            files = {name: os.fsencode(name) for name in files}
        root = os.fsencode(tmp_path / "photos")
        os.makedirs(root, exist_ok=True)
        for name, content in files.items():
            path = os.path.join(root, os.fsencode(name))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(content)
        return tmp_path / "photos"

    return tree
