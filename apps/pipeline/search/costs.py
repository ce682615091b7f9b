"""What training a recipe costs, by what was recorded: seconds of the reference machine.

Costs depend on the number of images and their sizes, not on the machine, its load, the number of
jobs or what is cached. The numbers are a fit to what the built-in recipes took on a machine with
two cores with AVX-512 and nothing else to do (``benchmarks/speed/auto_budget.py`` prints it), on
149 to 1,500 images of 32 to 350 pixels, raised by a fifth for what comes before and after a search.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from visualwords.apps.pipeline.channel_products import are_shared
from visualwords.apps.pipeline.contents import Content
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.encoding import IMAGES, PATCHES
from visualwords.apps.pipeline.recipe import (
    Channel,
    Fisher,
    Recipe,
    SecondOrder,
    Words,
    windows_of,
)
from visualwords.apps.pipeline.recipes import LINEAR
from visualwords.apps.pipeline.training import n_divisions
from visualwords.apps.pipeline.view import View
from visualwords.codebook.spatial_pyramid import as_pyramid
from visualwords.errors import ImageError
from visualwords.images import image_size

SECONDS_OF_A_RECIPE = 0.3  # whatever it is
SECONDS_TO_LEARN = {"fisher": 1.6, "second_order": 0.3}  # a channel, from a full sample
SECONDS_TO_LEARN_WORDS = 2.0  # or sets
LEARNING_COLORS = 2.5  # times as long, of patches with three planes: their components come first
EXTRACTING = 0.5  # of the cost of a channel, which images of the sample cost once more
MS_OF_A_LOGARITHM = 0.1  # of a window's second moments of 64 components, whatever the image's size
SHARE_OF_A_CORE = 0.57  # of the cost of a channel, which is that of one core
MS_OF_AN_IMAGE = 0.7  # each time that it is read, whatever is made of it
MS_OF_A_MEGABYTE = 16.0  # of its file, JPEG or PNG, which one core decodes and shrinks
NS_OF_A_COLUMN = 18.0  # of each new row
COSTS_ARE_FOR = 0.075  # megapixels: a channel's cost is that of an image of 300×250
PATCHES_OF_A_MEGAPIXEL = 62_500  # one every four pixels, or at four scales every eight
LOOKED_AT = 32  # images whose headers are read
COLUMNS_OF_A_VECTOR = 1000  # where no patches are described
PRODUCTS_A_SECOND = 1e11  # of two bytes, by which linear classifiers are trained
SOLVED_A_SECOND = 2e9  # pairs of rows, for each of their machines, once the products are known
MIXED_A_SECOND = 1.4e9  # cubes of images whose channels are mixed, times channels
ONE_MIXED = 0.25  # of that time, for one channel beside others: it is most often refused at once
MINIMA_A_SECOND = 4e9  # of two numbers, by which those with kernels are
PASSES = 10  # over the rows, where these are too many for the matrix of their products
RIDGE_PASSES = 40  # of squared errors, for which no rows are shrunk
TRAININGS = 6  # of a classifier: five folds, and all images
MIXED_IMAGES = 600  # whose channels are mixed, at most


@dataclass(frozen=True)
class Images:
    """What the cost of a recipe depends on.

    Attributes
    ----------
    n : int
    sizes_wh : sizes of some of them
    n_classes : int
    megabytes : float
        The mean of these files.
    grey : bool
        Whether no image has colours.
    """

    n: int
    sizes_wh: tuple[tuple[int, int], ...] = ((300, 250),)
    n_classes: int = 10
    megabytes: float = 0.0
    grey: bool = False

    @classmethod
    def of(cls, data: Dataset, max_pixels: int) -> "Images":
        """Read the headers of some images, the same ones every time."""
        some = np.linspace(0, len(data) - 1, min(LOOKED_AT, len(data))).astype(int)
        sizes = [_size_of(data.contents[i], max_pixels) for i in some]
        known = tuple(size for size in sizes if size is not None) or cls.sizes_wh
        megabytes = float(np.mean([_bytes_of(data.contents[i]) for i in some])) / 1e6
        return cls(len(data), known, len(np.unique(data.labels)), megabytes)

    def megapixels(self, view: View = View()) -> float:  # noqa: B008  (it is frozen)
        """Return the mean size, in megapixels, as a recipe sees the images."""
        return _megapixels(self.sizes_wh, view)

    @property
    def longer_side(self) -> float:
        """The median of the images' longer sides."""
        return float(np.median(np.max(self.sizes_wh, axis=1)))

    def some(self, n: int) -> "Images":
        """Return as many of them."""
        return replace(self, n=min(n, self.n))


