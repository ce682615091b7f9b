"""Fitted scikit-learn transformers of images as extractors, for as long as the program runs."""

from typing import Any, ClassVar
from uuid import uuid4

import numpy as np

from visualwords.features.extractor import Extractor, as_rgb

PREFIX = "transformer:"
_known: dict[str, type["TransformerFeatures"]] = {}


class TransformerFeatures(Extractor):
    """What a fitted transformer gives for an image: one vector, of numbers of any sign.

    Subclasses, one for each transformer, are made by `register_transformer`.
    """

    is_normalized = True
    is_signed = True
    transformer: ClassVar[Any] = None

    @classmethod
    def describes(cls) -> str:
        """Return words for the transformer, such as "a fitted Pipeline"."""
        return f"a fitted {type(cls.transformer).__name__}"

    def describe(self, image: np.ndarray) -> np.ndarray:
        """Return the transformer's row of an image, (d,) float32."""
        rows = self.transformer.transform([as_rgb(image)])
        rows = np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows)
        if rows.ndim != 2 or len(rows) != 1:
            raise ValueError(
                f"{self.describes()} gives an array of shape {rows.shape} for a list of one image; "
                "needed is one row"
            )
        return rows[0].astype(np.float32)


def register_transformer(transformer: Any) -> str:
    """Return the name that a fitted transformer of images has as an extractor in this program.

    Parameters
    ----------
    transformer : object with ``transform``
        It takes a list of RGB images, (h, w, 3) uint8, and returns a row of numbers for each.

    Examples
    --------
    >>> register_transformer("ColorHistogram")
    Traceback (most recent call last):
    TypeError: extractor='ColorHistogram' is no fitted transformer; it needs transform(images)
    """
    if not callable(getattr(transformer, "transform", None)) or isinstance(transformer, type):
        raise TypeError(
            f"extractor={transformer!r} is no fitted transformer; it needs transform(images)"
        )
    for name, found in _known.items():
        if found.transformer is transformer:
            return name
    # A new name in every program: code that changed must not meet what the cache has of it.
    name = f"{PREFIX}{type(transformer).__name__}-{uuid4().hex}"
    _known[name] = type("TransformerFeatures", (TransformerFeatures,), {"transformer": transformer})
    return name


def find_transformer(name: str) -> type[TransformerFeatures]:
    """Return the extractor of a registered transformer."""
    if name not in _known:
        raise ValueError(
            f"{name} is a transformer of another program; it is neither in model files nor sent to "
            "other machines"
        )
    return _known[name]
