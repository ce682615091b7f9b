"""Comparing recipes on the same images: shared stages are computed once, differences paired."""

import os
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from visualwords.apps.evaluation.trial import Trial, pair_trials, ready_for_folds, run_trial
from visualwords.apps.pipeline.classifier import ImageClassifier
from visualwords.apps.pipeline.costs import check_training
from visualwords.apps.pipeline.dataset import Dataset, as_folder
from visualwords.apps.pipeline.recipe import Recipe
from visualwords.apps.pipeline.recipe_check import check_recipe
from visualwords.apps.pipeline.recipes import find_recipe
from visualwords.apps.pipeline.stages import Environment, encode_each, learn
from visualwords.cache import DEFAULT_SIZE, open_cache
from visualwords.classifiers.calibration import divide
from visualwords.errors import FolderError, RecipeError, Skipped
from visualwords.images import MAX_PIXELS
from visualwords.progress import Progress, Silent

__all__ = ["ComparedRecipe", "compare"]


@dataclass
class ComparedRecipe:
    """How a recipe did, and how that compares with the best one.

    Attributes
    ----------
    name : str
    recipe : Recipe
    figures : list of float
        Mean accuracy per class of each trial: of every fold and seed, or of the test part.
    accuracies : list of float
        Shares of right labels of the same trials.
    mean, deviation : float
        Of ``figures``; the deviation of a single trial is NaN.
    difference : float
        Mean of the best recipe minus that of this one.
    interval : (low, high)
        95 % confidence interval of the difference. Of several trials: the corrected resampled
        t-interval [1]_, which allows for training sets that overlap. Of one trial: from the images,
        paired, class by class.
    seconds : float
        CPU seconds of a trial, without what recipes share.
    model_bytes : int
        Size of the model file; 0 if it can't be saved.
    skipped : list of Skipped
        Images that were left out.

    References
    ----------
    .. [1] C. Nadeau, Y. Bengio: Inference for the generalization error, 2003.
    """

    name: str
    recipe: Recipe
    figures: list[float] = field(default_factory=list)
    accuracies: list[float] = field(default_factory=list)
    difference: float = 0.0
    interval: tuple[float, float] = (0.0, 0.0)
    seconds: float = 0.0
    model_bytes: int = 0
    skipped: list[Skipped] = field(default_factory=list)

    def __repr__(self) -> str:
        spread = f" ± {self.deviation:.1%}" * (len(self.figures) > 1)
        below = f", {self.difference:.1%} below the best" * (self.difference > 0)
        return f"<ComparedRecipe {self.name}: {self.mean:.1%}{spread}{below}>"

    @property
    def mean(self) -> float:
        return float(np.mean(self.figures))

    @property
    def deviation(self) -> float:
        return float(np.std(self.figures, ddof=1)) if len(self.figures) > 1 else float("nan")

    def to_json(self) -> dict[str, Any]:
        """The row as what JSON can hold."""
        return {
            "name": self.name,
            "mean_per_class_accuracy": self.mean,
            "standard_deviation": None if len(self.figures) < 2 else self.deviation,
            "accuracy": float(np.mean(self.accuracies)),
            "difference_to_best": self.difference,
            "difference_interval_95": list(self.interval),
            "trials": self.figures,
            "cpu_seconds": self.seconds,
            "model_bytes": self.model_bytes,
            "recipe": self.recipe.to_json(),
        }


class Comparison(list[ComparedRecipe]):
    """Compared recipes, best first; a plot and a table in a notebook."""

    def _repr_html_(self) -> str:
        from visualwords.apps.report.notebook import comparison_html

        return comparison_html(self)


class _Division(NamedTuple):
    """One trial: the seed, and the images to learn from and to test on."""

    title: str
    seed: int
    training: Dataset
    testing: Dataset


def compare(
    folder: Any,
    recipes: Sequence["str | Recipe"],
    folds: int | None = 5,
    seeds: int = 1,
    *,
    random_state: int = 0,
    n_jobs: int | None = None,
    cache_dir: "str | os.PathLike[str] | None" = None,
    cache_size: int | None = DEFAULT_SIZE,
    max_pixels: int = MAX_PIXELS,
    progress: Progress | None = None,
) -> Comparison:
    """Try recipes on the same images, and return them in the order of their accuracy.

    Patches are extracted once for all recipes, folds and seeds; words, Gaussians and rows are
    computed once for all recipes that share them. With a cache, an interrupted comparison goes on
    where it stopped.

    Parameters
    ----------
    folder : path of a folder or table, ImageFolder or Dataset
    recipes : sequence of names or Recipe
        Names must differ.
    folds : int or None
        Test every image on a model of the other folds; groups and near duplicates stay together.
        Of a folder with given splits, its training part is divided. None: train on the training
        part and test on the test part.
    seeds : int
        Number of repetitions, each with other folds and another random seed.
    random_state : int
        The first seed.
    n_jobs, cache_dir, cache_size, max_pixels : as in `ImageClassifier`
    progress : Progress, optional

    Returns
    -------
    list of ComparedRecipe, best first

    Examples
    --------
    >>> from visualwords.apps.classify_images.demo_images import texture_tiles
    >>> from visualwords.apps.pipeline.dataset import Dataset
    >>> rows = compare(Dataset.of(*texture_tiles("train")), ["tiny", "fast"], folds=2)
    >>> [row.name for row in rows], rows[0].difference
    (['tiny', 'fast'], 0.0)
    """
    found = _checked(recipes)
    progress = progress or Silent()
    with ExitStack() as stack:
        if cache_dir is None:  # a temporary one
            cache_dir = stack.enter_context(tempfile.TemporaryDirectory(prefix="visualwords-"))
            cache_size = None
            stack.callback(open_cache(cache_dir).close)
        settings: dict[str, Any] = {"cache_dir": cache_dir, "cache_size": cache_size}
        env = Environment(open_cache(cache_dir, cache_size), n_jobs, progress, max_pixels)
        divisions = _divisions(folder, folds, seeds, random_state, env)
        for recipe in found:
            check_training(recipe, divisions[0].training, progress=progress)
        _encode_all(found, divisions, env)
        rows = [ComparedRecipe(recipe.name, recipe) for recipe in found]
        tests: dict[str, list[Trial]] = {row.name: [] for row in rows}
        steps = list(product(divisions, rows))
        for number, (division, row) in enumerate(steps, 1):
            progress.status(f"{number} of {len(steps)}: {row.name}, {division.title}")
            about = {"random_state": division.seed, "n_jobs": n_jobs, **settings}
            model, begun = ImageClassifier(row.recipe, **about), time.process_time()
            model.fit(division.training, progress=progress, warn=False)
            trial = run_trial(model, division.testing, progress=progress)
            row.seconds += (time.process_time() - begun) / len(divisions)
            row.figures.append(trial.evaluation.mean_per_class)
            row.accuracies.append(trial.evaluation.accuracy)
            row.skipped[:] = dict.fromkeys([*row.skipped, *model.skipped_, *trial.skipped])
            # Once for each recipe: compressing it takes longer than many a classifier.
            row.model_bytes = row.model_bytes or _size_of(model)
            tests[row.name].append(trial)
    share = float(np.mean([len(d.testing) / len(d.training) for d in divisions]))
    best, *others = rows = sorted(rows, key=lambda row: -row.mean)
    for row in others:
        row.difference = best.mean - row.mean
        row.interval = _interval(tests[best.name], tests[row.name], share)
    return Comparison(rows)


