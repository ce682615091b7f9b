"""Cached scores: where a model meets the same files again, they are only fingerprinted.

Rows of images are in the cache, too, but they are large.
"""

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from visualwords.apps.pipeline.channel_encoder import channel_settings
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.predictions import Scores
from visualwords.apps.pipeline.stage import Environment, Stage, fingerprint_files
from visualwords.model_file import State, add_to, prefixed

if TYPE_CHECKING:
    from visualwords.apps.pipeline.image_classifier import ImageClassifier


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
    distances = state.get("distances", np.zeros((n_images, 3)))
    if distances.shape != (n_images, 3) or not _are_distances(distances[:, 0]):
        return False
    looks = state.get("looks", np.zeros(n_images))
    return looks.shape == (n_images,) and _are_distances(looks) and _are_finite(distances)


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
