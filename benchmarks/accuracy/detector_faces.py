"""The same detector for another class: faces of Caltech-101, from 15 photographs with boxes.

    python -m benchmarks.accuracy.detector_faces [picture.png]

Trains on the photographs of the class Faces and the boxes of ``face_boxes_train.csv``, which were
marked by hand, with the 15 training images of BACKGROUND_Google as photographs without faces.
Evaluates on the 12 test photographs of each. Some people are in both parts. Everything is done by
the command, as a user would.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from benchmarks.data import DATA
from visualwords import load
from visualwords.apps.detect_pedestrians.main import main as detect_pedestrians
from visualwords.apps.detection.drawing import draw_detections
from visualwords.files import write_atomically
from visualwords.images import encode_image, read_image

HERE = Path(__file__).parent
CALTECH = DATA / "caltech101"


def run(*words: object) -> None:
    """Show a command and run it."""
    print("$ detect-pedestrians", *words, flush=True)
    detect_pedestrians([str(word) for word in words])


def main() -> None:
    with tempfile.TemporaryDirectory() as made:
        model, scenes = Path(made) / "faces.vw", Path(made) / "scenes"
        boxes = HERE / "face_boxes_train.csv"
        others = CALTECH / "train" / "BACKGROUND_Google"
        photographs = CALTECH / "train" / "Faces"
        run("train", photographs, others, "--annotations", boxes, "-o", model, "--quiet")
        scenes.mkdir()
        for folder in ("Faces", "BACKGROUND_Google"):
            for path in (CALTECH / "test" / folder).iterdir():
                prefix = "" if folder == "Faces" else "background_"
                shutil.copy(path, scenes / f"{prefix}{path.name}")
        boxes = HERE / "face_boxes_test.csv"
        run("evaluate", scenes, "--annotations", boxes, "--model", model, "--quiet")
        if len(sys.argv) > 1:
            image = read_image(scenes / "image_0168.jpg")
            picture = draw_detections(image, *load(model).detect(image))
            write_atomically(sys.argv[1], encode_image(picture))


if __name__ == "__main__":
    main()
