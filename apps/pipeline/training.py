"""Training a recipe: its classifier, and scores of images that this was not trained on.

Where the rows of all images need more memory than they may, they wait on disk, and the classifier
reads blocks. What stays in memory then are the sample of patches that encoders learn from, a block
of rows, the classifier's weights, and some bytes for every image. Fisher vectors and other signed
bytes give the same model file; histograms differ in the scale and the limits of their levels, which
are learned from a sample.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.encoder import ChannelEncoder, Rows
from visualwords.apps.pipeline.near_duplicates import look_steps, looked_at
from visualwords.apps.pipeline.recipe import Recipe
from visualwords.apps.pipeline.similarity import Signed, sign_images
from visualwords.apps.pipeline.stages import Encoded, Environment, chosen_images, encode, learn
from visualwords.apps.pipeline.table_bytes import round_tables
from visualwords.classifiers.calibration import held_out_scores
from visualwords.classifiers.row_file import RowFile
from visualwords.errors import FolderError, Skipped

FOLDS = 5
FEW = 16  # images that show how large rows are
ROWS_IN_MEMORY = 3  # copies of rows at once: encoded, assembled, and as levels
DIVISIONS, COMPARED = 5, 1000  # into folds, of few images: at most so many, until so many figures


class Learned(NamedTuple):
    """What a recipe has learned.

    Attributes
    ----------
    encoders : list of ChannelEncoder
    classifier : fitted on the labels
    data : Dataset
        The images that it learned from, near duplicates in one group.
    skipped : the other images
    duplicates : the names of images that are near duplicates of each other
    folds : (n,) int or None
        None where a class has a single image or group.
    scores : of every image by a classifier that was trained without its fold, or None
    signed : Signed
    looks : (n, n_statistics)
        How the images look (`visualwords.apps.pipeline.appearance`).
    """

    encoders: list[ChannelEncoder]
    classifier: Any
    data: Dataset
    skipped: list[Skipped]
    duplicates: list[list[str]]
    folds: np.ndarray | None
    scores: np.ndarray | None
    signed: Signed
    looks: np.ndarray


def learn_recipe(
    recipe: Recipe,
    data: Dataset,
    env: Environment,
    folder: Path,
    *,
    seed: int = 0,
    class_weight: Any = None,
    memory: int | None = None,
    encoded: Encoded | None = None,
) -> Learned:
    """Sample, learn, encode and train.

    Parameters
    ----------
    recipe : Recipe
    data : Dataset
    env : Environment
    folder : Path
        For rows that memory has no room for.
    seed : int
    class_weight : dict, "balanced" or None
    memory : int, optional
        Bytes that rows may take.
    encoded : Encoded, optional
        The images, with `look_steps`, if a search has encoded all of them.
    """
    if encoded is None:
        encoders = learn(recipe.channels, data, recipe.view, env, seed)
        waits = memory is not None and _needs_disk(recipe, encoders, data, env, seed, memory)
        file = RowFile(folder / "rows") if waits else None
        encoded = encode(recipe, encoders, data, env, look_steps(), file=file, seed=seed)
    part, duplicates = looked_at(data.part(encoded.kept), encoded)
    folds = part.folds_of_all_classes(FOLDS, seed)
    places, order = encoded.places, np.argsort(encoded.places)
    classifier, scores = train(
        recipe,
        encoded.rows,
        part.part(order),
        env,
        seed=seed,
        class_weight=class_weight,
        folds=None if folds is None else folds[order],
        products=encoded.products,
    )
    return Learned(
        encoded.encoders,
        classifier,
        part,
        encoded.skipped,
        duplicates,
        folds,
        None if scores is None else scores[places],
        sign_images(encoded.rows, places, folds),
        np.stack(encoded.more[1]),
    )


def _needs_disk(
    recipe: Recipe,
    encoders: list[ChannelEncoder],
    data: Dataset,
    env: Environment,
    seed: int,
    memory: int,
) -> bool:
    """Whether the rows of all images take more bytes than they may.

    The scales of rows are learned from a sample then.

    Raises
    ------
    FolderError
        If the recipe can't be trained from disk.
    """
    sample = data.part(chosen_images(data.codes, seed))
    few = encode(recipe, encoders, sample.part(range(min(FEW, len(sample)))), env).rows
    n_rows = len(data) * len(recipe.image_views())
    if ROWS_IN_MEMORY * n_rows * few.shape[1] * few.dtype.itemsize <= memory:
        return False
    if not (recipe.is_linear or recipe.classifier.kind == "icd") or sparse.issparse(few):
        raise FolderError(
            f"{len(data)} images are too many for recipe {recipe.name!r} in the memory "
            "that is allowed; allow more, or take a recipe of histograms, words or Fisher vectors, "
            "which can train from disk"
        )
    if recipe.views:
        raise FolderError(
            f"recipe {recipe.name!r} trains on views of images, which are encoded in memory; "
            'allow more memory, or set views = "none"'
        )
    if not recipe.is_linear:
        encode(recipe, encoders, sample, env)  # learns their scales
    return True


def n_divisions(n_images: int) -> int:
    """How often images are divided into folds where recipes are compared.

    Figures of few images depend on the division more than recipes differ.

    Examples
    --------
    >>> n_divisions(100), n_divisions(400), n_divisions(5000)
    (5, 2, 1)
    """
    return min(DIVISIONS, max(1, COMPARED // n_images))


def divisions_of(data: Dataset, seed: int, n: int) -> list[np.ndarray]:
    """The folds of every image, at most n times; none if a class is too small for them."""
    divisions = [data.folds_of_all_classes(FOLDS, seed + k) for k in range(n)]
    return [] if divisions[0] is None else [folds for folds in divisions if folds is not None]


def train(
    recipe: Recipe,
    rows: Rows,
    data: Dataset,
    env: Environment,
    *,
    seed: int = 0,
    class_weight: Any = None,
    folds: np.ndarray | None = None,
    products: np.ndarray | None = None,
) -> tuple[Any, np.ndarray | None]:
    """Fit the classifier of a recipe; return it, and every image's score without its fold.

    Parameters
    ----------
    recipe : Recipe
    rows : (n_views · n, d)
        Of the images of the data, then of their views.
    data : Dataset
    env : Environment
    seed : int
    class_weight : dict, "balanced" or None
    folds : (n,) int, optional
        None: no scores are held out.
    products : (n_views · n, n_views · n) float64, optional
        Of rows of bytes, where they are known.
    """
    if not rows.shape[1]:
        raise FolderError(
            f"no image has a patch for recipe {recipe.name!r}: all are blank or too small; "
            "use larger images or recipe='auto'"
        )
    env.progress.start("training the classifier", 1)
    classifier = recipe.build_classifier(seed, env.n_jobs, class_weight)
    n_views = len(recipe.image_views())
    labels, weight = np.tile(data.labels, n_views), {}
    if data.weights is not None:
        weight = {"sample_weight": np.tile(data.weights, n_views)}
    if folds is None:
        classifier.fit(rows, labels, **weight)
        scores = None
    elif products is not None:
        every = np.tile(folds, n_views)
        scores, coefficients = classifier.fit_on_products(products, labels, every, **weight)
        classifier.weigh(rows, coefficients)
    elif hasattr(classifier, "fit_and_hold_out"):
        scores = classifier.fit_and_hold_out(rows, labels, np.tile(folds, n_views), **weight)
    else:
        classifier.fit(rows, labels, **weight)
        every = np.tile(folds, n_views)
        scores = held_out_scores(classifier, rows, labels, folds=every, **weight)
    if recipe.classifier.kind == "icd":
        round_tables(classifier)
    env.progress.advance()
    return classifier, None if scores is None else scores[: len(data)]
