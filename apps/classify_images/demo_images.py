"""classify-images demo, and its images, bundled with the dependencies: nothing is downloaded.

Pictures bundled with scikit-image are cut into tiles. Training tiles come from the left part of a
picture and test tiles from the right part, with a gap of half a tile between them, so that no
pixel is in both. scikit-learn's handwritten digits are split at random.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from visualwords.apps.classify_images.evaluate import run_test, show_trial
from visualwords.apps.classify_images.options import Reading
from visualwords.apps.classify_images.train import fit
from visualwords.apps.command_line.terminal import note, typed
from visualwords.apps.command_line.verb import flag

if TYPE_CHECKING:
    import numpy as np

DEMOS = {
    "tiles": "pieces of scikit-image's pictures",
    "digits": "scikit-learn's handwritten digits",
}
BUDGET = 2.0  # seconds of planned search: a demo must be quick
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

Labelled = tuple[list["np.ndarray"], list[str]]


class Demo(Reading):
    """Train, test and report on images that ship with the dependencies.

    The images are tiles of six pictures bundled with scikit-image, training and test tiles from
    disjoint regions, and scikit-learn's handwritten digits. Nothing is downloaded.

    Parameters
    ----------
    output
        Output folder for images, models and reports.
    """

    output: str = flag("-o --output DIR", default="visualwords-demo")
    cache_dir, cache_size, no_cache, max_pixels = None, 0, True, 1_000_000
    scheduler, strict, as_json = None, True, False

    def run(self) -> int:
        """Write the images, and do with them what a user does."""
        from visualwords import ImageClassifier
        from visualwords.folders import ImageFolder
        from visualwords.progress import StageTimes

        for name, summary in DEMOS.items():
            self.times, place = StageTimes(), os.path.join(self.output, name)
            images = ImageFolder(write_demo(name, place))
            training, testing = images.part("train"), images.part("test")
            classes = len(training.classes)
            note(f"{name}: {summary}; {len(training)} training images, {classes} classes")
            model = ImageClassifier(budget=BUDGET, thumbnails=True, **self.resources)
            fit(self, model, training)
            model.save(f"{place}.vw")
            trial = run_test(self, model, testing)
            show_trial(self, model, trial, f"{name}: {summary}", f"{place}.html", {})
            note("")
        tiles, program = os.path.join(self.output, "tiles"), "classify-images"
        bricks, own = os.path.join(tiles, "test", "brick"), ("PHOTOS", "-o", "photos.vw")
        for what, line in (  # as this user can type them
            ("Open the report", f"{tiles}.html"),
            ("Predict", typed(program, "predict", f"{tiles}.vw", bricks)),
            ("See why", typed(program, "serve", f"{tiles}.vw")),
            ("Correct and add", typed(program, "studio", os.path.join(tiles, "train"), "--open")),
            ("Your own images", typed(program, "train", *own, "--test-size", "0.2")),
        ):
            note(f"{what + ':':20}{line}")
        note(f"{'':20}(PHOTOS holds one folder of images for each class)")
        return 0


def write_demo(name: str, folder: str | os.PathLike[str]) -> Path:
    """Write the images of a demo as PNG files, ``folder/{train,test}/label/number.png``."""
    from visualwords.files import write_atomically
    from visualwords.images import encode_image

    for part in ("train", "test"):
        images, labels = texture_tiles(part) if name == "tiles" else digits(part)
        for number, (image, label) in enumerate(zip(images, labels)):
            target = Path(folder, part, label, f"{number:03}.png")
            target.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(target, encode_image(image), durable=False)
    return Path(folder)


def texture_tiles(part: str) -> Labelled:
    """The tiles of the ``"train"`` or ``"test"`` part and their labels."""
    import skimage

    from visualwords.images import read_image

    tiles: list[np.ndarray] = []
    labels: list[str] = []
    border = int(SIDE * TRAIN_SHARE)
    start, stop = (0, border) if part == "train" else (border + TILE // 2, SIDE)
    for label, name in PICTURES.items():
        picture = read_image(Path(skimage.__file__).with_name("data") / name)
        for y in range(0, SIDE - TILE + 1, TILE):
            for x in range(start, stop - TILE + 1, TILE):
                tiles.append(picture[y : y + TILE, x : x + TILE])
                labels.append(label)
    return tiles, labels


def digits(part: str) -> Labelled:
    """Half of scikit-learn's digits, 8×8 pixels of 0 to 16, as white on black 64×64."""
    import cv2
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    data = load_digits()
    halves = train_test_split(
        data.images, data.target, test_size=0.5, random_state=0, stratify=data.target
    )
    images, labels = halves[0::2] if part == "train" else halves[1::2]
    pixels = (images * (255 / 16)).astype("uint8")
    tiles = [cv2.resize(image, (TILE, TILE), interpolation=cv2.INTER_CUBIC) for image in pixels]
    return tiles, labels.astype(str).tolist()
