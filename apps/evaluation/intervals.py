"""Confidence intervals of means over images: of independent images, or of groups of them."""

from collections.abc import Sequence

import numpy as np

__all__ = ["bootstrap", "wilson"]

RESAMPLES = 2000
AT_ONCE = 100  # resamples whose counts are in memory together


def wilson(n_right: int, n: int) -> tuple[float, float]:
    """Return Wilson's 95 % score interval of a share of n independent images.

    Examples
    --------
    >>> low, high = wilson(90, 100)
    >>> round(low, 3), round(high, 3)
    (0.826, 0.945)
    """
    from scipy.stats import binomtest

    low, high = binomtest(n_right, n).proportion_ci(method="wilson")
    return float(low), float(high)


def bootstrap(
    values: np.ndarray, groups: Sequence[str | None] | None = None, seed: int = 0
) -> tuple[float, float]:
    """Return the 95 % percentile interval of a mean over images, resampled with replacement.

    Images of a group (one object, patient or scene) succeed and fail together, so that they say
    less than as many independent ones: whole groups are drawn, each with all its images [1]_.

    Parameters
    ----------
    values : (n,)
    groups : sequence of str or None, optional
        The group of each image; None is an image of its own.
    seed : int
        Of the resamples.

    References
    ----------
    .. [1] C. Field, A. Welsh: Bootstrapping clustered data, J. R. Statist. Soc. B 69, 2007.

    Examples
    --------
    >>> right = np.repeat([1.0, 1.0, 1.0, 0.0], 25)
    >>> [round(end, 2) for end in bootstrap(right, np.repeat(list("abcd"), 25))]
    [0.25, 1.0]
    >>> [round(end, 2) for end in bootstrap(right)]
    [0.67, 0.83]
    """
    values = np.asarray(values, np.float64)
    member = group_codes(groups) if groups is not None else np.arange(len(values))
    sizes = np.bincount(member).astype(np.float64)
    sums = np.bincount(member, values)
    random, n = np.random.default_rng(seed), len(sizes)
    means = []
    for _ in range(0, RESAMPLES, AT_ONCE):
        drawn = random.multinomial(n, np.full(n, 1 / n), AT_ONCE)
        means.append((drawn @ sums) / (drawn @ sizes))
    low, high = np.percentile(np.concatenate(means), [2.5, 97.5])
    return float(low), float(high)


def group_codes(groups: Sequence[str | None]) -> np.ndarray:
    """Return the number of each image's group; an image without a group is one of its own."""
    known: dict[str, int] = {}
    codes, n = np.empty(len(groups), np.intp), 0
    for i, group in enumerate(groups):
        if group is None:
            codes[i], n = n, n + 1
        elif group in known:
            codes[i] = known[group]
        else:
            codes[i] = known[group] = n
            n += 1
    return codes
