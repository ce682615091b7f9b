"""Sections of example images: confident mistakes with their evidence, and words of every class."""

import os
from contextlib import suppress

import numpy as np
from markupsafe import Markup

from visualwords.apps.evaluation.trial import Trial
from visualwords.apps.explanation.explanation import Explanation
from visualwords.apps.explanation.pictures import most_typical, overlays, patches_of_word
from visualwords.apps.pipeline.classifier import ImageClassifier
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
    """The mistakes with the highest confidence."""
    wrong = [k for k in range(len(trial.paths)) if trial.truth[k] != trial.guesses[k]]
    if not wrong:
        return section("mistakes", "Mistakes", "None.", "")
    surest = sorted(wrong, key=lambda k: -trial.confidence[k])[:MOST_MISTAKES]
    progress.start("explaining mistakes", len(surest))
    shown = []
    for k in surest:
        shown.append(_mistake(model, trial, k, thumbnails))
        progress.advance()
    shown_of_all = f", the {len(surest)} most confident shown" if len(surest) < len(wrong) else ""
    lead = html("{:,} in all{}. ", len(wrong), shown_of_all) + Markup(
        "<b class=for>Orange</b> regions raise the score of the class, <b class=against>blue</b> "
        "ones lower it; both pictures share one scale."
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
    try:
        image = read_image(path, max_side=MISTAKE_SIDE)
        explained = overlays(image, model.explain(path), labels)[0]
    except ImageError:  # deleted or changed since the test
        pictures = Markup("<p class=soft>The file is no longer readable.</p>")
    else:
        shown = [(image, path, text(os.path.basename(path)))]
        for label, pixels in zip(labels, explained):
            caption = html("for {}: {}", text(label), _score(trial, k, label))
            shown.append((pixels, f"evidence for {label}", caption))
        pictures = joined(
            figure(picture(url, name), caption)
            for pixels, name, caption in shown
            if (url := thumbnails.of_pixels(pixels, quality=82))
        )
    return html(
        "<article><h3>{} <small>predicted as</small> <span class=bad>{}</span></h3>"
        "<div class=triple>{}</div></article>",
        *(text(truth), text(guess), pictures),
    )


def _score(trial: Trial, k: int, label: str) -> str:
    cell = k, trial.classes.index(label)
    shares = trial.probabilities
    return f"{trial.scores[cell]:+.2f}" if shares is None else percent(float(shares[cell]))


def words(
    model: ImageClassifier, trial: Trial, thumbnails: Thumbnails, progress: Progress
) -> Markup:
    """The most discriminative words of every class, from recognised images."""
    chosen = _images_to_explain(trial)
    progress.start("explaining classes", sum(map(len, chosen.values())))
    articles, method = [], ""
    for label, images in chosen.items():
        explained = {}
        for k in images:
            with suppress(ImageError):  # deleted or changed since the test
                explained[trial.paths[k]] = model.explain(trial.paths[k])
            progress.advance()
        if explained:
            articles.append(_words_of(label, explained, thumbnails))
            method = next(iter(explained.values())).method
    lead = (
        "The words that add most to the score of a class, over its recognised images, with their "
        f"most typical patches in raised contrast. {method}"
    )
    body = joined(articles) or Markup("<p>Nothing to show.</p>")
    return section("words", "Discriminative words", lead, html("<div class=words>{}</div>", body))


def _images_to_explain(trial: Trial) -> dict[str, list[int]]:
    """Recognised images of each class, the most confident first."""
    per_class = max(1, min(IMAGES_PER_CLASS, MOST_IMAGES // len(trial.classes)))
    chosen: dict[str, list[int]] = {}
    for k in np.argsort(-trial.confidence, kind="stable"):
        label = trial.truth[k]
        is_right = label == trial.guesses[k] and label in trial.classes  # no folder "unknown"
        if is_right and len(chosen.get(label, [])) < per_class:
            chosen.setdefault(label, []).append(int(k))
    return {label: chosen[label] for label in sorted(chosen)[:MOST_IMAGES]}


def _words_of(label: str, explained: dict[str, Explanation], thumbnails: Thumbnails) -> Markup:
    """The words of all channels that add most to a class's score in some images."""
    images = {path: _read(path) for path in explained}
    found = list(explained.values())
    best: list[tuple[float, int, int]] = []
    for c in range(len(found[0].channels)):
        sums = sum(one.channels[c].values[:, one.column_of(label)] for one in found)
        best += [(value, c, word) for word, value in enumerate(np.ravel(sums).tolist())]
    best = sorted(best, key=lambda one: (-one[0], *one[1:]))[:WORDS_PER_CLASS]
    items = []
    for evidence, c, word in best:
        if evidence <= 0:
            break
        patches = [
            patch
            for path, one in explained.items()
            for patch in patches_of_word(images[path], one.channels[c], word, CANDIDATES)
        ]
        urls = [thumbnails.of_pixels(p) for p in most_typical(patches, PATCHES_PER_WORD)]
        name = f"{found[0].channels[c].name} {found[0].channels[c].names[word]}"
        shown = joined(picture(url, f"a patch of {name}") for url in urls if url)
        share = bar(evidence / best[0][0], "evidence")
        item = "<li><span class=patches>{}</span><span>{}</span><b class=n>{:+.3f}</b>{}"
        items.append(html(item, shown, text(name), evidence / len(found), share))
    if not items:
        return Markup()
    return html("<article><h3>{}</h3><ul>{}</ul></article>", text(label), joined(items))


def _read(path: str) -> np.ndarray:
    try:
        return read_image(path, max_side=SIDE)
    except ImageError:
        return np.zeros((1, 1, 3), np.uint8)
