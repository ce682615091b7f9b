"""Evidence of scores that are no sums: what they lose when a part of the image is left out."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from visualwords.apps.explanation.evidence import numbered
from visualwords.apps.explanation.explanation import ChannelEvidence, Explanation
from visualwords.apps.pipeline.channel_encoder import ChannelEncoder, rows_of
from visualwords.features.local_features import LocalFeatures

GRID = 6  # parts in a row and in a column
METHOD = (
    f"Each of {GRID}×{GRID} parts of the image is left out in turn, and its evidence is what the "
    "scores lose by that; what the parts have in common is in the offsets."
)


def explain_by_leaving_out(
    encoders: Sequence[ChannelEncoder],
    images: Sequence[np.ndarray],
    features: Sequence[Any],
    decide: Callable[[Any], np.ndarray],
    classes: np.ndarray,
    probabilities: np.ndarray | None,
) -> Explanation:
    """Attribute the scores of one image to its parts, whatever the classifier computes.

    The patches of a part are shared its evidence equally. For a channel that has one vector an
    image, the part is painted in the image's mean colour.

    Parameters
    ----------
    encoders : one a channel
    images : for each channel the image as its extractor saw it
    features : for each channel the local features of the image, or its vector
    decide : function of rows that returns their scores, (n, n_classes)
    classes, probabilities : as in `Explanation`
    """
    whole = [encoder.encode(found) for encoder, found in zip(encoders, features)]
    scores = decide(rows_of(encoders, [whole]))[0]
    names = numbered([encoder.channel.extractor for encoder in encoders])
    channels = []
    for number, (name, encoder, image, found) in enumerate(zip(names, encoders, images, features)):
        variants = [
            [*whole[:number], encoder.encode(part), *whole[number + 1 :]]
            for part in _without_parts(encoder, image, found)
        ]
        lost = scores - decide(rows_of(encoders, variants))
        channels.append(_channel(name, found, image.shape, lost))
    attributed = sum((c.evidence.sum(axis=0, dtype=np.float64) for c in channels), 0.0)
    return Explanation(
        classes=classes,
        scores=scores,
        probabilities=probabilities,
        offsets=scores - attributed,
        channels=channels,
        shape=(int(images[0].shape[0]), int(images[0].shape[1])),
        method=METHOD,
    )


def _without_parts(encoder: ChannelEncoder, image: np.ndarray, found: Any) -> list[Any]:
    """Return what the extractor sees of the image without each of its parts."""
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


def _channel(name: str, found: Any, shape: tuple[int, ...], lost: np.ndarray) -> ChannelEvidence:
    if isinstance(found, LocalFeatures):
        part = _parts(found.positions)
        inside = np.maximum(np.bincount(part, minlength=GRID * GRID), 1)
        evidence = lost[part] / inside[part][:, None]
        positions = found.positions
        sizes = found.sizes[:, None] / np.array(shape[1::-1], np.float32)
    else:
        column, row = np.meshgrid(np.arange(GRID), np.arange(GRID))
        positions = (np.stack([column.ravel(), row.ravel()], axis=1) + 0.5) / GRID
        sizes, evidence = np.full_like(positions, 1 / GRID), lost
    return ChannelEvidence(
        name=name,
        positions=positions.astype(np.float32),
        sizes=sizes.astype(np.float32),
        words=None,
        evidence=evidence.astype(np.float32),
        names=[],
        values=np.zeros((0, lost.shape[1]), np.float32),
        exact=False,
    )


def _parts(positions: np.ndarray) -> np.ndarray:
    """Return the part of the image that each position is in."""
    column, row = np.clip((positions * GRID).astype(int), 0, GRID - 1).T
    return row * GRID + column