def _checked(recipes: Sequence["str | Recipe"]) -> list[Recipe]:
    """The recipes of names; two of a name, or one alone, are refused."""
    found = [find_recipe(recipe) for recipe in recipes]
    names = [recipe.name for recipe in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise RecipeError(f"two recipes are named {twice[0]!r}; names must differ")
    if len(found) < 2:
        raise RecipeError("nothing to compare: give at least two recipes")
    for recipe in found:
        check_recipe(recipe)
    return found


def _divisions(
    folder: Any, folds: int | None, seeds: int, first: int, env: Environment
) -> list[_Division]:
    numbers = [(first + i) % 2**32 for i in range(seeds)]
    if folds is None:
        images = as_folder(folder)
        if not {"train", "test"} <= set(images.splits):
            raise FolderError(f"{images.path}: no train and test parts; compare by folds")
        training, testing = (Dataset.of_folder(images.part(name)) for name in ("train", "test"))
        return [_Division(f"seed {seed}", seed, training, testing) for seed in numbers]
    data = Dataset.of(folder)
    data.check_classes()
    data = ready_for_folds(data, env)
    divisions = []
    for seed in numbers:
        parts = list(divide(data.folds(folds, seed)))
        for number, (outside, inside) in enumerate(parts, 1):
            title = f"fold {number} of {len(parts)}" + f", seed {seed}" * (seeds > 1)
            divisions.append(_Division(title, seed, data.part(outside), data.part(inside)))
    return divisions


def _encode_all(recipes: list[Recipe], divisions: list[_Division], env: Environment) -> None:
    """Let all encoders learn, and encode every image by all of them in one pass, into the cache."""
    data = [part for one in divisions for part in (one.training, one.testing)]
    contents = list({id(content): content for part in data for content in part.contents}.values())
    if any(not isinstance(content.source, str) for content in contents):
        return  # the cache keeps what is made of files
    nothing = [None] * len(contents)
    every = Dataset(contents, np.full(len(contents), ""), nothing, nothing)
    for view in sorted({recipe.view for recipe in recipes}, key=str):
        alike = [recipe for recipe in recipes if recipe.view == view]
        plain = [channel.unweighted for recipe in alike for channel in recipe.channels]
        channels = list({repr(channel): channel for channel in plain}.values())
        encoders = {
            encoder.fingerprint(): encoder
            for division in divisions
            for encoder in learn(channels, division.training, view, env, division.seed)
        }
        for _ in encode_each(list(encoders.values()), every, view, env):
            pass


def _size_of(model: ImageClassifier) -> int:
    """The bytes of the model file; 0 for a model that can't be saved."""
    with tempfile.TemporaryDirectory(prefix="visualwords-") as folder:
        path = Path(folder, "model.vw")
        with suppress(RecipeError):  # of a transformer of the user's own
            model.save(path)
            return path.stat().st_size
    return 0


def _interval(best: list[Trial], other: list[Trial], share: float) -> tuple[float, float]:
    """The 95 % interval of the best recipe's lead, paired by trial or by image."""
    from scipy.stats import norm, t

    n = len(best)
    if n > 1:
        pairs = zip(best, other)
        leads = [a.evaluation.mean_per_class - b.evaluation.mean_per_class for a, b in pairs]
        mean = np.mean(leads)
        spread = t.ppf(0.975, n - 1) * np.sqrt(np.var(leads, ddof=1) * (1 / n + share))
    else:
        pair = pair_trials(other[0], best[0])
        truth = np.array(pair.first.truth)
        classes = [pair.gains[truth == name] for name in sorted(set(pair.first.truth))]
        mean = np.mean([gains.mean() for gains in classes])
        errors = sum(gains.var() / len(gains) for gains in classes)
        spread = norm.ppf(0.975) * np.sqrt(errors) / len(classes)
    return float(mean - spread), float(mean + spread)
