"""What a model said about many files, kept as a whole.

Rows of images are in the cache, too, but they are large. Where the same model meets the same files
again its scores are at hand, and the files need only be looked at: they may have changed.
"""

import hashlib
from collections.abc import Sequence

import numpy as np

import visualwords
from visualwords.apps.pipeline import extraction
from visualwords.apps.pipeline.image_classifier import ImageClassifier
from visualwords.apps.pipeline.reading import Reader, channel_settings
from visualwords.apps.pipeline.scoring import Judgement
from visualwords.cache import FeatureCache
from visualwords.named_arrays import add_to, prefixed
from visualwords.progress import Progress
from visualwords.remote_cache import open_cache

VERSION = 1  # of what classifiers say; to be raised when the same rows give other scores


def judge_or_recall(model: ImageClassifier, paths: Sequence[str], progress: Progress) -> Judgement:
    """Return the scores of files, from the cache if the model has judged all of them before.

    Files of which any can't be read, or changes meanwhile, are judged and not kept.

    Parameters
    ----------
    model : ImageClassifier
        Fitted; its cache is used if it has one.
    paths : sequence of str
    progress : Progress
    """
    if model.cache_dir is None:
        return model.judge(paths, progress=progress)
    cache = open_cache(model.cache_dir)
    found = Reader(n_jobs=model.n_jobs).contents(paths, progress)
    contents = [what for what in found if isinstance(what, bytes) and what]
    key = _key(model, contents, cache)
    scores = cache.get(key) if len(contents) == len(paths) else None
    if scores is not None:
        return Judgement(scores, np.arange(len(paths)), [], contents)
    judgement = model.judge(paths, progress=progress)
    if len(judgement.kept) == len(paths) and judgement.digests == contents:
        cache.put(key, judgement.scores)
    return judgement


def _key(model: ImageClassifier, contents: list[bytes], cache: FeatureCache) -> str:
    """Return the name of what a model says about files: all that has a part in it."""
    state = prefixed("classifier/", model.classifier_.get_state())
    for number, encoder in enumerate(model.encoders_):
        state |= prefixed(f"channel{number}/", encoder.get_state())
    learned = hashlib.blake2b()
    add_to(learned, state)
    settings = {
        "stage": "judge",
        "recipe": model.recipe_.to_json(),
        "extractors": [channel_settings(channel) for channel in model.recipe_.channels],
        "learned": learned.hexdigest(),
        "max_pixels": model.max_pixels,
        "version": [visualwords.__version__, VERSION, extraction.VERSION],
    }
    return cache.key(b"".join(contents), settings)
