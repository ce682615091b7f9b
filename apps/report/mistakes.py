"""The most confident mistakes, with the evidence behind them."""

import os

import numpy as np

from visualwords.apps.evaluation.trial import Trial
from visualwords.apps.explanation.evidence_pictures import overlays
from visualwords.apps.pipeline.image_classifier import ImageClassifier
from visualwords.apps.report.markup import percent, picture, section, text
from visualwords.apps.report.thumbnails import Thumbnails
from visualwords.errors import ImageError
from visualwords.images import read_image
from visualwords.progress import Progress

MOST_MISTAKES = 12
SIDE = 176  # pixels of the longer side


def mistakes(
    model: ImageClassifier, trial: Trial, thumbnails: Thumbnails, progress: Progress
) -> str:
    """Return the mistakes with the highest confidence."""
    wrong = [k for k in range(len(trial.paths)) if trial.truth[k] != trial.guesses[k]]
    if not wrong:
        return section("mistakes", "Mistakes", "None.", "")
    order = np.argsort(-trial.confidence[wrong], kind="stable")[:MOST_MISTAKES]
    worst = [wrong[i] for i in order]
    progress.start("explaining mistakes", len(worst))
    found = []
    for k in worst:
        found.append(_mistake(model, trial, k, thumbnails))
        progress.advance()
    shown = f", the {len(worst)} most confident shown" if len(worst) < len(wrong) else ""
    lead = (
        f"{len(wrong):,} in all{shown}. <b class=for>Orange</b> regions raise the score of the "
        "class, <b class=against>blue</b> ones lower it; both pictures share one scale."
    )
    if trial.n_folds:
        lead += " They explain the final model, which was trained on these images too."
    return section("mistakes", "Mistakes", lead, f"<div class=mistakes>{''.join(found)}</div>")


def _mistake(model: ImageClassifier, trial: Trial, k: int, thumbnails: Thumbnails) -> str:
    path, truth, guess = trial.paths[k], trial.truth[k], trial.guesses[k]
    best = trial.classes[trial.certainty[k].argmax()]  # of an image that is none of the classes
    labels = [guess if guess in trial.classes else best, truth]
    labels = [label for label in dict.fromkeys(labels) if label in trial.classes]
    captions = [
        text(os.path.basename(path)),
        *(f"for {text(label)}: {_score(trial, k, label)}" for label in labels),
    ]
    try:
        image = read_image(path, max_side=SIDE)
        explained = overlays(image, model.explain(path), labels)[0]
    except ImageError:  # deleted or changed since the test
        pictures = ["<p class=soft>The file is no longer readable.</p>"]
    else:
        names = [path, *(f"evidence for {label}" for label in labels)]
        pictures = [
            f"<figure>{picture(url, name)}<figcaption>{caption}</figcaption></figure>"
            for pixels, name, caption in zip([image, *explained], names, captions)
            if (url := thumbnails.of_pixels(pixels, quality=82))
        ]
    return (
        f"<article><h3>{text(truth)} <small>predicted as</small> "
        f"<span class=bad>{text(guess)}</span></h3>"
        f"<div class=triple>{''.join(pictures)}</div></article>"
    )


def _score(trial: Trial, k: int, label: str) -> str:
    column = trial.classes.index(label)
    if trial.probabilities is None:
        return f"{trial.scores[k, column]:+.2f}"
    return percent(float(trial.probabilities[k, column]))
