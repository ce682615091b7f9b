"""detect-pedestrians demo"""

import os

from visualwords.apps.command_line.options import flag
from visualwords.apps.command_line.verb import Work
from visualwords.apps.detect_pedestrians import options


class Demo(Work):
    """Run the detector on a street drawn in code, offline; write it without and with detections."""

    output: str = flag(
        "-o --output DIR", "Output folder for the pictures.", default="pedestrian-demo"
    )
    model: str = options.model

    def run(self) -> int:
        """Detect people, and write both pictures."""
        from visualwords.apps.command_line.terminal import note
        from visualwords.apps.detection.drawing import demo_picture, draw_detections
        from visualwords.files import write_atomically
        from visualwords.images import encode_image

        image = demo_picture()
        boxes, confidences = options.load_detector(self.model).detect(image, order="rgb")
        os.makedirs(self.output, exist_ok=True)
        drawn = draw_detections(image, boxes, confidences)
        for name, picture in {"street.png": image, "detections.png": drawn}.items():
            path = os.path.join(self.output, name)
            write_atomically(path, encode_image(picture), durable=False)
        for box, confidence in zip(boxes.round().astype(int).tolist(), confidences):
            print(f"found at {box}, confidence {confidence:.0%}")
        note(f"{self.output}: 2 pictures written")
        return 0


demo = Demo.command()
