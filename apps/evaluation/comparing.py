"""Comparing recipes on the same images: shared stages are computed once, differences paired."""

import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from visualwords.apps.evaluation.trial import Trial, run_trial
from visualwords.apps.pipeline.copies import find_copies, keep_together
from visualwords.apps.pipeline.dataset import Dataset, as_folder
from visualwords.apps.pipeline.encoded_channels import EncodedChannels
from visualwords.apps.pipeline.encoding import encode_each
from visualwords.apps.pipeline.estimates import check_training
from visualwords.apps.pipeline.image_classifier import ImageClassifier
from visualwords.apps.pipeline.recipe import Channel, Recipe
from visualwords.apps.pipeline.recipe_checks import check_recipe
from visualwords.apps.pipeline.recipes import find_recipe
from visualwords.apps.pipeline.stage import Environment
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
        """Return the row as what JSON can hold."""
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


@dataclass(frozen=True)
class _Division:
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
        Test every image on a model of the other folds; groups and near copies stay together. Of a
        folder with given splits, its training part is divided. None: train on the training part
        and test on the test part.
    seeds : int
        Repeat with so many seeds, of the folds and of everything random.
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
    >>> rows = compare(Dataset.of(*texture_tiles("train")), ["color", "texture"], folds=2)
    >>> [row.name for row in rows], rows[0].difference
    (['texture', 'color'], 0.0)
    """
    found = [find_recipe(recipe) for recipe in recipes]
    _check(found)
    progress = progress or Silent()
    with _some_cache(cache_dir, cache_size) as (place, size):
        env = Environment(open_cache(place, size), n_jobs, progress, max_pixels)
        divisions = _divisions(folder, folds, seeds, random_state, env)
        for recipe in found:
            check_training(recipe, divisions[0].training, progress=progress)
        _encode_all(found, divisions, env)
        trials: list[list[_Result]] = [[] for _ in found]
        total = len(found) * len(divisions)
        for k, division in enumerate(divisions):
            for number, recipe in enumerate(found):
                title = f"{k * len(found) + number + 1} of {total}: {recipe.name}, {division.title}"
                model = ImageClassifier(
                    recipe,
                    division.seed,
                    n_jobs,
                    place,
                    cache_size=size,
                    max_pixels=max_pixels,
                )
                titled = _Titled(progress, title)
                trials[number].append(_tried(model, division, titled, measured=k == 0))
    return _ranked(found, trials, divisions)


@dataclass(frozen=True)
class _Result:
    trial: Trial
    seconds: float
    model_bytes: int
    skipped: list[Skipped]


class _Titled:
    """Passes progress on, with what is being tried in front of every stage."""

    def __init__(self, listener: Progress, title: str):
        self.listener, self.title = listener, title

    def start(self, stage: str, total: int) -> None:
        self.listener.start(f"[{self.title}] {stage}", total)

    def advance(self, steps: int = 1) -> None:
        self.listener.advance(steps)

    def status(self, line: str) -> None:
        self.listener.status(f"[{self.title}] {line}")

    def note(self, line: str) -> None:
        self.listener.note(f"[{self.title}] {line}")


def _check(recipes: list[Recipe]) -> None:
    names = [recipe.name for recipe in recipes]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise RecipeError(f"two recipes are named {twice[0]!r}; names must differ")
    if len(recipes) < 2:
        raise RecipeError("nothing to compare: give at least two recipes")
    for recipe in recipes:
        check_recipe(recipe)


@contextmanager
def _some_cache(
    cache_dir: "str | os.PathLike[str] | None", cache_size: int | None
) -> Iterator[tuple[str, int | None]]:
    """Yield the place of the cache and its size; a temporary one where none is wanted."""
    if cache_dir is not None:
        yield os.fspath(cache_dir), cache_size
        return
    with tempfile.TemporaryDirectory(prefix="visualwords-") as place:
        yield place, None
        open_cache(place).close()


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
    if np.bincount(data.codes).min() < 2:
        smallest = data.classes[np.bincount(data.codes).argmin()]
        raise FolderError(
            f"{data.origin}: class {smallest!r} has only 1 image; folds need 2 of each class"
        )
    data = data.grouped(keep_together(data, find_copies(data, env)))
    divisions = []
    for seed in numbers:
        member = data.folds(folds, seed)
        for fold in range(member.max() + 1):
            title = f"fold {fold + 1} of {member.max() + 1}"
            title += f", seed {seed}" if seeds > 1 else ""
            training = data.part(np.flatnonzero(member != fold))
            testing = data.part(np.flatnonzero(member == fold))
            divisions.append(_Division(title, seed, training, testing))
    return divisions


def _encode_all(recipes: list[Recipe], divisions: list[_Division], env: Environment) -> None:
    """Let all encoders learn, and encode every image by all of them in one pass, into the cache."""
    if any(not isinstance(c.source, str) for d in divisions for c in d.training.contents):
        return  # the cache keeps what is made of files
    for view in sorted({recipe.view for recipe in recipes}, key=str):
        seen: dict[str, Channel] = {
            repr(channel.unweighted): channel.unweighted
            for recipe in recipes
            for channel in recipe.channels
            if recipe.view == view
        }
        together = Recipe("all", "", tuple(seen.values()), view.max_side, min_side=view.min_side)
        encoders = {}
        everything: dict[int, Any] = {}
        for division in divisions:
            channels = EncodedChannels(division.training, division.seed, env)
            for encoder in channels.learn(together):
                encoders[encoder.fingerprint()] = encoder
            for part in (division.training, division.testing):
                everything |= {id(content): content for content in part.contents}
        contents = list(everything.values())
        labels = np.full(len(contents), "")
        nothing = [None] * len(contents)
        data = Dataset(contents, labels, nothing, nothing)
        for _ in encode_each(list(encoders.values()), data, view, env):
            pass


def _tried(
    model: ImageClassifier, division: _Division, progress: Progress, measured: bool
) -> _Result:
    """Train and test one recipe on one division; all but the classifier is in the cache.

    The size of the model file is measured once for each recipe: compressing it takes longer than
    many a classifier.
    """
    begun = time.process_time()
    model.fit(division.training, progress=progress, warn=False)
    trial = run_trial(model, division.testing, progress=progress)
    seconds = time.process_time() - begun
    size = _size_of(model) if measured else 0
    return _Result(trial, seconds, size, [*model.skipped_, *trial.skipped])


def _size_of(model: ImageClassifier) -> int:
    """Return the bytes of the model file; 0 for a model that can't be saved."""
    with tempfile.TemporaryDirectory(prefix="visualwords-") as folder:
        path = Path(folder) / "model.vw"
        try:
            model.save(path)
        except RecipeError:  # a transformer of the user's own
            return 0
        return path.stat().st_size


