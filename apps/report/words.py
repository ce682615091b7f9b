"""The most discriminative words of every class, and their patches."""

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from visualwords.apps.evaluation.trial import Trial
from visualwords.apps.explanation.evidence_pictures import most_typical, patches_of_word
from visualwords.apps.pipeline.image_classifier import ImageClassifier
from visualwords.apps.report.markup import bar, picture, section, text
from visualwords.apps.report.thumbnails import Thumbnails
from visualwords.errors import ImageError
from visualwords.images import read_image
from visualwords.progress import Progress

MOST_IMAGES = 90  # explained for this section
IMAGES_PER_CLASS = 5
WORDS_PER_CLASS = 3
PATCHES_PER_WORD = 6
CANDIDATES = 8  # patches of a word considered in one image
SIDE = 640  # pixels of the longer side of the images that patches are cut from


@dataclass
class _Sums:
    """Sums over the explained images of one class."""

    names: dict[tuple[int, int], str] = field(default_factory=dict)
    evidence: dict[tuple[int, int], float] = field(default_factory=lambda: defaultdict(float))
    explained: list[tuple[str, list]] = field(default_factory=list)


def words(model: ImageClassifier, trial: Trial, thumbnails: Thumbnails, progress: Progress) -> str:
    """Return the most discriminative words of every class, from recognised images."""
    chosen = _images_to_explain(trial)
    progress.start("explaining classes", sum(map(len, chosen.values())))
    rows, method = [], ""
    for label, images in chosen.items():
        sums = _Sums()
        for k in images:
            method = _explain(model, trial.paths[k], label, sums) or method
            progress.advance()
        rows.append(_row(label, sums, thumbnails))
    lead = (
        "The words that add most to the score of a class, over its recognised images, with their "
        f"most typical patches in raised contrast. {text(method)}"
    )
    body = f"<div class=words>{''.join(rows)}</div>" if any(rows) else "<p>Nothing to show.</p>"
    return section("words", "Discriminative words", lead, body)


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


def _explain(model: ImageClassifier, path: str, label: str, sums: _Sums) -> str:
    """Add the evidence of one image; return how evidence is attributed."""
    try:
        explanation = model.explain(path)
    except ImageError:
        return ""
    column = explanation.column_of(label)
    for c, channel in enumerate(explanation.channels):
        for word in np.flatnonzero(channel.values[:, column]) if len(channel.values) else ():
            key = c, int(word)
            sums.names[key] = f"{channel.name} {channel.names[word]}"
            sums.evidence[key] += float(channel.values[word, column])
    sums.explained.append((path, explanation.channels))
    return explanation.method


def _row(label: str, sums: _Sums, thumbnails: Thumbnails) -> str:
    best = sorted(sums.evidence, key=lambda key: (-sums.evidence[key], key))
    best = [key for key in best[:WORDS_PER_CLASS] if sums.evidence[key] > 0]
    if not best:
        return ""
    strongest = sums.evidence[best[0]]
    images = {path: _read(path) for path, _ in sums.explained}
    items = []
    for c, word in best:
        patches = [
            patch
            for path, channels in sums.explained
            for patch in patches_of_word(images[path], channels[c], word, CANDIDATES)
        ]
        urls = [thumbnails.of_pixels(p) for p in most_typical(patches, PATCHES_PER_WORD)]
        name = sums.names[c, word]
        shown = "".join(picture(url, f"a patch of {name}") for url in urls if url)
        mean = sums.evidence[c, word] / len(sums.explained)
        share = bar(sums.evidence[c, word] / strongest, "evidence")
        items.append(
            f"<li><span class=patches>{shown}</span>"
            f"<span>{text(name)}</span><b class=n>{mean:+.3f}</b>{share}"
        )
    return f"<article><h3>{text(label)}</h3><ul>{''.join(items)}</ul></article>"


def _read(path: str) -> np.ndarray:
    try:
        return read_image(path, max_side=SIDE)
    except ImageError:
        return np.zeros((1, 1, 3), np.uint8)
