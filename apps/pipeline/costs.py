"""What training costs in time and memory, by what was recorded, before it begins.

Seconds are those of a reference machine: two cores with AVX-512 and nothing else to do. They depend
on the number of images and their sizes, not on this machine, its load, the number of jobs or what
is cached. The numbers are a fit to what built-in recipes took (``benchmarks.speed.auto_budget``
prints it), raised by a fifth for what comes before and after a search.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from visualwords.apps.pipeline.channel import Channel, Fisher, SecondOrder, Words, windows_of
from visualwords.apps.pipeline.contents import Content, OpenedImage
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.recipe import Recipe
from visualwords.apps.pipeline.stages import IMAGES, PATCHES
from visualwords.apps.pipeline.training import FOLDS, ROWS_IN_MEMORY, n_divisions
from visualwords.apps.pipeline.view import View
from visualwords.codebook.spatial_pyramid import as_pyramid
from visualwords.errors import FolderError, ImageError
from visualwords.features.local_features import LocalFeatures
from visualwords.images import MAX_PIXELS, image_size
from visualwords.parallel import free_memory
from visualwords.progress import Progress

SECONDS_OF_A_RECIPE = 0.3  # whatever it is
SECONDS_TO_LEARN = {"fisher": 1.6, "second_order": 0.3}  # a channel, from a full sample
SECONDS_TO_LEARN_WORDS = 2.0  # or sets
LEARNING_COLORS = 2.5  # times as long, of patches with three planes: their components come first
MS_OF_A_LOGARITHM = 0.1  # of a window's second moments of 64 components, whatever the image's size
SHARE_OF_A_CORE = 0.57  # of the cost of a channel, which is that of one core
MS_OF_AN_IMAGE = 0.7  # each time that it is read, whatever is made of it
MS_OF_A_MEGABYTE = 16.0  # of its file, JPEG or PNG, which one core decodes and shrinks
NS_OF_A_COLUMN = 18.0  # of each new row
COSTS_ARE_FOR = 0.075  # megapixels: a channel's cost is that of an image of 300×250
PATCHES_OF_A_MEGAPIXEL = 62_500  # one every four pixels, or at four scales every eight
LOOKED_AT = 32  # images that are opened
SIDE = 128  # pixels of the longer side, for a look at colours
GREY = 8  # levels that planes of an image without colours may differ by
COLUMNS_OF_A_VECTOR = 1000  # where no patches are described
PRODUCTS_A_SECOND = 1e11  # of two bytes, by which linear classifiers are trained
SOLVED_A_SECOND = 2e9  # pairs of rows, for each of their machines, once the products are known
MINIMA_A_SECOND = 4e9  # of two numbers, by which those with kernels are trained
PASSES = 10  # over the rows, where these are too many for the matrix of their products

FIXED = 600_000_000  # bytes of libraries, of files that are kept, and of what encoders learn from
OF_AN_IMAGE = 9_000  # bytes of its name, portrait, statistics and duplicates (docs/lab)
SCORES = 6  # numbers of 8 bytes for an image and class: scores, probabilities and their copies
OF_A_SET = 30_000  # bytes of the embedding of a set of points
OF_A_VECTOR = 40_000  # bytes where an extractor refuses a small image
FEW = 1_000  # images whose needs are not estimated
MANY = 5_000  # images from which the estimate is shown


@dataclass(frozen=True)
class Images:
    """What the cost of a recipe depends on.

    Attributes
    ----------
    n : int
    sizes_wh : sizes of some of them
    n_classes : int
    megabytes : float
        The mean of their files.
    grey : bool
        Whether none of them has colours.
    """

    n: int
    sizes_wh: tuple[tuple[int, int], ...] = ((300, 250),)
    n_classes: int = 10
    megabytes: float = 0.0
    grey: bool = False

    @classmethod
    def of(cls, data: Dataset, max_pixels: int = MAX_PIXELS) -> "Images":
        """Look at some images, the same ones every time."""
        some = np.linspace(0, len(data) - 1, min(LOOKED_AT, len(data))).astype(int)
        seen = [_seen(data.contents[i], max_pixels) for i in some]
        known = [one for one in seen if one is not None]
        if not known:
            return cls(len(data), n_classes=len(data.classes))
        sizes, n_bytes, grey = zip(*known)
        megabytes = float(np.mean(n_bytes)) / 1e6
        return cls(len(data), tuple(sizes), len(data.classes), megabytes, all(grey))

    def megapixels(self, view: View) -> float:
        """The mean size, in megapixels, as a recipe sees the images."""
        sizes = np.array(self.sizes_wh, float)
        scale = np.array([view.scale(longer) for longer in sizes.max(axis=1)])
        return float((sizes.prod(axis=1) * scale**2).mean() / 1e6)

    @property
    def longer_side(self) -> float:
        """The median of the images' longer sides."""
        return float(np.median(np.max(self.sizes_wh, axis=1)))

    def some(self, n: int) -> "Images":
        """As many of them."""
        return replace(self, n=min(n, self.n))


