"""Bytes of an image file → pixels: the header is checked first, then the right decoder is asked.

What decoders do not check is checked here. Pixels are bounded by ``max_pixels``, but a progressive
JPEG may draw the same pixels thousands of times and a PNG have millions of empty chunks, which is
refused; and the decoders of some formats take a time that nothing in the header limits: they run
in a process that can be ended (`visualwords.isolation`). Where data end too early, Pillow and
libjpeg leave the rest of the picture grey or black without a word: where the last pixels look like
it, the missing data are looked for.

Run as a program (``python -m visualwords.decoding``) it is the process of `visualwords.isolation`,
which decodes what its input sends.
"""

import io
import re
import threading
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial

import cv2
import numpy as np
from PIL import Image, UnidentifiedImageError, features
from PIL.ImageFile import ImageFile
from PIL.TiffImagePlugin import ImageFileDirectory_v2, TiffImageFile

from visualwords import isolation, tiff
from visualwords.errors import DamagedImageError, ImageError, ImageTooLargeError, UnknownFormatError
from visualwords.tiff import ORIENTATION, DeepTIFF, decode_with_opencv, to_eight_bits

try:
    import simplejpeg
except ImportError:
    simplejpeg = None

# An allow-list: Pillow also knows formats that start other programs (EPS) or read other files.
FORMATS = ["JPEG", "PNG", "GIF", "BMP", "TIFF", "WEBP", "PPM", "JPEG2000", "AVIF"]
JPEG = ("JPEG", "MPO")
# What Pillow reads without importing forty modules.
USUAL = {b"\xff\xd8\xff": "JPEG", b"\x89PNG\r\n": "PNG", b"GIF8": "GIF", b"BM": "BMP"}
SIGNATURES = (*USUAL, *tiff.SIGNATURES)
HEIF_BRANDS = (b"heic", b"heix", b"hevc", b"heim", b"heis", b"mif1", b"msf1")
FAXES = ("tiff_ccitt", "group3", "group4")  # compressions of TIFF
SAFE_FOR_FAXES = (4, 7, 2)  # libtiff; older ones leave memory behind damaged codes as it was
NO_LIMIT = 1 << 62  # pixels; None could meet another thread that multiplies the limit
STRIP = 512  # rows of a picture that are copied together
TOO_LARGE = "raise max_pixels if the file is to be trusted"

USUAL_SCANS = 10  # of a progressive JPEG
MOST_SCANS, FEWEST_SCANS = 200, 24  # of a JPEG: ever, and always allowed
MOST_SCANNED = 2_000_000_000  # scans times pixels; about 5 s
JPEG_MARKER = re.compile(rb"\xff+([^\x00\xff\xd0-\xd7])")  # 00 and D0–D7 occur within the data
SCAN, END = b"\xda", b"\xd9"  # markers
MOST_CHUNKS = 100_000  # of a PNG; about 1 s
PNG_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}  # of each colour type
PNG_PASSES = [  # of an interlaced PNG: first row and column, steps between rows and columns
    *[(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4)],
    *[(2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)],
]
# Bytes that a file may have beyond those of its pixels, such as colour profiles and previews.
SPARE_BYTES, BYTES_PER_PIXEL = 4 << 20, 16
# Python loops over bytes, or decoders in which a few bytes can mean much work.
SLOW_CODECS = ("bmp_rle", "ppm", "ppm_plain")
SLOW_FORMATS = ("JPEG2000", "AVIF", "HEIF")

Header = Image.Image | DeepTIFF

_pillow_state = threading.RLock()


def decode(
    data: bytes,
    mode: str,
    max_pixels: int,
    max_side: int | None = None,
    *,
    may_isolate: bool = True,
) -> np.ndarray:
    """Decode to uint8 RGB or grey, upright, with at most ``max_side`` pixels a side.

    Where it may, a file whose cost the header leaves open is decoded in a process of its own.
    """
    try:
        return _decode(data, mode, max_pixels, max_side, may_isolate)
    except (Warning, Image.DecompressionBombError):
        # The user makes warnings errors and Pillow warns of odd tags in good pictures; or
        # Pillow's own limit, which some of its decoders ask again, is below ours.
        with _pillow_limit(NO_LIMIT), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _decode(data, mode, max_pixels, max_side, may_isolate)


