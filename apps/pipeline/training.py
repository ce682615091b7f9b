"""Training the classifier of a recipe on rows, and scores of images it was not trained on."""

from typing import Any, NamedTuple

import numpy as np

from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.encoder import ChannelEncoder, Rows
from visualwords.apps.pipeline.recipe import Recipe
from visualwords.apps.pipeline.similarity import Signer
from visualwords.apps.pipeline.stages import Environment
from visualwords.apps.pipeline.table_bytes import round_tables
from visualwords.classifiers.calibration import held_out_scores
from visualwords.errors import FolderError, Skipped

FOLDS = 5
DIVISIONS, COMPARED = 5, 1000  # into folds, of few images: at most so many, until so many figures


class Signed(NamedTuple):
    """The signatures of images by which similar ones are found, and what makes them."""

    signer: Signer
    signatures: np.ndarray
    lengths: np.ndarray


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
    distances : of the `similarity.spread` images to the nearest one outside of their fold, or None
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
    distances: np.ndarray | None
    looks: np.ndarray


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