def _seen(content: Content, max_pixels: int) -> tuple[tuple[int, int], int, bool] | None:
    """The size of an image, the bytes of its file, and whether it is grey."""
    try:
        pixels = OpenedImage(content, max_pixels).pixels("rgb", View(SIDE))
        if isinstance(content.source, np.ndarray):
            size_wh, n_bytes = content.source.shape[1::-1], 0
        else:
            size_wh, n_bytes = image_size(content.read(), max_pixels), len(content.read())
    except ImageError:
        return None
    spread = (pixels.max(axis=2) - pixels.min(axis=2)).max()
    return (size_wh[0], size_wh[1]), n_bytes, bool(spread <= GREY)


def cost_of_encoding(
    channels: Iterable[Channel], images: Images, view: View, learned: bool = False
) -> float:
    """Seconds of learning channels and encoding images by them in one pass."""
    channels = list(channels)
    learning = any(channel.learns for channel in channels) and not learned
    times = images.n + min(images.n, IMAGES) * learning
    ms = MS_OF_AN_IMAGE + SHARE_OF_A_CORE * MS_OF_A_MEGABYTE * images.megabytes
    return times * ms / 1000 + sum(_of_channel(c, view, images, learned) for c in channels)


def _of_channel(channel: Channel, view: View, images: Images, learned: bool) -> float:
    """Seconds that one channel takes, beside the reading of images."""
    size, learns = images.megapixels(view), channel.learns and not learned
    seen = COSTS_ARE_FOR if channel.is_network else size  # networks see one size
    logarithms = SHARE_OF_A_CORE * ms_of_logarithms(channel.second_order) / 1000
    described = SHARE_OF_A_CORE * channel.cost / 1000 - logarithms
    rows = images.n * (logarithms + n_columns(channel) * NS_OF_A_COLUMN / 1e9)
    share = min(1.0, images.n * size * PATCHES_OF_A_MEGAPIXEL / PATCHES) if learns else 0.0
    learning = share * SECONDS_TO_LEARN.get(str(channel.representation), SECONDS_TO_LEARN_WORDS)
    if channel.params.get("color") is not None:
        learning *= LEARNING_COLORS
    times = images.n + 0.5 * min(images.n, IMAGES) * learns  # the sample is extracted once more
    return times * described * seen / COSTS_ARE_FOR + learning + rows


def cost_of_products(channels: Iterable[Channel], n_rows: int) -> float:
    """Seconds of the products of all rows of channels."""
    return n_rows**2 * sum(map(n_columns, channels)) / PRODUCTS_A_SECOND


def cost_of_solving(n_rows: int, images: Images) -> float:
    """Seconds of training a linear classifier on products, with its folds."""
    machines = (1 + FOLDS) * images.n_classes * n_divisions(images.n)
    return SECONDS_OF_A_RECIPE + machines * n_rows**2 / SOLVED_A_SECOND


def cost_of(recipe: Recipe, images: Images) -> float:
    """Seconds that the reference machine needs to train a recipe."""
    views = recipe.image_views()
    seconds = cost_of_encoding(recipe.channels, images, recipe.view)
    seconds += sum(cost_of_encoding(recipe.channels, images, v, learned=True) for v in views[1:])
    n_rows, machines = images.n * len(views), (1 + FOLDS) * images.n_classes
    steps = n_rows * min(n_rows, 2 * PASSES * machines) * sum(map(n_columns, recipe.channels))
    rate = PRODUCTS_A_SECOND if recipe.classifier.kind == "linear" else MINIMA_A_SECOND
    return seconds + SECONDS_OF_A_RECIPE + steps / rate


def ms_of_logarithms(part: SecondOrder | None) -> float:
    """Milliseconds of one core that second moments of one image take, once summed.

    Examples
    --------
    >>> round(ms_of_logarithms(SecondOrder(64, pyramid=31)), 1)
    3.1
    """
    if part is None:
        return 0.0
    windows = as_pyramid(windows_of(part.pyramid)).n_windows
    return windows * MS_OF_A_LOGARITHM * (part.n_components / 64) ** 3


