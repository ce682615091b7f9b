"""Bytes of an image file → pixels: the header is checked first, then the right decoder is asked.

Run as a program (``python -m visualwords.decoding``) it is the process of `visualwords.isolation`,
which decodes what its input sends.
"""

import io
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial

import cv2
import numpy as np
from PIL import Image, UnidentifiedImageError, features
from PIL.TiffImagePlugin import TiffImageFile

from visualwords import isolation
from visualwords._file_checks import (
    check_jpeg,
    check_png,
    has_hidden_cost,
    jpeg_lacks_data,
    png_lacks_rows,
)
from visualwords.errors import (
    DamagedImageError,
    ImageError,
    ImageTooLargeError,
    UnknownFormatError,
)
from visualwords.tiff import (
    HEIGHT,
    ORIENTATION,
    WIDTH,
    DeepTIFF,
    check_pieces,
    decode_with_opencv,
    deep_tiff,
    read_tags,
)
from visualwords.tiff import SIGNATURES as TIFF

try:
    import simplejpeg
except ImportError:
    simplejpeg = None

# An allow-list: Pillow also knows formats that start other programs (EPS) or read other files.
FORMATS = ["JPEG", "PNG", "GIF", "BMP", "TIFF", "WEBP", "PPM", "JPEG2000", "AVIF"]
JPEG_MODES = ("L", "RGB", "CMYK")
SIGNATURES = (b"\xff\xd8\xff", b"\x89PNG\r\n", b"GIF8", *TIFF, b"BM")
FAXES = ("tiff_ccitt", "group3", "group4")  # compressions of TIFF
# Of libtiff; older ones leave memory behind damaged codes as it was.
SAFE_FOR_FAXES = (4, 7, 2)
STRIP = 512  # rows of a picture that are copied together
USUAL_SCANS = 10  # of a progressive JPEG
NO_LIMIT = 1 << 62  # pixels; None could meet another thread that multiplies the limit
DEPTHS = (8, 10, 12, 14, 16, 24, 32)  # bits that cameras and scanners fill
HEIF_BRANDS = (b"heic", b"heix", b"hevc", b"heim", b"heis", b"mif1", b"msf1")

Header = Image.Image | DeepTIFF

_pillow_state = threading.RLock()


def decode(data: bytes, mode: str, max_pixels: int, max_side: int | None = None) -> np.ndarray:
    """Decode to uint8 RGB or grey, upright, with at most ``max_side`` pixels a side.

    A file whose cost the header leaves open is decoded in a process of its own.
    """
    return _decode(data, mode, max_pixels, max_side, may_isolate=True)


def decode_here(data: bytes, mode: str, max_pixels: int, max_side: int | None) -> np.ndarray:
    """Decode in this process, whatever it costs."""
    return _decode(data, mode, max_pixels, max_side, may_isolate=False)


