"""TIFF files of every layout, as tifffile writes and reads them: the same picture, or refused."""

import io
import itertools

import numpy as np
import pytest
import tifffile

from visualwords.errors import DamagedImageError, ImageError, ImageTooLargeError
from visualwords.images import image_size, read_image

TYPES = ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "f2", "f4", "f8"]
PHOTOMETRICS = ["minisblack", "miniswhite", "rgb"]
EXTRAS = [(), ("unspecified",), ("assocalpha",), ("unassalpha",)]
STORED = [
    *[{}, {"compression": "zlib", "predictor": True}, {"compression": "lzw"}],
    *[{"tile": (16, 16)}, {"rowsperstrip": 7}, {"bigtiff": True}],
]


def samples(dtype, shape):
    """Samples over the whole range of a type, without negative ones."""
    rng = np.random.default_rng(5)
    if np.dtype(dtype).kind == "f":
        values = rng.random(shape).astype(dtype)
        values.flat[0] = 1
        return values
    top = np.iinfo(dtype).max
    values = rng.integers(0, top, shape, dtype=dtype, endpoint=True)
    values.flat[0] = top
    return values


def written(values, photometric, planar="contig", extra=(), order="<", **options):
    """A TIFF of (h, w) or (h, w, channels) samples."""
    file = io.BytesIO()
    is_apart = planar == "separate" and values.ndim == 3
    stored = np.moveaxis(values, 2, 0) if is_apart else values
    if options.get("predictor") and values.dtype.kind == "f":  # tifffile lacks that of floats
        options["predictor"] = False
    planarconfig = planar if values.ndim == 3 else None
    tifffile.imwrite(
        file, stored, photometric=photometric, planarconfig=planarconfig, byteorder=order,
        extrasamples=extra, metadata=None, **options,
    )  # fmt: skip
    return file.getvalue()


def meaning_of(data):
    """RGB over white in 0 … 255, by the raw samples that tifffile reads and their tags."""
    page = tifffile.TiffFile(io.BytesIO(data)).pages[0]
    values = page.asarray()
    if page.planarconfig == 2 and values.ndim == 3:
        values = np.moveaxis(values, 0, 2)
    values = values.reshape(*values.shape[:2], -1).astype(float)
    white = 1.0 if page.dtype.kind == "f" else float(np.iinfo(page.dtype).max)
    top = 1.0
    depths = [2**bits - 1 for bits in (8, 10, 12, 14, 16, 24, 32)]
    n_colours = 3 if page.photometric == tifffile.PHOTOMETRIC.RGB else 1
    colours = values[:, :, :n_colours]
    if page.photometric == tifffile.PHOTOMETRIC.MINISWHITE:
        colours = white - colours
    alpha = np.ones((*values.shape[:2], 1))
    if page.extrasamples and page.extrasamples[0] > 0:
        alpha = values[:, :, n_colours:] / white
        if page.extrasamples[0] == tifffile.EXTRASAMPLE.ASSOCALPHA:
            colours = np.clip(colours / np.maximum(alpha, 1e-300), 0, white)
            colours[np.broadcast_to(alpha == 0, colours.shape)] = 0
    if white > 1:
        top = next(depth for depth in depths if np.rint(colours).max() <= depth * (1 + 1e-12))
    return np.broadcast_to(colours / top * alpha + (1 - alpha), (*values.shape[:2], 3)) * 255


def is_supported(dtype, photometric, planar, extra):
    """Whether the documentation promises that this layout is read."""
    kind, n_bytes = dtype[0], int(dtype[1])
    if dtype in ("f2", "u8"):
        return False
    if photometric == "miniswhite" and (kind != "u" or extra):
        return kind == "u" and n_bytes > 1 and planar == "separate"
    if dtype == "u1":
        return planar == "contig" or not extra or (photometric, extra) == ("rgb", ("unassalpha",))
    return photometric == "rgb" or not extra or planar == "separate"