def n_columns(channel: Channel) -> int:
    """The columns of a channel's rows, as far as they are known before anything is learned."""
    return columns_of_windows(channel) or COLUMNS_OF_A_VECTOR


def columns_of_windows(channel: Channel) -> int | None:
    """The columns that patches in windows become; None of one vector, or sets.

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


# Memory


def bytes_of_row(recipe: Recipe) -> int:
    """The bytes of an image's feature vector, before anything is learned.

    Examples
    --------
    >>> from visualwords.apps.pipeline.recipes import RECIPES
    >>> bytes_of_row(RECIPES["fast"])
    16800
    """
    return sum(_bytes_of_channel(channel, recipe) for channel in recipe.channels)


def _bytes_of_channel(channel: Channel, recipe: Recipe) -> int:
    columns, size = columns_of_windows(channel), 1 if channel.linear else 4
    if columns is not None:
        return columns * (size if channel.words is None else 4)
    if channel.sets is not None:
        return OF_A_SET
    features = features_of_sample(channel, recipe.view)
    return OF_A_VECTOR if features is None else len(features) * size


def features_of_sample(channel: Channel, view: View) -> "np.ndarray | LocalFeatures | None":
    """What a channel's extractor makes of a small image; None if it refuses it."""
    pixels = np.random.default_rng(0).integers(0, 256, (48, 64, 3), dtype=np.uint8)
    image = OpenedImage(Content(pixels, "a small image"), pixels.size)
    try:
        return image.features(channel, view)
    except ImageError:
        return None


def check_training(
    recipe: Recipe, data: Dataset, memory: int | None = None, progress: Progress | None = None
) -> None:
    """Refuse to train a recipe on more images than memory holds; say how long it takes.

    Parameters
    ----------
    recipe : Recipe
    data : Dataset
    memory : int or None
        What feature vectors may take; beyond it they wait on disk.
    progress : Progress, optional
        Receives the estimate where the images are many.

    Raises
    ------
    FolderError
    """
    n = len(data)
    if n < FEW:
        return
    rows = ROWS_IN_MEMORY * n * len(recipe.image_views()) * bytes_of_row(recipe)
    needed = FIXED + n * OF_AN_IMAGE + (rows if memory is None else min(rows, memory))
    if progress is not None and n >= MANY:
        seconds = cost_of(recipe, Images.of(data))
        progress.status(
            f"{recipe.name}: {n:,} images need about {_size(needed)} and "
            f"{_time(seconds)} on two idle cores"
        )
    remedy = "use fewer images, or a recipe of words, histograms or Fisher vectors"
    if recipe.is_linear or recipe.classifier.kind == "icd":
        remedy = "use --memory 4GB"
    _refuse(recipe.name, n, needed, remedy)


def check_features(recipe: Recipe, data: Dataset) -> None:
    """Refuse a feature matrix that memory can't hold."""
    if len(data) >= FEW:
        needed = FIXED + len(data) * (OF_AN_IMAGE + ROWS_IN_MEMORY * bytes_of_row(recipe))
        _refuse(recipe.name, len(data), needed, "use fewer images, or a recipe of shorter vectors")


def check_scores(data: Dataset, n_classes: int) -> None:
    """Refuse to test a model on more images than memory holds the scores of."""
    needed = FIXED + len(data) * (OF_AN_IMAGE + 8 * SCORES * n_classes)
    _refuse(data.origin, len(data), needed, "test on fewer images, or use predict --csv")


def check_looking(data: Dataset) -> None:
    """Refuse to compare more images with each other than memory holds the portraits of."""
    _refuse(data.origin, len(data), FIXED + len(data) * OF_AN_IMAGE, "check parts of the images")


def _refuse(what: str, n: int, needed: float, remedy: str) -> None:
    free = free_memory() if n >= FEW else None
    if free is not None and needed > free:
        raise FolderError(
            f"{what}: {n:,} images need about {_size(needed)} of memory, and {_size(free)} are "
            f"free; {remedy}"
        )


def _size(n_bytes: float) -> str:
    return f"{n_bytes / 1e9:.0f} GB" if n_bytes >= 1e10 else f"{n_bytes / 1e9:.1f} GB"


def _time(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.0f} h"
