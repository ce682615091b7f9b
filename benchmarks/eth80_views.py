"""The ETH-80 images of the pyramid match paper: five widely separated views of every object."""

import re

import numpy as np
from timing import DATA

from visualwords.images import read_image

VIEWS = ("090-000", "090-090", "090-180", "090-270", "000-000")  # four sides, and from above


def five_views() -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Return 400 grey images, their classes, and the object that each shows."""
    images, classes, objects = [], [], []
    for path in sorted((DATA / "eth80").glob("*/*.jpg")):
        kind, number, view = re.fullmatch(r"([a-z]+)(\d+)-(\d+-\d+)", path.stem).groups()
        if view in VIEWS:
            images.append(read_image(path, mode="grey"))
            classes.append(kind)
            objects.append(f"{kind}{number}")
    return images, np.array(classes), np.array(objects)


def places_in_class(classes: np.ndarray, objects: np.ndarray) -> np.ndarray:
    """Return 0 … 9: the place of every image's object among those of its class."""
    places = np.empty(len(objects), int)
    for kind in np.unique(classes):
        own = classes == kind
        places[own] = np.unique(objects[own], return_inverse=True)[1]
    return places
