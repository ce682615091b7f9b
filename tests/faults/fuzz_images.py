"""Image files with mutations, and what must hold of each when it is decoded.

Every mutated file is either refused with one line or gives the same pixels twice, of the size that
its header promises. A PNG whose checksums were not put right again gives pixels of a good file or
none. `run` does this under a limit of memory and time; the file that breaks a promise is kept.
"""

import io
import resource
import signal
import struct
import zlib
from functools import cache
from pathlib import Path

import numpy as np
import skimage
import tifffile
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from PIL import Image, features

import visualwords.decoding as decoding
from visualwords.errors import ImageError
from visualwords.images import read_image

PNG = b"\x89PNG"
MAX_PIXELS = 1_000_000
MEMORY = 768 << 20  # beyond what the process has when it starts
SECONDS = 10  # for one file; a good one takes a few milliseconds
FORMS = {
    "PNG": {},
    "palette PNG": {"form": "PNG", "mode": "P"},
    "grey alpha PNG": {"form": "PNG", "mode": "LA"},
    "JPEG": {},
    "progressive JPEG": {"form": "JPEG", "progressive": True},
    "CMYK JPEG": {"form": "JPEG", "mode": "CMYK"},
    "WEBP": {},
    "lossless WEBP": {"form": "WEBP", "lossless": True},
    "GIF": {},
    "TIFF": {},
    "LZW TIFF": {"form": "TIFF", "compression": "tiff_lzw"},
    "deflated TIFF": {"form": "TIFF", "compression": "tiff_deflate"},
    "1-bit TIFF": {"form": "TIFF", "mode": "1"},
    "BMP": {},
    "palette BMP": {"form": "BMP", "mode": "P"},
}
DEEP = {  # written by tifffile
    "16-bit TIFF": ("u2", {"compression": "zlib", "predictor": True}),
    "16-bit planar TIFF": ("u2", {"planarconfig": "separate", "rowsperstrip": 20}),
    "float TIFF": ("f4", {}),
}
FORMS |= {name: {} for name in DEEP}
if features.version("libtiff") >= "4.7.2":
    FORMS["fax TIFF"] = {"form": "TIFF", "mode": "1", "compression": "group4"}
REAL = (  # files of scikit-image, which others made with other programs
    *("chessboard_RGB.png", "microaneurysms.png", "phantom.png"),
    *("multipage.tif", "no_time_for_that_tiny.gif", "rocket.jpg"),
)
INTERESTING = [0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF]


@cache
def sample(name: str) -> bytes:
    """A good file: one of REAL, or of one of FORMS, with EXIF where the format has it."""
    if name in REAL:
        return Path(skimage.__file__).with_name("data").joinpath(name).read_bytes()
    rng = np.random.default_rng(14)
    coarse = Image.fromarray(rng.integers(0, 256, (9, 13, 3), dtype=np.uint8))
    options = dict(FORMS[name])
    image = coarse.resize((101, 77), Image.Resampling.BICUBIC).convert(options.pop("mode", "RGB"))
    if name in DEEP:
        dtype, options = DEEP[name]
        values = np.asarray(image, float) * (257 if dtype == "u2" else 1 / 255)
        axes = (2, 0, 1) if "planarconfig" in options else (0, 1, 2)
        file = io.BytesIO()
        values = np.ascontiguousarray(values.astype(dtype).transpose(axes))
        tifffile.imwrite(file, values, photometric="rgb", **options)
        return file.getvalue()
    exif = Image.Exif()
    exif[0x0112] = 6
    buffer = io.BytesIO()
    form = options.pop("form", name)
    image.save(buffer, form, **options, **({} if form in ("GIF", "BMP") else {"exif": exif}))
    return buffer.getvalue()


