"""Encoded channels while recipes are compared: rows in files, their products in memory."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from visualwords.apps.pipeline.channel import Channel
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.encoder import ChannelEncoder, weigh_side_by_side, weighted
from visualwords.apps.pipeline.recipe import Recipe
from visualwords.apps.pipeline.stages import Arrays, Encoded, Environment, Step, encode_each, learn
from visualwords.apps.pipeline.view import View
from visualwords.classifiers.row_file import RowFile
from visualwords.classifiers.solvers.byte_rows import products_of
from visualwords.errors import FolderError, ImageError, Skipped

BUFFER = 64  # images whose rows are written at once


class RowStore:
    """The rows of bytes that channels make of the same images, whatever their weights.

    Parameters
    ----------
    data : Dataset
    folder : Path
        For files.
    env : Environment
    seed : int
    """

    def __init__(self, data: Dataset, folder: Path, env: Environment, seed: int):
        self.data, self.folder, self.env, self.seed = data, folder, env, seed
        self._encoders: dict[str, ChannelEncoder] = {}
        self._rows: dict[str, RowFile] = {}
        self._products: dict[str, np.ndarray] = {}

    def has(self, channel: Channel, view: View) -> bool:
        """Whether a channel has encoded the images in a view."""
        return _key(channel, view) in self._rows

    def encode(self, channels: Sequence[Channel], view: View, more: Sequence[Step] = ()) -> Encoded:
        """Encode the images by those channels that have not, and by further steps, in one pass.

        Images that can't be read are left out of the data for good.
        """
        upright = replace(view, turn=0)
        new = {_key(c, view): c for c in channels if not self.has(c, view)}
        learning = [c for c in new.values() if _key(c, upright) not in self._encoders]
        for encoder in learn(learning, self.data, upright, self.env, self.seed):
            self._encoders[_key(encoder.channel, upright)] = encoder
        encoders = [self._encoders[_key(c, upright)] for c in new.values()]
        for key in new:
            self._rows[key] = RowFile(self.folder / f"rows{len(self._rows)}")
        files = [self._rows[key] for key in new]
        kept: list[int] = []
        skipped: list[Skipped] = []
        further: list[list[np.ndarray]] = [[] for _ in more]
        waiting: list[Arrays] = []
        for position, made in enumerate(encode_each(encoders, self.data, view, self.env, more)):
            if isinstance(made, Skipped):
                skipped.append(made)
                continue
            kept.append(position)
            waiting.append(made[: len(files)])
            for known, array in zip(further, made[len(files) :]):
                known.append(array)
            if len(waiting) == BUFFER:
                _write(files, waiting)
        _write(files, waiting)
        if skipped and len(self._rows) > len(new):  # they could be read before
            raise ImageError(str(skipped[0]))
        self.data = self.data.part(kept)
        if not view.turn:
            for key in new:
                self._products[key] = self._product(key).astype(np.float32)
        places = np.arange(len(kept))
        return Encoded([], None, places, np.array(kept, np.intp), skipped, further)

    def products(self, channel: Channel, views: Sequence[View]) -> np.ndarray:
        """The products of all rows of a channel of weight 1, in one or several views."""
        keys = [_key(channel, view) for view in views]
        return self._products[keys[0]] if len(keys) == 1 else self._product(*keys)

    def encoded(self, recipe: Recipe, looked: Encoded) -> Encoded:
        """The images as a recipe encodes them: its rows in a file, and their products.

        Rows of views follow those of all originals; ``looked`` has what else is known of the
        images.
        """
        views, channels = recipe.image_views(), recipe.channels
        encoders = [self._encoders[_key(c, recipe.view)].of(c) for c in channels]
        joined = RowFile(self.folder / "joined")
        for view in views:
            files = [self._rows[_key(c, view)] for c in channels]
            widths = [file.shape[1] for file in files]
            for start in range(0, len(self.data), BUFFER):
                parts = [file[start : start + BUFFER] for file in files]
                joined.append(weigh_side_by_side(np.hstack(parts), encoders, widths))
        products = np.zeros((len(joined),) * 2)
        for channel in channels:
            products += self._product(*(_key(channel, view) for view in views), by=channel.weight)
        return replace(looked, encoders=encoders, rows=joined, products=products)

    def _product(self, *keys: str, by: float = 1.0) -> np.ndarray:
        files = [self._rows[key] for key in keys]
        if not files[0].shape[1]:
            return np.zeros((sum(map(len, files)),) * 2)
        rows = weighted(np.concatenate([file[:] for file in files]), by, in_place=True)
        return products_of(rows, self.env.n_jobs)


def _key(channel: Channel, view: View) -> str:
    """What distinguishes the channels of all recipes, and what they make of views."""
    return repr((channel.unweighted, view))


def _write(files: Sequence[RowFile], waiting: list[Arrays]) -> None:
    """Write the rows of some images, which wait no longer."""
    for number, file in enumerate(files if waiting else ()):
        rows = [arrays[number] for arrays in waiting]
        if len({len(row) for row in rows} | {file.shape[1] or len(rows[0])}) > 1:
            raise FolderError("an extractor gives rows of different lengths; resize the images")
        file.append(np.stack(rows))
    waiting.clear()
