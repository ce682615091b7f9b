"""Real images that come with the dependencies, for the demo: nothing is downloaded.

Textures and photographs bundled with scikit-image are cut into tiles. Training tiles come from
the left part of a picture and test tiles from the right part, with a gap of one tile's half
between them, so that no pixel is in both.
"""

import os
from pathlib import Path

import cv2
import numpy as np

from visualwords.files import write_atomically
from visualwords.images import read_image

TILE = 64
PICTURES = {  # what the tiles show → the picture of scikit-image they are cut from
    "brick": "brick.png",
    "galaxies": "hubble_deep_field.jpg",
    "grass": "grass.png",
    "gravel": "gravel.png",
    "moon": "moon.png",
    "tissue": "ihc.png",
}
SIDE = 512  # pixels of a picture that are used, so that the classes have equally many tiles
TRAIN_SHARE = 0.6  # of a picture's width


def texture_tiles(part: str) -> tuple[list[np.ndarray], list[str]]:
    """Return the tiles of the ``"train"`` or ``"test"`` part and their labels."""
    tiles: list[np.ndarray] = []
    labels: list[str] = []
    for label, name in PICTURES.items():
        found = _cut(_picture(name), part)
        tiles += found
        labels += [label] * len(found)
    return tiles, labels


def write_tiles(folder: str | os.PathLike[str]) -> None:
    """Write all tiles as PNG files, ``folder/{train,test}/label/number.png``."""
    for part in ("train", "test"):
        tiles, labels = texture_tiles(part)
        for number, (tile, label) in enumerate(zip(tiles, labels)):
            target = Path(folder, part, label, f"{number:03}.png")
            target.parent.mkdir(parents=True, exist_ok=True)
            _, png = cv2.imencode(".png", tile[:, :, ::-1])
            write_atomically(target, png.tobytes())


def _picture(name: str) -> np.ndarray:
    import skimage

    return read_image(os.path.join(os.path.dirname(skimage.__file__), "data", name))


def _cut(picture: np.ndarray, part: str) -> list[np.ndarray]:
    border = int(SIDE * TRAIN_SHARE)
    start, stop = (0, border) if part == "train" else (border + TILE // 2, SIDE)
    return [
        picture[y : y + TILE, x : x + TILE]
        for y in range(0, SIDE - TILE + 1, TILE)
        for x in range(start, stop - TILE + 1, TILE)
    ]
