"""VLAD: how the descriptors of each word differ from it."""

from typing import Any

import numpy as np

from visualwords.codebook._moments import add_hard_moments
from visualwords.codebook.kmeans import KMeansCodebook
from visualwords.codebook.local_encoder import LocalEncoder
from visualwords.codebook.projection import Projection

__all__ = ["VLAD"]


class VLAD(LocalEncoder):
    """Encode local features by sums of differences to their words [1]_.

    A window has for each word k the vector v_k = Σ over its descriptors x of word k of (x − w_k),
    brought to length 1 each (``intra``) [2]_, then signed powers and L2 normalisation. Columns:
    window, word, component. They are signed: use a linear classifier, or the GInt kernel.

    Parameters
    ----------
    n_words : int, default 64
    n_components : int or None, default 64
        Principal components; None takes the descriptors as they are.
    pyramid : SpatialPyramid, or what its ``windows`` may be; default 8
    random_state : int, RandomState or None
    intra : bool, default True, keyword only
        Bring the vector of each word to length 1, so that no repeated texture dominates.
    power : float, default 1
        sign(v) |v|^power; 0.5 is usual without ``intra``.
    scope : {"window", "level", "image"}, default "window"
        What is brought to length 1.
    max_descriptors : int or None, default 200,000
        Learn from no more than these.

    Attributes
    ----------
    projection_ : Projection
    codebook_ : KMeansCodebook

    References
    ----------
    .. [1] H. Jégou, M. Douze, C. Schmid, P. Pérez: Aggregating local descriptors into a compact
       image representation, CVPR 2010.
    .. [2] R. Arandjelović, A. Zisserman: All about VLAD, CVPR 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from visualwords.features.local_features import LocalFeatures
    >>> random = np.random.default_rng(0)
    >>> image = LocalFeatures(random.random((50, 6)), random.random((50, 2)), np.full(50, 16.0))
    >>> VLAD(n_words=2, n_components=3, pyramid=1, random_state=0).fit_transform([image]).shape
    (1, 6)
    """

    def __init__(
        self,
        n_words: int = 64,
        n_components: int | None = 64,
        pyramid: Any = 8,
        random_state: Any = None,
        *,
        intra: bool = True,
        power: float = 1.0,
        scope: str = "window",
        max_descriptors: int | None = 200_000,
    ):
        self.n_words = n_words
        self.n_components = n_components
        self.pyramid = pyramid
        self.random_state = random_state
        self.intra = intra
        self.power = power
        self.scope = scope
        self.max_descriptors = max_descriptors

    def get_state(self) -> dict[str, np.ndarray]:
        """Return everything learned, as arrays that ``numpy.save`` keeps without pickle."""
        codebook = {f"codebook_{k}": v for k, v in self.codebook_.get_state().items()}
        return {**self._projection_state(), **codebook}

    def set_state(self, state: dict[str, np.ndarray]) -> "VLAD":
        """Become the encoder, of the same parameters, whose :meth:`get_state` this is."""
        self.projection_ = Projection(state["mean"], state["directions"])
        prefix = "codebook_"
        self.codebook_ = KMeansCodebook(self.n_words).set_state(
            {k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)}
        )
        return self

    def _learn(self, projected, random, progress) -> None:
        self.codebook_ = KMeansCodebook(self.n_words, random).fit(projected, progress=progress)

    def _encode(self, descriptors: np.ndarray, cells: np.ndarray) -> np.ndarray:
        """Differences of every window, (n_windows, n_words d)."""
        projected = self.projection_.apply(descriptors)
        member, words = self._pyramid.membership, self.codebook_.words_
        zeroth = np.zeros((member.shape[1], len(words)), np.float32)
        first = np.zeros((*zeroth.shape, words.shape[1]), np.float32)
        add_hard_moments(projected, self.codebook_.predict(projected), cells, zeroth, first)
        first -= zeroth[:, :, None] * words
        windows = (member @ first.reshape(len(first), -1)).reshape(len(member), *words.shape)
        if self.intra:
            lengths = np.linalg.norm(windows, axis=2, keepdims=True)
            windows /= np.where(lengths > 0, lengths, 1)
        return windows.reshape(len(member), -1)

    @property
    def _n_columns(self) -> int:
        return self.codebook_.words_.size

    def _names(self) -> list[str]:
        k, d = self.codebook_.words_.shape
        return [f"word{i}_component{j}" for i in range(k) for j in range(d)]
