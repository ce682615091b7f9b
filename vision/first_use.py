"""Names of a package whose modules are loaded when one of them is first used."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def on_first_use(
    package: str, home_of: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the ``__getattr__`` and ``__dir__`` of a package.

    Parameters
    ----------
    package : str
        Its ``__name__``.
    home_of : dict of name → module that has it

    Examples
    --------
    >>> get, names = on_first_use("numbers", {"Fraction": "fractions"})
    >>> get("Fraction")(1, 2), names()
    (Fraction(1, 2), ['Fraction'])
    """

    def get(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(home_of[name]), name)

    return get, lambda: sorted(home_of)
