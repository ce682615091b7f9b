"""The descriptors of patches: of one image, and of many images in one ragged set."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

__all__ = ["LocalFeatureSets", "LocalFeatures"]


@dataclass(frozen=True)
class LocalFeatures:
    """The local features of one image; there may be none.

    Attributes
    ----------
    descriptors : (n, d) array
        uint8 for SIFT and small counts, uint16 for larger counts, else float32.
    positions : (n, 2) float32
        Centre (x, y) of each patch in the image's unit square: x = 0 is the left edge of the
        leftmost pixel, x = 1 the right edge of the rightmost; y likewise, downwards.
    sizes : (n,) float32
        Side of each patch in pixels of the image.

    Examples
    --------
    >>> import numpy as np
    >>> one = LocalFeatures(np.zeros((2, 4)), np.full((2, 2), 0.5), np.full(2, 16.0))
    >>> len(one)
    2
    """

    descriptors: np.ndarray
    positions: np.ndarray
    sizes: np.ndarray

    def __post_init__(self) -> None:
        n = len(self.descriptors)
        if self.descriptors.ndim != 2 or self.positions.shape != (n, 2) or self.sizes.shape != (n,):
            raise ValueError(
                f"shapes {self.descriptors.shape}, {self.positions.shape}, {self.sizes.shape} of "
                "descriptors, positions and sizes do not belong together; (n, d), (n, 2), (n,) do"
            )

    def __repr__(self) -> str:
        n, d = self.descriptors.shape
        return f"<LocalFeatures: {n} descriptors of {d} {self.descriptors.dtype}>"

    def __len__(self) -> int:
        return len(self.descriptors)


@dataclass(frozen=True)
class LocalFeatureSets:
    """The local features of many images: concatenated arrays, and where each image begins.

    Attributes
    ----------
    descriptors, positions, sizes : arrays of ``offsets[-1]`` rows
        As in :class:`LocalFeatures`, image after image.
    offsets : (n_images + 1,) int64
        Image i owns the rows ``offsets[i]:offsets[i + 1]``.

    Examples
    --------
    >>> import numpy as np
    >>> one = LocalFeatures(np.ones((2, 4)), np.full((2, 2), 0.5), np.full(2, 16.0))
    >>> none = LocalFeatures(np.ones((0, 4)), np.ones((0, 2)), np.ones(0))
    >>> sets = LocalFeatureSets.concatenate([one, none, one])
    >>> sets.offsets.tolist(), len(sets), [len(s) for s in sets]
    ([0, 2, 2, 4], 3, [2, 0, 2])
    >>> len(sets[1:]), len(sets[[0, 2, 0]]), len(sets[-1])
    (2, 3, 2)
    """

    descriptors: np.ndarray
    positions: np.ndarray
    sizes: np.ndarray
    offsets: np.ndarray

    def __repr__(self) -> str:
        n, d = self.descriptors.shape
        kind = self.descriptors.dtype
        return f"<LocalFeatureSets: {len(self)} images, {n} descriptors of {d} {kind}>"

    @classmethod
    def concatenate(cls, features: Iterable[LocalFeatures]) -> "LocalFeatureSets":
        """Join the features of many images, in their order."""
        images = list(features)
        if not images:
            nothing = np.zeros((0, 2), np.float32)
            return cls(nothing[:, :0], nothing, nothing[:, 0], np.zeros(1, np.int64))
        offsets = np.zeros(len(images) + 1, np.int64)
        np.cumsum([len(one) for one in images], out=offsets[1:])
        if len(images) == 1:  # nothing to copy
            one = images[0]
            return cls(one.descriptors, one.positions, one.sizes, offsets)
        return cls(
            np.concatenate([one.descriptors for one in images]),
            np.concatenate([one.positions for one in images]),
            np.concatenate([one.sizes for one in images]),
            offsets,
        )

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: int | np.integer) -> LocalFeatures: ...
    @overload
    def __getitem__(self, index: slice | Sequence[Any] | np.ndarray) -> "LocalFeatureSets": ...
    def __getitem__(self, index: Any) -> "LocalFeatures | LocalFeatureSets":
        """Return the features of one image, or of several chosen like elements of an array."""
        if isinstance(index, int | np.integer):
            n = len(self)
            if not -n <= index < n:
                raise IndexError(f"image {index} of {n}")
            rows: Any = slice(self.offsets[index % n], self.offsets[index % n + 1])
            return LocalFeatures(self.descriptors[rows], self.positions[rows], self.sizes[rows])
        chosen = np.arange(len(self))[index]
        sizes = np.diff(self.offsets)[chosen]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        if isinstance(index, slice) and index.step in (None, 1):
            begin = self.offsets[chosen[0]] if len(chosen) else 0
            rows = slice(begin, begin + offsets[-1])
        else:
            rows = np.repeat(self.offsets[chosen] - offsets[:-1], sizes) + np.arange(offsets[-1])
        return LocalFeatureSets(
            self.descriptors[rows], self.positions[rows], self.sizes[rows], offsets
        )

    @property
    def shape(self) -> tuple[int]:
        """Number of images, as scikit-learn's splitters ask for it."""
        return (len(self),)

    def __iter__(self) -> Iterator[LocalFeatures]:
        return (self[i] for i in range(len(self)))
