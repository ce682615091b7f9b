"""Bytes of an image file → pixels: the header is checked first, then the right decoder is asked."""

import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import cv2
import numpy as np
from PIL import Image, UnidentifiedImageError

from visualwords._pixels import grey_of, rgb_of, to_eight_bits, upright
from visualwords.errors import (
    DamagedImageError,
    ImageError,
    ImageTooLargeError,
    UnknownFormatError,
)

try:
    import simplejpeg
except ImportError:
    simplejpeg = None

# An allow-list: Pillow also knows formats that start other programs (EPS) or read other files.
FORMATS = ["JPEG", "PNG", "GIF", "BMP", "TIFF", "WEBP", "PPM", "JPEG2000", "AVIF"]
ORIENTATION = 0x0112  # EXIF and TIFF tag
BITS_PER_SAMPLE = 258  # TIFF tag
HEIF_BRANDS = (b"heic", b"heix", b"hevc", b"heim", b"heis", b"mif1", b"msf1")

_pillow_limit = threading.Lock()


def decode(data: bytes, mode: str, max_pixels: int, max_side: int | None = None) -> np.ndarray:
    """Decode to uint8 RGB or grey, upright; ``max_side`` allows, not promises, a reduced size."""
    header = _open(data)
    width, height = header.size
    if width * height > max_pixels:
        raise ImageTooLargeError(
            f"{width} x {height} is {width * height:,} pixels; at most {max_pixels:,} are allowed, "
            "raise max_pixels if the file is to be trusted"
        )
    try:
        if header.format in ("JPEG", "MPO") and header.mode in ("L", "RGB"):
            pixels = _decode_jpeg(data, header, mode, max_side)
            pixels = upright(pixels, header.getexif().get(ORIENTATION, 1))
        else:
            pixels = _decode_other(data, header)
    except ImageError:
        raise
    except MemoryError:
        raise ImageTooLargeError(f"{width} x {height} does not fit into memory") from None
    except Exception as problem:  # damaged files make decoders raise almost anything
        raise DamagedImageError(f"damaged {header.format} file ({_one_line(problem)})") from None
    return np.ascontiguousarray(rgb_of(pixels) if mode == "rgb" else grey_of(pixels))


def _open(data: bytes) -> Image.Image:
    """Parse the header only."""
    formats = _known_formats()
    if data[4:8] == b"ftyp" and data[8:12] in HEIF_BRANDS:
        formats = [_heif_format()]
    try:
        with _without_pillow_limit():
            return Image.open(io.BytesIO(data), formats=formats)
    except UnidentifiedImageError:
        start = data[:8]
        raise UnknownFormatError(
            f"not an image that can be read (it begins with {start!r})"
        ) from None
    except Exception as problem:
        raise DamagedImageError(f"damaged header ({_one_line(problem)})") from None


@cache
def _known_formats() -> list[str]:
    """Return the formats that the installed Pillow reads (older ones lack AVIF)."""
    Image.init()
    return [name for name in FORMATS if name in Image.OPEN]


def _heif_format() -> str:
    try:
        from pillow_heif import register_heif_opener
    except ImportError:
        raise UnknownFormatError(
            "a HEIF photograph; reading it needs: pip install 'visualwords[heif]'"
        ) from None
    register_heif_opener()
    return "HEIF"


@contextmanager
def _without_pillow_limit() -> Iterator[None]:
    """Lift Pillow's process-wide pixel limit while it parses a header; ours follows at once."""
    with _pillow_limit:
        limit, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
        try:
            yield
        finally:
            Image.MAX_IMAGE_PIXELS = limit


