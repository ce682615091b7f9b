"""classify-images train"""

import os
from typing import TYPE_CHECKING, Any

import click

from visualwords.apps.classify_images import options, recipe_flags
from visualwords.apps.command_line import options as shared
from visualwords.apps.command_line.verb import Verb

if TYPE_CHECKING:
    from visualwords.apps.classify_images.running import Run
    from visualwords.apps.evaluation.trial import Trial
    from visualwords.apps.pipeline.image_classifier import ImageClassifier
    from visualwords.apps.pipeline.recipes import Recipe
    from visualwords.folders import ImageFolder

MOST_THUMBNAILS = 5000
FEW_IMAGES = 10  # of a class


@click.command(cls=Verb)
@click.argument("folder", type=click.Path())
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(dir_okay=False),
    metavar="M.vw",
    help="Model file to write.",
)
@recipe_flags.composing
@click.option(
    "--representation",
    type=click.Choice(["histogram", "words", "fisher", "second-order", "pyramid-match"]),
    help="Let auto choose among recipes of this kind only; evidence is exact for histograms and "
    "words [default: all but pyramid-match].",
)
@click.option(
    "--budget",
    type=options.Seconds(),
    default=60.0,
    metavar="TIME",
    help="Work that auto may plan, in time of two reference cores: 90s, 10m, 1h. The choice does "
    "not depend on the clock [default: 60s].",
)
@click.option(
    "--deadline",
    type=options.Seconds(),
    metavar="TIME",
    help="Time by the clock that auto may take; what it had no time for is listed.",
)
@options.label_from
@click.option("--test", type=click.Path(), metavar="DIR", help="Test on these labelled images.")
@click.option(
    "--test-size",
    type=shared.Number(0, 1, min_open=True, max_open=True),
    metavar="SHARE",
    help="Hold out this share of every class for testing.",
)
@click.option(
    "--folds",
    type=click.IntRange(min=2),
    metavar="N",
    help="Test by cross-validation in N folds; the saved model is trained on all images.",
)
@click.option(
    "--thumbnails/--no-thumbnails",
    default=True,
    help="Store thumbnails of at most 5,000 training images in the model, 2 kB each, so that its "
    "page can show similar images [default: yes].",
)
@click.option(
    "--embed-network",
    is_flag=True,
    help="Store the ONNX files of the recipe in the model [default: names and SHA-256 only].",
)
@click.option(
    "--memory",
    type=options.Bytes(),
    metavar="SIZE",
    help="Memory for feature vectors, such as 2GB; beyond it, train from disk (recipes of "
    "histograms, words or Fisher vectors).",
)
@click.option(
    "--class-weight",
    type=click.Choice(["balanced"]),
    help="Let all classes count alike, in the classifier and in the probabilities [default: "
    "between images and classes, in the probabilities].",
)
@options.deciding
@click.option(
    "--metric",
    type=click.Choice(["mean-per-class", "accuracy", "cost"]),
    default="mean-per-class",
    show_default=True,
    help="What auto optimises: all classes alike, all images alike, or the mean of --cost.",
)
@click.option("--name", metavar="TEXT", help="Name of the model, kept in its file.")
@click.option("--note", metavar="TEXT", help="Remark on the model, kept in its file.")
@shared.report
@shared.seed
@options.reading
def train(
    folder: str,
    output: str,
    recipe: "str | Recipe",
    overrides: dict[str, Any],
    representation: str | None,
    budget: float,
    deadline: float | None,
    label_from: str | None,
    test: str | None,
    test_size: float | None,
    folds: int | None,
    thumbnails: bool,
    embed_network: bool,
    memory: int | None,
    class_weight: str | None,
    costs: tuple[tuple[tuple[str, str], float], ...],
    thresholds: tuple[tuple[str, float], ...],
    unknown: float | None,
    metric: str,
    name: str | None,
    note: str | None,
    report: str | None,
    seed: int,
    **reading: Any,
) -> int:
    """Train on the labelled images of FOLDER and write a model file.

    FOLDER has one sub-folder for each class, or train, val and test folders of such, or is a CSV
    or JSONL table with the columns path and label (and split, group). Features are cached: a
    second run, or one after an interruption, reuses them.
    """
    from visualwords.apps.classify_images.running import Run
    from visualwords.apps.command_line.terminal import check_output, say
    from visualwords.apps.pipeline.image_classifier import ImageClassifier
    from visualwords.apps.pipeline.networks import read_networks
    from visualwords.duplicates import describe_duplicates
    from visualwords.errors import FolderError
    from visualwords.folders import ImageFolder

    channels = overrides.get("channels", ()) if isinstance(recipe, str) else recipe.channels
    if embed_network:
        try:
            read_networks(channels)
        except ValueError as problem:
            raise click.UsageError(f"--embed-network: {problem}") from None
    if sum(value is not None for value in (test, test_size, folds)) > 1:
        raise click.UsageError("--test, --test-size and --folds exclude each other")
    if metric == "cost" and not costs:
        raise click.UsageError("--metric cost needs --cost TRUE:SAID=X, such as defect:ok=10")
    if representation is not None and recipe != "auto":
        raise click.UsageError("--representation is for auto; leave out the recipe and its flags")
    model = ImageClassifier(
        recipe,
        random_state=seed,
        representation=representation,
        budget=budget,
        deadline=deadline,
        **overrides,
        memory=memory,
        class_weight=class_weight,
        costs=dict(costs) or None,
        thresholds=dict(thresholds) or None,
        unknown=unknown,
        metric=metric,
    )
    for path in (output, report):
        if path is not None:
            check_output(path)
    images = ImageFolder(folder, label_from=label_from)
    model.set_params(thumbnails=thumbnails and len(images) <= MOST_THUMBNAILS)
    options.check_decision(images.classes, costs, thresholds, unknown)
    run = Run(**reading)
    copies = describe_duplicates(images, run.fingerprints(model, images))
    if len(images.classes) < 2:
        raise FolderError(
            f"{folder}: found only class {images.classes[0]!r}; at least two classes are needed to "
            "tell apart: make a folder of images for each, such as one of other images"
        )
    for sentence in [*images.warnings, *copies]:
        say(f"warning: {sentence}")
    other = None if test is None else ImageFolder(test, label_from=label_from)
    training, testing = _divide(run, images, other, test_size, seed)
    trial = run.cross_validate(model, training, folds) if folds else None
    _learn(
        run, model, training, images.skipped, output, {"name": name, "note": note}, embed_network
    )
    if testing is not None and trial is None:
        trial = run.test(model, testing)
    _tell(run, model, trial, testing.path if testing else folder, report, output)
    return run.exit_code()


