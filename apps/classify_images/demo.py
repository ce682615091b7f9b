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
    regions, and scikit-learn's handwritten digits. Nothing is downloaded.
    """
    from visualwords.apps.classify_images.running import Run
    from visualwords.apps.demo_images import write_tiles
    from visualwords.apps.terminal import print_results, say
    from visualwords.folders import ImageFolder

    say("1/3  cutting scikit-image's pictures into tiles")
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
    say(f"2/3  learning {len(tiles.classes)} kinds of picture from {len(training)} tiles")
    model = run.train(training, "auto", seed=0)
    model_path, report = os.path.join(output, "tiles.vw"), os.path.join(output, "report.html")
    model.save(model_path)
    run.test(model, testing, report, {})
    say("3/3  the classifier alone: handwritten digits, pixel values taken as histograms")
    print_results(_digits())
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


def _digits():
    """Train on half of scikit-learn's digits and test on the other half."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    from visualwords.apps.evaluation import compare
    from visualwords.classifiers import ICDClassifier

    X, y = load_digits(return_X_y=True)
    halves = train_test_split(
        X.astype(int), y.astype(str), test_size=0.5, random_state=0, stratify=y
    )
    X_train, X_test, y_train, y_test = halves
    model = ICDClassifier(quantization="integer").fit(X_train, y_train)
    return compare(y_test.tolist(), model.predict(X_test).tolist(), model.classes_.tolist())
