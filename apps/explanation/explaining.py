"""From a model and an image to the explanation of its scores."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from visualwords.apps.explanation import evidence, leaving_out
from visualwords.apps.explanation.explanation import Explanation
from visualwords.apps.pipeline.appearance import measure_image
from visualwords.apps.pipeline.channel_encoder import side_by_side
from visualwords.apps.pipeline.contents import Content, OpenedImage
from visualwords.apps.pipeline.dataset import one_image
from visualwords.apps.pipeline.predictions import Scores
from visualwords.classifiers.one_vs_rest import both_classes
from visualwords.errors import ImageError

if TYPE_CHECKING:
    from visualwords.apps.pipeline.image_classifier import ImageClassifier


def explain_image(model: "ImageClassifier", image: Any) -> Explanation:
    """Return why an image got its scores.

    Scores that are sums over columns are shared among the places the columns come from. For
    others, the evidence of a place is what the score loses without it.

    Parameters
    ----------
    model : ImageClassifier
        Fitted.
    image : path, bytes of a file, or uint8 array
    """
    source, view = one_image(image), model.recipe_.view
    opened = OpenedImage(Content(source, "image"), model.max_pixels)
    try:
        found = [opened.features(channel, view) for channel in model.recipe_.channels]
    except ImageError as problem:
        if isinstance(source, str):
            raise ImageError(f"{source}: {problem}") from None
        raise
    images = [opened.pixels(c.build().color_mode, view) for c in model.recipe_.channels]
    parts = [e.assemble([e.encode(f)]) for e, f in zip(model.encoders_, found)]
    row = side_by_side(parts)
    scores = model.classifier_.decision_function(row)
    distances = None if model.gallery_ is None else model.gallery_.distances(row)
    looks = None
    if model.novelty_ is not None and model.novelty_.appearance is not None:
        looks = model.novelty_.appearance.distances(measure_image(opened)[None])
    decided = model.decide(Scores(scores, np.zeros(1, np.intp), [], distances, looks))
    chances = None if decided.probabilities is None else decided.probabilities[0]
    if _is_additive(model):
        columns = both_classes(model.classifier_.contributions(row))
        explanation = evidence.explain(
            model.encoders_,
            images,
            found,
            np.split(columns, np.cumsum([part.shape[1] for part in parts])[:-1]),
            both_classes(scores)[0],
            model.classes_,
            chances,
        )
    else:
        explanation = leaving_out.explain_by_leaving_out(
            model.encoders_,
            images,
            found,
            lambda rows: both_classes(model.classifier_.decision_function(rows)),
            model.classes_,
            chances,
        )
    return replace(
        explanation,
        decided=str(decided.labels[0]),
        novelty=None if decided.novelty is None else float(decided.novelty[0]),
    )


def _is_additive(model: "ImageClassifier") -> bool:
    """Return whether scores are sums of what the columns of rows contribute."""
    hashed = any(channel.hashes is not None for channel in model.recipe_.channels)
    return hasattr(model.classifier_, "contributions") and not hashed
