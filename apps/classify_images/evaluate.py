"""classify-images evaluate"""

from typing import Any

import click

from visualwords.apps.classify_images import options
from visualwords.apps.command_line import options as shared
from visualwords.apps.command_line.verb import Verb


@click.command(cls=Verb)
@click.argument("model", type=click.Path())
@click.argument("folder", type=click.Path())
@options.label_from
@shared.report
@options.reading
def evaluate(
    model: str, folder: str, label_from: str | None, report: str | None, **reading: Any
) -> int:
    """Evaluate MODEL on the labelled images of FOLDER (its test split, if it has one)."""
    from visualwords.apps.classify_images.running import Run
    from visualwords.apps.command_line.terminal import check_output
    from visualwords.apps.pipeline.dataset import test_part
    from visualwords.apps.pipeline.saving import load_image_classifier
    from visualwords.folders import ImageFolder

    if report is not None:
        check_output(report)
    run = Run(**reading)
    classifier = run.prepare(load_image_classifier(model))
    images = ImageFolder(folder, label_from=label_from)
    run.skip(images.skipped)
    trial = run.test(classifier, test_part(images))
    run.tell(classifier, trial, folder, report, {"model": model})
    return run.exit_code()
