"""Detection in single image files, in threads or on the workers of a cluster."""

import copy
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from visualwords.apps.cluster.connection import check_seen
from visualwords.apps.detection.detector import PedestrianDetector
from visualwords.apps.detection.drawn_boxes import draw_detections
from visualwords.errors import ImageError, Skipped
from visualwords.images import read_image
from visualwords.parallel import map_on_workers, workers_share_memory

__all__ = ["Found", "search_files", "search_image", "with_threads"]

CHUNK = 8  # paths sent together to another machine


@dataclass(frozen=True)
class Found:
    """Detections in one image.

    Attributes
    ----------
    boxes : (n, 4) float64
    confidences : (n,) float64
    picture : (h, w, 3) uint8 or None
        The image with the boxes drawn, if requested.
    shape : (height, width) of the image
    tracks : (n,) int64 or None
        Numbers of the objects, if they are followed; 0 for those without one.
    """

    boxes: np.ndarray
    confidences: np.ndarray
    picture: np.ndarray | None
    shape: tuple[int, ...]
    tracks: np.ndarray | None = None


def search_files(
    detector: PedestrianDetector, paths: Sequence[str], draw: bool, n_jobs: int | None
) -> Iterator[Found | Skipped]:
    """Yield the detections of every image file, in order; why it is skipped if unreadable.

    Threads search one file each, or the scales of a single one. Workers of a cluster get paths in
    chunks and return boxes; pictures are then drawn here.
    """
    here = workers_share_memory()
    size = 1 if here else CHUNK
    absolute = [os.path.abspath(path) for path in paths]
    chunks = ((absolute[i : i + size],) for i in range(0, len(paths), size))
    if here and len(paths) == 1:
        detector = with_threads(detector, n_jobs)
    shared = [detector, draw and here]
    found = chain.from_iterable(map_on_workers(_search_chunk, chunks, shared=shared, n_jobs=n_jobs))
    for path, answer in zip(paths, found, strict=True):  # workers warn of an end unseen
        if isinstance(answer, Skipped):
            answer = replace(answer, source=path)
            check_seen([answer])
        elif draw and not here:
            answer = _drawn(answer, path)
        yield answer


def with_threads(detector: PedestrianDetector, n_jobs: int | None) -> PedestrianDetector:
    """Return the detector with threads for the scales of an image."""
    return copy.copy(detector).set_params(n_jobs=n_jobs)


def _search_chunk(
    detector: PedestrianDetector, draw: bool, paths: Sequence[str]
) -> list[Found | Skipped]:
    answers: list[Found | Skipped] = []
    for path in paths:
        try:
            answers.append(search_image(detector, read_image(path), draw))
        except ImageError as problem:
            answers.append(Skipped.of(path, problem))
    return answers


def _drawn(found: Found, path: str) -> Found | Skipped:
    """Add the picture to detections of another machine."""
    try:
        picture = draw_detections(read_image(path), found.boxes, found.confidences)
    except ImageError as problem:
        return Skipped.of(path, problem)
    return replace(found, picture=picture)


def search_image(detector: PedestrianDetector, image: np.ndarray, draw: bool) -> Found:
    """Search an image and draw the detections."""
    boxes, confidences = detector.detect(image)
    picture = draw_detections(image, boxes, confidences) if draw else None
    return Found(boxes, confidences, picture, image.shape[:2])