def is_costly(data: bytes, max_pixels: int) -> bool:
    """Return whether decoding may take a second or more, by the header.

    What can't be decoded, or is refused, costs nothing.

    Examples
    --------
    >>> is_costly(b"P6 1 1 255 abc", 100), is_costly(b"P3 1 1 255 1 2 3", 100)
    (False, True)
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if data.startswith(b"\x89PNG"):
                check_png(data)
            header = _open(data, max_pixels)
    except ImageError:
        return False
    n_pixels = header.width * header.height
    if header.format in ("JPEG", "MPO"):  # every scan of a progressive one draws all pixels
        n_pixels *= max(1, data.count(b"\xff\xda") // USUAL_SCANS)
    return n_pixels > isolation.LARGE or has_hidden_cost(header, len(data))


def _decode(
    data: bytes, mode: str, max_pixels: int, max_side: int | None, *, may_isolate: bool
) -> np.ndarray:
    try:
        return _checked_and_decoded(data, mode, max_pixels, max_side, may_isolate=may_isolate)
    except (Warning, Image.DecompressionBombError):
        # The user makes warnings errors and Pillow warns of odd tags in good pictures; or
        # Pillow's own limit, which some of its decoders ask again, is below ours.
        with _pillow_limit(NO_LIMIT), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _checked_and_decoded(data, mode, max_pixels, max_side, may_isolate=may_isolate)


def _checked_and_decoded(
    data: bytes, mode: str, max_pixels: int, max_side: int | None, *, may_isolate: bool
) -> np.ndarray:
    # A header of PNG is read through all its chunks: they are counted before.
    if data.startswith(b"\x89PNG"):
        check_png(data)
    header = _open(data, max_pixels)
    width, height = header.size
    _check_size(width, height, max_pixels)
    if header.format in ("JPEG", "MPO"):
        check_jpeg(data, width * height)
    elif isinstance(header, DeepTIFF):
        check_pieces(header.tags)
    elif isinstance(header, TiffImageFile):
        check_pieces(header.tag_v2)
        _check_fax(header)
    n_pixels = width * height
    if may_isolate and (isolation.is_isolated() or has_hidden_cost(header, len(data))):
        pixels = isolation.decode_isolated(data, mode, max_pixels, max_side, n_pixels)
        if pixels is not None:
            return pixels
    return shrink(_decoded(data, header, mode, max_side), max_side)


def _check_size(width: int, height: int, max_pixels: int) -> None:
    if width * height > max_pixels:
        raise ImageTooLargeError(
            f"{width} x {height} is {width * height:,} pixels; at most {max_pixels:,} are allowed, "
            "raise max_pixels if the file is to be trusted"
        )


def _decoded(data: bytes, header: Header, mode: str, max_side: int | None) -> np.ndarray:
    width, height = header.size
    try:
        if isinstance(header, DeepTIFF):
            pixels = upright(to_eight_bits(*header.samples(data)), header.orientation)
        elif header.format in ("JPEG", "MPO") and header.mode in JPEG_MODES:
            pixels = _decode_jpeg(data, header, mode, max_side)
            pixels = upright(pixels, _orientation(header))
        else:
            pixels = _decode_other(data, header)
    except (ImageError, Warning, Image.DecompressionBombError):
        raise
    except MemoryError:
        raise ImageTooLargeError(f"{width} x {height} does not fit into memory") from None
    except Exception as problem:  # damaged files make decoders raise almost anything
        raise DamagedImageError(f"damaged {header.format} file ({_one_line(problem)})") from None
    return np.ascontiguousarray(rgb_of(pixels) if mode == "rgb" else grey_of(pixels))


def upright_size(data: bytes, max_pixels: int) -> tuple[int, int]:
    """Return width and height of the image as `decode` gives it; nothing is decoded."""
    header = _open(data, max_pixels)
    if isinstance(header, DeepTIFF):
        (width, height), orientation = header.size, header.orientation
    elif isinstance(header, TiffImageFile):  # whose size is upright in newer versions of Pillow
        width, height = (header.tag_v2[tag] for tag in (WIDTH, HEIGHT))
        orientation = header.tag_v2.get(ORIENTATION, 1)
    else:
        (width, height), orientation = header.size, _orientation(header)
    return (height, width) if orientation in (5, 6, 7, 8) else (width, height)


def _open(data: bytes, max_pixels: int) -> Header:
    """Parse the header only."""
    formats = _known_formats()
    if data[4:8] == b"ftyp" and data[8:12] in HEIF_BRANDS:
        formats = [_heif_format()]
    try:
        if data.startswith(TIFF) and (deep := deep_tiff(read_tags(data))) is not None:
            return deep
        # Opening a GIF or WebP may make Pillow take memory for its pixels: its limit must hold.
        with _pillow_limit(max_pixels if data.startswith((b"GIF", b"RIFF")) else NO_LIMIT):
            return Image.open(io.BytesIO(data), formats=formats)
    except UnidentifiedImageError:
        if data.startswith(SIGNATURES) or data[8:12] == b"WEBP":
            raise DamagedImageError(
                f"damaged header, or an unusual kind of its format (it begins with {data[:8]!r})"
            ) from None
        raise UnknownFormatError(
            f"not an image that can be read (it begins with {data[:8]!r})"
        ) from None
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise ImageTooLargeError(
            f"more than the {max_pixels:,} pixels that are allowed, "
            "raise max_pixels if the file is to be trusted"
        ) from None
    except (Warning, ImageError):
        raise
    except Exception as problem:
        raise DamagedImageError(f"damaged header ({_one_line(problem)})") from None


@cache
def _known_formats() -> list[str]:
    """Return the formats that the installed Pillow reads (older ones lack AVIF)."""
    Image.init()
    return [name for name in FORMATS if name in Image.OPEN]


def _heif_format() -> str:
    try:
        from pi_heif import register_heif_opener
    except ImportError:
        raise UnknownFormatError(
            "a HEIF photograph; reading it needs pi-heif: pip install pi-heif"
        ) from None
    register_heif_opener()
    return "HEIF"


@contextmanager
def _pillow_limit(max_pixels: int) -> Iterator[None]:
    """Set Pillow's process-wide pixel limit while it parses a header; ours follows at once."""
    with _pillow_state:
        limit, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, max_pixels
        try:
            yield
        finally:
            Image.MAX_IMAGE_PIXELS = limit


