"""What decoders do not check: that a file costs no more than it shows, and holds all its pixels.

Pixels are bounded by `max_pixels`. Other costs are not: a progressive JPEG may draw the same
pixels thousands of times, a PNG may have millions of empty chunks, and the decoders of some
formats take a time that nothing in the header limits. The first two are refused here; the last
are decoded in a process that can be ended (`visualwords.isolation`).

Where data ends too early, Pillow and libjpeg don't always say so, and leave the rest of the
picture as it was: grey in a JPEG, black in a PNG or TIFF. The costly checks for that are made only
where the last pixels look like it.
"""

import re
import zlib
from collections.abc import Callable, Iterator

import numpy as np
from PIL import Image
from PIL.ImageFile import ImageFile
from PIL.TiffImagePlugin import TiffImageFile

from visualwords.errors import DamagedImageError
from visualwords.tiff import COMPRESSION, PLAIN, DeepTIFF

MOST_SCANS = 200  # of a JPEG; encoders write about 10
FEWEST_SCANS = 24  # that are allowed, however large the image
MOST_SCANNED = 2_000_000_000  # scans times pixels; about 5 s
MOST_CHUNKS = 100_000  # of a PNG; about 1 s
SCAN, END = b"\xda", b"\xd9"
# Bytes that a file may have beyond those of its pixels, such as colour profiles and previews.
SPARE_BYTES = 4 << 20
BYTES_PER_PIXEL = 16
# Python loops over bytes, or decoders in which a few bytes can mean much work.
SLOW_CODECS = ("bmp_rle", "ppm", "ppm_plain")
SLOW_FORMATS = ("JPEG2000", "AVIF", "HEIF")
JPEG_MARKER = re.compile(rb"\xff+([^\x00\xff\xd0-\xd7])")  # 00 and D0–D7 occur within the data
PNG_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}  # of each colour type
PNG_PASSES = [  # of an interlaced PNG: first row and column, steps between rows and columns
    (0, 0, 8, 8),
    (0, 4, 8, 8),
    (4, 0, 8, 4),
    (0, 2, 4, 4),
    (2, 0, 4, 2),
    (0, 1, 2, 2),
    (1, 0, 2, 1),
]
PIECE = 1 << 20


def check_jpeg(data: bytes, n_pixels: int) -> None:
    """Refuse a JPEG that draws its pixels more often than any encoder does."""
    most = min(MOST_SCANS, max(FEWEST_SCANS, MOST_SCANNED // max(1, n_pixels)))
    # Counting all pairs of bytes is fast, and never less than the scans: descriptions and
    # previews may have some, too. Only then are the markers followed.
    if data.count(b"\xff" + SCAN) > most and (n_scans := _scans(data)) > most:
        raise DamagedImageError(f"JPEG file of {n_scans:,} scans; at most {most} are decoded")


def _scans(data: bytes) -> int:
    """Return the number of scans before the end marker of the first picture."""
    return sum(kind == SCAN for kind, _ in _jpeg_markers(data))


def _jpeg_markers(data: bytes) -> Iterator[tuple[bytes, int]]:
    """Yield the kinds and places of the markers of a JPEG's first picture."""
    place = 2
    while found := JPEG_MARKER.search(data, place):
        yield found[1], found.start()
        if found[1] == END:
            return
        place = found.end() + int.from_bytes(data[found.end() : found.end() + 2], "big")


def check_png(data: bytes) -> None:
    """Refuse a PNG of very many chunks."""
    place, n_chunks = 8, 0
    while place < len(data) and data[place + 4 : place + 8] != b"IEND":
        place += 12 + int.from_bytes(data[place : place + 4], "big")
        n_chunks += 1
        if n_chunks > MOST_CHUNKS:
            raise DamagedImageError(f"PNG file of more than {MOST_CHUNKS:,} chunks")


def has_hidden_cost(header: "Image.Image | DeepTIFF", n_bytes: int) -> bool:
    """Return whether the header leaves open how long decoding may take."""
    if header.format in SLOW_FORMATS:
        return True
    if n_bytes > SPARE_BYTES + BYTES_PER_PIXEL * header.width * header.height:
        return True
    if isinstance(header, DeepTIFF):
        return header.tags.get(COMPRESSION, 1) not in PLAIN
    if isinstance(header, TiffImageFile):
        return header.tag_v2.get(COMPRESSION, 1) not in PLAIN
    tiles = header.tile if isinstance(header, ImageFile) else []
    return bool(tiles) and tiles[0][0] in SLOW_CODECS


def jpeg_lacks_data(
    data: bytes, pixels: np.ndarray, progressive: bool, decode: Callable[[bytes], np.ndarray]
) -> bool:
    """Return whether a JPEG is truncated: its pixels change when junk is put before its end.

    libjpeg completes truncated data with grey, or with a blurred image in a progressive file.
    Complete data are not read beyond the last block: junk changes nothing.
    """
    last = pixels[-1, -1].astype(int)
    if not progressive and (np.abs(last - 128) > 1).any():  # not the grey that libjpeg leaves
        return False
    end = _end_of_jpeg(data)
    return not np.array_equal(pixels, decode(data[:end] + b"\x5a" * 512 + data[end:]))


def _end_of_jpeg(data: bytes) -> int:
    """Return where the end marker of the first picture is, or the length of data without one."""
    return next((place for kind, place in _jpeg_markers(data) if kind == END), len(data))


def png_lacks_rows(data: bytes, image: Image.Image) -> bool:
    """Return whether a PNG whose chunks are intact holds fewer rows than its header promises."""
    width, height = image.size
    if np.asarray(image.crop((0, height - 1, width, height))).any():  # not what Pillow leaves
        return False
    bits, colour, interlaced = data[24], data[25], data[28]
    passes = PNG_PASSES if interlaced else [(0, 0, 1, 1)]
    needed = 0
    for top, left, down, right in passes:
        n_rows, n_columns = -(-(height - top) // down), -(-(width - left) // right)
        if n_rows > 0 and n_columns > 0:
            needed += n_rows * (1 + -(-n_columns * bits * PNG_CHANNELS[colour] // 8))
    return sum(_inflated_sizes(data)) < needed


def _inflated_sizes(data: bytes) -> Iterator[int]:
    """Yield the sizes of the pieces that a PNG's pixels inflate to; no piece is large."""
    inflater = zlib.decompressobj()
    place = 8
    while place < len(data):
        length = int.from_bytes(data[place : place + 4], "big")
        if data[place + 4 : place + 8] == b"IDAT":
            waiting = data[place + 8 : place + 8 + length]
            while waiting and not inflater.eof:
                yield len(inflater.decompress(waiting, PIECE))
                waiting = inflater.unconsumed_tail
        place += 12 + length
