"""How a recipe looks at an image: at which size, and turned or mirrored."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import cv2
import numpy as np

from visualwords.errors import RecipeError

MIRROR, ROTATIONS = "mirror", "rotations"
VIEWS = (MIRROR, ROTATIONS)
LARGEST_FACTOR = 8  # by which an image is enlarged: a row of few pixels shows nothing more


@dataclass(frozen=True)
class View:
    """Size and orientation of the pixels that extractors see.

    Attributes
    ----------
    max_side : int or None
        Images whose longer side is larger are shrunk to it, by area averaging.
    min_side : int or None
        Images whose longer side is smaller are enlarged to it, by cubic interpolation, at most
        `LARGEST_FACTOR` times.
    turn : int from 0 to 7
        Quarter turns anticlockwise; from 4 on, those of the mirrored image.
    """

    max_side: int | None = None
    min_side: int | None = None
    turn: int = 0

    def of(self, pixels: np.ndarray) -> np.ndarray:
        """An image, which has been shrunk, enlarged and turned."""
        return _turned(self._enlarged(pixels), self.turn)

    def scale(self, longer_side: float) -> float:
        """The factor by which this changes the sides of an image."""
        if self.max_side is not None and longer_side > self.max_side:
            return self.max_side / longer_side
        if self.min_side is not None and longer_side < self.min_side:
            return min(self.min_side / longer_side, LARGEST_FACTOR)
        return 1.0

    def others(self, kinds: Sequence[str]) -> "list[View]":
        """The views that these kinds mean, without the original.

        Examples
        --------
        >>> [view.turn for view in View().others(["mirror"])]
        [4]
        >>> [view.turn for view in View().others(["mirror", "rotations"])]
        [1, 2, 3, 4, 5, 6, 7]
        """
        turns = range(4) if ROTATIONS in kinds else range(1)
        mirrored = (0, 4) if MIRROR in kinds else (0,)
        found = [first + turn for first in mirrored for turn in turns]
        return [replace(self, turn=turn) for turn in found if turn]

    def settings(self) -> dict[str, Any]:
        """The settings that decide the pixels, for keys of the cache."""
        others = {"min_side": self.min_side, "turn": self.turn}
        return {"max_side": self.max_side} | {k: v for k, v in others.items() if v}

    def _enlarged(self, pixels: np.ndarray) -> np.ndarray:
        height, width = pixels.shape[:2]
        scale = self.scale(max(height, width))
        if scale <= 1:
            return pixels
        size_wh = round(width * scale), round(height * scale)
        return cv2.resize(pixels, size_wh, interpolation=cv2.INTER_CUBIC)


def check_views(kinds: Any) -> tuple[str, ...]:
    """The kinds of views that a recipe asks for.

    Raises
    ------
    RecipeError
        If there is no such kind.

    Examples
    --------
    >>> check_views("mirror"), check_views("all"), check_views("none")
    (('mirror',), ('mirror', 'rotations'), ())
    """
    given = [kinds] if isinstance(kinds, str) else kinds
    if given is None or given == ["none"]:
        return ()
    if given == ["all"]:
        return VIEWS
    if not isinstance(given, list | tuple) or any(kind not in VIEWS for kind in given):
        raise RecipeError(
            f'views = {kinds!r} must be "mirror", "rotations", a list of both, "all", or "none"'
        )
    return tuple(kind for kind in VIEWS if kind in given)


def _turned(pixels: np.ndarray, turn: int) -> np.ndarray:
    if not turn:
        return pixels
    return np.ascontiguousarray(np.rot90(pixels[:, ::-1] if turn >= 4 else pixels, turn % 4))
