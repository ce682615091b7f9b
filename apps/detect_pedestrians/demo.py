"""detect-pedestrians demo"""

import os
from typing import TYPE_CHECKING, Any

import click

from visualwords.apps.detect_pedestrians import options

if TYPE_CHECKING:
    import numpy as np


@click.command()
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False),
    default="pedestrian-demo",
    show_default=True,
    metavar="DIR",
    help="Output folder for the pictures.",
)
@options.model
def demo(output: str, model: str) -> int:
    """Run the detector on a picture that ships with the dependencies; nothing is downloaded.

    Writes the picture with its detections, the scores of all windows at several scales, the
    windows that passed each stage of the cascade, and the evidence inside the best window.
    """
    from visualwords.apps.command_line.terminal import note
    from visualwords.apps.detection.demo_picture import demo_picture
    from visualwords.apps.detection.drawn_boxes import (
        draw_detections,
        draw_evidence,
        draw_score_maps,
        draw_survivors,
    )

    detector = options.load_detector(model)
    os.makedirs(output, exist_ok=True)
    image = demo_picture()
    trace: list[tuple[Any, list[Any]]] = []
    boxes, confidences = detector.detect(image, trace=trace)
    search = detector.search
    _write(output, "detections.png", draw_detections(image, boxes, confidences))
    _write(output, "score-maps.png", draw_score_maps(image, trace, search))
    _write(output, "survivors.png", draw_survivors(image, trace, search))
    for box, confidence in zip(boxes.round().astype(int).tolist(), confidences):
        print(f"found at {box}, confidence {confidence:.0%}")
    if len(boxes):
        _write(output, "evidence.png", draw_evidence(detector.explain(image, boxes[0])))
    note(f"{output}: {len(os.listdir(output))} pictures written")
    return 0


def _write(folder: str, name: str, picture: "np.ndarray") -> None:
    from visualwords.files import write_atomically
    from visualwords.images import encode_image

    write_atomically(os.path.join(folder, name), encode_image(picture), durable=False)
