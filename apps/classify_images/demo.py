"""classify-images demo"""

import os

import click

from visualwords.apps.classify_images import options


@click.command()
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False),
    default="visualwords-demo",
    show_default=True,
    metavar="DIR",
    help="Where images, model and report go.",
)
@options.jobs
@options.quiet
def demo(output: str, jobs: int | None, quiet: bool) -> int:
    """See it work: train, test and report on images that came with the installation.

    Tiles of six pictures bundled with scikit-image, training and test tiles from disjoint
    regions. Nothing is downloaded.
    """
    from visualwords.apps.classify_images.running import Run
    from visualwords.apps.demo_images import write_tiles
    from visualwords.apps.terminal import say
    from visualwords.folders import ImageFolder

    say("1/2  cutting scikit-image's pictures into tiles")
    write_tiles(os.path.join(output, "tiles"))
    tiles = ImageFolder(os.path.join(output, "tiles"))
    run = Run(
        jobs=jobs,
        cache_dir=None,
        no_cache=True,
        max_pixels=1_000_000,
        quiet=quiet,
        strict=True,
        as_json=False,
    )
    training, testing = tiles.part("train"), tiles.part("test")
    say(f"2/2  learning {len(tiles.classes)} kinds of picture from {len(training)} tiles")
    model = run.train(training, "auto", seed=0)
    model_path, report = os.path.join(output, "tiles.vw"), os.path.join(output, "report.html")
    model.save(model_path)
    run.test(model, testing, report, {})
    example = os.path.relpath(testing.paths[0])
    for line in (
        "",
        f"Look at the report: {report}",
        f"Ask the model:      classify-images predict {model_path} {example}",
        "Your own images:    classify-images train PHOTOS -o photos.vw --test-size 0.2",
        "                    (PHOTOS holds one folder of images for each class)",
    ):
        say(line)
    return 0
