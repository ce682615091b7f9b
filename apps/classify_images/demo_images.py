"""The images of the demo, bundled with the dependencies: nothing is downloaded.

Pictures bundled with scikit-image are cut into tiles. Training tiles come from the left part of a
picture and test tiles from the right part, with a gap of half a tile between them, so that no
pixel is in both. scikit-learn's handwritten digits are split at random.
"""

import os
from pathlib import Path

import cv2
import numpy as np

from visualwords.files import write_atomically
from visualwords.images import encode_image, read_image

DEMOS = {
    "tiles": "pieces of scikit-image's pictures",
    "digits": "scikit-learn's handwritten digits",
}
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

Labelled = tuple[list[np.ndarray], list[str]]


def write_demo(name: str, folder: str | os.PathLike[str]) -> Path:
    """Write the images of a demo as PNG files, ``folder/{train,test}/label/number.png``."""
    for part in ("train", "test"):
        images, labels = texture_tiles(part) if name == "tiles" else digits(part)
        for number, (image, label) in enumerate(zip(images, labels)):
            target = Path(folder, part, label, f"{number:03}.png")
            target.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(target, encode_image(image), durable=False)
    return Path(folder)


def texture_tiles(part: str) -> Labelled:
    """Return the tiles of the ``"train"`` or ``"test"`` part and their labels."""
    tiles: list[np.ndarray] = []
    labels: list[str] = []
    for label, name in PICTURES.items():
        found = _cut(_picture(name), part)
        tiles += found
        labels += [label] * len(found)
    return tiles, labels


def digits(part: str) -> Labelled:
    """Return half of scikit-learn's digits, 8×8 pixels of 0 to 16, as white on black 64×64."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    data = load_digits()
    halves = train_test_split(
        data.images, data.target, test_size=0.5, random_state=0, stratify=data.target
    )
    images, labels = halves[0::2] if part == "train" else halves[1::2]
    pixels = (images * (255 / 16)).astype(np.uint8)
    return (
        [cv2.resize(image, (TILE, TILE), interpolation=cv2.INTER_CUBIC) for image in pixels],
        labels.astype(str).tolist(),
    )


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