def is_costly(data: bytes, max_pixels: int) -> bool:
    """Whether decoding may take a second or more, by the header.

    What can't be decoded, or is refused, costs nothing.

    Examples
    --------
    >>> is_costly(b"P6 1 1 255 abc", 100), is_costly(b"P3 1 1 255 1 2 3", 100)
    (False, True)
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            header = _checked_header(data, max_pixels)
    except ImageError:
        return False
    n_pixels = header.width * header.height
    if header.format in JPEG:  # every scan of a progressive one draws all pixels
        n_pixels *= max(1, data.count(b"\xff" + SCAN) // USUAL_SCANS)
    return n_pixels > isolation.LARGE or _has_hidden_cost(header, len(data))


def upright_size(data: bytes, max_pixels: int) -> tuple[int, int]:
    """Width and height of the image as `decode` gives it; nothing is decoded."""
    header = _open(data, max_pixels)
    if isinstance(header, DeepTIFF | TiffImageFile):  # whose size is upright in newer Pillows only
        tags = header.tags if isinstance(header, DeepTIFF) else header.tag_v2
        width, height, orientation = tags[tiff.WIDTH], tags[tiff.HEIGHT], tags.get(ORIENTATION, 1)
    else:
        (width, height), orientation = header.size, _orientation(header)
    return (height, width) if orientation in (5, 6, 7, 8) else (width, height)


def pixels_of(image: Image.Image, max_pixels: int) -> np.ndarray:
    """Pixels of a Pillow image as uint8 grey or RGB, upright, by the rules for files."""
    _check_size(*image.size, max_pixels)
    try:
        image.load()
        return np.ascontiguousarray(_over_white(_upright(image, _array_of(image))))
    except ImageError:
        raise
    except Exception as problem:
        raise DamagedImageError(f"a PIL image that can't be used ({_one_line(problem)})") from None


def _decode(
    data: bytes, mode: str, max_pixels: int, max_side: int | None, may_isolate: bool
) -> np.ndarray:
    header = _checked_header(data, max_pixels)
    width, height = header.size
    if may_isolate and (isolation.is_isolated() or _has_hidden_cost(header, len(data))):
        pixels = isolation.decode_isolated(data, mode, max_pixels, max_side, width * height)
        if pixels is not None:
            return pixels
    try:
        if isinstance(header, DeepTIFF):
            pixels = to_eight_bits(*header.samples(data))
            pixels = upright(pixels, header.tags.get(ORIENTATION, 1))
        elif header.format in JPEG and header.mode in ("L", "RGB", "CMYK"):
            pixels = upright(_decode_jpeg(data, header, mode, max_side), _orientation(header))
        else:
            pixels = _decode_other(data, header)
    except (ImageError, Warning, Image.DecompressionBombError):
        raise
    except MemoryError:
        raise ImageTooLargeError(f"{width} x {height} does not fit into memory") from None
    except Exception as problem:  # damaged files make decoders raise almost anything
        raise DamagedImageError(f"damaged {header.format} file ({_one_line(problem)})") from None
    pixels = rgb_of(pixels) if mode == "rgb" else grey_of(pixels)
    return shrink(np.ascontiguousarray(pixels), max_side)


# Headers


def _checked_header(data: bytes, max_pixels: int) -> Header:
    """Header of a file that is neither too large nor made to take long."""
    if data.startswith(b"\x89PNG"):  # Pillow reads all chunks for a header: they are counted before
        for number, (kind, _, _) in enumerate(_png_chunks(data), start=1):
            if kind == b"IEND":
                break
            if number > MOST_CHUNKS:
                raise DamagedImageError(f"PNG file of more than {MOST_CHUNKS:,} chunks")
    header = _open(data, max_pixels)
    _check_size(*header.size, max_pixels)
    if header.format in JPEG:
        _check_scans(data, header.width * header.height)
    if (tags := _tags_of(header)) is not None:
        tiff.check_pieces(tags)
    if isinstance(header, TiffImageFile) and header.info.get("compression") in FAXES:
        _check_fax()
    return header


def _open(data: bytes, max_pixels: int) -> Header:
    """Parse the header only."""
    if data.startswith(tuple(USUAL)):
        formats = list(USUAL.values())
    elif data[4:8] == b"ftyp" and data[8:12] in HEIF_BRANDS:
        formats = [_heif_format()]
    else:
        formats = _known_formats()
    try:
        if data.startswith(tiff.SIGNATURES) and (deep := tiff.deep_tiff(data)) is not None:
            return deep
        # Opening a GIF or WebP may make Pillow take memory for its pixels: its limit must hold.
        with _pillow_limit(max_pixels if data.startswith((b"GIF", b"RIFF")) else NO_LIMIT):
            return Image.open(io.BytesIO(data), formats=formats)
    except UnidentifiedImageError:
        begin = f"it begins with {data[:8]!r}"
        if data.startswith(SIGNATURES) or data[8:12] == b"WEBP":
            sentence = f"damaged header, or an unusual kind of its format ({begin})"
            raise DamagedImageError(sentence) from None
        raise UnknownFormatError(f"not an image that can be read ({begin})") from None
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        sentence = f"more than the {max_pixels:,} pixels that are allowed, {TOO_LARGE}"
        raise ImageTooLargeError(sentence) from None
    except (Warning, ImageError):
        raise
    except Exception as problem:
        raise DamagedImageError(f"damaged header ({_one_line(problem)})") from None


@cache
def _known_formats() -> list[str]:
    """Formats that the installed Pillow reads (older ones lack AVIF)."""
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


def _tags_of(header: Header) -> ImageFileDirectory_v2 | None:
    if isinstance(header, DeepTIFF):
        return header.tags
    return header.tag_v2 if isinstance(header, TiffImageFile) else None


def _orientation(header: Image.Image) -> int:
    """EXIF orientation; 1 (upright) if there is none or it can't be read."""
    try:
        return header.getexif().get(ORIENTATION, 1)
    except Warning:
        raise
    except Exception:  # a damaged description is no reason to refuse the picture
        return 1


