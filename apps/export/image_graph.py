"""Graphs of what comes before extractors: sizes, grey, colour spaces, planes, edges.

Images are planes (channels, 1, height, width), float32 that hold whole numbers 0 … 255. Every
function does what its namesake in `visualwords.features.pixels`, `visualwords.decoding` or OpenCV
does with bytes.
"""

import numpy as np

from visualwords.apps.export.graph import BOOL, DOUBLE, FLOAT, INT32, INT64, Value

LARGEST_FACTOR = 8.0  # by which images are enlarged
_SOBEL = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]], np.float32)


def planes_of(image: Value) -> Value:
    """The planes of an input (1, height, width, channels) of bytes."""
    return image.transpose(3, 0, 1, 2).cast(FLOAT)


def height_width(planes: Value) -> tuple[Value, Value]:
    """The sizes of planes, int64 of shape (1,)."""
    return planes.size(2), planes.size(3)


def as_grey(planes: Value) -> Value:
    """The grey plane of red, green and blue, with OpenCV's weights in 1/32768."""
    weights = np.array([9798, 19235, 3735], np.float32).reshape(1, 3, 1, 1)
    total = planes.graph.conv(planes.transpose(1, 0, 2, 3), weights)
    return ((total + 16384.0) * (1 / 32768)).floor()


def resize_view(planes: Value, max_side: int | None, min_side: int | None) -> Value:
    """The size that a recipe wants: larger images are shrunk to it, smaller ones enlarged."""
    g = planes.graph
    if max_side is not None:
        whole, longer = planes, _longer_side(planes)
        planes = g.either(
            longer > float(max_side),
            lambda: shrink_to_area(whole, *_scaled(whole, max_side / longer)),
            lambda: whole,
        )
    if min_side is not None:
        small, factor = planes, min_side / _longer_side(planes)
        planes = g.either(
            factor > 1.0,
            lambda: interpolate_cubic(small, *_scaled(small, factor.at_most(LARGEST_FACTOR))),
            lambda: small,
        )
    return planes


def resize_image(planes: Value, width: int, height: int) -> Value:
    """Planes of a fixed size: areas are averaged to shrink them, else pixels interpolated."""
    g = planes.graph
    have = height_width(planes)
    return g.either(
        (have[0] > height) & (have[1] > width),
        lambda: shrink_to_area(planes, g.shape(height), g.shape(width)),
        lambda: interpolate(planes, height, width),
    )


def _longer_side(planes: Value) -> Value:
    height, width = height_width(planes)
    return height.at_least(width).cast(DOUBLE)


def _scaled(planes: Value, factor: Value) -> list[Value]:
    """Height and width times a factor, rounded, at least 1."""
    sides = ((side.cast(DOUBLE) * factor).round() for side in height_width(planes))
    return [side.cast(INT64).at_least(1) for side in sides]


def shrink_to_area(planes: Value, height: Value, width: Value) -> Value:
    """Means of the areas that the pixels of a smaller image cover."""
    g = planes.graph
    sizes = zip(height_width(planes), (height, width))
    scales = [have.cast(DOUBLE) / want.cast(DOUBLE) for have, want in sizes]
    rows = _means_of_rows(planes, height, scales[0])
    means = _means_of_rows(rows.transpose(0, 1, 3, 2), width, scales[1]).transpose(0, 1, 3, 2)
    # OpenCV rounds halves up where 2 × 2 pixels become one, else to even numbers.
    is_half = [g.op("Equal", scale, 2.0, kind=BOOL) for scale in scales]
    return (means + g.where(is_half[0] & is_half[1], 0.125, 0.0)).round()


def _means_of_rows(planes: Value, n: Value, scale: Value) -> Value:
    """n rows, each the mean of ``scale`` old ones, of which the outer may count in part."""
    g = planes.graph
    low = (g.range(n).cast(DOUBLE) * scale).reshape(-1, 1)
    places = low.floor() + g.range(scale.cast(INT64) + 2).cast(DOUBLE)
    inside = (places + 1.0).at_most(low + scale) - places.at_least(low)
    weights = (inside.at_least(0.0) / scale).cast(FLOAT)
    last = (planes.size(2) - 1).cast(DOUBLE)
    rows = planes.gather(places.at_most(last).cast(INT64), axis=2)  # (c, 1, n, reach, width)
    return g.op("Squeeze", g.op("Unsqueeze", weights, [1]) @ rows, [3])


def interpolate_cubic(planes: Value, height: Value, width: Value) -> Value:
    """Planes of another size by cubic interpolation."""
    g = planes.graph
    sizes = g.shape(planes.size(0), 1, height, width)
    found = g.op("Resize", planes, None, None, sizes, mode="cubic", cubic_coeff_a=-0.75)
    return found.round().at_least(0.0).at_most(255.0)


def interpolate(planes: Value, height: int, width: int) -> Value:
    """Planes of another size by linear interpolation, with OpenCV's weights in 1/2048."""
    columns, weights = _neighbours(planes.size(3), width)
    parts = [planes.gather(column, axis=3) * weight for column, weight in zip(columns, weights)]
    sums = ((parts[0] + parts[1]) / 16.0).floor().cast(INT32)
    rows, weights = _neighbours(planes.size(2), height)
    parts = [
        sums.gather(row, axis=2) * weight.cast(INT32).reshape(-1, 1) / (1 << 16)
        for row, weight in zip(rows, weights)
    ]
    return ((parts[0] + parts[1] + 2) / 4).cast(FLOAT)


