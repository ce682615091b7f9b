"""What commands need in memory and time, estimated before they begin.

What the free memory can't hold is refused at once, in a sentence that says what to do, instead of
after all images were encoded.
"""

from visualwords.apps.pipeline.cached_arrays import features_of_sample
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.disk_training import COPIES, FROM_DISK
from visualwords.apps.pipeline.recipe import Channel, Recipe
from visualwords.apps.pipeline.search.costs import Images, columns_of_windows, cost_of
from visualwords.errors import FolderError
from visualwords.features.local_features import LocalFeatures
from visualwords.images import MAX_PIXELS
from visualwords.parallel import free_memory
from visualwords.progress import Progress

__all__ = [
    "bytes_of_row",
    "check_features",
    "check_looking",
    "check_scores",
    "check_training",
]

FIXED = 600_000_000  # bytes of libraries, of files that are kept, and of what encoders learn from
OF_AN_IMAGE = 9_000  # bytes of its name, portrait, statistics and copies of them (docs/scale.md)
SCORES = 6  # numbers of 8 bytes for an image and class: scores, probabilities and their copies
OF_A_SET = 30_000  # bytes of the embedding of a set of points (docs/measurements.md)
OF_A_VECTOR = 40_000  # bytes where an extractor refuses a small image
FEW = 1_000  # images whose needs are not estimated
MANY = 5_000  # images from which the estimate is shown


def bytes_of_row(recipe: Recipe) -> int:
    """Return the bytes of an image's feature vector, before anything is learned.

    Examples
    --------
    >>> from visualwords.apps.pipeline.recipes import RECIPES
    >>> bytes_of_row(RECIPES["color"])
    256
    """
    return sum(_bytes_of_channel(channel, recipe) for channel in recipe.channels)


def _bytes_of_channel(channel: Channel, recipe: Recipe) -> int:
    columns = columns_of_windows(channel)
    if columns is not None:
        return columns * (1 if channel.linear and channel.words is None else 4)
    if channel.sets is not None:
        return OF_A_SET
    made = features_of_sample(channel, recipe.view)
    if made is None or isinstance(made, LocalFeatures):
        return OF_A_VECTOR
    return len(made) * (1 if channel.linear else 4)


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
    rows = COPIES * n * len(recipe.image_views()) * bytes_of_row(recipe)
    held = rows if memory is None else min(rows, memory)
    needed = FIXED + n * OF_AN_IMAGE + held
    if progress is not None and n >= MANY:
        seconds = cost_of([recipe], Images.of(data, MAX_PIXELS))
        progress.status(
            f"{recipe.name}: {n:,} images need about {_size(needed)} and "
            f"{_time(seconds)} on two idle cores"
        )
    if recipe.classifier in FROM_DISK:
        remedy = "use --memory 4GB"
    else:
        remedy = "use fewer images, or a recipe of words, histograms or Fisher vectors"
    _refuse(recipe.name, n, needed, remedy)


def check_features(recipe: Recipe, data: Dataset) -> None:
    """Refuse a feature matrix that memory can't hold."""
    if len(data) < FEW:
        return
    needed = FIXED + len(data) * (OF_AN_IMAGE + COPIES * bytes_of_row(recipe))
    _refuse(recipe.name, len(data), needed, "use fewer images, or a recipe of shorter vectors")


def check_scores(data: Dataset, n_classes: int) -> None:
    """Refuse to test a model on more images than memory holds the scores of."""
    needed = FIXED + len(data) * (OF_AN_IMAGE + 8 * SCORES * n_classes)
    _refuse(data.origin, len(data), needed, "test on fewer images, or use predict --csv")


def check_looking(data: Dataset) -> None:
    """Refuse to compare more images with each other than memory holds the portraits of."""
    needed = FIXED + len(data) * OF_AN_IMAGE
    _refuse(data.origin, len(data), needed, "check parts of the images")


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
