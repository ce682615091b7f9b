"""The names that people give to the parts of a data set."""

SPLITS = ("train", "val", "test")
SPLIT_NAMES = {
    "train": "train",
    "training": "train",
    "val": "val",
    "valid": "val",
    "validation": "val",
    "dev": "val",
    "test": "test",
    "testing": "test",
}


def split_of(name: str) -> str | None:
    """Return "train", "val" or "test" for a name in any case; None for any other.

    Examples
    --------
    >>> split_of("Valid"), split_of("photos")
    ('val', None)
    """
    return SPLIT_NAMES.get(name.strip().lower())
