"""Find an extractor by its name: ours, those of other installed packages, fitted transformers.

A package announces its extractors in its ``pyproject.toml``::

    [project.entry-points."visualwords.features"]
    MeanColor = "mypackage.descriptors:MeanColor"

Only names of installed packages are imported, so that a name from a model file can't run code
that was not installed on purpose.
"""

from importlib.metadata import EntryPoint, entry_points
from typing import Any, ClassVar
from uuid import uuid4

import numpy as np

from visualwords.features import EXTRACTORS
from visualwords.features.extractor import Extractor
from visualwords.features.pixels import as_rgb

GROUP = "visualwords.features"
PREFIX = "transformer:"
_transformers: dict[str, type["TransformerFeatures"]] = {}


def find_extractor(name: str) -> type[Extractor]:
    """The class of an extractor.

    Parameters
    ----------
    name : str
        ``"DenseSIFT"`` or another name of :func:`list_extractors`.

    Examples
    --------
    >>> find_extractor("ColorHistogram")(bins=2).bins
    2
    """
    if name in EXTRACTORS:
        return _load(EntryPoint(name, f"{EXTRACTORS[name]}:{name}", GROUP))
    if name.startswith(PREFIX):
        if name not in _transformers:
            raise ValueError(
                f"{name} is a transformer of another program; it is neither in model files nor "
                "sent to other machines"
            )
        return _transformers[name]
    announced = [entry for entry in entry_points(group=GROUP) if entry.name == name]
    if not announced:
        raise ValueError(
            f"no extractor is named {name!r}; choose one of {', '.join(list_extractors())}"
        )
    if len({entry.value for entry in announced}) > 1:
        places = " and ".join(sorted(entry.value for entry in announced))
        raise ValueError(f"two packages announce an extractor {name!r}: {places}; uninstall one")
    return _load(announced[0])


def list_extractors() -> list[str]:
    """The names of all extractors, ours first.

    Examples
    --------
    >>> list_extractors()[:2]
    ['HOG', 'Centrist']
    """
    others = {entry.name for entry in entry_points(group=GROUP)} - set(EXTRACTORS)
    return [*EXTRACTORS, *sorted(others)]


def _load(entry: EntryPoint) -> type[Extractor]:
    try:
        extractor = entry.load()
    except Exception as problem:  # whatever the other package's import raises
        raise ValueError(f"extractor {entry.name!r} ({entry.value}): {problem}") from problem
    if not (isinstance(extractor, type) and issubclass(extractor, Extractor)):
        raise ValueError(
            f"extractor {entry.name!r} ({entry.value}) is not a subclass of "
            "visualwords.features.extractor.Extractor"
        )
    return extractor


class TransformerFeatures(Extractor):
    """A fitted scikit-learn transformer of images as an extractor, as long as the program runs.

    Its vectors may have any sign. `register_transformer` makes a subclass for each transformer.
    """

    is_normalized = True
    is_signed = True
    transformer: ClassVar[Any] = None

    @classmethod
    def describes(cls) -> str:
        """Words for the transformer, such as "a fitted Pipeline"."""
        return f"a fitted {type(cls.transformer).__name__}"

    def describe(self, image: np.ndarray) -> np.ndarray:
        """The transformer's row of an image, (d,) float32."""
        rows = self.transformer.transform([as_rgb(image)])
        rows = np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows)
        if rows.ndim != 2 or len(rows) != 1:
            raise ValueError(
                f"{self.describes()} gives an array of shape {rows.shape} for a list of one image; "
                "needed is one row"
            )
        return rows[0].astype(np.float32)


def register_transformer(transformer: Any) -> str:
    """The name that a fitted transformer of images has as an extractor in this program.

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
    for name, known in _transformers.items():
        if known.transformer is transformer:
            return name
    # A new name in every program: code that changed must not meet what the cache has of it.
    name = f"{PREFIX}{type(transformer).__name__}-{uuid4().hex}"
    made = type("TransformerFeatures", (TransformerFeatures,), {"transformer": transformer})
    _transformers[name] = made
    return name
