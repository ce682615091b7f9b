"""classify-images demo"""

import os

import click

from visualwords.apps.classify_images import options
from visualwords.apps.command_line.verb import Verb

SEEN_AS = "histogram"  # the recipes without words: nobody waits long for a demo


@click.command(cls=Verb)
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False),
    default="visualwords-demo",
    show_default=True,
    metavar="DIR",
    help="Where images, models and reports go.",
)
@options.jobs
@options.quiet
def demo(output: str, jobs: int | None, quiet: bool) -> int:
    """See it work: train, test and report on images that came with the installation.

    Tiles of six pictures bundled with scikit-image, training and test tiles from disjoint
    regions, and scikit-learn's handwritten digits. Nothing is downloaded.
    """
    from visualwords.apps.classify_images.demo_images import DEMOS, write_demo
    from visualwords.apps.classify_images.running import Run
    from visualwords.apps.command_line.terminal import say
    from visualwords.apps.pipeline.image_classifier import ImageClassifier
    from visualwords.folders import ImageFolder

    for name, summary in DEMOS.items():
        run = Run(
            jobs=jobs,
            cache_dir=None,
            no_cache=True,
            max_pixels=1_000_000,
            quiet=quiet,
            strict=True,
            as_json=False,
        )
        images = write_demo(name, os.path.join(output, name))
        training, testing = ImageFolder(images).part("train"), ImageFolder(images).part("test")
        say(f"{name}: {summary}; learning {len(training.classes)} classes from {len(training)}")
        model = ImageClassifier("auto", representation=SEEN_AS, thumbnails=True)
        run.train(model, training)
        model.save(os.path.join(output, f"{name}.vw"))
        trial = run.test(model, testing)
        run.tell(model, trial, f"{name}: {summary}", os.path.join(output, f"{name}.html"), {})
        say("")
    tiles = os.path.join(output, "tiles")
    for line in (
        f"Look at the report: {tiles}.html",
        f"Ask the model:      classify-images predict {tiles}.vw {tiles}/test/brick",
        f"See why:            classify-images serve {tiles}.vw",
        "Your own images:    classify-images train PHOTOS -o photos.vw --test-size 0.2",
        "                    (PHOTOS holds one folder of images for each class)",
    ):
        say(line)
    return 0
