"""Accuracy of the 64-bin RGB histogram with the default classifier on Corel-1000.

Five random halves (seeds 0 to 4), the recipe ``color`` as it is: nothing is chosen here.

    python -m benchmarks.accuracy.corel1000_color
"""

import numpy as np

from benchmarks.data import DATA
from visualwords import ImageClassifier
from visualwords.folders import ImageFolder


def main() -> None:
    folder = ImageFolder(DATA / "corel1000")
    accuracies = []
    for seed in range(5):
        train, test = folder.split(test_size=0.5, seed=seed)
        accuracies.append(ImageClassifier("color", n_jobs=-1).fit(train).score(test))
        print(f"seed {seed}: {len(train)} train, {len(test)} test, {accuracies[-1]:.2%}")
    print(f"mean {np.mean(accuracies):.2%}, standard deviation {np.std(accuracies, ddof=1):.2%}")


if __name__ == "__main__":
    main()
