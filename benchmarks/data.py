"""Where the benchmarks find their images and keep what takes long to compute."""

import os
import tempfile
from pathlib import Path

from visualwords.folders import ImageFolder

DATA = Path(
    os.environ.get("VISUALWORDS_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")
)
KEPT = Path(tempfile.gettempdir()) / "visualwords-benchmarks"


def image_folder(name: str) -> ImageFolder:
    """The images of a data set or task; caltech101 without its clutter, which is no class."""
    task = DATA / "tasks" / name / "table.csv"
    folder = ImageFolder(task if task.exists() else DATA / name)
    return folder.select(i for i, x in enumerate(folder.labels) if x != "BACKGROUND_Google")