@lru_cache(maxsize=256)  # planning asks for the same views thousands of times
def _megapixels(sizes_wh: tuple[tuple[int, int], ...], view: View) -> float:
    sizes = np.array(sizes_wh, float)
    scale = np.array([view.scale(longer) for longer in sizes.max(axis=1)])
    return float((sizes.prod(axis=1) * scale**2).mean() / 1e6)


def _size_of(content: Content, max_pixels: int) -> tuple[int, int] | None:
    if isinstance(content.source, np.ndarray):
        return content.source.shape[1], content.source.shape[0]
    try:
        return image_size(content.read(), max_pixels)
    except ImageError:
        return None


def _bytes_of(content: Content) -> int:
    """Return the size of a file; 0 for an array, or what can't be read."""
    if isinstance(content.source, np.ndarray):
        return 0
    try:
        return len(content.read())
    except ImageError:
        return 0


def cost_of(recipes: Iterable[Recipe], images: Images, known: Iterable[Recipe] = ()) -> float:
    """Return the seconds that the reference machine needs to train recipes.

    A channel that several of them share counts once; what recipes before them made of the same
    images (``known``) counts nothing.
    """
    done = {name for recipe in known for name in _channels(recipe)}
    seconds = 0.0
    for recipe in recipes:
        channels = _channels(recipe)
        new = [pair for name, pair in channels.items() if name not in done]
        done.update(channels)
        seconds += _of_reading(new, images) + _of_classifier(recipe, new, images)
        seconds += sum(_of_channel(channel, view, images) for channel, view in new)
    return seconds


def _channels(recipe: Recipe) -> dict[str, tuple[Channel, View]]:
    """Return the channels of a recipe, for originals and for each copy.

    The vector of a network is computed once, whatever is made of it.
    """
    return {
        repr((channel.plain.unweighted, view)): (channel, view)
        for view in recipe.image_views()
        for channel in recipe.channels
    }


def _of_reading(channels: Iterable[tuple[Channel, View]], images: Images) -> float:
    """Return the seconds of reading images once for all channels that see them in the same way."""
    learns: dict[View, bool] = {}
    for channel, view in channels:
        learns[view] = learns.get(view, False) or (channel.learns and not view.turn)
    ms = MS_OF_AN_IMAGE + SHARE_OF_A_CORE * MS_OF_A_MEGABYTE * images.megabytes
    return sum(_times_read(images, it) for it in learns.values()) * ms / 1000


def _of_channel(channel: Channel, view: View, images: Images) -> float:
    """Return the seconds that one channel takes, beside the reading of images."""
    size, learns = images.megapixels(view), channel.learns and not view.turn
    seen = COSTS_ARE_FOR if channel.is_network else size  # networks see one size
    logarithms = SHARE_OF_A_CORE * ms_of_logarithms(channel.second_order) / 1000
    described = SHARE_OF_A_CORE * channel.cost / 1000 - logarithms
    rows = images.n * (logarithms + _n_columns(channel) * NS_OF_A_COLUMN / 1e9)
    share = min(1.0, images.n * size * PATCHES_OF_A_MEGAPIXEL / PATCHES) if learns else 0.0
    learning = share * SECONDS_TO_LEARN.get(str(channel.representation), SECONDS_TO_LEARN_WORDS)
    if channel.params.get("color") is not None:
        learning *= LEARNING_COLORS
    times = images.n + EXTRACTING * (_times_read(images, learns) - images.n)
    return times * described * seen / COSTS_ARE_FOR + learning + rows


