"""What training a recipe costs, by what was recorded: seconds of the reference machine.

Costs depend on the number of images and their sizes, not on the machine, its load, the number of
jobs or what is cached.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from visualwords._decoding import size_in_header
from visualwords.apps.pipeline.contents import Content
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.recipe import Channel, Recipe, windows_of
from visualwords.apps.pipeline.sampling import IMAGES, PATCHES
from visualwords.apps.pipeline.view import View
from visualwords.codebook import SpatialPyramid
from visualwords.errors import ImageError

CORES = 2  # of the reference machine, in whose seconds plans are made
SECONDS_TO_LEARN = 5.0  # words or Gaussians of one channel from a full sample, by one core
COSTS_ARE_FOR = 0.075  # megapixels: a channel's cost is that of an image of 300×250
PATCHES_OF_A_MEGAPIXEL = 62_500  # one every four pixels, or at four scales every eight
MS_TO_DECODE = 10.0  # a megapixel of an image file
LOOKED_AT = 32  # images whose headers are read
COLUMNS_OF_A_VECTOR = 1000  # where no patches are described
PRODUCTS_A_SECOND = 5e10  # of two bytes, by which linear classifiers are trained
PASSES = 10  # over the rows, where these are too many for the matrix of their products
TRAININGS = 6  # of a classifier: five folds, and all images


@dataclass(frozen=True)
class Images:
    """What the cost of a recipe depends on.

    Attributes
    ----------
    n : int
    sizes_wh : sizes of some of them
    n_classes : int
    """

    n: int
    sizes_wh: tuple[tuple[int, int], ...] = ((300, 250),)
    n_classes: int = 10

    @classmethod
    def of(cls, data: Dataset, max_pixels: int) -> "Images":
        """Read the headers of some images, the same ones every time."""
        some = np.linspace(0, len(data) - 1, min(LOOKED_AT, len(data))).astype(int)
        sizes = [_size_of(data.contents[i], max_pixels) for i in some]
        known = tuple(size for size in sizes if size is not None) or cls.sizes_wh
        return cls(len(data), known, len(np.unique(data.labels)))

    def megapixels(self, view: View = View()) -> float:  # noqa: B008  (it is frozen)
        """Return the mean size, in megapixels, as a recipe sees the images."""
        sizes = np.array(self.sizes_wh, float)
        scale = np.array([view.scale(longer) for longer in sizes.max(axis=1)])
        return float((sizes.prod(axis=1) * scale**2).mean() / 1e6)

    @property
    def longer_side(self) -> float:
        """The median of the images' longer sides."""
        return float(np.median(np.max(self.sizes_wh, axis=1)))

    def some(self, n: int) -> "Images":
        """Return as many of them."""
        return replace(self, n=min(n, self.n))


def _size_of(content: Content, max_pixels: int) -> tuple[int, int] | None:
    if isinstance(content.source, np.ndarray):
        return content.source.shape[1], content.source.shape[0]
    try:
        return size_in_header(content.read(), max_pixels)
    except ImageError:
        return None


def cost_of(recipes: Iterable[Recipe], images: Images, known: Iterable[Recipe] = ()) -> float:
    """Return the seconds that the reference machine needs to train recipes.

    A channel that several of them share counts once; what recipes before them made of the same
    images (``known``) counts nothing.
    """
    recipes = list(recipes)
    done = _channels(known)
    new = [pair for name, pair in _channels(recipes).items() if name not in done]
    work = sum(_of_channel(channel, view, images) for channel, view in new)
    return (work + sum(_of_classifier(recipe, images) for recipe in recipes)) / CORES


def _channels(recipes: Iterable[Recipe]) -> dict[str, tuple[Channel, View]]:
    """Return the different channels of recipes, for originals and for each copy."""
    return {
        repr((channel, view)): (channel, view)
        for recipe in recipes
        for view in recipe.views
        for channel in recipe.channels
    }


def _of_channel(channel: Channel, view: View, images: Images) -> float:
    """Return the seconds of one core: originals of the sample are read twice."""
    size = images.megapixels(view)
    each = (channel.cost * size / COSTS_ARE_FOR + MS_TO_DECODE * images.megapixels()) / 1000
    if not channel.learns or view.turn:
        return images.n * each
    share = min(1.0, images.n * size * PATCHES_OF_A_MEGAPIXEL / PATCHES)
    return (images.n + min(images.n, IMAGES)) * each + SECONDS_TO_LEARN * share


def bytes_of(recipe: Recipe, images: Images) -> float:
    """Return the memory that the rows of images and copies take, in bytes."""
    columns = sum(_n_columns(channel) for channel in recipe.channels)
    return images.n * len(recipe.views) * columns


def _of_classifier(recipe: Recipe, images: Images) -> float:
    """Return the seconds of one core: rows times rows, or in blocks, rows times machines."""
    rows = images.n * len(recipe.views)
    of_a_column = rows * min(rows, 2 * PASSES * TRAININGS * images.n_classes)
    return of_a_column * sum(map(_n_columns, recipe.channels)) / PRODUCTS_A_SECOND


def _n_columns(channel: Channel) -> int:
    if channel.words is not None:
        return channel.words.n_words * SpatialPyramid(windows_of(channel.words.pyramid)).n_windows
    if channel.fisher is None:
        return COLUMNS_OF_A_VECTOR
    windows = SpatialPyramid(windows_of(channel.fisher.pyramid)).n_windows
    return 2 * channel.fisher.n_gaussians * channel.fisher.n_components * windows
