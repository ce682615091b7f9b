"""classify-images train"""

import os
from typing import TYPE_CHECKING, Any

import click

from visualwords.apps.classify_images import options, recipe_flags
from visualwords.apps.command_line import options as shared
from visualwords.apps.command_line.options import DECISIONS, RECIPE, RESOURCES, TESTING, flag, group
from visualwords.apps.command_line.verb import Verb

if TYPE_CHECKING:
    from visualwords.apps.classify_images.running import Run
    from visualwords.apps.pipeline.classifier import ImageClassifier
    from visualwords.apps.pipeline.recipe import Recipe
    from visualwords.folders import ImageFolder

MOST_THUMBNAILS = 5000
FEW_IMAGES = 10  # of a class

BASICS = (
    options.output("-o --output M.vw", "Model file to write.", required=True),
    flag(
        "--budget TIME",
        "Search budget of auto, in time of two reference cores: 90s, 10m, 1h. The choice does not "
        "depend on the clock.",
        shared.DURATION,
        default=60.0,
        show_default="60s",
    ),
    flag(
        "--test-size SHARE",
        "Hold out this share of every class for testing, such as 0.2.",
        shared.SHARE,
    ),
    shared.report,
    flag("--name TEXT", "Name of the model, kept in its file."),
    flag("--note TEXT", "Remark on the model, kept in its file."),
    options.label_from,
)
CHOICE = (
    flag(
        "--representation KIND",
        "Let auto choose among recipes of this kind only: histogram, words, fisher, second-order "
        "or pyramid-match; evidence is exact for histograms and words [default: all but "
        "pyramid-match].",
        click.Choice(["histogram", "words", "fisher", "second-order", "pyramid-match"]),
    ),
    flag(
        "--metric NAME",
        "What auto optimises: mean-per-class (all classes alike), accuracy (all images alike), or "
        "cost (the mean of --cost).",
        click.Choice(["mean-per-class", "accuracy", "cost"]),
        default="mean-per-class",
    ),
)
TESTS = (
    flag("--test DIR", "Test on these labelled images.", shared.PATH),
    flag(
        "--folds N",
        "Test by cross-validation in N folds; the saved model is trained on all images.",
        shared.FOLDS,
    ),
)
WEIGHTS = flag(
    "--class-weight balanced",
    "Let all classes count alike, in the classifier and in the probabilities [default: between "
    "images and classes, in the probabilities].",
    click.Choice(["balanced"]),
)
LIMITS = (
    flag(
        "--deadline TIME",
        "Time by the clock that auto may take; what it had no time for is listed.",
        shared.DURATION,
    ),
    flag(
        "--memory SIZE",
        "Memory for feature vectors, such as 2GB; beyond it, train from disk (recipes of "
        "histograms, words or Fisher vectors).",
        shared.SIZE,
    ),
    flag(
        "--thumbnails/--no-thumbnails",
        "Store thumbnails of at most 5,000 training images in the model, 2 kB each, so that its "
        "page can show similar images [default: yes].",
        default=True,
    ),
    flag(
        "--embed-network",
        "Store the ONNX files of the recipe in the model [default: names and SHA-256 only].",
    ),
)


@click.command(cls=Verb)
@click.argument("folder", type=click.Path())
@group(shared.BASICS, *BASICS)
@group(TESTING, *TESTS)
@group(RECIPE, recipe_flags.composing, *CHOICE)
@group(DECISIONS, WEIGHTS)
@group(RESOURCES, *LIMITS)
@options.deciding
@shared.seed
@options.reading
def train(
    folder: str,
    output: str,
    recipe: "str | Recipe",
    overrides: dict[str, Any],
    label_from: str | None,
    test: str | None,
    test_size: float | None,
    folds: int | None,
    thumbnails: bool,
    embed_network: bool,
    name: str | None,
    note: str | None,
    rule: options.Rule,
    report: str | None,
    seed: int,
    run: "Run",
    **choices: Any,
) -> int:
    """Train on the labelled images of FOLDER and write a model file.

    FOLDER has one sub-folder for each class, or train, val and test folders of such, or is a CSV
    or JSONL table with the columns path and label (and split, group). Features are cached: a
    second run, or one after an interruption, reuses them.
    """
    from visualwords.apps.command_line.terminal import say
    from visualwords.apps.evaluation.trial import cross_validate
    from visualwords.apps.pipeline.classifier import ImageClassifier
    from visualwords.apps.pipeline.dataset import test_part
    from visualwords.folders import ImageFolder

    channels = overrides.get("channels", ()) if isinstance(recipe, str) else recipe.channels
    _check_usage(choices, rule, recipe == "auto", embed_network, channels)
    if sum(value is not None for value in (test, test_size, folds)) > 1:
        raise click.UsageError("--test, --test-size and --folds exclude each other")
    images = ImageFolder(folder, label_from=label_from)
    rule.checked(images.classes)
    _check_classes(images)
    model = ImageClassifier(
        recipe,
        random_state=seed,
        thumbnails=thumbnails and len(images) <= MOST_THUMBNAILS,
        costs=dict(rule.costs) or None,
        thresholds=dict(rule.thresholds) or None,
        unknown=rule.unknown,
        **choices,
        **overrides,
    )
    for sentence in [*images.warnings, *_duplicates(run, images)]:
        say(f"warning: {sentence}")
    training, testing = images, None
    if test is not None:
        testing = test_part(ImageFolder(test, label_from=label_from))
    elif test_size is not None:
        training, testing = _readable(run, images).split(test_size, seed)
    elif "train" in images.splits:
        training = images.part("train")
        testing = images.part("test") if "test" in images.splits else None
    trial = None
    if folds is not None:
        with run.progress() as progress:
            data = run.dataset(training)
            trial = cross_validate(run.prepare(model), data, folds, progress=progress)
    run.train(model, training)
    _warn_of_few(model)
    run.skip(images.skipped)
    run.check_strict()
    _save(model, output, {"name": name, "note": note}, embed_network)
    summary = {
        "model": output,
        "recipe": model.recipe_.name,
        "recipe_toml": model.recipe_.to_toml(),
        "recipes_tried": model.tried_,
        "seconds": run.times.seconds,
    }
    if testing is not None and trial is None:
        trial = run.test(model, testing)
    if trial is not None:
        run.show_trial(model, trial, testing.path if testing else folder, report, summary)
    else:
        if report is not None:
            say("warning: no report is written without a test; add --test, --test-size or --folds")
        run.show_held_out(model, summary)
    return run.exit_code()