@st.composite
def mutated(draw) -> tuple[str, bytes, bool]:
    """Draw a form, a mutated file of it, and whether a PNG's checksums were put right again."""
    name = draw(st.sampled_from(sorted([*FORMS, *REAL])))
    data = bytearray(sample(name))
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, max(len(data) - 1, 0)))
        kind = draw(st.sampled_from(["byte", "number", "cut", "repeat", "insert", "swap"]))
        if kind == "byte":
            data[place : place + 1] = draw(st.binary(min_size=1, max_size=1))
        elif kind == "number":
            code = draw(st.sampled_from(["<H", ">H", "<I", ">I"]))
            limit = (1 << 8 * struct.calcsize(code)) - 1
            number = struct.pack(code, min(draw(st.sampled_from(INTERESTING)), limit))
            data[place : place + len(number)] = number
        elif kind == "cut":
            del data[place : place + draw(st.integers(1, 200))]
        elif kind == "repeat":
            data[place:place] = data[place : place + draw(st.integers(1, 200))]
        elif kind == "insert":
            data[place:place] = draw(st.binary(max_size=20))
        else:
            other = sample(draw(st.sampled_from(sorted([*FORMS, *REAL]))))
            data[place:] = other[place:]
    put_right = sample(name).startswith(PNG) and draw(st.booleans())
    return name, _with_right_checksums(bytes(data)) if put_right else bytes(data), put_right


def _with_right_checksums(png: bytes) -> bytes:
    """A PNG with the CRC of every chunk computed anew, so that decoders get to its data."""
    data, place = bytearray(png), 8
    while place + 12 <= len(data):
        end = place + 8 + int.from_bytes(data[place : place + 4], "big")
        if end + 4 > len(data):
            break
        data[end : end + 4] = struct.pack(">I", zlib.crc32(data[place + 4 : end]))
        place = end + 4
    return bytes(data)


def decode(data: bytes, **options) -> np.ndarray | str:
    """The pixels, or the line that refuses the file."""
    try:
        return read_image(data, max_pixels=MAX_PIXELS, **options)
    except ImageError as problem:
        return str(problem)


def _without_simplejpeg(data: bytes) -> np.ndarray | str:
    kept, decoding.simplejpeg = decoding.simplejpeg, None
    try:
        return decode(data)
    finally:
        decoding.simplejpeg = kept


def check(name: str, data: bytes, put_right: bool) -> None:
    """Decode a file in several ways and compare what must agree."""
    pixels = decode(data)
    if isinstance(pixels, str):
        assert isinstance(_without_simplejpeg(data), str), "read without simplejpeg"
        assert pixels, "an empty reason"
        assert "\n" not in pixels
        assert "emory" not in pixels, "the limit of memory was reached"
        return
    assert (pixels.dtype, pixels.shape[2:]) == (np.uint8, (3,))
    assert np.array_equal(pixels, decode(data)), "two readings differ: memory that nobody wrote"
    assert np.shape(decode(data, mode="grey")) == pixels.shape[:2]
    assert 0 < max(np.shape(decode(data, max_side=20)), default=0) <= 20
    assert np.array_equal(pixels, _without_simplejpeg(data)), "simplejpeg reads it otherwise"
    if data.startswith(PNG) and not put_right:
        known = any(np.array_equal(pixels, good) for good in good_pngs())
        assert known, "other pixels, although checksums forbid that"


@cache
def good_pngs() -> list[np.ndarray | str]:
    """The pixels of all PNG files that are mutated; a splice may be one of them."""
    files = [sample(name) for name in (*FORMS, *REAL)]
    return [decode(data) for data in files if data.startswith(PNG)]


def run(number: int, n_examples: int, keep: Path) -> None:
    """Check some mutations; what ends the process leaves the file that did it."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    @seed(number)
    @settings(
        max_examples=n_examples,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )
    @given(mutated())
    def check_one(example):
        keep.write_bytes(example[1])
        signal.alarm(SECONDS)  # not caught: what hangs is ended, and its file is still there
        check(*example)
        signal.alarm(0)

    check_one()
    keep.unlink()
