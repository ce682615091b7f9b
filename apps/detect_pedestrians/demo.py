"""detect-pedestrians demo"""

import os

import click

from visualwords.apps.command_line.verb import FOLDER, flag
from visualwords.apps.detect_pedestrians import options


@click.command()
@flag("-o --output DIR", "Output folder for the pictures.", FOLDER, default="pedestrian-demo")
@options.model
def demo(output: str, model: str) -> int:
    """Run the detector on a street drawn in code, offline; write it without and with detections."""
    from visualwords.apps.command_line.terminal import note
    from visualwords.apps.detection.demo_picture import demo_picture
    from visualwords.apps.detection.drawn_boxes import draw_detections
    from visualwords.files import write_atomically
    from visualwords.images import encode_image

    detector, image = options.load_detector(model), demo_picture()
    boxes, confidences = detector.detect(image, order="rgb")
    os.makedirs(output, exist_ok=True)
    pictures = {"street.png": image, "detections.png": draw_detections(image, boxes, confidences)}
    for name, picture in pictures.items():
        write_atomically(os.path.join(output, name), encode_image(picture), durable=False)
    for box, confidence in zip(boxes.round().astype(int).tolist(), confidences):
        print(f"found at {box}, confidence {confidence:.0%}")
    note(f"{output}: {len(pictures)} pictures written")
    return 0