def _check_usage(
    choices: dict[str, Any], rule: options.Rule, is_auto: bool, embed: bool, channels: Any
) -> None:
    """Refuse flags that do not go together."""
    from visualwords.apps.pipeline.networks import read_networks

    if embed:
        try:
            read_networks(channels)
        except ValueError as problem:
            raise click.UsageError(f"--embed-network: {problem}") from None
    if choices["metric"] == "cost" and not rule.costs:
        raise click.UsageError("--metric cost needs --cost TRUE:SAID=X, such as defect:ok=10")
    if choices["representation"] is not None and not is_auto:
        raise click.UsageError("--representation is for auto; leave out the recipe and its flags")


def _check_classes(images: "ImageFolder") -> None:
    """Refuse a single class before any image is read."""
    from visualwords.errors import FolderError

    if len(images.classes) < 2:
        raise FolderError(
            f"{images.path}: found only class {images.classes[0]!r}; at least two classes are "
            "needed to tell apart: make a folder of images for each, such as one of other images"
        )


def _duplicates(run: "Run", images: "ImageFolder") -> list[str]:
    """Sentences about files that are the same in several classes or splits."""
    from visualwords.apps.pipeline.stages import fingerprint_files
    from visualwords.duplicates import describe_duplicates

    with run.progress() as progress:
        found = fingerprint_files(run.dataset(images), run.environment(progress))
    return describe_duplicates(images, found)


def _readable(run: "Run", images: "ImageFolder") -> "ImageFolder":
    """The images that can be read, near duplicates in one group; the others are noted."""
    from visualwords.apps.pipeline.duplicates import find_duplicates, keep_together

    data = run.dataset(images)
    with run.progress() as progress:
        sets, skipped = find_duplicates(data, run.environment(progress))
    run.skip(skipped)
    broken = {one.source for one in skipped}
    found = images.grouped(keep_together(data, sets))
    return found.select(i for i, path in enumerate(found.paths) if path not in broken)


def _save(
    model: "ImageClassifier", output: str, about: dict[str, str | None], embed_network: bool
) -> None:
    """Write the model file, and say what is in it."""
    from visualwords.apps.command_line.terminal import note
    from visualwords.apps.pipeline.model_io import today
    from visualwords.apps.pipeline.networks import read_networks

    embed_network &= model.recipe_.has_network  # auto may have left it out
    model.save(output, **about, date=today(), embed_network=embed_network)
    if embed_network:
        for sha256, content in read_networks(model.recipe_.channels).items():
            note(f"network {sha256[:12]}… is in the model: {content.nbytes / 1e6:.1f} MB")
    note(
        f"{output}: {model.class_counts_.sum()} images of {len(model.classes_)} classes, "
        f"recipe {model.recipe_.name}, {os.path.getsize(output) / 1000:,.0f} kB"
    )
    note(f"the recipe as TOML: classify-images info {output}")


def _warn_of_few(model: "ImageClassifier") -> None:
    from visualwords.apps.command_line.terminal import say
    from visualwords.apps.pipeline.decision import UNKNOWN

    if UNKNOWN in model.classes_:
        say(
            f"warning: a class is called {UNKNOWN!r}; images that are none of the classes are "
            f"labelled {model.decision_.rejected!r} instead"
        )
    few = [f"{c} ({n})" for c, n in zip(model.classes_, model.class_counts_) if n < FEW_IMAGES]
    if few:
        say(
            f"warning: few images of class {', '.join(few)}; probabilities of such classes are "
            f"rough estimates, add images until there are {FEW_IMAGES} or more of each"
        )
