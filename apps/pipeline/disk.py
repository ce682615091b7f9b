"""Training on more images than memory holds: rows wait on disk, the classifier reads blocks.

Images pass one after the other. What stays in memory are the sample of patches that encoders learn
from, a block of rows, the classifier's weights, and some bytes for every image. The classifier,
probabilities, novelty and similar images are those of training in memory: Fisher vectors and other
signed bytes give the same model file; histograms differ in the scale and the limits of their
levels, which are learned from a sample.
"""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from visualwords.apps.pipeline.costs import ROWS_IN_MEMORY
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.encoder import ChannelEncoder, rows_of
from visualwords.apps.pipeline.near_duplicates import look_steps, looked_at
from visualwords.apps.pipeline.recipe import Recipe
from visualwords.apps.pipeline.similarity import (
    BUCKETS,
    LEARN_FROM,
    Signer,
    held_out_distances,
    sketch_rows,
    spread,
)
from visualwords.apps.pipeline.stages import (
    Encoded,
    Environment,
    chosen_images,
    encode,
    encode_each,
)
from visualwords.apps.pipeline.training import FOLDS, Learned, Signed, train
from visualwords.classifiers.row_file import RowFile
from visualwords.errors import FolderError, Skipped
from visualwords.parallel import workers_share_memory

BLOCK = 256  # images
TRIAL = 2000  # images that recipes are compared on where memory is bounded


def needs_disk(
    recipe: Recipe,
    encoders: list[ChannelEncoder],
    data: Dataset,
    env: Environment,
    seed: int,
    memory: int | None,
) -> bool:
    """Whether the rows of all images take more bytes than they may.

    The scales of rows are learned from a sample then.

    Raises
    ------
    FolderError
        If the recipe can't be trained from disk.
    """
    if memory is None:
        return False
    some = data.part(chosen_images(data.codes, seed))
    sample = encode(recipe, encoders, some, env).rows
    n_rows = len(data) * len(recipe.image_views())
    if ROWS_IN_MEMORY * n_rows * sample.shape[1] * sample.dtype.itemsize <= memory:
        return False
    if not (recipe.is_linear or recipe.classifier.kind == "icd") or sparse.issparse(sample):
        raise FolderError(
            f"{len(data)} images are too many for recipe {recipe.name!r} in the memory "
            "that is allowed; allow more, or take a recipe of histograms, words or Fisher vectors, "
            "which can train from disk"
        )
    if recipe.views:
        raise FolderError(
            f"recipe {recipe.name!r} trains on views of images, which are encoded in memory; "
            'allow more memory, or set views = "none"'
        )
    return True


def train_from_disk(
    recipe: Recipe,
    encoders: list[ChannelEncoder],
    data: Dataset,
    env: Environment,
    seed: int,
    class_weight: Any,
) -> Learned:
    """Learn a recipe from rows in a file, in random order."""
    order = np.random.default_rng(seed).permutation(len(data))
    # Workers of other processes read the rows where they find the cache.
    shared = None if workers_share_memory() or env.cache is None else env.cache.folder
    if shared is not None:
        shared.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="visualwords-", dir=shared) as folder:
        rows, sketches = RowFile(Path(folder, "rows")), RowFile(Path(folder, "sketches"))
        total, in_file = np.zeros(BUCKETS), []
        skipped: dict[int, Skipped] = {}
        looks: dict[int, list[np.ndarray]] = {}
        waiting: list[list[np.ndarray]] = []
        stream = encode_each(encoders, data.part(order), recipe.view, env, look_steps())
        for number, made in enumerate(stream, 1):
            position = int(order[number - 1])
            if isinstance(made, Skipped):
                skipped[position] = made
            else:
                in_file.append(position)
                looks[position] = made[len(encoders) :]
                waiting.append(made[: len(encoders)])
            if waiting and (len(waiting) == BLOCK or number == len(order)):
                block = rows_of(encoders, waiting)
                sketch = sketch_rows(block)
                rows.append(block)
                sketches.append(sketch)
                total += sketch.sum(axis=0, dtype=np.float64)
                waiting = []
        place = np.argsort(in_file)  # in the file, of the images in their order
        kept = np.sort(np.array(in_file, np.intp))
        out = [skipped[i] for i in sorted(skipped)]
        more = [[looks[i][m] for i in kept] for m in range(2)]
        known, duplicates = looked_at(data.part(kept), Encoded(rows, kept, out, more))
        folds = known.folds_of_all_classes(FOLDS, seed)
        row_order = np.argsort(place)
        in_order = known.part(row_order)
        row_folds = None if folds is None else folds[row_order]
        how = {"seed": seed, "class_weight": class_weight, "folds": row_folds}
        classifier, scores = train(recipe, rows, in_order, env, **how)
        signed = _sign(sketches, place, (total / len(sketches)).astype(np.float32))
        distances = None
        if folds is not None:
            measured = spread(len(kept))
            sketch = np.concatenate([sketches[p : p + 1] for p in place[measured]])
            distances = held_out_distances(sketch, folds[measured])
    held_out = None if scores is None else scores[place]
    statistics = np.stack(more[1])
    return Learned(
        *(encoders, classifier, known, out, duplicates, folds, held_out),
        *(signed, distances, statistics),
    )


def _sign(sketches: RowFile, place: np.ndarray, mean: np.ndarray) -> Signed:
    """Learn what makes signatures from some images, and sign all, in their order."""
    n = len(sketches)
    some = [sketches[p : p + 1] for p in place[:: -(-n // LEARN_FROM)]]
    signer = Signer.fit(np.concatenate(some), mean)
    parts = [signer.sign(sketches[i : i + BLOCK]) for i in range(0, n, BLOCK)]
    signatures, lengths = map(np.concatenate, zip(*parts))
    return Signed(signer, signatures[place], lengths[place])
