"""What results show of themselves in a notebook, for docs/gallery, from the demo's pictures.

python -m benchmarks.figures.notebook_gallery docs/gallery
"""

import io
import sys
import tempfile
from pathlib import Path

from PIL import Image

from visualwords import ImageClassifier, PedestrianDetector, compare
from visualwords.apps.classify_images.demo_images import texture_tiles, write_demo
from visualwords.apps.detection.drawing import demo_picture
from visualwords.apps.evaluation.trial import run_trial
from visualwords.files import write_atomically
from visualwords.folders import ImageFolder

COLOURS = 96  # of a picture


def main() -> None:
    folder = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as place:
        tiles = write_demo("tiles", place)
        model = ImageClassifier("words").fit(tiles / "train")
        shown = {
            "classifier": model,
            "evaluation": run_trial(model, ImageFolder(tiles / "test")).evaluation,
            "comparison": compare(tiles / "train", ["tiny", "fast", "words"], folds=3),
        }
        for name, result in shown.items():
            write_atomically(folder / f"{name}.html", result._repr_html_().encode())
    drawn = {
        "explanation": model.explain(texture_tiles("test")[0][20]),
        "detection": PedestrianDetector.load().detect(demo_picture(), order="rgb"),
    }
    for name, result in drawn.items():
        picture = Image.open(io.BytesIO(result._repr_png_())).convert("RGB")
        picture.quantize(COLOURS).save(folder / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main()
