"""Bytes of an image file → pixels: the header is checked first, then the right decoder is asked."""

import io
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial

import cv2
import numpy as np
from PIL import Image, UnidentifiedImageError, features

from visualwords._file_checks import (
    check_jpeg,
    check_png,
    check_tiff,
    has_hidden_cost,
    jpeg_lacks_data,
    png_lacks_rows,
    tiff_lacks_strips,
)
from visualwords._pixels import grey_of, rgb_of, shrink, to_eight_bits, upright
from visualwords.errors import (
    DamagedImageError,
    ImageError,
    ImageTooLargeError,
    UnknownFormatError,
)
from visualwords.isolation import LARGE, decode_isolated, is_isolated, limited_if_expendable

try:
    import simplejpeg
except ImportError:
    simplejpeg = None

# An allow-list: Pillow also knows formats that start other programs (EPS) or read other files.
FORMATS = ["JPEG", "PNG", "GIF", "BMP", "TIFF", "WEBP", "PPM", "JPEG2000", "AVIF"]
JPEG_MODES = ("L", "RGB", "CMYK")
ORIENTATION = 0x0112  # EXIF and TIFF tag
BITS_PER_SAMPLE = 258  # TIFF tag
SIGNATURES = (b"\xff\xd8\xff", b"\x89PNG\r\n", b"GIF8", b"II*\0", b"MM\0*", b"BM")
FAXES = ("tiff_ccitt", "group3", "group4")  # compressions of TIFF
# Of libtiff; older ones leave memory behind damaged codes as it was.
SAFE_FOR_FAXES = (4, 7, 2)
STRIP = 512  # rows of a picture that are copied together
USUAL_SCANS = 10  # of a progressive JPEG
NO_LIMIT = 1 << 62  # pixels; None could meet another thread that multiplies the limit
HEIF_BRANDS = (b"heic", b"heix", b"hevc", b"heim", b"heis", b"mif1", b"msf1")

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
    return n_pixels > LARGE or has_hidden_cost(header, len(data))


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
    if width * height > max_pixels:
        raise ImageTooLargeError(
            f"{width} x {height} is {width * height:,} pixels; at most {max_pixels:,} are allowed, "
            "raise max_pixels if the file is to be trusted"
        )
    if header.format in ("JPEG", "MPO"):
        check_jpeg(data, width * height)
    elif header.format == "TIFF":
        check_tiff(header)
        _check_fax(header)
    n_pixels = width * height
    if may_isolate and (is_isolated(n_pixels) or has_hidden_cost(header, len(data))):
        return decode_isolated(data, mode, max_pixels, max_side, n_pixels)
    with limited_if_expendable(n_pixels):
        return shrink(_decoded(data, header, mode, max_side), max_side)


def _decoded(data: bytes, header: Image.Image, mode: str, max_side: int | None) -> np.ndarray:
    width, height = header.size
    try:
        if header.format in ("JPEG", "MPO") and header.mode in JPEG_MODES:
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


def size_in_header(data: bytes, max_pixels: int) -> tuple[int, int]:
    """Return width and height by the header alone; nothing is decoded."""
    return _open(data, max_pixels).size


def upright_size(data: bytes, max_pixels: int) -> tuple[int, int]:
    """Return width and height of the image as `decode` gives it; nothing is decoded."""
    header = _open(data, max_pixels)
    width, height = header.size
    return (height, width) if _orientation(header) in (5, 6, 7, 8) else (width, height)


def _open(data: bytes, max_pixels: int) -> Image.Image:
    """Parse the header only."""
    formats = _known_formats()
    if data[4:8] == b"ftyp" and data[8:12] in HEIF_BRANDS:
        formats = [_heif_format()]
    try:
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
    except Warning:
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


def _draft(data: bytes, mode: str, factor: int) -> np.ndarray:
    with _pillow_limit(NO_LIMIT):
        image = Image.open(io.BytesIO(data), formats=["JPEG"])
    width, height = image.size
    # Rounded down: from the size rounded up Pillow would conclude a smaller factor.
    image.draft(mode, (width // factor, height // factor))
    return np.array(image)


def _decode_other(data: bytes, header: Image.Image) -> np.ndarray:
    """Decode anything but JPEGs to uint8: grey or RGB, perhaps with an alpha channel."""
    if header.format == "PNG":
        header.verify()  # checks every chunk's CRC, which decoding does not
        header = _open(data, header.width * header.height)
    header.load()
    if (header.format == "PNG" and png_lacks_rows(data, header)) or (
        header.format == "TIFF" and tiff_lacks_strips(header)
    ):
        raise DamagedImageError(f"damaged {header.format} file (it lacks the last pixels)")
    pixels = _decode_deep(data) if _has_deep_colours(data, header) else _array_of(header)
    # Pillow and OpenCV turn TIFFs themselves, and nothing else.
    orientation = 1 if header.format == "TIFF" else _orientation(header)
    return upright(to_eight_bits(pixels), orientation)


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


def _has_deep_colours(data: bytes, header: Image.Image) -> bool:
    """Return whether colours have more than 8 bits, which Pillow would cut to their top 8."""
    if header.mode not in ("RGB", "RGBA", "LA"):
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
