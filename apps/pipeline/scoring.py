"""What a model says about many images, whose rows are never in memory together."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from visualwords.apps.pipeline.extraction import Encoded

AT_ONCE = 64  # images whose rows, of up to 1 MB each, are laid side by side


@dataclass(frozen=True)
class Judgement:
    """Scores of images.

    Attributes
    ----------
    scores : (n, n_classes) or (n,) float64
        Of the images that could be read.
    kept : (n,) positions of these images
    skipped : list of (position, reason)
    digests : fingerprints of the files among them; arrays have none
    """

    scores: np.ndarray
    kept: np.ndarray
    skipped: list[tuple[int, str]]
    digests: list[bytes]


def judge_each(
    results: Iterable[Encoded | str], decide: Callable[[list[list[np.ndarray]]], np.ndarray]
) -> Judgement:
    """Score images as they come.

    Parameters
    ----------
    results : what `visualwords.apps.pipeline.extraction.encode_each` yields
    decide : function of several images' arrays, one for each channel, that returns their scores
    """
    kept: list[int] = []
    skipped: list[tuple[int, str]] = []
    digests: list[bytes] = []
    scores: list[np.ndarray] = []
    waiting: list[list[np.ndarray]] = []
    for position, result in enumerate(results):
        if isinstance(result, str):
            skipped.append((position, result))
            continue
        kept.append(position)
        digests += [result[0]] * bool(result[0])
        waiting.append(result[1])
        if len(waiting) == AT_ONCE:
            scores.append(decide(waiting))
            waiting = []
    if waiting:
        scores.append(decide(waiting))
    together = np.concatenate(scores) if scores else np.zeros(0)
    return Judgement(together, np.array(kept, np.intp), skipped, digests)
