"""`--feature HOG` on photographs of different sizes, against scikit-image's HOG and SVC.

    python -m benchmarks.peers.skimage_hog [SEEDS]

Random halves of corel1000 (384×256 and 256×384). Ours: `classify-images train --feature HOG`, every
image stretched to 128×128. The peer: the same pixels, `skimage.feature.hog` with the same cells and
blocks, and `SVC` (RBF) with C and gamma chosen by three folds of the training half.
"""

import sys

from benchmarks import timing  # noqa: F401  one thread

import cv2  # isort: skip - after the number of threads is set
import numpy as np
from skimage.feature import hog
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from benchmarks.data import image_folder
from visualwords import ImageClassifier
from visualwords.apps.pipeline.composing import compose
from visualwords.apps.pipeline.recipe import ONE_SIZE
from visualwords.images import read_image

GRID = {"C": [1.0, 10.0, 100.0], "gamma": ["scale", 0.02]}


def peer_row(path: str) -> np.ndarray:
    """Return scikit-image's HOG of an image, grey and brought to one size."""
    grey = cv2.resize(read_image(path, "grey"), ONE_SIZE, interpolation=cv2.INTER_AREA)
    return hog(grey, 9, (8, 8), (2, 2), block_norm="L2-Hys").astype(np.float32)


def main(seeds: int) -> None:
    folder = image_folder("corel1000")
    rows = dict(zip(folder.paths, (peer_row(path) for path in folder.paths)))
    ours, theirs = [], []
    for seed in range(seeds):
        train, test = folder.split(test_size=0.5, seed=seed)
        model = ImageClassifier(compose(features=["HOG"]), n_jobs=1).fit(train)
        ours.append(100 * model.score(test))
        svc = GridSearchCV(SVC(), GRID, cv=3).fit([rows[p] for p in train.paths], train.labels)
        theirs.append(100 * svc.score([rows[p] for p in test.paths], test.labels))
        print(f"seed {seed}: ours {ours[-1]:.2f}, skimage + SVC {theirs[-1]:.2f}", flush=True)
    verdict = "pass" if np.mean(ours) >= np.mean(theirs) else "MISS"
    print(f"mean: ours {np.mean(ours):.2f}, skimage + SVC {np.mean(theirs):.2f} {verdict}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 5)
