"""The pictures of the tutorials, written by the commands that the tutorials show.

python -m benchmarks.figures.tutorial_pictures docs/images
"""

import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image

from tests.documents import TUTORIALS
from tests.walk_documents import Walk

WIDTH = 900  # pixels at most
PICTURES = {  # tutorial → the file that one of its parts writes
    "cells": "counted.jpg",
    "defects": "why.png",
    "detector": "found/new.png",
    "photographs": "why.png",
    "compare": "compare.svg",
}


def keep(picture: Path, target: Path) -> None:
    """Copy a drawing or JPEG; shrink a picture and keep 128 of its colours."""
    if picture.suffix != ".png":
        shutil.copy(picture, target)
        return
    image = Image.open(picture).convert("RGB")
    image.thumbnail((WIDTH, WIDTH))
    image.quantize(128).save(target, optimize=True)


def main():
    folder = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as place:
        walk = Walk(Path(place))
        walk.activate(Path(sys.executable).parent.parent)
        for name, picture in PICTURES.items():
            walk.page(TUTORIALS / f"{name}.md")
            target = folder / f"tutorial-{name}{Path(picture).suffix}"
            keep(Path(place, name, picture), target)
            print(target, target.stat().st_size // 1000, "kB")
    return 1 if walk.failures else 0


if __name__ == "__main__":
    sys.exit(main())
