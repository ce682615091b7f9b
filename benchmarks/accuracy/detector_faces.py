"""The same detector for another class: faces, from 100 crops that come with scikit-image.

    python -m benchmarks.accuracy.detector_faces [picture.png]

The crops are 25×25 pixels, half of the set ``lfw_subset``; the photographs without faces are
pictures that come with scikit-image. It is then shown the astronaut.
"""

import os
import sys

import cv2
import numpy as np
from skimage.data import data_dir, lfw_subset

from visualwords import PedestrianDetector
from visualwords.apps.detection.drawn_boxes import draw_detections
from visualwords.files import write_atomically
from visualwords.images import encode_image, read_image

PHOTOGRAPHS = ["brick", "chelsea", "coffee", "coins", "grass", "gravel", "motorcycle_left", "page"]


def main() -> None:
    faces = (lfw_subset()[:100] * 255).astype(np.uint8)
    crops = [cv2.resize(face, (64, 64), interpolation=cv2.INTER_CUBIC) for face in faces]
    photographs = [os.path.join(data_dir, f"{name}.png") for name in PHOTOGRAPHS]
    detector = PedestrianDetector(
        window=(64, 64),
        object_share=(1.0, 1.0),
        min_height=64,
        threshold=0.4,
        training_enlargement=1.0,
    ).fit(crops, photographs)
    image = read_image(os.path.join(data_dir, "astronaut.png"))
    boxes, confidences = detector.detect(image)
    for box, confidence in zip(boxes.round().astype(int).tolist(), confidences):
        print(f"face at {box}, confidence {confidence:.0%}")
    if len(sys.argv) > 1:
        picture = draw_detections(image, boxes, confidences)
        write_atomically(sys.argv[1], encode_image(picture))


if __name__ == "__main__":
    main()
