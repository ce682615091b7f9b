"""The scores of many images by a model, whose rows are never in memory together.

Rows of images are in the cache, but they are large. `score_files` keeps the scores, too: where the
same model meets the same files again, they are only fingerprinted.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from visualwords.apps.pipeline.channel_encoder import channel_settings
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.stage import Arrays, Environment, Stage, fingerprint_files
from visualwords.errors import Skipped
from visualwords.model_file import State, add_to, prefixed

if TYPE_CHECKING:
    from visualwords.apps.pipeline.image_classifier import ImageClassifier

Found = tuple[np.ndarray, np.ndarray | None, np.ndarray | None]  # scores, distances, looks
AT_ONCE = 64  # images whose rows, of up to 1 MB each, are laid side by side


@dataclass(frozen=True)
class Scores:
    """Scores of images.

    Attributes
    ----------
    values : (n, n_classes) or (n,) float64
        Of the images that could be read.
    kept : (n,) positions of these images
    skipped : the others
    distances : (n, 2) float64 or None
        To the nearest training image and, relatively, to the classes, where the model knows these.
    looks : (n,) float64 or None
        Distance of each image's appearance to that of training images, where the model knows it.
    """

    values: np.ndarray
    kept: np.ndarray
    skipped: list[Skipped]
    distances: np.ndarray | None = None
    looks: np.ndarray | None = None


def score_each(
    results: Iterable[Arrays | Skipped],
    score: Callable[[list[Arrays]], Found],
) -> Iterator[Scores]:
    """Yield the scores of images as they come, of up to `AT_ONCE` that could be read at a time.

    Parameters
    ----------
    results : what `visualwords.apps.pipeline.encoding.encode_each` yields
    score : function of several images' arrays, one for each stage, that returns their scores,
        distances and looks
    """
    kept: list[int] = []
    skipped: list[Skipped] = []
    waiting: list[Arrays] = []
    for position, result in enumerate(results):
        if isinstance(result, Skipped):
            skipped.append(result)
            continue
        kept.append(position)
        waiting.append(result)
        if len(waiting) == AT_ONCE:
            yield _scored(waiting, kept, skipped, score)
            kept, skipped, waiting = [], [], []
    if waiting or skipped:
        yield _scored(waiting, kept, skipped, score)


def _scored(
    waiting: list[Arrays],
    kept: list[int],
    skipped: list[Skipped],
    score: Callable[[list[Arrays]], Found],
) -> Scores:
    values, distances, looks = score(waiting) if waiting else (np.zeros(0), None, None)
    return Scores(values, np.array(kept, np.intp), skipped, distances, looks)


def join_scores(parts: Iterable[Scores]) -> Scores:
    """Return the scores of all images that `score_each` yields."""
    parts = list(parts)
    found = [part for part in parts if len(part.kept)]
    distances = [part.distances for part in found if part.distances is not None]
    looks = [part.looks for part in found if part.looks is not None]
    return Scores(
        np.concatenate([part.values for part in found]) if found else np.zeros(0),
        np.concatenate([part.kept for part in found]) if found else np.zeros(0, np.intp),
        [one for part in parts for one in part.skipped],
        np.concatenate(distances) if distances else None,
        np.concatenate(looks) if looks else None,
    )


def score_files(model: "ImageClassifier", data: Dataset, env: Environment) -> Scores:
    """Return the scores of files, from the cache if the model has scored all of them before.

    Scores are not kept where any of the files can't be read, or changes meanwhile.

    Parameters
    ----------
    model : ImageClassifier
        Fitted.
    data : Dataset
    env : Environment
    """
    if env.cache is None:
        return model.score_images(data, progress=env.progress)
    fingerprint_files(data, env)
    stage, content = _stage(model), data.fingerprint()
    known = stage.load(content, env.cache)
    if known is not None and _are_scores(known, len(data), len(model.classes_)):
        others = known.get("distances"), known.get("looks")
        return Scores(known["scores"], np.arange(len(data)), [], *others)
    scores = model.score_images(data, progress=env.progress)
    if not scores.skipped:
        state = {"scores": scores.values}
        if scores.distances is not None:
            state["distances"] = scores.distances
        if scores.looks is not None:
            state["looks"] = scores.looks
        stage.store(content, env.cache, state)
    return scores


def _are_scores(state: State, n_images: int, n_classes: int) -> bool:
    """Return whether an entry of the cache can be what `score_files` stores."""
    scores = state.get("scores")
    shapes = [(n_images, n_classes), *([(n_images,)] if n_classes == 2 else [])]
    if scores is None or scores.shape not in shapes or scores.dtype.kind != "f":
        return False
    if not np.isfinite(scores).all():
        return False
    distances = state.get("distances", np.zeros((n_images, 2)))
    if distances.shape != (n_images, 2) or not _are_distances(distances[:, 0]):
        return False
    looks = state.get("looks", np.zeros(n_images))
    return looks.shape == (n_images,) and _are_distances(looks) and _are_finite(distances[:, 1])


def _are_distances(array: np.ndarray) -> bool:
    return _are_finite(array) and bool((array >= 0).all())


def _are_finite(array: np.ndarray) -> bool:
    return array.dtype.kind == "f" and bool(np.isfinite(array).all())


def _stage(model: "ImageClassifier") -> Stage:
    """Return the stage that scores files by a model: all that decides what it gives."""
    state = prefixed("classifier/", model.classifier_.get_state())
    for number, encoder in enumerate(model.encoders_):
        state |= prefixed(f"channel{number}/", encoder.get_state())
    if model.gallery_ is not None:
        state |= prefixed("gallery/", model.gallery_.get_state())
    if model.novelty_ is not None:
        state |= prefixed("novelty/", model.novelty_.get_state())
    learned = hashlib.blake2b()
    add_to(learned, state)
    settings = {
        "recipe": model.recipe_.to_json(),
        "extractors": [channel_settings(channel) for channel in model.recipe_.channels],
        "learned": learned.hexdigest(),
        "max_pixels": model.max_pixels,
    }
    return Stage("score", settings)