def _check_size(width: int, height: int, max_pixels: int) -> None:
    if width * height > max_pixels:
        raise ImageTooLargeError(
            f"{width} x {height} is {width * height:,} pixels; at most {max_pixels:,} are allowed, "
            f"{TOO_LARGE}"
        )


def _check_scans(data: bytes, n_pixels: int) -> None:
    """Refuse a JPEG that draws its pixels more often than any encoder does."""
    most = min(MOST_SCANS, max(FEWEST_SCANS, MOST_SCANNED // max(1, n_pixels)))
    # Counting all pairs of bytes is fast, and never less than the scans: descriptions and
    # previews may have some, too. Only then are the markers followed.
    if data.count(b"\xff" + SCAN) > most:
        n_scans = sum(kind == SCAN for kind, _ in _jpeg_markers(data))
        if n_scans > most:
            raise DamagedImageError(f"JPEG file of {n_scans:,} scans; at most {most} are decoded")


def _check_fax() -> None:
    """Refuse fax codes where they, if damaged, would show uninitialised memory as pixels."""
    version = features.version("libtiff") or "0"
    if tuple(int(part) for part in version.split(".") if part.isdigit()) < SAFE_FOR_FAXES:
        raise UnknownFormatError(
            "TIFF file with fax compression, which the libtiff of this Pillow reads wrongly if it "
            "is damaged; install Pillow 13 or newer, or save the image as PNG"
        )


def _has_hidden_cost(header: Header, n_bytes: int) -> bool:
    """Whether the header leaves open how long decoding may take."""
    if header.format in SLOW_FORMATS:
        return True
    if n_bytes > SPARE_BYTES + BYTES_PER_PIXEL * header.width * header.height:
        return True
    if (tags := _tags_of(header)) is not None:
        return tags.get(tiff.COMPRESSION, 1) not in tiff.PLAIN
    tiles = header.tile if isinstance(header, ImageFile) else []
    return bool(tiles) and tiles[0][0] in SLOW_CODECS


# JPEG


def _decode_jpeg(data: bytes, header: Image.Image, mode: str, max_side: int | None) -> np.ndarray:
    """Decode a JPEG, at 1/2, 1/4 or 1/8 of its size if that is still enough."""
    wanted = header.mode if header.mode != "RGB" or mode == "rgb" else "L"
    factor = 1  # the largest that leaves max_side pixels, and one of each side
    while (
        max_side is not None
        and factor < 8
        and max(header.size) >= 2 * factor * max_side
        and min(header.size) >= 2 * factor
    ):
        factor *= 2
    width, height = (-(-side // factor) for side in header.size)
    if simplejpeg is not None and wanted != "CMYK":
        colours = "GRAY" if wanted == "L" else "RGB"
        try:
            return simplejpeg.decode_jpeg(
                data, colours, min_height=height, min_width=width, min_factor=1
            )
        except ValueError:  # it refuses even stray bytes that harm nothing: ask Pillow
            pass
    draft = partial(_draft, mode=wanted, factor=factor)
    pixels = draft(data)
    # libjpeg completes truncated data with grey, or with a blurred image in a progressive file.
    # Complete data are not read beyond the last block: junk before the end changes nothing.
    last = pixels[-1, -1].astype(int)
    if "progressive" in header.info or (np.abs(last - 128) <= 1).all():
        places = (place for kind, place in _jpeg_markers(data) if kind == END)
        end = next(places, len(data))
        if not np.array_equal(pixels, draft(data[:end] + b"\x5a" * 512 + data[end:])):
            raise DamagedImageError("damaged JPEG file (it ends before its last pixels)")
    if wanted != "CMYK":
        return pixels
    return _array_of(Image.frombytes("CMYK", pixels.shape[1::-1], pixels.tobytes()))


def _draft(data: bytes, mode: str, factor: int) -> np.ndarray:
    image = _reopened(data, "JPEG")
    width, height = image.size
    # Rounded down: from the size rounded up Pillow would conclude a smaller factor.
    image.draft(mode, (width // factor, height // factor))
    return np.array(image)


def _reopened(data: bytes, form: str) -> Image.Image:
    """Open a file whose size has been checked."""
    with _pillow_limit(NO_LIMIT):
        return Image.open(io.BytesIO(data), formats=[form])


def _jpeg_markers(data: bytes) -> Iterator[tuple[bytes, int]]:
    """Yield the kinds and places of the markers of a JPEG's first picture."""
    place = 2
    while found := JPEG_MARKER.search(data, place):
        yield found[1], found.start()
        if found[1] == END:
            return
        place = found.end() + int.from_bytes(data[found.end() : found.end() + 2], "big")


# PNG, and what Pillow decodes


def _decode_other(data: bytes, header: Image.Image) -> np.ndarray:
    """Decode anything but JPEGs to uint8: grey or RGB, perhaps with an alpha channel."""
    if header.format == "PNG":
        header.verify()  # checks every chunk's CRC, which decoding does not
        header = _reopened(data, "PNG")
    header.load()
    if header.format == "PNG" and _png_lacks_rows(data, header):
        raise DamagedImageError("damaged PNG file (it lacks the last pixels)")
    if header.format == "PNG" and data[24] == 16 and header.mode in ("RGB", "RGBA", "LA"):
        deep = decode_with_opencv(data)  # Pillow would cut 16 bits to their top 8
        if deep is None:
            raise DamagedImageError("damaged file (its 16-bit colours can't be decoded)")
        return _upright(header, deep[:, :, [2, 1, 0, 3][: deep.shape[2]]])  # was BGR
    return _upright(header, _array_of(header))


def _png_chunks(data: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Yield the kind of each chunk of a PNG, and where its content begins and ends."""
    place = 8
    while place < len(data):
        end = place + 8 + int.from_bytes(data[place : place + 4], "big")
        yield data[place + 4 : place + 8], place + 8, end
        place = end + 4


def _png_lacks_rows(data: bytes, image: Image.Image) -> bool:
    """Whether a PNG whose chunks are intact holds fewer rows than its header promises."""
    width, height = image.size
    if np.asarray(image.crop((0, height - 1, width, height))).any():  # not what Pillow leaves
        return False
    bits, colour, interlaced = data[24], data[25], data[28]
    needed = 0
    for top, left, down, right in PNG_PASSES if interlaced else [(0, 0, 1, 1)]:
        n_rows, n_columns = -(-(height - top) // down), -(-(width - left) // right)
        if n_rows > 0 and n_columns > 0:
            needed += n_rows * (1 + -(-n_columns * bits * PNG_CHANNELS[colour] // 8))
    inflater = zlib.decompressobj()
    for kind, begin, end in _png_chunks(data):
        waiting = data[begin:end] if kind == b"IDAT" else b""
        while waiting and not inflater.eof:
            needed -= len(inflater.decompress(waiting, 1 << 20))  # no piece is large
            waiting = inflater.unconsumed_tail
    return needed > 0


def _upright(image: Image.Image, pixels: np.ndarray) -> np.ndarray:
    """Bring the samples of a loaded Pillow image to 8 bits and turn them upright."""
    if pixels.ndim == 3 and pixels.shape[2] in (2, 4):
        pixels = to_eight_bits(pixels[:, :, :-1], pixels[:, :, -1])
    else:
        pixels = to_eight_bits(pixels)
    # Pillow turns TIFFs itself, and nothing else.
    return pixels if image.format == "TIFF" else upright(pixels, _orientation(image))


def _array_of(image: Image.Image) -> np.ndarray:
    """Pixels of a loaded Pillow image in 1 to 4 channels (the alpha, if any, last)."""
    has_transparency = "transparency" in image.info
    if image.mode == "P":
        image = image.convert("RGBA" if has_transparency else "RGB")
    elif image.mode in ("PA", "La", "RGBa"):
        image = image.convert("LA" if image.mode == "La" else "RGBA")
    elif image.mode in ("RGB", "L", "1") and has_transparency:
        image = image.convert("RGBA" if image.mode == "RGB" else "LA")
    elif image.mode == "1":
        image = image.convert("L")
    elif image.mode not in ("L", "LA", "RGB", "RGBA", "I", "F") and not image.mode.startswith("I;"):
        image = image.convert("RGB")
    if image.height <= STRIP:
        return np.array(image)
    # In strips: at once, Pillow takes the memory of the pixels twice.
    first = np.array(image.crop((0, 0, image.width, 1)))
    pixels = np.empty((image.height, *first.shape[1:]), first.dtype)
    for y in range(0, image.height, STRIP):
        pixels[y : y + STRIP] = image.crop((0, y, image.width, min(y + STRIP, image.height)))
    return pixels


def _one_line(problem: Exception) -> str:
    return " ".join(str(problem).split())[:120] or type(problem).__name__


# Pixel arithmetic: transparency, grey and colour, orientation, size


def rgb_of(pixels: np.ndarray) -> np.ndarray:
    """``(h, w, 3)`` of grey, grey + alpha, RGB or RGBA pixels."""
    pixels = _over_white(pixels)
    return np.repeat(pixels[:, :, None], 3, axis=2) if pixels.ndim == 2 else pixels


def grey_of(pixels: np.ndarray) -> np.ndarray:
    """``(h, w)`` of grey, grey + alpha, RGB or RGBA pixels."""
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
    isolation.serve(partial(decode, may_isolate=False))