def _neighbours(n: Value, wanted: int) -> tuple[list[Value], list[Value]]:
    """The two pixels, of n, between which each of the wanted ones lies, and their weights."""
    scale = n.cast(DOUBLE) / float(wanted)
    place = (scale * (np.arange(wanted) + 0.5) - 0.5).cast(FLOAT)
    first, last = place.floor(), (n - 1).cast(FLOAT)
    places = [one.at_least(0.0).at_most(last).cast(INT64) for one in (first, first + 1.0)]
    return places, [(share * 2048.0).round() for share in (first + 1.0 - place, place - first)]


def color_planes(planes: Value, color: str, sobel: bool = False) -> Value:
    """The planes "rgb", "opponent" or "c" of red, green and blue; "grey" is one plane already."""
    g = planes.graph
    if color in ("opponent", "c"):
        r, g_, b = (planes.slice(0, k, k + 1) for k in range(3))
        total = r + g_ + b
        first, second = r - g_, r + g_ - b * 2.0
        if color == "opponent":
            values = [(first + 255.0) / 2.0, (second + 510.0) / 4.0, total / 3.0]
        else:
            bright = total.at_least(1.0)
            values = [(first / bright + 1.0) * 127.5, (second / bright + 2.0) * 85.0, total / 3.0]
        planes = g.concat(values, 0).round()
    return sobel_image(planes) if sobel else planes


def sobel_image(planes: Value) -> Value:
    """A quarter of the length of the Sobel derivatives, at most 255."""
    g = planes.graph
    padded = g.op("Pad", planes, [0, 0, 1, 1, 0, 0, 1, 1], mode="edge")
    derivatives = g.conv(padded, np.stack([_SOBEL, _SOBEL.T])[:, None])
    squares = g.op("ReduceSumSquare", derivatives, [1])
    return (squares.sqrt() * 0.25).round().at_most(255.0)


def in_space(planes: Value, space: str) -> Value:
    """Red, green and blue in another colour space of bytes: "rgb", "hsv" or "lab"."""
    if space == "rgb":
        return planes
    channels = [planes.slice(0, k, k + 1) for k in range(3)]
    return planes.graph.concat(_hsv(*channels) if space == "hsv" else _lab(*channels), 0)


def _hsv(r: Value, g: Value, b: Value) -> list[Value]:
    """Hue over 256 levels, saturation and value, by OpenCV's tables of 1/4096."""
    graph = r.graph
    level = np.maximum(np.arange(256), 1)
    by_value = np.rint((255 << 12) / level).astype(np.float32)
    by_spread = np.rint((256 << 12) / (6.0 * level)).astype(np.float32)
    by_value[0] = by_spread[0] = 0
    value = graph.op("Max", r, g, b)
    spread = value - graph.op("Min", r, g, b)
    of_green = graph.where(g >= value, b - r + spread * 2.0, r - g + spread * 4.0)
    hue = graph.where(r >= value, g - b, of_green)
    hue = _rounded(hue * graph.constant(by_spread).gather(spread.cast(INT64)))
    hue = graph.where(hue >= 0.0, hue, hue + 256.0).at_most(255.0)
    saturation = _rounded(spread * graph.constant(by_value).gather(value.cast(INT64)))
    return [hue, saturation, value]


def _rounded(value: Value, unit: int = 1 << 12) -> Value:
    return ((value + unit / 2) * (1 / unit)).floor()


def _lab(*channels: Value) -> list[Value]:
    """L* × 2.55, a* + 128 and b* + 128, by OpenCV's tables."""
    graph, bits, unit = channels[0].graph, 3, 1 << 15
    share = np.arange(256) / 255
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    gamma = np.rint(255 * (1 << bits) * linear).astype(np.float32)
    x = np.arange(256 * 3 // 2 << bits) / (255 << bits)
    root = np.where(x < 0.008856, x * 7.787 + 0.13793103448275862, np.cbrt(x))
    roots = graph.constant(np.rint(unit * root).astype(np.float32))
    r, g, b = (graph.constant(gamma).gather(one.cast(INT64)) for one in channels)
    to_xyz = [[0.412453, 0.357580, 0.180423], [0.212671, 0.715160, 0.072169]]
    to_xyz += [[0.019334, 0.119193, 0.950227]]
    white = np.array([0.950456, 1.0, 1.088754])
    rows = np.rint(np.array(to_xyz) / white[:, None] * 4096)
    fx, fy, fz = (
        roots.gather(_rounded(r * row[0] + g * row[1] + b * row[2]).cast(INT64))
        for row in rows.tolist()
    )
    low = (16 * 255 * unit + 50) // 100
    light = _rounded(fy * float((116 * 255 + 50) // 100) - float(low), unit)
    a, b_ = ((fx - fy) * 500.0, (fy - fz) * 200.0)
    shifted = [_rounded(value + 128.0 * unit, unit) for value in (a, b_)]
    return [value.at_least(0.0).at_most(255.0) for value in (light, *shifted)]