@pytest.mark.parametrize("dtype", TYPES)
def test_every_layout_is_read_as_tifffile_reads_it_or_refused(dtype):
    wrong = []
    layouts = itertools.product("<>", PHOTOMETRICS, ("contig", "separate"), EXTRAS)
    for order, photometric, planar, extra in layouts:
        n = (3 if photometric == "rgb" else 1) + len(extra)
        values = samples(dtype, (20, 33, n) if n > 1 else (20, 33))
        if extra == ("assocalpha",):  # colours are never above it
            values[:, :, :-1] = np.minimum(values[:, :, :-1], values[:, :, -1:])
        data = written(values, photometric, planar, extra, order)
        supported = is_supported(dtype, photometric, planar, extra)
        try:
            image = read_image(data)
        except ImageError as refusal:
            if supported or "\n" in str(refusal):
                wrong.append((order, photometric, planar, extra, str(refusal)))
            continue
        error = np.abs(image - meaning_of(data)).max()
        if not supported or error > (1.5 if extra else 0.501):
            wrong.append((order, photometric, planar, extra, error))
    assert wrong == []


@pytest.mark.parametrize("options", STORED, ids=str)
@pytest.mark.parametrize("planar", ["contig", "separate"])
@pytest.mark.parametrize("dtype", ["u2", "f4", "f8"])
def test_strips_tiles_and_compressions_do_not_matter(dtype, planar, options):
    if options.get("compression") == "lzw":
        pytest.importorskip("imagecodecs")
    for shape, photometric in [((40, 33, 3), "rgb"), ((40, 33), "minisblack")]:
        order = "<" if "bigtiff" in options else ">"
        data = written(samples(dtype, shape), photometric, planar, order=order, **options)
        assert np.abs(read_image(data) - meaning_of(data)).max() <= 0.501


def test_values_of_twelve_bits_keep_their_range_and_colours_beside_alpha_their_scale():
    values = np.linspace(0, 4095, 20 * 33 * 3).round().astype("u2").reshape(20, 33, 3)
    for planar in "contig", "separate":
        image = read_image(written(values, "rgb", planar))
        np.testing.assert_array_equal(image, np.rint(values / 4095 * 255))
    for dtype, opaque in ("u2", 65535), ("f4", 1):
        values = np.full((5, 7, 4), 200, dtype)
        values[:, :, 3] = opaque
        assert (read_image(written(values, "rgb", extra=("unassalpha",))) == 200).all()


@pytest.mark.parametrize("dtype", ["u1", "u2"])
@pytest.mark.parametrize("planar", ["contig", "separate"])
def test_orientation_is_undone_also_in_the_size(planar, dtype):
    values = samples(dtype, (20, 33, 3))
    plain = read_image(written(values, "rgb", planar))
    across = plain.swapaxes(0, 1)
    turned = [plain, plain[:, ::-1], plain[::-1, ::-1], plain[::-1]]
    turned += [across, across[:, ::-1], across[::-1, ::-1], across[::-1]]
    for orientation, expected in enumerate(turned, start=1):
        tags = [(274, "H", 1, orientation, True)]
        data = written(values, "rgb", planar, extratags=tags)
        np.testing.assert_array_equal(read_image(data), expected)
        assert image_size(data) == expected.shape[1::-1]


@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "i2", "i4"])
def test_samples_that_are_no_colours_are_refused(dtype):
    is_float = dtype[0] == "f"
    for value in [np.nan, np.inf, -0.5, 256.0, 1e30] if is_float else [-3]:
        values = np.full((5, 7, 3) if is_float else (5, 7), 0.5).astype(dtype)
        values[2, 3] = value
        with pytest.raises(DamagedImageError, match="samples"):
            read_image(written(values, "rgb" if is_float else "minisblack"))


@pytest.mark.parametrize("planar", ["contig", "separate"])
def test_a_file_that_ends_early_or_is_too_large_is_refused(planar, capfd):
    data = written(samples("u2", (40, 33, 3)), "rgb", planar)
    for cut in range(0, len(data), 97):
        with pytest.raises(ImageError):
            read_image(data[:cut])
    with pytest.raises(ImageTooLargeError, match="raise max_pixels"):
        read_image(data, max_pixels=40 * 33 - 1)
    compressed = written(samples("u2", (40, 33, 3)), "rgb", planar, compression="zlib")
    place = len(compressed) // 2
    with pytest.raises(ImageError):
        read_image(compressed[:place] + bytes(200) + compressed[place + 200 :])
    assert capfd.readouterr() == ("", "")