def _orientation(header: Image.Image) -> int:
    """Return the EXIF orientation; 1 (upright) if there is none or it can't be read."""
    try:
        return header.getexif().get(ORIENTATION, 1)
    except Warning:
        raise
    except Exception:  # a damaged description is no reason to refuse the picture
        return 1


def _decode_jpeg(data: bytes, header: Image.Image, mode: str, max_side: int | None) -> np.ndarray:
    """Decode a JPEG, at 1/2, 1/4 or 1/8 of its size if that is still enough."""
    wanted = header.mode if header.mode != "RGB" or mode == "rgb" else "L"
    factor = _reduction(header.size, max_side)
    width, height = (-(-side // factor) for side in header.size)
    if simplejpeg is not None and wanted != "CMYK":
        colours = "GRAY" if wanted == "L" else "RGB"
        try:
            return simplejpeg.decode_jpeg(
                data, colours, min_height=height, min_width=width, min_factor=1
            )
        except ValueError:  # it refuses even stray bytes that harm nothing: ask Pillow
            pass
    pixels = _draft(data, wanted, factor)
    progressive = "progressive" in header.info
    if jpeg_lacks_data(data, pixels, progressive, partial(_draft, mode=wanted, factor=factor)):
        raise DamagedImageError("damaged JPEG file (it ends before its last pixels)")
    if wanted != "CMYK":
        return pixels
    return _array_of(Image.frombytes("CMYK", pixels.shape[1::-1], pixels.tobytes()))


def _reduction(size_wh: tuple[int, int], max_side: int | None) -> int:
    """Return 1, 2, 4 or 8: the largest that leaves ``max_side`` pixels, and one of each side."""
    factor = 1
    while (
        max_side is not None
        and factor < 8
        and max(size_wh) >= 2 * factor * max_side
        and min(size_wh) >= 2 * factor
    ):
        factor *= 2
    return factor


def _reopened(data: bytes, form: str) -> Image.Image:
    """Open a file whose size has been checked."""
    with _pillow_limit(NO_LIMIT):
        return Image.open(io.BytesIO(data), formats=[form])


def _draft(data: bytes, mode: str, factor: int) -> np.ndarray:
    image = _reopened(data, "JPEG")
    width, height = image.size
    # Rounded down: from the size rounded up Pillow would conclude a smaller factor.
    image.draft(mode, (width // factor, height // factor))
    return np.array(image)


def _decode_other(data: bytes, header: Image.Image) -> np.ndarray:
    """Decode anything but JPEGs to uint8: grey or RGB, perhaps with an alpha channel."""
    if header.format == "PNG":
        header.verify()  # checks every chunk's CRC, which decoding does not
        header = _reopened(data, "PNG")
    header.load()
    if header.format == "PNG" and png_lacks_rows(data, header):
        raise DamagedImageError("damaged PNG file (it lacks the last pixels)")
    is_deep = header.format == "PNG" and data[24] == 16 and header.mode in ("RGB", "RGBA", "LA")
    return _upright(header, _decode_deep_png(data) if is_deep else _array_of(header))


def _upright(image: Image.Image, pixels: np.ndarray) -> np.ndarray:
    """Bring the samples of a loaded Pillow image to 8 bits and turn them upright."""
    if pixels.ndim == 3 and pixels.shape[2] in (2, 4):
        pixels = to_eight_bits(pixels[:, :, :-1], pixels[:, :, -1])
    else:
        pixels = to_eight_bits(pixels)
    # Pillow turns TIFFs itself, and nothing else.
    return upright(pixels, 1 if image.format == "TIFF" else _orientation(image))


def pixels_of(image: Image.Image, max_pixels: int) -> np.ndarray:
    """Return a Pillow image as uint8 grey or RGB, upright, by the rules for files."""
    _check_size(*image.size, max_pixels)
    try:
        image.load()
        return np.ascontiguousarray(_over_white(_upright(image, _array_of(image))))
    except ImageError:
        raise
    except Exception as problem:
        raise DamagedImageError(f"a PIL image that can't be used ({_one_line(problem)})") from None


def _check_fax(header: Image.Image) -> None:
    if header.info.get("compression") in FAXES and not can_read_faxes():
        raise UnknownFormatError(
            "TIFF file with fax compression, which the libtiff of this Pillow reads wrongly if it "
            "is damaged; install Pillow 13 or newer, or save the image as PNG"
        )


@cache
def can_read_faxes() -> bool:
    """Return whether a fax-coded TIFF, if damaged, can't show uninitialised memory as pixels."""
    version = features.version("libtiff") or "0"
    return tuple(int(part) for part in version.split(".") if part.isdigit()) >= SAFE_FOR_FAXES


def _decode_deep_png(data: bytes) -> np.ndarray:
    """Decode colours of 16 bits, which Pillow would cut to their top 8."""
    pixels = decode_with_opencv(data)
    if pixels is None:
        raise DamagedImageError("damaged file (its 16-bit colours can't be decoded)")
    order = [2, 1, 0, 3][: pixels.shape[2]]  # OpenCV's channels are blue, green, red
    return pixels[:, :, order]


def _array_of(image: Image.Image) -> np.ndarray:
    """Return a loaded Pillow image as an array of 1 to 4 channels (the alpha, if any, last)."""
    if image.mode == "P":
        image = image.convert("RGBA" if "transparency" in image.info else "RGB")
    elif image.mode in ("PA", "La", "RGBa"):
        image = image.convert("LA" if image.mode == "La" else "RGBA")
    elif image.mode in ("RGB", "L", "1") and "transparency" in image.info:
        image = image.convert("RGBA" if image.mode == "RGB" else "LA")
    elif image.mode == "1":
        image = image.convert("L")
    elif image.mode not in ("L", "LA", "RGB", "RGBA", "I", "F") and not image.mode.startswith("I;"):
        image = image.convert("RGB")
    return _copied(image)


def _copied(image: Image.Image) -> np.ndarray:
    """Return the pixels in an array, copied in strips: at once, Pillow takes their memory twice."""
    if image.height <= STRIP:
        return np.array(image)
    first = np.array(image.crop((0, 0, image.width, 1)))
    pixels = np.empty((image.height, *first.shape[1:]), first.dtype)
    for y in range(0, image.height, STRIP):
        pixels[y : y + STRIP] = image.crop((0, y, image.width, min(y + STRIP, image.height)))
    return pixels


def _one_line(problem: Exception) -> str:
    return " ".join(str(problem).split())[:120] or type(problem).__name__


# Pixel arithmetic: bit depth, transparency, grey and colour, orientation


def to_eight_bits(colours: np.ndarray, alpha: np.ndarray | None = None) -> np.ndarray:
    """Bring samples of any type to uint8, by the rules in `visualwords.images`.

    alpha : (h, w), appended as the last channel; it fills its range, unlike colours
    """
    if alpha is not None:
        if alpha.dtype.kind == "f":
            return np.dstack([to_eight_bits(colours), _from_float(alpha)])
        return np.dstack([to_eight_bits(colours), _scaled(alpha, np.iinfo(alpha.dtype).max)])
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


def rgb_of(pixels: np.ndarray) -> np.ndarray:
    """Return ``(h, w, 3)`` of grey, grey + alpha, RGB or RGBA pixels."""
    pixels = _over_white(pixels)
    return np.repeat(pixels[:, :, None], 3, axis=2) if pixels.ndim == 2 else pixels


def grey_of(pixels: np.ndarray) -> np.ndarray:
    """Return ``(h, w)`` of grey, grey + alpha, RGB or RGBA pixels."""
    pixels = _over_white(pixels)
    if pixels.ndim == 2:
        return pixels
    return cv2.cvtColor(np.ascontiguousarray(pixels), cv2.COLOR_RGB2GRAY)


def _over_white(pixels: np.ndarray) -> np.ndarray:
    """Lay pixels with an alpha channel over white; a single channel loses its axis."""
    if pixels.ndim == 2:
        return pixels
    if pixels.shape[2] in (2, 4):
        alpha = pixels[:, :, -1:].astype(np.uint32)
        blend = pixels[:, :, :-1] * alpha + 255 * (255 - alpha)
        pixels = ((blend + 127) // 255).astype(np.uint8)
    return pixels[:, :, 0] if pixels.shape[2] == 1 else pixels


def upright(pixels: np.ndarray, orientation: int) -> np.ndarray:
    """Undo an EXIF orientation (1–8; anything else counts as 1)."""
    if orientation in (2, 5, 7):
        pixels = pixels[:, ::-1]
    elif orientation == 4:
        pixels = pixels[::-1]
    turns = {3: 2, 5: 1, 6: 3, 7: 3, 8: 1}.get(orientation, 0)  # quarter turns anticlockwise
    return np.rot90(pixels, turns)


def shrink(image: np.ndarray, max_side: int | None) -> np.ndarray:
    """Scale an image down, by area averaging, until its longer side is at most ``max_side``."""
    height, width = image.shape[:2]
    if max_side is None or max(height, width) <= max_side:
        return image
    scale = max_side / max(height, width)
    size_wh = max(1, round(width * scale)), max(1, round(height * scale))
    return cv2.resize(image, size_wh, interpolation=cv2.INTER_AREA)


if __name__ == "__main__":
    isolation.serve(decode_here)
