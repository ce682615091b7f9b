"""Does a file hold all the pixels that its header promises? Pillow and libjpeg don't always say.

Where data ends too early they leave the rest of the picture as it was: grey in a JPEG, black in
a PNG or TIFF. The costly checks here are made only where the last pixels look like that.
"""

import re
import zlib
from collections.abc import Callable, Iterator

import numpy as np
from PIL import Image

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
ROWS_PER_STRIP, STRIP_OFFSETS = 278, 273  # TIFF tags
PIECE = 1 << 20


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
    """Return where the end marker of the first picture is (others may follow, or junk)."""
    place = 2
    while found := JPEG_MARKER.search(data, place):
        if found[1] == b"\xd9":
            return found.start()
        place = found.end() + int.from_bytes(data[found.end() : found.end() + 2], "big")
    return len(data)


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


def tiff_lacks_strips(image: Image.Image) -> bool:
    """Return whether the strips that a TIFF lists are too few for its height."""
    tags = image.tag_v2  # type: ignore[attr-defined]
    if STRIP_OFFSETS not in tags:  # in tiles
        return False
    height = tags[257]
    return len(tags[STRIP_OFFSETS]) * tags.get(ROWS_PER_STRIP, height) < height
