"""First words: descriptors that are far from each other."""

from collections.abc import Callable

import numpy as np

__all__ = ["choose_seeds"]

_SAMPLE = 20  # descriptors looked at for each word
_LEAST = 10_000  # and at least so many

Distances = Callable[[np.ndarray], np.ndarray]


def choose_seeds(
    n: int,
    n_words: int,
    method: str,
    random: np.random.RandomState,
    distances_among: Callable[[np.ndarray], Distances],
) -> np.ndarray:
    """Choose rows to begin with.

    Parameters
    ----------
    n : int
        Number of descriptors, at least ``n_words``.
    n_words : int
    method : {"k-means++", "random"}
        "k-means++" draws each row with a probability that grows with its squared distance to the
        rows chosen before, the best of a few draws [1]_, among a sample of 20 descriptors a word
        (at least 10,000). "random" draws different rows evenly.
    random : RandomState
    distances_among : function
        Takes rows (the sample) and returns a function from m positions in the sample to their
        squared distances to the whole sample, (m, sample size).

    Returns
    -------
    (n_words,) int64

    References
    ----------
    .. [1] D. Arthur, S. Vassilvitskii: k-means++: the advantages of careful seeding, SODA 2007.
    """
    if method == "random":
        return random.permutation(n)[:n_words]
    if method != "k-means++":
        raise ValueError(f"init={method!r}; choose k-means++ or random")
    sample = random.permutation(n)[: max(_SAMPLE * n_words, _LEAST)]
    distances = distances_among(sample)
    trials = 2 + int(np.log(n_words))
    chosen = np.empty(n_words, np.int64)
    chosen[0] = random.randint(len(sample))
    nearest = distances(chosen[:1])[0]
    for k in range(1, n_words):
        reach = np.cumsum(nearest, dtype=np.float64)
        if reach[-1] > 0:
            draws = np.searchsorted(reach, random.uniform(size=trials) * reach[-1], side="right")
        else:  # every descriptor is a word already
            draws = random.randint(len(sample), size=1)
        draws = np.minimum(draws, len(sample) - 1)
        candidates = np.minimum(distances(draws), nearest)
        best = candidates.sum(axis=1, dtype=np.float64).argmin()
        chosen[k], nearest = draws[best], candidates[best]
    return sample[chosen]
