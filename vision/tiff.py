"""Samples of more than 8 bits: how they become bytes, and TIFF files that have them.

Pillow reads TIFF of up to 8 bits right, OpenCV raw samples of more, if they are grey or lie
together pixel by pixel. So the tags are read here, the file gets new ones that ask OpenCV for its
samples and nothing else, plane by plane where the channels lie apart, and what samples mean (black
or white at 0, alpha, orientation) is decided from the old tags. What does not come back in the type
and size that the tags promise is refused.
"""

import io
import struct
from typing import NamedTuple

import cv2
import numpy as np
from PIL.TiffImagePlugin import ImageFileDirectory_v2 as Tags

from visualwords.errors import DamagedImageError, UnknownFormatError

SIGNATURES = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")  # the last two: BigTIFF
WIDTH, HEIGHT, BITS, COMPRESSION, PHOTOMETRIC = 256, 257, 258, 259, 262
STRIPS, ORIENTATION, N_SAMPLES, ROWS_PER_STRIP, STRIP_BYTES = 273, 274, 277, 278, 279
PLANES, PREDICTOR, TILE_WIDTH, TILE_HEIGHT, TILES, TILE_BYTES = 284, 317, 322, 323, 324, 325
EXTRA_SAMPLES, SAMPLE_FORMAT = 338, 339
KEPT = (WIDTH, HEIGHT, COMPRESSION, ROWS_PER_STRIP, PREDICTOR, TILE_WIDTH, TILE_HEIGHT)
WHITE_IS_0, BLACK_IS_0, RGB = 0, 1, 2
UNSPECIFIED, PREMULTIPLIED, ALPHA = 0, 1, 2  # kinds of extra samples
DEPTHS = (8, 10, 12, 14, 16, 24, 32)  # bits that cameras and scanners fill
FORMATS = {"u": 1, "i": 2, "f": 3}  # of samples, by NumPy's kinds
PLAIN = (1, 5, 8, 32773, 32946)  # compressions whose cost is bounded: none, LZW, deflate, PackBits
SILENT = 0  # OpenCV's log level: faults are reported here
MOST_STRIPS = 100_000  # or tiles; about 1 s


