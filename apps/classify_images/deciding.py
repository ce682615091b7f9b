"""What the flags --cost, --threshold and --unknown do to the decision of a model."""

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from visualwords.apps.pipeline.decision import Decision
    from visualwords.apps.pipeline.image_classifier import ImageClassifier

Costs = tuple[tuple[tuple[str, str], float], ...]
Thresholds = tuple[tuple[str, float], ...]


def check_decision(
    classes: Any, costs: Costs, thresholds: Thresholds, unknown: float | None
) -> "Decision":
    """Return the rule that the flags ask for; refuse classes that do not exist."""
    from visualwords.apps.pipeline.decision import Decision

    try:
        return Decision.of(classes, dict(costs), dict(thresholds), unknown)
    except ValueError as problem:
        raise click.UsageError(str(problem)) from None


def decide_otherwise(
    classifier: "ImageClassifier",
    path: str,
    costs: Costs,
    thresholds: Thresholds,
    unknown: float | None,
) -> None:
    """Replace the rule of a model by that of the flags; what they leave out stays."""
    from visualwords.apps.pipeline.decision import Decision
    from visualwords.errors import FolderError

    if not (costs or thresholds or unknown is not None):
        return
    if unknown is not None and classifier.novelty_ is None:
        raise FolderError(
            f"{path}: the model can't tell unknown images: it was saved by an older version, or a "
            "class had a single training image; omit --unknown or train it again"
        )
    asked = check_decision(classifier.classes_, costs, thresholds, unknown)
    kept = classifier.decision_
    classifier.decision_ = Decision(
        asked.classes,
        asked.costs if costs else kept.costs,
        asked.thresholds if thresholds else kept.thresholds,
        kept.unknown if unknown is None else unknown,
    )