def _decode_jpeg(data: bytes, header: Image.Image, mode: str, max_side: int | None) -> np.ndarray:
    """Decode a grey or YCbCr JPEG, at 1/2, 1/4 or 1/8 of its size if that is still enough."""
    grey = mode == "grey" or header.mode == "L"
    longer = max(header.size)
    factor = 1
    while max_side is not None and factor < 8 and longer >= 2 * factor * max_side:
        factor *= 2
    width, height = (-(-side // factor) for side in header.size)
    if simplejpeg is not None:
        pixels = simplejpeg.decode_jpeg(
            data, "GRAY" if grey else "RGB", min_height=height, min_width=width, min_factor=1
        )
        return pixels[:, :, 0] if grey else pixels
    pixels = _draft(data, grey, (width, height))
    if _looks_unfinished(pixels) and _lacks_data(data, pixels, grey, (width, height)):
        raise DamagedImageError("damaged JPEG file (it ends before its last pixels)")
    return pixels


def _draft(data: bytes, grey: bool, size_wh: tuple[int, int]) -> np.ndarray:
    with _without_pillow_limit():
        image = Image.open(io.BytesIO(data), formats=["JPEG"])
    image.draft("L" if grey else "RGB", size_wh)
    return np.array(image)


def _looks_unfinished(pixels: np.ndarray) -> bool:
    """Say if the last corner is the exact mid-grey that libjpeg leaves where its data ended."""
    return bool((pixels[-1:, -1:] == 128).all())


def _lacks_data(data: bytes, pixels: np.ndarray, grey: bool, size_wh: tuple[int, int]) -> bool:
    """Say if the pixels change when junk is put before the end marker: then they needed more.

    libjpeg takes a stream that ends early for a grey rest of the image and tells nobody. A
    complete stream is not read beyond its last block, so that junk there changes nothing.
    """
    end = data.rfind(b"\xff\xd9")
    return not np.array_equal(
        pixels, _draft(data[:end] + b"\x5a" * 512 + data[end:], grey, size_wh)
    )


def _decode_other(data: bytes, header: Image.Image) -> np.ndarray:
    """Decode anything but ordinary JPEGs to uint8: grey or RGB, perhaps with an alpha channel."""
    if header.format == "PNG":
        header.verify()  # checks every chunk's CRC, which decoding does not
        header = _open(data)
    if _has_deep_colours(data, header):
        orientation = header.getexif().get(ORIENTATION, 1)
        return upright(to_eight_bits(_decode_deep(data)), orientation)
    orientation = 1
    header.load()
    if header.format != "TIFF":  # Pillow has turned TIFFs itself
        orientation = header.getexif().get(ORIENTATION, 1)
    return upright(to_eight_bits(_array_of(header)), orientation)


def _has_deep_colours(data: bytes, header: Image.Image) -> bool:
    """Say if the file holds colours of more than 8 bits, which Pillow would cut to their top 8."""
    if header.mode not in ("RGB", "RGBA"):
        return False
    if header.format == "PNG":
        return data[24] == 16
    bits = getattr(header, "tag_v2", {}).get(BITS_PER_SAMPLE, (8,))
    return header.format == "TIFF" and max(bits) > 8


def _decode_deep(data: bytes) -> np.ndarray:
    pixels = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    if pixels is None:
        raise DamagedImageError("damaged file (its 16-bit colours can't be decoded)")
    order = [2, 1, 0, 3][: pixels.shape[2]]  # OpenCV's channels are blue, green, red
    return pixels[:, :, order]


def _array_of(image: Image.Image) -> np.ndarray:
    """Return a loaded Pillow image as an array of 1 to 4 channels (the alpha, if any, last)."""
    if image.mode == "P":
        image = image.convert("RGBA" if "transparency" in image.info else "RGB")
    elif image.mode == "PA":
        image = image.convert("RGBA")
    elif image.mode in ("RGB", "L") and "transparency" in image.info:
        image = image.convert("RGBA" if image.mode == "RGB" else "LA")
    elif image.mode == "1":
        image = image.convert("L")
    elif image.mode not in ("L", "LA", "RGB", "RGBA", "I", "F") and not image.mode.startswith("I;"):
        image = image.convert("RGB")
    return np.array(image)


def _one_line(problem: Exception) -> str:
    return " ".join(str(problem).split())[:120] or type(problem).__name__
