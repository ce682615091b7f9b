"""Options that several verbs share."""

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from visualwords.apps.detection.detector import PedestrianDetector

SHIPPED = "pedestrian"

model = click.option(
    "--model",
    type=click.Path(),
    default=SHIPPED,
    show_default=True,
    metavar="FILE",
    help="A detector's model file; by default the one that came with the package.",
)
min_height = click.option(
    "--min-height",
    type=click.FloatRange(min=8),
    metavar="PIXELS",
    help="Smallest objects to look for; the smaller, the slower.",
)
threshold = click.option(
    "--threshold",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="CONFIDENCE",
    help="Least confidence of a detection.",
)
classifier = click.option(
    "--classifier",
    type=click.Choice(["cascade", "exact", "hik", "linear"]),
    default="cascade",
    show_default=True,
    help="How windows are scored; exact: the cascade without any loss.",
)
jobs = click.option(
    "--jobs", type=click.IntRange(min=1), metavar="N", help="Threads; all by default."
)
quiet = click.option("--quiet", is_flag=True, help="Show no progress.")
as_json = click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")


def load_detector(
    path: str,
    *,
    min_height: float | None = None,
    threshold: float | None = None,
    classifier: str = "cascade",
) -> "PedestrianDetector":
    """Return the detector of a model file, with the settings of this run."""
    from visualwords.apps.detection.detector import PedestrianDetector
    from visualwords.apps.pipeline.saving import load
    from visualwords.errors import ModelFileError

    detector = load(path)
    if not isinstance(detector, PedestrianDetector):
        raise ModelFileError(f"{path}: labels whole images; use it with classify-images predict")
    given = {"min_height": min_height, "threshold": threshold}
    exact = classifier == "exact"
    return detector.set_params(
        classifier="cascade" if exact else classifier,
        exact=exact,
        **{name: value for name, value in given.items() if value is not None},
    )
