"""classify-images demo"""

import os

import click

from visualwords.apps.command_line import options as shared
from visualwords.apps.command_line.verb import Verb

KIND = "histogram"  # only recipes without visual words: a demo must be quick


@click.command(cls=Verb)
@shared.flag(
    "-o --output DIR",
    "Output folder for images, models and reports.",
    shared.FOLDER,
    default="visualwords-demo",
)
@shared.jobs
@shared.quiet
def demo(output: str, jobs: int | None, quiet: bool) -> int:
    """Train, test and report on images that ship with the dependencies.

    The images are tiles of six pictures bundled with scikit-image, training and test tiles from
    disjoint regions, and scikit-learn's handwritten digits. Nothing is downloaded.
    """
    from visualwords.apps.classify_images.demo_images import DEMOS, write_demo
    from visualwords.apps.classify_images.running import Run
    from visualwords.apps.command_line.terminal import note, typed
    from visualwords.apps.pipeline.classifier import ImageClassifier
    from visualwords.folders import ImageFolder

    for name, summary in DEMOS.items():
        run = Run(jobs=jobs, no_cache=True, max_pixels=1_000_000, quiet=quiet, strict=True)
        images = ImageFolder(write_demo(name, os.path.join(output, name)))
        training, testing = images.part("train"), images.part("test")
        note(f"{name}: {summary}; {len(training)} training images, {len(training.classes)} classes")
        model = ImageClassifier("auto", representation=KIND, thumbnails=True)
        run.train(model, training)
        model.save(os.path.join(output, f"{name}.vw"))
        trial, report = run.test(model, testing), os.path.join(output, f"{name}.html")
        run.show_trial(model, trial, f"{name}: {summary}", report, {})
        note("")
    tiles = os.path.join(output, "tiles")
    model_file, program = f"{tiles}.vw", "classify-images"
    bricks, own = os.path.join(tiles, "test", "brick"), ("PHOTOS", "-o", "photos.vw")
    for what, line in (  # as this user can type them
        ("Open the report", f"{tiles}.html"),
        ("Predict", typed(program, "predict", model_file, bricks)),
        ("See why", typed(program, "serve", model_file)),
        ("Correct and add", typed(program, "studio", os.path.join(tiles, "train"), "--open")),
        ("Your own images", typed(program, "train", *own, "--test-size", "0.2")),
    ):
        note(f"{what + ':':20}{line}")
    note(f"{'':20}(PHOTOS holds one folder of images for each class)")
    return 0
