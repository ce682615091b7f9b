"""Kernels of colour histograms by `classify-images compare`, on the halves of gcs-table2.

Five recipes (`recipes/*.toml`) with the widths and costs that gcs-table2 chose most often in
folds of the training halves; costs there are of Gram matrices with a diagonal of one, those here
are divided by the kernel's own diagonal. Labels here are decided by probability, there by score.

    python -m benchmarks.accuracy.corel1000_kernels
"""

import csv
import json
import tempfile
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split

from benchmarks.data import DATA
from visualwords.apps.classify_images.main import main as classify_images
from visualwords.folders import ImageFolder

PUBLISHED = {"gcs": 12.75, "laplace": 12.99, "polynomial": 13.59, "ngmm": 14.47, "hik": 14.95}
BAR = 0.5  # points
RECIPES = Path(__file__).parent / "recipes"


def halves(folder: ImageFolder, seed: int, path: Path) -> None:
    """Write a table of the images with the split of gcs-table2."""
    rows = np.arange(len(folder.paths))
    train, _ = train_test_split(rows, test_size=0.5, stratify=folder.labels, random_state=seed)
    split = np.where(np.isin(rows, train), "train", "test")
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["path", "label", "split"])
        writer.writerows(zip(folder.paths, folder.labels, split))


def main() -> None:
    folder = ImageFolder(DATA / "corel1000")
    errors: dict[str, list[float]] = {name: [] for name in PUBLISHED}
    with tempfile.TemporaryDirectory() as place:
        table = Path(place) / "halves.csv"
        command = ["compare", str(table), "--cache", f"{place}/cache", "--json", "--quiet"]
        for name in PUBLISHED:
            command += ["--recipe", str(RECIPES / f"corel1000-{name}.toml")]
        for seed in range(5):
            halves(folder, seed, table)
            with redirect_stdout(StringIO()) as printed:
                classify_images(command)
            for row in json.loads(printed.getvalue())["recipes"]:
                errors[row["name"]].append(100 * (1 - row["accuracy"]))
    print(f"{'kernel':12s} {'error, %':>14s} {'published':>10s} {'difference':>11s}")
    for name, found in errors.items():
        mean, spread = np.mean(found), np.std(found, ddof=1)
        off = mean - PUBLISHED[name]
        verdict = "pass" if abs(off) <= BAR else "MISS"
        print(
            f"{name:12s} {mean:7.2f} ± {spread:4.2f} {PUBLISHED[name]:10.2f} {off:+11.2f} {verdict}"
        )
    order = sorted(errors, key=lambda name: np.mean(errors[name]))
    print("ranking", " < ".join(order), "pass" if order == [*PUBLISHED] else "MISS")


if __name__ == "__main__":
    main()