def _learn(
    run: "Run",
    model: "ImageClassifier",
    images: "ImageFolder",
    skipped: list[tuple[str, str]],
    output: str,
    about: dict[str, str | None],
    embed_network: bool,
) -> None:
    from visualwords.apps.command_line.terminal import note
    from visualwords.apps.pipeline.networks import read_networks
    from visualwords.apps.pipeline.saving import today

    run.train(model, images)
    _warn_of_few(model)
    run.skip(skipped)
    run.check_strict()
    embed_network &= model.recipe_.has_network  # auto may have left it out
    model.save(output, **about, date=today(), embed_network=embed_network)
    size = os.path.getsize(output)
    if embed_network:
        for sha256, content in read_networks(model.recipe_.channels).items():
            note(f"network {sha256[:12]}… is in the model: {content.nbytes / 1e6:.1f} MB")
    note(
        f"{output}: {model.class_counts_.sum()} images of {len(model.classes_)} classes, "
        f"recipe {model.recipe_.name}, {size / 1000:,.0f} kB"
    )
    note("the recipe, as a file for --recipe:")
    for line in model.recipe_.to_toml().splitlines():
        note(f"  {line}".rstrip())


def _warn_of_few(model: "ImageClassifier") -> None:
    """Warn of classes whose probabilities rest on few images, and of one called "unknown"."""
    from visualwords.apps.command_line.terminal import say
    from visualwords.apps.pipeline.decision import UNKNOWN

    if UNKNOWN in model.classes_:
        say(
            f"warning: a class is called {UNKNOWN!r}; images that are none of the classes are "
            f"labelled {model.decision_.rejected!r} instead"
        )
    for name, count in zip(model.classes_, model.class_counts_):
        if count < FEW_IMAGES:
            images = "1 image" if count == 1 else f"{count} images"
            say(
                f"warning: class {name} has {images}; its probabilities are rough estimates, "
                f"add images until there are {FEW_IMAGES} or more"
            )


def _tell(
    run: "Run",
    model: "ImageClassifier",
    trial: "Trial | None",
    title: str,
    report: str | None,
    output: str,
) -> None:
    from visualwords.apps.command_line.terminal import say

    summary = {
        "model": output,
        "recipe": model.recipe_.name,
        "recipe_toml": model.recipe_.to_toml(),
        "recipes_tried": model.tried_,
        "seconds": run.times.seconds,
    }
    if trial is not None:
        run.tell(model, trial, title, report, summary)
        return
    if report is not None:
        say("warning: no report is written without a test; add --test, --test-size or --folds")
    run.tell_held_out(model, summary)


def _divide(
    run: "Run",
    images: "ImageFolder",
    test: "ImageFolder | None",
    test_size: float | None,
    seed: int,
) -> tuple["ImageFolder", "ImageFolder | None"]:
    """Return training and test images: as the flags say, else by the splits of the folder."""
    from visualwords.apps.pipeline.dataset import test_part

    if test is not None:
        return images, test_part(test)
    if test_size is not None:
        return run.readable(images).split(test_size, seed)
    if "train" in images.splits:
        return images.part("train"), images.part("test") if "test" in images.splits else None
    return images, None
