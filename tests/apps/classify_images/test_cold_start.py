"""Predicting in a new process imports and compiles only what labels need."""

import json
import subprocess
import sys

import pytest

from tests.apps.conftest import write_png
from visualwords import ImageClassifier
from visualwords.apps.classify_images.demo_images import texture_tiles

PREDICT = """
import json, sys
from numba.core.event import install_recorder
from visualwords.apps.classify_images.main import main
with install_recorder("numba:compile") as compiled:
    code = main(["predict", *sys.argv[1:], "--json"])
names = sorted({".".join(name.split(".")[:2]) for name in sys.modules})
json.dump([code, names, len(compiled.buffer)], sys.stderr)
"""
NEVER = {"sklearn", "joblib", *(f"scipy.{part}" for part in ("stats", "optimize", "special"))}


@pytest.mark.parametrize("recipe", ["tiny", "words", "fisher"])
def test_predicting_an_image_needs_no_scikit_learn_and_compiles_nothing(recipe, tmp_path):
    tiles, labels = texture_tiles("train")
    model = ImageClassifier(recipe).fit(tiles, labels)
    model.save(tmp_path / "model.vw")
    image = write_png(tmp_path / "image.png", tiles[0])
    label = model.predict(image)
    command = [sys.executable, "-c", PREDICT, tmp_path / "model.vw", image]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    code, modules, n_compiled = json.loads(result.stderr)
    assert (code, NEVER & set(modules), n_compiled) == (0, set(), 0)
    assert json.loads(result.stdout)["predictions"][0]["label"] == label