class DeepTIFF(NamedTuple):
    """A picture of samples that Pillow can't read or would cut to 8 bits."""

    tags: Tags
    dtype: np.dtype
    width: int
    height: int
    n_samples: int
    format: str = "TIFF"

    @property
    def size(self) -> tuple[int, int]:
        return self.width, self.height

    def samples(self, data: bytes) -> tuple[np.ndarray, np.ndarray | None]:
        """Grey (h, w) or RGB (h, w, 3) samples, 0 black, and alpha (h, w) if there is one.

        Colours that were multiplied by alpha are divided by it.
        """
        photometric = self.tags.get(PHOTOMETRIC)
        n_colours = 3 if photometric == RGB else 1
        has_planes = self.tags.get(PLANES, 1) == 2 and self.n_samples > 1
        if photometric not in (WHITE_IS_0, BLACK_IS_0, RGB) or self.n_samples < n_colours:
            raise self._refusal(f"of colours of kind {photometric}")
        if photometric == WHITE_IS_0 and self.dtype.kind != "u":
            raise self._refusal("whose white is 0")
        if self.n_samples > n_colours + 1 or (n_colours < self.n_samples < 3 and not has_planes):
            raise self._refusal(f"with {self.n_samples - n_colours} extra channels")
        if has_planes:
            planes = [self._read(data, plane) for plane in range(self.n_samples)]
            values = np.stack(planes, axis=2)
        else:
            values = self._read(data, None).reshape(self.height, self.width, self.n_samples)
        colours = values[:, :, :3] if n_colours == 3 else values[:, :, 0]
        if photometric == WHITE_IS_0:
            colours = np.iinfo(self.dtype).max - colours
        # An extra channel that no tag explains is alpha, as Pillow has it.
        kind = (*self.tags.get(EXTRA_SAMPLES, ()), ALPHA)[0]
        if self.n_samples == n_colours or kind == UNSPECIFIED:
            return colours, None
        alpha = values[:, :, n_colours]
        if kind == PREMULTIPLIED:
            top = 1.0 if self.dtype.kind == "f" else float(np.iinfo(self.dtype).max)
            share = (alpha / top).reshape(alpha.shape + (1,) * (colours.ndim - 2))
            colours = np.divide(colours, share, out=np.zeros(colours.shape), where=share > 0)
            if top != 1:
                colours = np.minimum(np.rint(colours), top).astype(self.dtype)
        return colours, alpha

    def _read(self, data: bytes, plane: int | None) -> np.ndarray:
        """The samples of one plane, or of all channels where they lie together."""
        n_samples = self.n_samples if plane is None else 1
        places, sizes = (TILES, TILE_BYTES) if TILES in self.tags else (STRIPS, STRIP_BYTES)
        offsets, counts = tuple(self.tags[places]), tuple(self.tags[sizes])
        if any(offset + count > len(data) for offset, count in zip(offsets, counts, strict=True)):
            raise DamagedImageError("damaged TIFF file (it lacks the last pixels)")
        if plane is not None:
            each = len(offsets) // self.n_samples
            offsets, counts = (list_[plane * each :][:each] for list_ in (offsets, counts))
        tags: dict[int, tuple[int, ...]]
        tags = {tag: (self.tags[tag],) for tag in KEPT if tag in self.tags}
        tags |= {places: offsets, sizes: counts, N_SAMPLES: (n_samples,)}
        tags[BITS] = (8 * self.dtype.itemsize,) * n_samples
        tags[SAMPLE_FORMAT] = (FORMATS[self.dtype.kind],) * n_samples
        tags[PHOTOMETRIC] = (RGB if n_samples > 1 else BLACK_IS_0,)
        if n_samples == 4:
            tags[EXTRA_SAMPLES] = (UNSPECIFIED,)
        values = decode_with_opencv(_with_tags(data, tags))
        shape = (self.height, self.width, *([n_samples] if n_samples > 1 else []))
        if values is None or values.shape != shape or values.dtype != self.dtype:
            raise DamagedImageError(f"damaged TIFF file, or an unusual one of {self.dtype} samples")
        # OpenCV's channels are blue, green, red
        return values if n_samples == 1 else values[:, :, [2, 1, 0, 3][:n_samples]]

    def _refusal(self, reason: str) -> UnknownFormatError:
        return UnknownFormatError(
            f"TIFF file of {self.dtype} samples {reason}; save it as grey or RGB of 8 or 16 bits"
        )


def decode_with_opencv(data: bytes) -> np.ndarray | None:
    """What OpenCV decodes, without changes; None, and no word of it, if it can't."""
    logging = cv2 if hasattr(cv2, "setLogLevel") else cv2.utils.logging  # OpenCV 4, and 5
    logging.setLogLevel(SILENT)
    return cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)


def deep_tiff(data: bytes) -> DeepTIFF | None:
    """The picture if it has more than 8 bits or other than unsigned numbers; else None."""
    if data.startswith(b"MM\0+"):  # which Pillow misreads
        raise UnknownFormatError("BigTIFF file of big-endian numbers; save it as TIFF or PNG")
    tags = Tags(data[: 16 if data.startswith(b"II+") else 8])
    file = io.BytesIO(data)
    file.seek(tags.next)
    tags.load(file)
    bits = set(tags.get(BITS, (1,)))
    formats = {1 if one == 4 else one for one in tags.get(SAMPLE_FORMAT, (1,))}  # 4: unknown
    n_samples = int(tags.get(N_SAMPLES, 1))
    if formats == {1} and (max(bits) <= 8 or (max(bits) < 16 and n_samples == 1)):
        return None  # Pillow unpacks grey of 12 bits, too
    kind = next((kind for kind, one in FORMATS.items() if formats == {one}), None)
    n_bits = bits.pop()
    if kind is None or bits or n_bits not in ((32, 64) if kind == "f" else (8, 16, 32)):
        raise UnknownFormatError(
            f"TIFF file of samples of {n_bits} bits and format {'/'.join(map(str, formats))}; "
            "save it as grey or RGB of 8 or 16 bits"
        )
    dtype = np.dtype(f"{kind}{n_bits // 8}")
    return DeepTIFF(tags, dtype, int(tags[WIDTH]), int(tags[HEIGHT]), n_samples)