def ms_of_logarithms(part: SecondOrder | None) -> float:
    """Return the milliseconds of one core that second moments of one image take, once summed.

    Examples
    --------
    >>> round(ms_of_logarithms(SecondOrder(64, pyramid=31)), 1)
    3.1
    """
    if part is None:
        return 0.0
    windows = as_pyramid(windows_of(part.pyramid)).n_windows
    return windows * MS_OF_A_LOGARITHM * (part.n_components / 64) ** 3


def _times_read(images: Images, learns: bool) -> int:
    """Return how often an image is read: those of the sample twice."""
    return images.n + min(images.n, IMAGES) * learns


def bytes_of(recipe: Recipe, images: Images) -> float:
    """Return the memory that the rows of images and their views take, in bytes."""
    columns = sum(_n_columns(channel) for channel in recipe.channels)
    return images.n * len(recipe.image_views()) * columns


def _of_classifier(recipe: Recipe, new: Iterable[tuple[Channel, View]], images: Images) -> float:
    """Return the seconds of training: rows times rows, or in blocks, rows times machines.

    Linear classifiers of few rows share the products of channels that are not new.
    """
    rows = images.n * len(recipe.image_views())
    machines = TRAININGS * images.n_classes * n_divisions(images.n)
    columns = sum(map(_n_columns, recipe.channels))
    if recipe.classifier != LINEAR:
        minima = rows * min(rows * n_divisions(images.n), 2 * PASSES * machines) * columns
        return SECONDS_OF_A_RECIPE + minima / MINIMA_A_SECOND
    if not are_shared(rows, images.n_classes, TRAININGS):
        is_ridge = recipe.classifier_params.get("loss") == "squared_error"
        passes = RIDGE_PASSES if is_ridge else PASSES
        in_blocks = rows * min(rows, 2 * passes * machines) * columns
        return SECONDS_OF_A_RECIPE + in_blocks / PRODUCTS_A_SECOND
    names = {repr(channel.plain.unweighted) for channel, _ in new}
    fresh = [c for c in recipe.channels if repr(c.plain.unweighted) in names]
    products = rows**2 * sum(map(_n_columns, fresh)) / PRODUCTS_A_SECOND
    return SECONDS_OF_A_RECIPE + products + machines * rows**2 / SOLVED_A_SECOND


def seconds_to_mix(recipe: Recipe, n_others: int, images: Images) -> float:
    """Return the seconds of choosing weights of channels on folds, and of products with those.

    The weights of about half of the channels change.
    """
    n_channels, n = len(recipe.channels) + n_others, min(images.n, MIXED_IMAGES)
    mixing = n_channels * n**3 / MIXED_A_SECOND
    rows = images.n * len(recipe.image_views())
    again = rows**2 * sum(map(_n_columns, recipe.channels)) / 2 / PRODUCTS_A_SECOND
    return (ONE_MIXED if n_others == 1 else 1.0) * (mixing + again)


def _n_columns(channel: Channel) -> int:
    columns = columns_of_windows(channel)
    return COLUMNS_OF_A_VECTOR if columns is None else columns


def columns_of_windows(channel: Channel) -> int | None:
    """Return the columns that patches in windows become; None of one vector, or sets.

    Examples
    --------
    >>> from visualwords.apps.pipeline.recipes import RECIPES
    >>> [columns_of_windows(channel) for channel in RECIPES["words"].channels]
    [6200, 6200]
    """
    part = channel.words or channel.fisher or channel.second_order
    if part is None:
        return None
    windows = as_pyramid(windows_of(part.pyramid)).n_windows
    if isinstance(part, Words):
        return part.n_words * windows
    d = part.n_components
    return windows * (2 * part.n_gaussians * d if isinstance(part, Fisher) else d * (d + 1) // 2)
