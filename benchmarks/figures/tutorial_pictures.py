"""The pictures of the tutorials, written by the commands that the tutorials show.

python -m benchmarks.figures.tutorial_pictures docs/images
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

from tests.documents import NOT_RUN, TUTORIALS, parts

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


def run_page(page: Path, folder: Path) -> None:
    """Run a tutorial in a folder; a block of Python begins with those above it."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "XDG_CACHE_HOME": str(folder / "cache")}
    code = ""
    for step in parts(page):
        if step.kind == "python":
            code += step.command
            command = [sys.executable, "-c", code]
        else:
            command = ["bash", "-c", step.command]
        if not step.is_in(NOT_RUN):
            subprocess.run(command, cwd=folder, env=environment, check=True)


def main():
    folder = Path(sys.argv[1])
    for name, picture in PICTURES.items():
        with tempfile.TemporaryDirectory() as place:
            run_page(TUTORIALS / f"{name}.md", Path(place))
            target = folder / f"tutorial-{name}{Path(picture).suffix}"
            keep(Path(place, picture), target)
            print(target, target.stat().st_size // 1000, "kB")


if __name__ == "__main__":
    main()
