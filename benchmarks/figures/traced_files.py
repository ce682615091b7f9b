"""The way of an image: which of our files are entered, by `train --recipe words` and `predict`.

A file counts once one of its functions or methods is called; importing it does not, nor does what
modules call while they are imported (decorators, tables of names). Compiled kernels are seen where
Python calls them; compiling one, in the first run after a change, enters one more file. Threads are
traced too.

    python benchmarks/figures/traced_files.py            prints both lists, in the order of entry
"""

import argparse
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import visualwords
from visualwords.apps.classify_images.demo_images import write_demo
from visualwords.apps.classify_images.main import main

ROOT = Path(visualwords.__file__).resolve().parent.parent
# They may be part of a module's body; in a function, it was entered before.
COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")


def entered_files(run: Callable[[], Any]) -> list[str]:
    """The files of ours in which functions are called, in the order of the first call."""
    found: dict[str, None] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_code.co_filename
        is_body = frame.f_code.co_flags & 2 == 0  # of a module or a class: no function of its own
        is_body |= frame.f_code.co_name in COMPREHENSIONS
        if event == "call" and not is_body and name not in found and not _is_import(frame):
            found[name] = None

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    ours = (Path(name) for name in found if not name.startswith("<") and name != __file__)
    places = [p.relative_to(ROOT) for p in ours if p.is_relative_to(ROOT)]
    return [str(place) for place in places if not place.parts[0].startswith((".", "env"))]


def _is_import(frame: FrameType | None) -> bool:
    """Whether a call comes from the body of a module that is being imported."""
    while frame is not None and frame.f_code is not entered_files.__code__:
        if frame.f_code.co_name == "<module>":
            return True
        frame = frame.f_back
    return False


def _print(title: str, files: list[str]) -> None:
    print(f"{title}: {len(files)} files")
    for number, name in enumerate(files, start=1):
        print(f"  {number:3} {name}")


def figures() -> None:
    """Trace a training and a prediction on the demo's tiles."""
    with tempfile.TemporaryDirectory() as folder:
        tiles, model = write_demo("tiles", f"{folder}/tiles"), f"{folder}/m.vw"
        image = next(Path(tiles).glob("test/*/*"))
        cache = ["--cache", f"{folder}/cache", "--quiet"]
        train = ["train", str(Path(tiles) / "train"), "-o", model, "--recipe", "words", *cache]
        _print("train --recipe words", entered_files(lambda: main(train)))
        _print("predict", entered_files(lambda: main(["predict", model, str(image), *cache])))


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    figures()
