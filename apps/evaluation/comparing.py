"""Comparing recipes on the same images: shared stages are computed once, differences paired."""

import os
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from visualwords.apps.evaluation.trial import Trial, ready_for_folds, run_trial
from visualwords.apps.pipeline.classifier import ImageClassifier
from visualwords.apps.pipeline.costs import check_training
from visualwords.apps.pipeline.dataset import Dataset, as_folder
from visualwords.apps.pipeline.recipe import Recipe
from visualwords.apps.pipeline.recipe_check import check_recipe
from visualwords.apps.pipeline.recipes import find_recipe
from visualwords.apps.pipeline.stages import Environment, encode_each, learn
from visualwords.cache import DEFAULT_SIZE, open_cache
from visualwords.errors import FolderError, RecipeError, Skipped
from visualwords.images import MAX_PIXELS
from visualwords.progress import Progress, Silent

__all__ = ["ComparedRecipe", "compare"]


@dataclass(frozen=True)
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
    figures: list[float]
    accuracies: list[float]
    difference: float
    interval: tuple[float, float]
    seconds: float
    model_bytes: int
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


class _Division(NamedTuple):
    """One trial: the seed, and the images to learn from and to test on."""

    title: str
    seed: int
    training: Dataset
    testing: Dataset


class _Result(NamedTuple):
    trial: Trial
    seconds: float
    skipped: list[Skipped]


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
) -> list[ComparedRecipe]:
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
        settings: dict[str, Any] = {
            "n_jobs": n_jobs,
            "cache_dir": cache_dir,
            "cache_size": cache_size,
        }
        env = Environment(open_cache(cache_dir, cache_size), n_jobs, progress, max_pixels)
        divisions = _divisions(folder, folds, seeds, random_state, env)
        for recipe in found:
            check_training(recipe, divisions[0].training, progress=progress)
        _encode_all(found, divisions, env)
        results: list[list[_Result]] = [[] for _ in found]
        sizes = [0] * len(found)
        total = len(found) * len(divisions)
        for k, division in enumerate(divisions):
            for i, recipe in enumerate(found):
                title = f"{k * len(found) + i + 1} of {total}: {recipe.name}, {division.title}"
                progress.status(title)
                model = ImageClassifier(recipe, random_state=division.seed, **settings)
                results[i].append(_tried(model, division, progress))
                # Once for each recipe: compressing it takes longer than many a classifier.
                sizes[i] = sizes[i] if k else _size_of(model)
    share = float(np.mean([len(d.testing) / len(d.training) for d in divisions]))
    return _ranked(found, results, sizes, share)


def _checked(recipes: Sequence["str | Recipe"]) -> list[Recipe]:
    """The recipes of names; two of a name, or one alone, are refused."""
    found = [find_recipe(recipe) for recipe in recipes]
    names = [recipe.name for recipe in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
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
        training = Dataset.of_folder(images.part("train"))
        testing = Dataset.of_folder(images.part("test"))
        return [_Division(f"seed {seed}", seed, training, testing) for seed in numbers]
    data = Dataset.of(folder)
    data.check_classes()
    data = ready_for_folds(data, env)
    divisions = []
    for seed in numbers:
        member = data.folds(folds, seed)
        for fold in range(member.max() + 1):
            title = f"fold {fold + 1} of {member.max() + 1}"
            title += f", seed {seed}" if seeds > 1 else ""
            inside, outside = np.flatnonzero(member == fold), np.flatnonzero(member != fold)
            divisions.append(_Division(title, seed, data.part(outside), data.part(inside)))
    return divisions


def _encode_all(recipes: list[Recipe], divisions: list[_Division], env: Environment) -> None:
    """Let all encoders learn, and encode every image by all of them in one pass, into the cache."""
    contents = {
        id(content): content
        for division in divisions
        for part in (division.training, division.testing)
        for content in part.contents
    }.values()
    if any(not isinstance(content.source, str) for content in contents):
        return  # the cache keeps what is made of files
    for view in sorted({recipe.view for recipe in recipes}, key=str):
        channels = {
            repr(channel.unweighted): channel.unweighted
            for recipe in recipes
            for channel in recipe.channels
            if recipe.view == view
        }
        together = list(channels.values())
        encoders = {
            encoder.fingerprint(): encoder
            for division in divisions
            for encoder in learn(together, division.training, view, env, division.seed)
        }
        nothing = [None] * len(contents)
        data = Dataset(list(contents), np.full(len(contents), ""), nothing, nothing)
        for _ in encode_each(list(encoders.values()), data, view, env):
            pass


def _tried(model: ImageClassifier, division: _Division, progress: Progress) -> _Result:
    """Train and test one recipe on one division; all but the classifier is in the cache."""
    begun = time.process_time()
    model.fit(division.training, progress=progress, warn=False)
    trial = run_trial(model, division.testing, progress=progress)
    return _Result(trial, time.process_time() - begun, [*model.skipped_, *trial.skipped])


def _size_of(model: ImageClassifier) -> int:
    """The bytes of the model file; 0 for a model that can't be saved."""
    with tempfile.TemporaryDirectory(prefix="visualwords-") as folder:
        path = Path(folder) / "model.vw"
        try:
            model.save(path)
        except RecipeError:  # a transformer of the user's own
            return 0
        return path.stat().st_size


def _ranked(
    recipes: list[Recipe], results: list[list[_Result]], sizes: list[int], share: float
) -> list[ComparedRecipe]:
    """The rows, best first, with differences to the first."""
    rows = []
    for recipe, tried, size in zip(recipes, results, sizes):
        evaluations = [result.trial.evaluation for result in tried]
        rows.append(
            ComparedRecipe(
                recipe.name,
                recipe,
                figures=[evaluation.mean_per_class for evaluation in evaluations],
                accuracies=[evaluation.accuracy for evaluation in evaluations],
                difference=0.0,
                interval=(0.0, 0.0),
                seconds=float(np.mean([result.seconds for result in tried])),
                model_bytes=size,
                skipped=list(dict.fromkeys(s for result in tried for s in result.skipped)),
            )
        )
    best, *others = sorted(range(len(rows)), key=lambda i: -rows[i].mean)
    return [
        rows[best],
        *(
            replace(
                rows[i],
                difference=rows[best].mean - rows[i].mean,
                interval=_interval(
                    [result.trial for result in results[best]],
                    [result.trial for result in results[i]],
                    share,
                ),
            )
            for i in others
        ),
    ]


def _interval(best: list[Trial], other: list[Trial], share: float) -> tuple[float, float]:
    """The 95 % interval of the best recipe's lead, paired by trial or by image."""
    from scipy.stats import norm, t

    if len(best) > 1:
        pairs = zip(best, other)
        leads = np.array(
            [a.evaluation.mean_per_class - b.evaluation.mean_per_class for a, b in pairs]
        )
        n, mean = len(leads), leads.mean()
        spread = t.ppf(0.975, n - 1) * np.sqrt(leads.var(ddof=1) * (1 / n + share))
    else:
        right = [dict(zip(x[0].paths, x[0].right)) for x in (best, other)]
        leads_of: dict[str, list[int]] = {}
        for path, truth in zip(other[0].paths, other[0].truth):
            if path in right[0]:
                lead = int(right[0][path]) - int(right[1][path])
                leads_of.setdefault(truth, []).append(lead)
        classes = list(leads_of.values())
        mean = np.mean([np.mean(leads) for leads in classes])
        errors = sum(np.var(leads) / len(leads) for leads in classes)
        spread = norm.ppf(0.975) * np.sqrt(errors) / len(classes)
    return float(mean - spread), float(mean + spread)
