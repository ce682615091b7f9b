"""Find an extractor by its name: ours, and those that other installed packages announce.

A package announces its extractors in its ``pyproject.toml``::

    [project.entry-points."visualwords.features"]
    MeanColor = "mypackage.descriptors:MeanColor"

Only names of installed packages are imported, so that a name from a model file can't run code
that was not installed on purpose.
"""

from importlib.metadata import EntryPoint, entry_points

from visualwords import features
from visualwords.features.extractor import Extractor
from visualwords.features.transformers import PREFIX, find_transformer

__all__ = ["GROUP", "find_extractor", "list_extractors"]

GROUP = "visualwords.features"


def find_extractor(name: str) -> type[Extractor]:
    """Return the class of an extractor.

    Parameters
    ----------
    name : str
        ``"DenseSIFT"`` or another name of :func:`list_extractors`.

    Returns
    -------
    class with the contract of :class:`visualwords.features.extractor.Extractor`

    Examples
    --------
    >>> find_extractor("ColorHistogram")(bins=2).bins
    2
    """
    if name in features.__all__:
        return getattr(features, name)
    if name.startswith(PREFIX):
        return find_transformer(name)
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
    """Return the names of all extractors, ours first.

    Examples
    --------
    >>> list_extractors()[:2]
    ['HOG', 'Centrist']
    """
    others = {entry.name for entry in entry_points(group=GROUP)} - set(features.__all__)
    return [*features.__all__, *sorted(others)]


def _load(entry: EntryPoint) -> type[Extractor]:
    try:
        found = entry.load()
    except Exception as problem:  # whatever the other package's import raises
        raise ValueError(f"extractor {entry.name!r} ({entry.value}): {problem}") from problem
    if not (isinstance(found, type) and issubclass(found, Extractor)):
        raise ValueError(
            f"extractor {entry.name!r} ({entry.value}) is not a subclass of "
            "visualwords.features.extractor.Extractor"
        )
    return found