def _with_tags(data: bytes, tags: dict[int, tuple[int, ...]]) -> bytes:
    """The file with other tags, of 32-bit numbers each; strips and tiles keep their places."""
    order = "<" if data.startswith(b"II") else ">"
    begin = len(data) + len(data) % 2
    entries, values = b"", b""
    for tag, numbers in sorted(tags.items()):
        packed = struct.pack(f"{order}{len(numbers)}I", *numbers)
        if len(numbers) > 1:
            place = begin + 2 + 12 * len(tags) + 4 + len(values)
            values += packed
            packed = struct.pack(f"{order}I", place)
        entries += struct.pack(f"{order}HHI", tag, 4, len(numbers)) + packed
    head = data[:2] + struct.pack(f"{order}HI", 42, begin)
    count = struct.pack(f"{order}H", len(tags))
    return b"".join([head, data[8:], bytes(begin - len(data)), count, entries, bytes(4), values])


def check_pieces(tags: Tags) -> None:
    """Refuse a TIFF of very many strips or tiles, or of too few strips for its height."""
    for tag in STRIPS, TILES:
        offsets = tags.get(tag, ())
        if isinstance(offsets, tuple) and len(offsets) > MOST_STRIPS:
            raise DamagedImageError(
                f"TIFF file of {len(offsets):,} strips or tiles; "
                f"at most {MOST_STRIPS:,} are decoded"
            )
    if STRIPS in tags and TILES not in tags:
        height = tags[HEIGHT]
        n_planes = tags.get(N_SAMPLES, 1) if tags.get(PLANES, 1) == 2 else 1
        if len(tags[STRIPS]) * tags.get(ROWS_PER_STRIP, height) < height * n_planes:
            raise DamagedImageError("damaged TIFF file (it lacks the last pixels)")


def to_eight_bits(colours: np.ndarray, alpha: np.ndarray | None = None) -> np.ndarray:
    """Bring samples of any type to uint8, by the rules in `visualwords.images`.

    alpha : (h, w), appended as the last channel; it fills its range, unlike colours
    """
    if alpha is not None:
        is_float = alpha.dtype.kind == "f"
        last = _from_float(alpha) if is_float else _scaled(alpha, np.iinfo(alpha.dtype).max)
        return np.dstack([to_eight_bits(colours), last])
    if colours.dtype == np.uint8:
        return colours
    if colours.dtype == np.bool_:
        return colours.astype(np.uint8) * 255
    if colours.dtype.kind == "f":
        return _from_float(colours)
    if colours.min(initial=0) < 0:
        raise DamagedImageError(f"negative samples (down to {colours.min()}) are not colours")
    largest = int(colours.max(initial=0))
    bits = next((depth for depth in DEPTHS if largest < 1 << depth), 64)
    return _scaled(colours, (1 << bits) - 1)


def _scaled(pixels: np.ndarray, white: int) -> np.ndarray:
    """Scale integers so that ``white`` becomes 255."""
    if pixels.dtype.itemsize > 2:
        return np.rint(pixels * (255.0 / white)).astype(np.uint8)
    levels = np.minimum(np.rint(np.arange(1 << 16) * (255.0 / white)), 255).astype(np.uint8)
    return levels[pixels]


def _from_float(pixels: np.ndarray) -> np.ndarray:
    if not np.isfinite(pixels).all():
        raise DamagedImageError("NaN or infinite samples are not colours")
    low, high = float(pixels.min()), float(pixels.max())
    if low < 0 or high > 255:
        raise DamagedImageError(
            f"float samples from {low:g} to {high:g}; they must lie in 0 to 1 or in 0 to 255"
        )
    return np.rint(pixels * (255.0 if high <= 1 else 1.0)).astype(np.uint8)
