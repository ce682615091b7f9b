"""Whether novelty tells strange images: left-out classes, noise, text, photographs of other sets.

    python -m benchmarks.accuracy.novelty classes [--data NAME …] [--recipe NAME …] [--seeds N …]
    python -m benchmarks.accuracy.novelty kinds   [--data NAME …] [--recipe NAME …] [--seeds N …]

classes: models are trained without some classes; the area under the ROC curve (AUROC) of novelty
tells test images of these from test images of the others, beside that of 1 − the highest
probability. kinds: the same for generated images and photographs of other sets against all test
images; the share of test images that ``unknown=0.05`` rejects.
"""

import argparse
import json
from collections.abc import Iterator

import cv2
import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.data import KEPT
from benchmarks.divisions import SETS, Division, divisions
from visualwords import ImageClassifier
from visualwords.apps.pipeline.predictions import Scores
from visualwords.images import read_image

ROUNDS = 5  # in each of which a fifth of the classes is left out
N_STRANGE = 60  # images of each kind
WORDS = "the quick brown fox jumps over lazy dogs while pages of text have lines and paragraphs"
OTHERS = {"scene15": ("corel1000", "caltech101"), "corel1000": ("caltech101", "scene15")}


def left_out_classes(division: Division, recipe: str, jobs: int, cache: str) -> dict:
    """The mean AUROC over rounds in which other classes are left out."""
    classes = division.train.classes
    areas = []
    for start in range(min(ROUNDS, len(classes) - 1)):
        out = classes[start::ROUNDS]
        if len(classes) - len(out) < 2:
            continue
        kept = division.train.part(np.flatnonzero(~np.isin(division.train.labels, out)))
        model = ImageClassifier(recipe, n_jobs=jobs, cache_dir=cache).fit(kept, warn=False)
        found = model.score_images(division.test)
        strange = np.isin(division.test.labels[found.kept], out)
        areas.append([roc_auc_score(strange, one) for one in _signs(model, found)])
    novelty, doubt = np.mean(areas, axis=0)
    return {"auroc_of_novelty": novelty, "auroc_of_probability": doubt}


def strange_kinds(division: Division, recipe: str, jobs: int, cache: str) -> dict:
    """The AUROC of each kind of strange images against the test images."""
    model = ImageClassifier(recipe, n_jobs=jobs, cache_dir=cache).fit(division.train, warn=False)
    known = _signs(model, model.score_images(division.test))
    row: dict = {"rejected": float((known[0] > 0.95).mean())}
    for kind, images in _kinds(division):
        found = _signs(model, model.score_images(images))
        truth = np.repeat([0, 1], [len(known[0]), len(found[0])])
        for name, ours, theirs in zip(("novelty", "probability"), known, found):
            row[f"{kind}_by_{name}"] = roc_auc_score(truth, np.concatenate([ours, theirs]))
    return row


def _signs(model: ImageClassifier, found: Scores) -> tuple[np.ndarray, np.ndarray]:
    """Novelty, and 1 − the highest probability."""
    decided = model.decide(found)
    return decided.novelty, 1 - decided.probabilities.max(axis=1)


def _kinds(division: Division) -> Iterator[tuple[str, list]]:
    random = np.random.default_rng(20)
    some = random.choice(len(division.test), N_STRANGE)
    sizes = [read_image(division.test.contents[i].source).shape[:2] for i in some]
    yield "noise", [_noise(random, i, *size) for i, size in enumerate(sizes)]
    levels = (0, 0, 0, 2, 255, 128, 40, 200)
    yield "blank", [np.full((*size, 3), value, np.uint8) for size, value in zip(sizes, levels)]
    yield "text", [_page(random, *size) for size in sizes]
    for other in OTHERS.get(division.name, ("corel1000", "scene15")):
        images = next(divisions(other, [0])).test
        chosen = random.choice(len(images), N_STRANGE, replace=False)
        yield f"photographs of {other}", [images.contents[i].source for i in chosen]


def _noise(random: np.random.Generator, number: int, height: int, width: int) -> np.ndarray:
    """White noise, coloured or grey, of all levels or few, or coarse noise."""
    if number % 4 == 0:
        return random.integers(0, 256, (height, width, 3), dtype=np.uint8)
    if number % 4 == 1:
        return np.repeat(random.integers(0, 256, (height, width, 1), dtype=np.uint8), 3, axis=2)
    if number % 4 == 2:
        return np.clip(random.normal(128, 40, (height, width, 3)), 0, 255).astype(np.uint8)
    small = max(height // 4, 4), max(width // 4, 4), 3
    return cv2.resize(random.integers(0, 256, small, dtype=np.uint8), (width, height))


def _page(random: np.random.Generator, height: int, width: int) -> np.ndarray:
    """Lines of dark text on white."""
    page = np.full((height, width, 3), random.integers(225, 256), np.uint8)
    size, words = random.uniform(0.3, 0.8), WORDS.split()
    for y in range(int(random.integers(12, 30)), height - 5, int(34 * size) + 3):
        line = " ".join(random.choice(words, 20))[: random.integers(20, 90)]
        place = int(0.06 * width), y
        cv2.putText(page, line, place, 0, size, (20, 20, 20), 1, cv2.LINE_AA)
    return page


MEASURES = {"classes": left_out_classes, "kinds": strange_kinds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("measure", choices=MEASURES)
    parser.add_argument("--data", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--recipe", nargs="+", default=["tiny", "fast", "words", "photo"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[2, 3])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cache", default=str(KEPT / "cache"))
    options = parser.parse_args()
    for name in options.data:
        for division in divisions(name, options.seeds):
            for recipe in options.recipe:
                row = {"data": name, "recipe": recipe, "seed": division.seed}
                found = MEASURES[options.measure](division, recipe, options.jobs, options.cache)
                print(json.dumps(row | found), flush=True)


if __name__ == "__main__":
    main()
