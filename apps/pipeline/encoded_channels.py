"""What the channels of all recipes make of the same images, learned and encoded once.

Arrays are kept as they are before their weights, so that recipes that differ in weights share them.
"""

from collections.abc import Iterator

import numpy as np

from visualwords.apps.pipeline.channel_encoder import (
    ChannelEncoder,
    Rows,
    common_length,
    side_by_side,
    weigh_side_by_side,
    weighted,
)
from visualwords.apps.pipeline.channel_products import ChannelProducts
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.encoding import chosen_images, encode, learn
from visualwords.apps.pipeline.recipe import Channel, Recipe
from visualwords.apps.pipeline.stage import Environment
from visualwords.apps.pipeline.view import View
from visualwords.errors import Skipped
from visualwords.parallel import return_freed_memory

COLUMNS_AT_A_TIME = 8192  # while products are computed: a channel may be most of the memory


class EncodedChannels:
    """Encoders of channels, and the arrays that they made of images and copies of them.

    Parameters
    ----------
    data : Dataset
    seed : int
    env : Environment
    """

    def __init__(self, data: Dataset, seed: int, env: Environment):
        self.data, self.seed, self.env = data, seed, env
        self._encoders: dict[str, ChannelEncoder] = {}
        self._encoded: dict[str, dict[int, np.ndarray]] = {}
        self._kept: dict[str, set[int]] = {}
        self._skipped: dict[str, list[Skipped]] = {}
        self._tables: dict[tuple[str, ...], np.ndarray] = {}
        self._rows: tuple[str, Rows] = "", None  # of bytes, of the last recipe
        self._products = ChannelProducts(env.n_jobs)

    def learn(self, recipe: Recipe) -> list[ChannelEncoder]:
        """Return the encoders of a recipe's channels; those that are new learn from a sample."""
        names = [_name(channel, recipe.view) for channel in recipe.channels]
        new = {
            name: ChannelEncoder(channel.unweighted, self.seed)
            for name, channel in zip(names, recipe.channels)
            if name not in self._encoders
        }
        learning = [encoder for encoder in new.values() if encoder.channel.learns]
        if learning:
            sample = self.data.part(chosen_images(self.data.codes, self.seed))
            learn(learning, sample, recipe.view, self.env)
            return_freed_memory()  # of the patches: rows of all images come next
        self._encoders |= new
        return [self._encoders[name].of(c) for name, c in zip(names, recipe.channels)]

    def encode(self, recipe: Recipe, encoders: list[ChannelEncoder]) -> None:
        """Encode the images, and copies of them; only channels that are new pass over them."""
        for view in recipe.image_views():
            self._encode_new(recipe, encoders, view)

    def kept(self, recipe: Recipe) -> list[int]:
        """Return the positions of the images that all channels of a recipe could encode."""
        return sorted(set.intersection(*(self._kept[name] for name in _names(recipe))))

    def skipped(self, recipe: Recipe) -> list[Skipped]:
        """Return the images that a channel of a recipe could not encode."""
        return list(dict.fromkeys(s for name in _names(recipe) for s in self._skipped[name]))

    def rows(self, recipe: Recipe, encoders: list[ChannelEncoder], last: bool = False) -> Rows:
        """Return the rows of the images that all channels can encode, weighted.

        Rows of views follow those of all originals, in the order of the recipe's views. Encoders
        learn the scale of their rows. Where this recipe is the ``last``, its arrays may be weighted
        in place, so that there is no second copy of them in memory.
        """
        key = repr((recipe.channels, recipe.image_views()))
        if self._rows[0] == key:
            return self._rows[1]
        self.encode(recipe, encoders)
        rows = self._from_table(recipe, encoders, last)
        if rows is None:
            kept = self.kept(recipe)
            rows = side_by_side(
                [
                    encoder.assemble(
                        [
                            self._encoded[_name(c, view)][i]
                            for view in recipe.image_views()
                            for i in kept
                        ],
                        learn=True,
                    )
                    for encoder, c in zip(encoders, recipe.channels)
                ]
            )
        are_bytes = isinstance(rows, np.ndarray) and rows.dtype == np.int8  # without a scale
        self._rows = (key, rows) if last and are_bytes else ("", None)
        return rows

    def free_rows(self) -> None:
        """Keep the rows of the last recipe no longer."""
        self._rows = "", None

    def products(self, recipe: Recipe, last: bool = False) -> np.ndarray:
        """Return the products of all rows of bytes, as `rows` has them, (n, n) float64.

        Where this recipe is the ``last``, those of its channels are not kept.
        """
        kept = np.array(self.kept(recipe), np.intp)
        n = len(kept) * len(recipe.image_views())
        total = np.zeros((n, n))
        for channel in recipe.channels:
            total += self.products_of(channel, recipe.image_views(), kept)
            if last:
                self._products = ChannelProducts(self.env.n_jobs)
        return total

    def products_of(self, channel: Channel, views: list[View], kept: np.ndarray) -> np.ndarray:
        """Return the products of some images' bytes of one channel, (n, n) float64."""

        def rows() -> Iterator[np.ndarray]:
            arrays = [self._encoded[_name(channel, view)][i] for view in views for i in kept]
            for start in range(0, max(1, common_length(arrays)), COLUMNS_AT_A_TIME):
                some = [array[start : start + COLUMNS_AT_A_TIME] for array in arrays]
                yield weighted(np.stack(some), channel.weight)

        return self._products.of(repr((channel, views, kept.tobytes())), rows)

    def width(self, recipe: Recipe) -> int:
        """Return the number of columns of a recipe's rows of bytes."""
        first = [self._encoded[_name(channel, recipe.view)] for channel in recipe.channels]
        return sum(len(next(iter(arrays.values()))) for arrays in first if arrays)

    def _from_table(
        self, recipe: Recipe, encoders: list[ChannelEncoder], last: bool
    ) -> np.ndarray | None:
        """Return the rows of channels that were encoded together; None if these were not."""
        names = _names(recipe)
        table = self._tables.get(tuple(names))
        if table is None or len(table) != len(self.kept(recipe)):
            return None
        widths = [len(next(iter(self._encoded[name].values()))) for name in names]
        if last:
            del self._tables[tuple(names)]
            for name in names:  # their arrays are parts of the table
                del self._encoded[name]
        elif any(channel.weight != 1 for channel in recipe.channels):
            table = table.copy()
        return weigh_side_by_side(table, encoders, widths)

    def _encode_new(self, recipe: Recipe, encoders: list[ChannelEncoder], view: View) -> None:
        """Encode the images, or copies of them, by those encoders that have not yet.

        A recipe of nothing but networks keeps their vectors: other powers of them need no pass
        over the images.
        """
        names = [_name(channel, view) for channel in recipe.channels]
        new = {n: e for n, e in zip(names, encoders) if n not in self._encoded}
        vectors = {name: encoder.channel.plain for name, encoder in new.items()}
        if all(vectors[name] is not encoder.channel for name, encoder in new.items()):
            plain = {_name(c, view): ChannelEncoder(c, self.seed) for c in vectors.values()}
            self._pass_over({n: e for n, e in plain.items() if n not in self._encoded}, view)
        for name, channel in vectors.items():
            if (known := _name(channel, view)) in self._encoded:
                encoder = new.pop(name)
                numbers = self._encoded[known].items()
                self._encoded[name] = {i: encoder.encode(vector) for i, vector in numbers}
                self._kept[name], self._skipped[name] = self._kept[known], self._skipped[known]
        self._pass_over(new, view)

    def _pass_over(self, encoders: dict[str, ChannelEncoder], view: View) -> None:
        """Encode the images, and keep what was made of them by the names of the encoders."""
        if not encoders:
            return
        found = encode(list(encoders.values()), self.data, view, self.env)
        for name, arrays in zip(encoders, found.channels):
            self._encoded[name] = dict(zip(found.kept.tolist(), arrays))
            self._kept[name] = set(found.kept.tolist())
            self._skipped[name] = found.skipped
        if found.rows is not None and all(e.channel.linear for e in encoders.values()):
            self._tables[tuple(encoders)] = found.rows


def _name(channel: Channel, view: View) -> str:
    """Return what tells the channels of all recipes apart, and what they make of views."""
    return repr((channel.unweighted, view))


def _names(recipe: Recipe) -> list[str]:
    """Return the names of all channels, of originals and views."""
    return [_name(channel, view) for view in recipe.image_views() for channel in recipe.channels]
