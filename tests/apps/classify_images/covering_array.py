"""Rows of choices in which every two choices meet: a greedy covering array."""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, product

Choice = tuple[str, str]  # the name of an option, and one of its values
Pair = tuple[Choice, Choice]


def covering_rows(
    values: Mapping[str, Sequence[str]], clash: Callable[[Choice, Choice], bool]
) -> tuple[list[dict[str, str]], list[Pair]]:
    """Rows in which all pairs of choices meet, and the pairs that exclude each other.

    Parameters
    ----------
    values : mapping of option → its values
    clash : function of two choices that returns whether no row may have both

    Examples
    --------
    >>> rows, apart = covering_rows({"a": "12", "b": "12", "c": "12"}, lambda a, b: False)
    >>> len(rows) < 8, apart
    (True, [])
    """
    pairs = [
        (one, other)
        for a, b in combinations(values, 2)
        for one, other in product([(a, v) for v in values[a]], [(b, v) for v in values[b]])
    ]
    apart = [pair for pair in pairs if clash(*pair)]
    clashing = {frozenset(pair) for pair in apart}
    missing = dict.fromkeys(frozenset(pair) for pair in pairs if frozenset(pair) not in clashing)
    rows = []
    while missing:
        row = list(next(iter(missing)))
        for option in sorted(values, key=lambda name: -sum(map(len, values[name]))):
            if option not in dict(row):
                row += _best(option, values[option], row, missing, clashing)
        for pair in combinations(row, 2):
            missing.pop(frozenset(pair), None)
        rows.append(dict(row))
    return rows, apart


def _best(option, values, row, missing, clashing) -> list[Choice]:
    """The value that meets most choices of the row for the first time; none if none does."""
    gains = {}
    for value in values:
        pairs = [frozenset(((option, value), other)) for other in row]
        if not clashing.intersection(pairs):
            gains[option, value] = sum(pair in missing for pair in pairs)
    best = max(gains, key=lambda choice: gains[choice], default=None)
    return [best] if best is not None and gains[best] else []
