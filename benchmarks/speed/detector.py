"""The shipped detector against OpenCV 4's HOGDescriptor, both with their defaults, CPU time.

OpenCV 5 has no HOGDescriptor in its default build, so this needs an environment of its own:

    python -m venv cv4
    cv4/bin/pip install . 'opencv-python-headless<5'
    cv4/bin/python -m benchmarks.speed.detector

Both sides search one 640×480 image in one thread: ours with stride 8 and scales 1.15 apart for
people from 64 pixels, OpenCV's with stride 8 and scales 1.05 apart for people from 96 pixels.
"""

# isort: off
from benchmarks.timing import Table, best_cpu_seconds
# isort: on

import cv2
import numpy as np

from benchmarks.data import DATA
from visualwords import PedestrianDetector
from visualwords.images import read_image

SCENES = DATA / "pedestrian" / "test" / "scenes"
BAR = 2.0


def main() -> None:
    if not SCENES.exists():
        raise SystemExit(f"{SCENES}: this needs the INRIA person data")
    cv2.setNumThreads(1)
    path = sorted(SCENES.glob("*.jpg"))[1]
    image = np.ascontiguousarray(cv2.resize(read_image(path), (640, 480)))
    hog = cv2.HOGDescriptor()
    hog.setSVMDetector(cv2.HOGDescriptor_getDefaultPeopleDetector())
    detector = PedestrianDetector.load()
    table = Table(f"640×480, both as they come, OpenCV {cv2.__version__}")
    peer = best_cpu_seconds(lambda: hog.detectMultiScale(image))
    ours = best_cpu_seconds(lambda: detector.detect(image, order="rgb"))
    table.add("shipped detector | OpenCV", ours, peer, BAR)


if __name__ == "__main__":
    main()