def _ranked(
    recipes: list[Recipe], trials: list[list[_Result]], divisions: list[_Division]
) -> list[ComparedRecipe]:
    rows = [
        ComparedRecipe(
            recipe.name,
            recipe,
            [result.trial.evaluation.mean_per_class for result in results],
            [result.trial.evaluation.accuracy for result in results],
            0.0,
            (0.0, 0.0),
            float(np.mean([result.seconds for result in results])),
            results[0].model_bytes,
            list(dict.fromkeys(s for result in results for s in result.skipped)),
        )
        for recipe, results in zip(recipes, trials)
    ]
    order = sorted(range(len(rows)), key=lambda i: -rows[i].mean)
    best = order[0]
    share = float(np.mean([len(d.testing) / len(d.training) for d in divisions]))
    others = [
        replace(
            rows[i],
            difference=rows[best].mean - rows[i].mean,
            interval=_interval(trials[best], trials[i], share),
        )
        for i in order[1:]
    ]
    return [rows[best], *others]


def _interval(best: list[_Result], other: list[_Result], share: float) -> tuple[float, float]:
    """Return the 95 % interval of the best recipe's lead, paired by trial or by image."""
    from scipy.stats import norm, t

    if len(best) > 1:
        leads = np.array(
            [
                a.trial.evaluation.mean_per_class - b.trial.evaluation.mean_per_class
                for a, b in zip(best, other)
            ]
        )
        n = len(leads)
        spread = t.ppf(0.975, n - 1) * np.sqrt(leads.var(ddof=1) * (1 / n + share))
        return float(leads.mean() - spread), float(leads.mean() + spread)
    right = {path: g == y for path, g, y in _answers(best[0].trial)}
    leads_of: dict[str, list[int]] = {}
    for path, guess, truth in _answers(other[0].trial):
        if path in right:
            leads_of.setdefault(truth, []).append(int(right[path]) - int(guess == truth))
    means = np.array([np.mean(leads) for leads in leads_of.values()])
    errors = [np.var(leads) / len(leads) for leads in leads_of.values()]
    spread = norm.ppf(0.975) * np.sqrt(np.sum(errors)) / len(means)
    return float(means.mean() - spread), float(means.mean() + spread)


def _answers(trial: Trial) -> Iterator[tuple[str, str, str]]:
    return zip(trial.paths, trial.guesses, trial.truth)
