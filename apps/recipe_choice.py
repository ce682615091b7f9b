"""Choosing a recipe by cross-validation on the training images; test images are never seen."""

from collections.abc import Sequence

import numpy as np
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from visualwords.apps.extraction import Extraction
from visualwords.apps.recipes import Recipe
from visualwords.classifiers import ICDClassifier
from visualwords.progress import Progress

FOLDS = 3


def rows_of(recipe: Recipe, merged: Recipe, extraction: Extraction) -> np.ndarray:
    """Return the columns of one recipe from an extraction of all recipes' channels."""
    positions = [merged.channels.index(channel) for channel in recipe.channels]
    return np.concatenate([extraction.channels[i] for i in positions], axis=1)


def choose_recipe(
    candidates: Sequence[Recipe],
    merged: Recipe,
    extraction: Extraction,
    codes: np.ndarray,
    *,
    seed: int,
    progress: Progress,
) -> tuple[Recipe, np.ndarray, dict[str, float]]:
    """Return the best recipe, its rows, and the mean accuracy per class of each that was tried.

    The folds are the same for all. A tie goes to the recipe that is listed first. With a class of
    fewer than two images nothing can be tried, and the last recipe, the richest, is taken.
    """
    n_folds = min(FOLDS, int(np.bincount(codes).min()))
    if n_folds < 2:
        return candidates[-1], rows_of(candidates[-1], merged, extraction), {}
    progress.start("choosing a recipe", len(candidates))
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    tried = {}
    for recipe in candidates:
        classifier = ICDClassifier(random_state=seed, **recipe.classifier)
        rows = rows_of(recipe, merged, extraction)
        guesses = cross_val_predict(classifier, rows, codes, cv=folds)
        tried[recipe.name] = float(balanced_accuracy_score(codes, guesses))
        progress.advance()
    best = max(candidates, key=lambda recipe: tried[recipe.name])
    return best, rows_of(best, merged, extraction), tried
