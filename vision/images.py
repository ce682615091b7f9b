"""Reading images: any common format in, one kind of array out; and writing them as PNG or JPEG.

This is the only module that opens image files. What comes out is ``uint8``, ``(h, w, 3)`` RGB or
``(h, w)`` grey, upright, in C order. What can't be read is refused with a typed error
(`visualwords.errors.ImageError`) whose message is one line.

=====================  ==========================================================================
what the file holds    what happens to it
=====================  ==========================================================================
EXIF orientation 1–8   turned upright
alpha channel          laid over white
palette, 1-bit, CMYK   converted to RGB
more than 8 bits       scaled from the smallest of 8, 10, 12, 14, 16, 24 or 32 bits that holds the
                       image's largest value, so that 12-bit data in 16-bit files keeps its range
float                  must lie in 0…1 or 0…255; NaN and infinity are refused
several frames         the first one
=====================  ==========================================================================

The grey of a JPEG is its own luma plane; that of any other file is the same weighted sum
(0.299 R + 0.587 G + 0.114 B) of its colours.
"""

import os

import cv2
import numpy as np

from visualwords.decoding import decode, upright_size
from visualwords.decoding import is_costly as is_costly
from visualwords.decoding import shrink as shrink
from visualwords.errors import MissingImageError, UnreadableImageError
from visualwords.files import StrPath, open_regular

MAX_PIXELS = 100_000_000
MAX_BYTES = 1 << 29  # no photograph is larger; a disk image renamed to .jpg may be
MODES = ("rgb", "grey")


def read_image(
    path_or_bytes: StrPath | bytes | bytearray | memoryview,
    mode: str = "rgb",
    max_pixels: int = MAX_PIXELS,
    *,
    max_side: int | None = None,
) -> np.ndarray:
    """Read one image as a ``uint8`` array.

    Parameters
    ----------
    path_or_bytes : path, or the bytes of an image file
        The content decides the format; the name does not matter.
    mode : {"rgb", "grey"}
        Shape of the result: ``(h, w, 3)`` or ``(h, w)``.
    max_pixels : int
        An image whose header promises more is refused before anything is decoded.
    max_side : int, optional
        Shrink the image so that its longer side has at most this many pixels. JPEGs are then
        decoded at a half, quarter or eighth of their size where that suffices.

    Returns
    -------
    ndarray of uint8, C order

    Raises
    ------
    ImageError
        One of `UnreadableImageError`, `UnknownFormatError`, `DamagedImageError`,
        `ImageTooLargeError`.

    Examples
    --------
    >>> from skimage.data import data_dir
    >>> read_image(f"{data_dir}/brick.png", mode="grey").shape
    (512, 512)
    """
    if mode not in MODES:
        raise ValueError(f"mode is {mode!r}; it must be one of {', '.join(MODES)}")
    if max_side is not None and max_side < 1:
        raise ValueError(f"max_side is {max_side}; it must be at least 1")
    if isinstance(path_or_bytes, bytes | bytearray | memoryview):
        data = bytes(path_or_bytes)
    else:
        data = read_bytes(path_or_bytes)
    if not data:
        raise UnreadableImageError("the file is empty")
    return decode(data, mode, max_pixels, max_side)


def image_size(path_or_bytes: StrPath | bytes, max_pixels: int = MAX_PIXELS) -> tuple[int, int]:
    """Width and height of the image that `read_image` reads, by its header alone.

    Examples
    --------
    >>> from skimage.data import data_dir
    >>> image_size(f"{data_dir}/coffee.png")
    (600, 400)
    """
    data = path_or_bytes if isinstance(path_or_bytes, bytes) else read_bytes(path_or_bytes)
    return upright_size(data, max_pixels)


def read_bytes(path: StrPath) -> bytes:
    """The content of a regular file; pipes, devices and folders are refused, not opened."""
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size > MAX_BYTES:
                raise UnreadableImageError(f"{size:,} bytes; at most {MAX_BYTES:,} are read")
            # Not MAX_BYTES at once: memory for them all would be taken, and given back.
            data = file.read(size + 1)
            return data if len(data) <= size else data + file.read(MAX_BYTES - len(data))
    except OSError as problem:
        missing = isinstance(problem, FileNotFoundError)
        error = MissingImageError if missing else UnreadableImageError
        raise error((problem.strerror or str(problem)).lower()) from None


def encode_image(image: np.ndarray, kind: str = "png", quality: int = 95) -> bytes:
    """An RGB or grey image as the bytes of a file.

    Parameters
    ----------
    image : (h, w, 3) or (h, w) uint8
    kind : {"png", "jpeg"}
    quality : int
        Of a JPEG, 1 to 100.

    Examples
    --------
    >>> read_image(encode_image(np.full((2, 3), 9, np.uint8)), "grey").tolist()
    [[9, 9, 9], [9, 9, 9]]
    """
    options = {"png": [], "jpeg": [cv2.IMWRITE_JPEG_QUALITY, quality]}[kind]
    in_opencvs_order = image[:, :, ::-1] if image.ndim == 3 else image
    encoded = cv2.imencode(f".{kind}", np.ascontiguousarray(in_opencvs_order), options)[1]
    return bytes(encoded.tobytes())
