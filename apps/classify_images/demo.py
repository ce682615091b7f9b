"""classify-images demo"""

import os

import click

from visualwords.apps.command_line import options as shared
from visualwords.apps.command_line.verb import Verb

SEEN_AS = "histogram"  # only recipes without visual words: a demo must be quick


@click.command(cls=Verb)
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False),
    default="visualwords-demo",
    show_default=True,
    metavar="DIR",
    help="Output folder for images, models and reports.",
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
    from visualwords.apps.command_line.terminal import note
    from visualwords.apps.pipeline.image_classifier import ImageClassifier
    from visualwords.folders import ImageFolder

    for name, summary in DEMOS.items():
        run = Run(
            jobs=jobs,
            cache_dir=None,
            cache_size=0,
            no_cache=True,
            max_pixels=1_000_000,
            quiet=quiet,
            strict=True,
            as_json=False,
        )
        images = write_demo(name, os.path.join(output, name))
        training, testing = ImageFolder(images).part("train"), ImageFolder(images).part("test")
        note(f"{name}: {summary}; {len(training)} training images, {len(training.classes)} classes")
        model = ImageClassifier("auto", representation=SEEN_AS, thumbnails=True)
        run.train(model, training)
        model.save(os.path.join(output, f"{name}.vw"))
        trial = run.test(model, testing)
        run.tell(model, trial, f"{name}: {summary}", os.path.join(output, f"{name}.html"), {})
        note("")
    _name_next_steps(output)
    return 0


def _name_next_steps(output: str) -> None:
    """Print commands that work right after the demo, as this user can type them."""
    from functools import partial

    from visualwords.apps.command_line.terminal import note
    from visualwords.apps.command_line.typed import typed

    tiles = os.path.join(output, "tiles")
    bricks, command = os.path.join(tiles, "test", "brick"), partial(typed, "classify-images")
    train = command("train", "PHOTOS", "-o", "photos.vw", "--test-size", "0.2")
    for line in (
        f"Open the report:    {tiles}.html",
        f"Predict:            {command('predict', f'{tiles}.vw', bricks)}",
        f"See why:            {command('serve', f'{tiles}.vw')}",
        f"Correct and add:    {command('studio', os.path.join(tiles, 'train'), '--open')}",
        f"Your own images:    {train}",
        "                    (PHOTOS holds one folder of images for each class)",
    ):
        note(line)
