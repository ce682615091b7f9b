"""Several descriptors of the same images, side by side."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from visualwords.progress import Progress

__all__ = ["EncoderUnion"]


class EncoderUnion(TransformerMixin, BaseEstimator):
    """Columns of several encoders side by side, so that their kernels add up with weights.

    K(x, y) = Σ_e a_e K_e(x_e, y_e), where each K_e is first divided by the mean of K_e(x, x) over
    the training images. For a kernel with K(c x, c y) = c^degree K(x, y) that is the same as
    multiplying the columns with a constant, which is what happens.

    Parameters
    ----------
    encoders : list of (name, encoder)
        BagOfWords, FisherVectors, VLAD or similar; copies of them learn in ``fit``.
    weights : sequence of one number an encoder, optional
        The a_e; 1 by default.
    degree : {1, 2}, default 1
        1: for histogram intersection and the like. 2: for the linear kernel.

    Attributes
    ----------
    encoders_ : list of fitted encoders
    factors_ : (n_encoders,) float32
        What columns are multiplied with.

    Examples
    --------
    >>> import numpy as np
    >>> from visualwords.codebook import BagOfWords, KMeansCodebook
    >>> from visualwords.features.local_features import LocalFeatures
    >>> random = np.random.default_rng(0)
    >>> def image(d):
    ...     return LocalFeatures(random.random((30, d)), random.random((30, 2)), np.full(30, 16.0))
    >>> shapes, colors = [image(5), image(5)], [image(3), image(3)]
    >>> union = EncoderUnion([
    ...     ("shape", BagOfWords(KMeansCodebook(4, random_state=0), 1)),
    ...     ("color", BagOfWords(KMeansCodebook(3, random_state=0), 1)),
    ... ])
    >>> union.fit_transform([shapes, colors]).sum(axis=1).round(3).tolist()
    [2.0, 2.0]
    >>> union.get_feature_names_out()[-1]
    'color_level0_window0_word2'
    """

    def __init__(
        self,
        encoders: Sequence[tuple[str, Any]],
        weights: Sequence[float] | None = None,
        *,
        degree: int = 1,
    ):
        self.encoders = encoders
        self.weights = weights
        self.degree = degree

    def fit(self, X: Any, y: Any = None, *, progress: Progress | None = None) -> "EncoderUnion":
        """Learn all encoders.

        Parameters
        ----------
        X : sequence of what each encoder learns from, one an encoder
        y : sequence of one label an image, optional
        progress : Progress, optional
        """
        self.fit_transform(X, y, progress=progress)
        return self

    def fit_transform(self, X: Any, y: Any = None, *, progress: Progress | None = None) -> Any:
        """Learn all encoders and return the columns of the training images."""
        self._check(X)
        self.encoders_ = [
            clone(encoder).fit(part, y, progress=progress)
            for (_, encoder), part in zip(self.encoders, X)
        ]
        parts = [encoder.transform(part) for encoder, part in zip(self.encoders_, X)]
        weights = np.ones(len(parts)) if self.weights is None else np.asarray(self.weights, float)
        selves = np.array([_mean_self_similarity(part, self.degree) for part in parts])
        self.factors_ = ((weights / selves) ** (1 / self.degree)).astype(np.float32)
        return self._join(parts)

    def transform(self, X: Any) -> Any:
        """Return the columns of all encoders, array or CSR matrix of float32.

        Parameters
        ----------
        X : sequence of what each encoder takes, one an encoder
        """
        check_is_fitted(self, "factors_")
        self._check(X)
        return self._join([encoder.transform(part) for encoder, part in zip(self.encoders_, X)])

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Name the columns: the encoder's name, then its own."""
        check_is_fitted(self, "factors_")
        return np.array(
            [
                f"{name}_{column}"
                for (name, _), encoder in zip(self.encoders, self.encoders_)
                for column in encoder.get_feature_names_out()
            ],
            dtype=object,
        )

    def get_state(self) -> dict[str, np.ndarray]:
        """Return everything learned, as arrays that ``numpy.save`` keeps without pickle."""
        check_is_fitted(self, "factors_")
        state = {"factors": self.factors_}
        for i, encoder in enumerate(self.encoders_):
            state.update({f"encoder{i}_{k}": v for k, v in encoder.get_state().items()})
        return state

    def set_state(self, state: dict[str, np.ndarray]) -> "EncoderUnion":
        """Become the union, of the same parameters, whose :meth:`get_state` this is."""
        self.factors_ = np.asarray(state["factors"], np.float32)
        self.encoders_ = []
        for i, (_, encoder) in enumerate(self.encoders):
            prefix = f"encoder{i}_"
            mine = {k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)}
            self.encoders_.append(clone(encoder).set_state(mine))
        return self

    def _join(self, parts: list[Any]) -> Any:
        scaled = [part * factor for part, factor in zip(parts, self.factors_)]
        if all(sparse.issparse(part) for part in parts):
            return sparse.hstack(scaled, format="csr", dtype=np.float32)
        dense = [part.toarray() if sparse.issparse(part) else part for part in scaled]
        return np.concatenate(dense, axis=1).astype(np.float32, copy=False)

    def _check(self, X: Any) -> None:
        if self.degree not in (1, 2):
            raise ValueError(f"degree={self.degree!r}; there are 1 and 2")
        if len(X) != len(self.encoders):
            raise ValueError(f"{len(X)} kinds of features for {len(self.encoders)} encoders")
        if self.weights is not None and (
            len(self.weights) != len(self.encoders) or not np.all(np.asarray(self.weights) > 0)
        ):
            raise ValueError(
                f"weights={self.weights!r}; needed is a positive number for each of "
                f"{len(self.encoders)} encoders"
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        return tags


def _mean_self_similarity(rows: Any, degree: int) -> float:
    """Mean of Σ|x| or Σx² over the rows; 1 where there is nothing."""
    values = rows.data if sparse.issparse(rows) else rows
    total = float((np.abs(values) ** degree).sum(dtype=np.float64))
    return total / rows.shape[0] if total > 0 else 1.0
