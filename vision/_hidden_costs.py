"""What a small file can make a decoder do, found without decoding: scans, chunks, strips, formats.

Pixels are bounded by `max_pixels`. These costs are not: a progressive JPEG may draw the same
pixels thousands of times, a PNG may have millions of empty chunks, and the decoders of some
formats take a time that nothing in the header limits. The first two are refused here; the last
are decoded in a process that can be ended (`visualwords.isolation`).
"""

from typing import Any

from PIL import Image

from visualwords._completeness import JPEG_MARKER
from visualwords.errors import DamagedImageError

MOST_SCANS = 200  # of a JPEG; encoders write about 10
FEWEST_SCANS = 24  # that are allowed, however large the image
MOST_SCANNED = 2_000_000_000  # scans times pixels; about 5 s
MOST_CHUNKS = 100_000  # of a PNG; about 1 s
MOST_STRIPS = 100_000  # or tiles, of a TIFF; about 1 s
SCAN, END = b"\xda", b"\xd9"
STRIPS, TILES = 273, 324  # TIFF tags with the places of pixels
# Bytes that a file may have beyond those of its pixels, such as colour profiles and previews.
SPARE_BYTES = 4 << 20
BYTES_PER_PIXEL = 16
# Python loops over bytes, or decoders in which a few bytes can mean much work.
SLOW_CODECS = ("bmp_rle", "ppm", "ppm_plain")
SLOW_FORMATS = ("JPEG2000", "AVIF", "HEIF")
PLAIN_TIFFS = ("raw", "tiff_lzw", "tiff_adobe_deflate", "tiff_deflate", "packbits")


def check_jpeg(data: bytes, n_pixels: int) -> None:
    """Refuse a JPEG that draws its pixels more often than any encoder does."""
    most = min(MOST_SCANS, max(FEWEST_SCANS, MOST_SCANNED // max(1, n_pixels)))
    # Counting all pairs of bytes is fast, and never less than the scans: descriptions and
    # previews may have some, too. Only then are the markers followed.
    if data.count(b"\xff" + SCAN) > most and (n_scans := _scans(data)) > most:
        raise DamagedImageError(f"JPEG file of {n_scans:,} scans; at most {most} are decoded")


def _scans(data: bytes) -> int:
    """Return the number of scans before the end marker of the first picture."""
    place, n_scans = 2, 0
    while (found := JPEG_MARKER.search(data, place)) and found[1] != END:
        n_scans += found[1] == SCAN
        place = found.end() + int.from_bytes(data[found.end() : found.end() + 2], "big")
    return n_scans


def check_png(data: bytes) -> None:
    """Refuse a PNG of very many chunks."""
    place, n_chunks = 8, 0
    while place < len(data) and data[place + 4 : place + 8] != b"IEND":
        place += 12 + int.from_bytes(data[place : place + 4], "big")
        n_chunks += 1
        if n_chunks > MOST_CHUNKS:
            raise DamagedImageError(f"PNG file of more than {MOST_CHUNKS:,} chunks")


def check_tiff(header: Image.Image) -> None:
    """Refuse a TIFF of very many strips or tiles."""
    tags = header.tag_v2  # type: ignore[attr-defined]
    for tag in STRIPS, TILES:
        places = tags.get(tag, ())
        if isinstance(places, tuple) and len(places) > MOST_STRIPS:
            raise DamagedImageError(
                f"TIFF file of {len(places):,} strips or tiles; at most {MOST_STRIPS:,} are decoded"
            )


def has_hidden_cost(header: Image.Image, n_bytes: int) -> bool:
    """Return whether the header leaves open how long decoding may take."""
    if header.format in SLOW_FORMATS:
        return True
    if n_bytes > SPARE_BYTES + BYTES_PER_PIXEL * header.width * header.height:
        return True
    if header.format == "TIFF":
        return header.info.get("compression", "raw") not in PLAIN_TIFFS
    tiles: Any = getattr(header, "tile", None)  # of image files; other images have none
    return bool(tiles) and tiles[0][0] in SLOW_CODECS
