"""Sections of example images: confident mistakes with their evidence, and words of every class."""

import os
from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np
from markupsafe import Markup

from visualwords.apps.evaluation.trial import Trial
from visualwords.apps.explanation.explanation import ChannelEvidence
from visualwords.apps.explanation.pictures import most_typical, overlays, patches_of_word
from visualwords.apps.pipeline.image_classifier import ImageClassifier
from visualwords.apps.report.markup import (
    Thumbnails,
    bar,
    figure,
    html,
    joined,
    percent,
    picture,
    section,
    text,
)
from visualwords.errors import ImageError
from visualwords.images import read_image
from visualwords.progress import Progress

MOST_MISTAKES = 12
MISTAKE_SIDE = 176  # pixels of the longer side

MOST_IMAGES = 90  # explained for the words
IMAGES_PER_CLASS = 5
WORDS_PER_CLASS = 3
PATCHES_PER_WORD = 6
CANDIDATES = 8  # patches of a word considered in one image
SIDE = 640  # pixels of the longer side of the images that patches are cut from


def mistakes(
    model: ImageClassifier, trial: Trial, thumbnails: Thumbnails, progress: Progress
) -> Markup:
    """Return the mistakes with the highest confidence."""
    wrong = [k for k in range(len(trial.paths)) if trial.truth[k] != trial.guesses[k]]
    if not wrong:
        return section("mistakes", "Mistakes", "None.", "")
    order = np.argsort(-trial.confidence[wrong], kind="stable")[:MOST_MISTAKES]
    progress.start("explaining mistakes", len(order))
    shown = []
    for i in order:
        shown.append(_mistake(model, trial, wrong[i], thumbnails))
        progress.advance()
    shown_of_all = f", the {len(order)} most confident shown" if len(order) < len(wrong) else ""
    lead = html(
        "{:,} in all{}. <b class=for>Orange</b> regions raise the score of the class, "
        "<b class=against>blue</b> ones lower it; both pictures share one scale.",
        *(len(wrong), shown_of_all),
    )
    if trial.n_folds:
        lead += " They explain the final model, which was trained on these images too."
    body = html("<div class=mistakes>{}</div>", joined(shown))
    return section("mistakes", "Mistakes", lead, body)


def _mistake(model: ImageClassifier, trial: Trial, k: int, thumbnails: Thumbnails) -> Markup:
    path, truth, guess = trial.paths[k], trial.truth[k], trial.guesses[k]
    best = trial.classes[trial.certainty[k].argmax()]  # of an image that is none of the classes
    labels = [guess if guess in trial.classes else best, truth]
    labels = [label for label in dict.fromkeys(labels) if label in trial.classes]
    names = [path, *(f"evidence for {label}" for label in labels)]
    captions = [
        text(os.path.basename(path)),
        *(html("for {}: {}", text(label), _score(trial, k, label)) for label in labels),
    ]
    try:
        image = read_image(path, max_side=MISTAKE_SIDE)
        explained = overlays(image, model.explain(path), labels)[0]
    except ImageError:  # deleted or changed since the test
        pictures = [Markup("<p class=soft>The file is no longer readable.</p>")]
    else:
        pictures = [
            figure(picture(url, name), caption)
            for pixels, name, caption in zip([image, *explained], names, captions)
            if (url := thumbnails.of_pixels(pixels, quality=82))
        ]
    return html(
        "<article><h3>{} <small>predicted as</small> <span class=bad>{}</span></h3>"
        "<div class=triple>{}</div></article>",
        *(text(truth), text(guess), joined(pictures)),
    )


def _score(trial: Trial, k: int, label: str) -> str:
    column = trial.classes.index(label)
    if trial.probabilities is None:
        return f"{trial.scores[k, column]:+.2f}"
    return percent(float(trial.probabilities[k, column]))


@dataclass
class _Sums:
    """Sums over the explained images of one class, by channel and word."""

    names: dict[tuple[int, int], str] = field(default_factory=dict)
    evidence: dict[tuple[int, int], float] = field(default_factory=lambda: defaultdict(float))
    explained: list[tuple[str, list[ChannelEvidence]]] = field(default_factory=list)
    method: str = ""

    def add(self, model: ImageClassifier, path: str, label: str) -> None:
        """Add the evidence of one image."""
        try:
            explanation = model.explain(path)
        except ImageError:  # deleted or changed since the test
            return
        column = explanation.column_of(label)
        for c, channel in enumerate(explanation.channels):
            for word in np.flatnonzero(channel.values[:, column]) if len(channel.values) else ():
                key = c, int(word)
                self.names[key] = f"{channel.name} {channel.names[word]}"
                self.evidence[key] += float(channel.values[word, column])
        self.explained.append((path, explanation.channels))
        self.method = explanation.method


def words(
    model: ImageClassifier, trial: Trial, thumbnails: Thumbnails, progress: Progress
) -> Markup:
    """Return the most discriminative words of every class, from recognised images."""
    chosen = _images_to_explain(trial)
    progress.start("explaining classes", sum(map(len, chosen.values())))
    articles, method = [], ""
    for label, images in chosen.items():
        sums = _Sums()
        for k in images:
            sums.add(model, trial.paths[k], label)
            progress.advance()
        articles.append(_words_of(label, sums, thumbnails))
        method = sums.method or method
    lead = (
        "The words that add most to the score of a class, over its recognised images, with their "
        f"most typical patches in raised contrast. {method}"
    )
    body = joined(articles) or Markup("<p>Nothing to show.</p>")
    return section("words", "Discriminative words", lead, html("<div class=words>{}</div>", body))


def _images_to_explain(trial: Trial) -> dict[str, list[int]]:
    """Return recognised images of each class, the most confident first."""
    per_class = max(1, min(IMAGES_PER_CLASS, MOST_IMAGES // len(trial.classes)))
    chosen: dict[str, list[int]] = {}
    for k in np.argsort(-trial.confidence, kind="stable"):
        label = trial.truth[k]
        is_right = label == trial.guesses[k] and label in trial.classes  # no folder "unknown"
        if is_right and len(chosen.get(label, [])) < per_class:
            chosen.setdefault(label, []).append(int(k))
    return {label: chosen[label] for label in sorted(chosen)[:MOST_IMAGES]}


def _words_of(label: str, sums: _Sums, thumbnails: Thumbnails) -> Markup:
    best = sorted(sums.evidence, key=lambda key: (-sums.evidence[key], key))
    best = [key for key in best[:WORDS_PER_CLASS] if sums.evidence[key] > 0]
    images = {path: _read(path) for path, _ in sums.explained}
    items = []
    for c, word in best:
        patches = [
            patch
            for path, channels in sums.explained
            for patch in patches_of_word(images[path], channels[c], word, CANDIDATES)
        ]
        urls = [thumbnails.of_pixels(p) for p in most_typical(patches, PATCHES_PER_WORD)]
        name, evidence = sums.names[c, word], sums.evidence[c, word]
        shown = joined(picture(url, f"a patch of {name}") for url in urls if url)
        share = bar(evidence / sums.evidence[best[0]], "evidence")
        item = "<li><span class=patches>{}</span><span>{}</span><b class=n>{:+.3f}</b>{}"
        items.append(html(item, shown, text(name), evidence / len(sums.explained), share))
    if not items:
        return Markup()
    return html("<article><h3>{}</h3><ul>{}</ul></article>", text(label), joined(items))


def _read(path: str) -> np.ndarray:
    try:
        return read_image(path, max_side=SIDE)
    except ImageError:
        return np.zeros((1, 1, 3), np.uint8)
