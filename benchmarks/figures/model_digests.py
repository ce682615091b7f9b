"""SHA-256 of the model file of every recipe, trained on the demo's tiles: equal before and after a
change that is to leave models alone. Files name versions of libraries: compare on one machine.

    python -m benchmarks.figures.model_digests [NAME …] > before.txt
"""

import argparse
import hashlib
import os
import tempfile
from pathlib import Path

from visualwords.apps.classify_images.demo_images import write_demo
from visualwords.apps.classify_images.main import main
from visualwords.apps.pipeline.recipes import RECIPES


def figures(names: list[str]) -> None:
    """Train recipes, and print the digests of their model files."""
    os.environ["SOURCE_DATE_EPOCH"] = "0"
    with tempfile.TemporaryDirectory() as folder:
        tiles = Path(write_demo("tiles", f"{folder}/tiles"), "train")
        for name in names:
            model = Path(folder, "m.vw")
            flags = ["--recipe", name, "--cache", f"{folder}/cache", "--jobs", "1", "--quiet"]
            if main(["train", str(tiles), "-o", str(model), *flags]):
                raise SystemExit(f"{name}: no model")
            print(hashlib.sha256(model.read_bytes()).hexdigest(), name, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(RECIPES), metavar="NAME")
    figures(parser.parse_args().names)
