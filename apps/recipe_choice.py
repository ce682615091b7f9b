"""Choosing a recipe by cross-validation on the training images; test images are never seen."""

from collections.abc import Sequence

import numpy as np
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from visualwords.apps.encoding import Rows, side_by_side
from visualwords.apps.recipes import Recipe
from visualwords.progress import Progress

FOLDS = 3


def channels_of(recipe: Recipe, merged: Recipe) -> list[int]:
    """Return where the channels of one recipe stand among those of all recipes."""
    return [merged.channels.index(channel) for channel in recipe.channels]


def choose_recipe(
    candidates: Sequence[Recipe],
    merged: Recipe,
    rows: Sequence[Rows],
    codes: np.ndarray,
    *,
    seed: int,
    n_jobs: int | None,
    progress: Progress,
) -> tuple[Recipe, dict[str, float]]:
    """Return the best recipe, and the mean accuracy per class of each that was tried.

    Words are learned from all training images, without their labels having a say; the classifier
    is tried on folds, which are the same for all recipes. A tie goes to the recipe that is listed
    first. With a class of fewer than two images nothing can be tried, and the last recipe, the
    richest, is taken.

    Parameters
    ----------
    candidates : recipes to try
    merged : recipe with the channels of all
    rows : the training rows of each channel of ``merged``
    codes : (n,) classes of the images
    """
    n_folds = min(FOLDS, int(np.bincount(codes).min()))
    if n_folds < 2:
        return candidates[-1], {}
    progress.start("choosing a recipe", len(candidates))
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    tried = {}
    for recipe in candidates:
        classifier = recipe.build_classifier(seed, n_jobs)
        X = side_by_side([rows[i] for i in channels_of(recipe, merged)])
        if X.shape[1]:  # the images may be too small for patches
            guesses = cross_val_predict(classifier, X, codes, cv=folds)
            tried[recipe.name] = float(balanced_accuracy_score(codes, guesses))
        progress.advance()
    return max(candidates, key=lambda recipe: tried.get(recipe.name, 0.0)), tried
