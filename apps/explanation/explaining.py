"""From a model and an image to the explanation of its scores.

Scores that are sums over columns are shared among the places the columns come from. For others,
the evidence of a place is what the scores lose without it.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from visualwords.apps.explanation import evidence
from visualwords.apps.explanation.explanation import ChannelEvidence, Explanation
from visualwords.apps.pipeline.appearance import measure_image
from visualwords.apps.pipeline.channel_encoder import ChannelEncoder, rows_of, side_by_side
from visualwords.apps.pipeline.contents import Content, OpenedImage
from visualwords.apps.pipeline.dataset import one_image
from visualwords.apps.pipeline.predictions import Scores
from visualwords.classifiers.one_vs_rest import both_classes
from visualwords.errors import ImageError
from visualwords.features.local_features import LocalFeatures

if TYPE_CHECKING:
    from visualwords.apps.pipeline.image_classifier import ImageClassifier

GRID = 6  # parts in a row and in a column, where parts are left out
LEAVING_OUT = (
    f"Each of {GRID}×{GRID} parts of the image is left out in turn, and its evidence is what the "
    "scores lose by that; what the parts have in common is in the offsets."
)


def explain_image(model: "ImageClassifier", image: Any) -> Explanation:
    """The scores of an image, decomposed.

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
    encoded = [encoder.encode(features) for encoder, features in zip(model.encoders_, found)]
    parts = [e.assemble([row]) for e, row in zip(model.encoders_, encoded)]
    row = side_by_side(parts)
    scores = model.classifier_.decision_function(row)
    distances = None if model.gallery_ is None else model.gallery_.distances(row)
    looks = None
    if model.novelty_ is not None and model.novelty_.appearance is not None:
        looks = model.novelty_.appearance.distances(measure_image(opened)[None])
    decided = model.decide(Scores(scores, np.zeros(1, np.intp), [], distances, looks))
    hashed = any(channel.hashes is not None for channel in model.recipe_.channels)
    if hasattr(model.classifier_, "contributions") and not hashed:
        columns = both_classes(model.classifier_.contributions(row))
        starts = np.cumsum([part.shape[1] for part in parts])[:-1]
        given = _names(model.encoders_), model.encoders_, images, found, np.split(columns, starts)
        shared = [evidence.share(*channel) for channel in zip(*given)]
        channels = [channel for channel, _ in shared]
        sentence = "; ".join(dict.fromkeys(method for _, method in shared))
        method = f"{sentence[:1].upper()}{sentence[1:]}."
    else:

        def decide(rows: Any) -> np.ndarray:
            return both_classes(model.classifier_.decision_function(rows))

        channels, method = _left_out(model.encoders_, images, found, encoded, decide), LEAVING_OUT
    values = both_classes(scores)[0].astype(np.float64)
    attributed = sum((c.evidence.sum(axis=0, dtype=np.float64) for c in channels), 0.0)
    return Explanation(
        classes=model.classes_,
        scores=values,
        probabilities=None if decided.probabilities is None else decided.probabilities[0],
        offsets=values - attributed,
        channels=channels,
        shape=(int(images[0].shape[0]), int(images[0].shape[1])),
        method=method,
        decided=str(decided.labels[0]),
        novelty=None if decided.novelty is None else float(decided.novelty[0]),
    )


def _names(encoders: list[ChannelEncoder]) -> list[str]:
    """The extractors, with a number appended to those that occur more than once."""
    names = [encoder.channel.extractor for encoder in encoders]
    return [
        name if names.count(name) == 1 else f"{name} {names[: i + 1].count(name)}"
        for i, name in enumerate(names)
    ]


def _left_out(
    encoders: list[ChannelEncoder],
    images: list[np.ndarray],
    features: list[Any],
    whole: list[np.ndarray],
    decide: Callable[[Any], np.ndarray],
) -> list[ChannelEvidence]:
    """Find what the scores lose without each part of the image, whatever the classifier computes.

    The patches of a part are shared its evidence equally. For a channel that has one vector an
    image, the part is painted in the image's mean colour.
    """
    scores, channels = decide(rows_of(encoders, [whole]))[0], []
    for number, name in enumerate(_names(encoders)):
        encoder, image, found = encoders[number], images[number], features[number]
        variants = [
            [*whole[:number], encoder.encode(part), *whole[number + 1 :]]
            for part in _without_parts(encoder, image, found)
        ]
        lost = scores - decide(rows_of(encoders, variants))
        if isinstance(found, LocalFeatures):
            part = _parts(found.positions)
            inside = np.maximum(np.bincount(part, minlength=GRID * GRID), 1)
            positions, sizes = found.positions, evidence.sizes_of(found, image)
            lost = lost[part] / inside[part][:, None]
        else:
            column, row = np.meshgrid(np.arange(GRID), np.arange(GRID))
            positions = (np.stack([column.ravel(), row.ravel()], axis=1) + 0.5) / GRID
            sizes = np.full_like(positions, 1 / GRID)
        shares = evidence.Shares(LEAVING_OUT, lost, np.zeros((0, len(scores))), [])
        channels.append(evidence.channel(name, positions, sizes, shares))
    return channels


def _without_parts(encoder: ChannelEncoder, image: np.ndarray, found: Any) -> list[Any]:
    """What the extractor sees of the image without each of its parts."""
    if isinstance(found, LocalFeatures):
        part = _parts(found.positions)
        kept = [part != number for number in range(GRID * GRID)]
        return [
            LocalFeatures(found.descriptors[k], found.positions[k], found.sizes[k]) for k in kept
        ]
    height, width = image.shape[:2]
    mean = np.rint(image.mean(axis=(0, 1))).astype(np.uint8)
    seen = []
    for number in range(GRID * GRID):
        row, column = divmod(number, GRID)
        painted = image.copy()
        rows = slice(height * row // GRID, height * (row + 1) // GRID)
        painted[rows, width * column // GRID : width * (column + 1) // GRID] = mean
        seen.append(encoder.channel.see(painted))
    return seen


def _parts(positions: np.ndarray) -> np.ndarray:
    """The part of the image that each position is in."""
    column, row = np.clip((positions * GRID).astype(int), 0, GRID - 1).T
    return row * GRID + column
