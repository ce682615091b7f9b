"""The report: one HTML file that shows how good a model is and where it errs.

The file needs nothing else, no network and no script; every name in it is escaped.
"""

import base64
import os
from collections.abc import Sequence
from html import escape

import cv2
import numpy as np

import visualwords
from visualwords.apps.evaluation import Evaluation
from visualwords.apps.image_classifier import ImageClassifier
from visualwords.apps.terminal import headline, printable
from visualwords.errors import ImageError
from visualwords.files import write_atomically
from visualwords.images import read_image

MOST_MISTAKES = 24
THUMBNAIL = 128  # pixels of the longer side

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --line: #d4d9df;
        --good: 31 136 61; --bad: 207 34 46; --soft: #66707b; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ec; --paper: #14171a; --line: #333a42; --soft: #9aa4af;
          --good: 63 185 80; --bad: 248 81 73; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
       max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin-bottom: 0; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
.big { font-size: 3rem; font-weight: 700; line-height: 1.1; }
.soft { color: var(--soft); }
table { border-collapse: collapse; } th { text-align: left; font-weight: 600; }
td, th { padding: .2rem .7rem .2rem 0; border-bottom: 1px solid var(--line); }
.n { text-align: right; font-variant-numeric: tabular-nums; }
.bar { width: 12rem; } .bar i { display: block; height: .8rem; background: rgb(var(--good)); }
.scroll { overflow-x: auto; }
.confusion td, .confusion th { padding: .15rem .4rem; border: 1px solid var(--line); }
.confusion thead th { vertical-align: bottom; }
.confusion thead th span { writing-mode: vertical-rl; transform: rotate(180deg); }
.gallery { display: grid; grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr)); gap: 1rem; }
figure { margin: 0; } figcaption { font-size: .85rem; overflow-wrap: anywhere; }
img { width: 100%; border-radius: 4px; image-rendering: auto; }
.wrong { color: rgb(var(--bad)); }
@media print { body { margin: 0; max-width: none; } figure, tr { break-inside: avoid; } }
"""


def write_report(
    path: str | os.PathLike[str],
    model: ImageClassifier,
    evaluation: Evaluation,
    paths: Sequence[str],
    truth: Sequence[str],
    guesses: Sequence[str],
    scores: np.ndarray,
) -> None:
    """Write the report of a test.

    Parameters
    ----------
    path : path-like
    model : ImageClassifier
    evaluation : Evaluation
    paths, truth, guesses : sequences of str
        The tested images, their labels and what the model said.
    scores : ndarray
        Decision values of the images.
    """
    wrong = [i for i in range(len(paths)) if truth[i] != guesses[i]]
    certainty = np.abs(scores) if scores.ndim == 1 else scores.max(axis=1)
    worst = sorted(wrong, key=lambda i: (-certainty[i], paths[i]))[:MOST_MISTAKES]
    body = "".join(
        [
            _header(model, evaluation),
            _classes(evaluation),
            _confusion(evaluation),
            _mistakes([(paths[i], truth[i], guesses[i]) for i in worst], len(wrong)),
            _settings(model),
        ]
    )
    page = (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>visualwords: {evaluation.accuracy:.1%} right</title><style>{_STYLE}</style>"
        f"<body>{body}</body></html>"
    )
    write_atomically(path, page.encode("utf-8"))


def _text(value: str) -> str:
    return escape(printable(value))


def _header(model: ImageClassifier, evaluation: Evaluation) -> str:
    return (
        f"<h1>{len(model.classes_)} classes, recipe {_text(model.recipe_.name)}</h1>"
        f'<p class="big">{evaluation.accuracy:.1%}</p>'
        f"<p>{escape(headline(evaluation))}.</p>"
    )


def _classes(evaluation: Evaluation) -> str:
    rows = "".join(
        f"<tr><td>{_text(name)}<td class=n>{evaluation.support[i]}"
        f"<td class=n>{evaluation.precision[i]:.1%}<td class=n>{evaluation.recall[i]:.1%}"
        f'<td class=bar><i style="width:{100 * evaluation.recall[i]:.1f}%"></i>'
        for i, name in enumerate(evaluation.classes)
    )
    return (
        '<h2>Classes</h2><div class=scroll><table><thead><tr><th>class<th class="n">images'
        f'<th class="n">precision<th class="n">recall<th></thead>{rows}</table></div>'
    )


def _confusion(evaluation: Evaluation) -> str:
    head = "".join(f"<th scope=col><span>{_text(name)}</span>" for name in evaluation.classes)
    rows = []
    for i, name in enumerate(evaluation.classes):
        cells = []
        for j, count in enumerate(evaluation.confusion[i]):
            share = count / max(evaluation.support[i], 1)
            color = "good" if i == j else "bad"
            shade = (
                f' style="background:rgb(var(--{color})/{0.15 + 0.6 * share:.2f})"' if count else ""
            )
            cells.append(f"<td class=n{shade}>{count or ''}")
        rows.append(f"<tr><th scope=row>{_text(name)}{''.join(cells)}")
    return (
        "<h2>Confusion</h2><p class=soft>A row is what the images show, a column what the model "
        f"said.</p><div class=scroll><table class=confusion><thead><tr><th>{head}</thead>"
        f"{''.join(rows)}</table></div>"
    )


def _mistakes(mistakes: Sequence[tuple[str, str, str]], n_wrong: int) -> str:
    if not n_wrong:
        return "<h2>Mistakes</h2><p>None.</p>"
    figures = "".join(
        f'<figure><img src="{_thumbnail(path)}" alt=""><figcaption>{_text(true)}, '
        f"<span class=wrong>taken for {_text(given)}</span><br>"
        f"<span class=soft>{_text(os.path.basename(path))}</span></figcaption></figure>"
        for path, true, given in mistakes
    )
    shown = "" if n_wrong == len(mistakes) else f"; the first {len(mistakes)} are shown"
    return (
        f"<h2>Mistakes</h2><p class=soft>{n_wrong} in all, those that the model was most certain "
        f"of first{shown}.</p><div class=gallery>{figures}</div>"
    )


def _thumbnail(path: str) -> str:
    """Return a small JPEG of an image as a data URL; empty if the file has gone meanwhile."""
    try:
        image = read_image(path, max_side=THUMBNAIL)
    except ImageError:
        return "data:,"
    _, jpeg = cv2.imencode(".jpg", image[:, :, ::-1], [cv2.IMWRITE_JPEG_QUALITY, 80])
    return "data:image/jpeg;base64," + base64.b64encode(jpeg.tobytes()).decode()


def _settings(model: ImageClassifier) -> str:
    tried = "".join(
        f"<tr><td>{_text(name)}<td class=n>{accuracy:.1%}"
        for name, accuracy in model.tried_.items()
    )
    choice = f"<p>Recipes by cross-validation on the training images:</p><table>{tried}</table>"
    return (
        "<h2>How it was made</h2>"
        f"<p>Recipe {_text(model.recipe_.name)}: {_text(model.recipe_.summary)}. "
        f"Trained on {int(model.class_counts_.sum())} images, seed {model.random_state}, "
        f"visualwords {visualwords.__version__}.</p>{choice if tried else ''}"
    )
