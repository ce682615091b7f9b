"""What results show of themselves in a notebook: tables as HTML, pictures as PNG.

Each function makes what an object's ``_repr_html_`` or ``_repr_png_`` returns; the object imports
it when a notebook asks, so nothing here imports the objects. Names are escaped, and there is no
script.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup

from visualwords.apps.report.markup import bar, html, percent, table, table_of_classes, text
from visualwords.images import encode_image

if TYPE_CHECKING:
    from visualwords.apps.evaluation.comparing import ComparedRecipe
    from visualwords.apps.evaluation.figures import Evaluation
    from visualwords.apps.explanation.explanation import Explanation
    from visualwords.apps.pipeline.fitted_classifier import FittedImageClassifier

STYLE = Markup(
    "<style>.visualwords td.n,.visualwords th.n{text-align:right}"
    ".visualwords th[scope=row]{text-align:left}"
    ".visualwords .bar{display:inline-block;width:8em;background:#8883}"
    ".visualwords .bar i{display:block;height:.7em;background:#4878a8}"
    ".visualwords svg{max-width:46em;display:block}</style>"
)


def classifier_html(model: "FittedImageClassifier") -> str:
    """A fitted classifier: its recipe, held-out accuracy and classes; else its parameters."""
    if not hasattr(model, "classes_"):
        return html("<pre>{}</pre>", repr(model))
    recipe, counts = model.recipe_, model.class_counts_
    figure = getattr(model, "cross_validated_", None)
    held_out = "" if figure is None else f"; {percent(figure)} right per class on held-out folds"
    head = html(
        "<p><b>ImageClassifier</b> {}: {}<br>{:,} images of {} classes{}</p>",
        *(text(recipe.name), text(recipe.summary), int(counts.sum()), len(counts), held_out),
    )
    pairs = zip(model.classes_, counts)
    rows = [[text(str(name)), f"{n:,}", bar(n / counts.max())] for name, n in pairs]
    return _shown(head, table_of_classes(["class", ">images", ""], rows, (-counts).tolist()))


def evaluation_html(evaluation: "Evaluation") -> str:
    """The accuracy with its interval, and recall and precision of every class."""
    headline = html("<p><b>{}</b></p>", evaluation.headline)
    return _shown(headline, classes_of(evaluation, linked=False))


def classes_of(evaluation: "Evaluation", linked: bool = True) -> Markup:
    """The table of recall and precision of every class, with links into the matrix."""
    head = ["class", ">images", ">recall", "", ">precision", "", "most often confused with"]
    rows = [_class_row(evaluation, i, linked) for i in range(len(evaluation.classes))]
    recall = [r if n else 2.0 for r, n in zip(evaluation.recall, evaluation.support)]
    return table_of_classes(head, rows, recall)


def _class_row(evaluation: "Evaluation", i: int, linked: bool) -> list[object]:
    row: list[object] = [text(evaluation.classes[i]), f"{evaluation.support[i]:,}"]
    if not evaluation.support[i]:
        return [*row, Markup("<span class=soft>not tested</span>"), "", "", "", ""]
    recall, precision = evaluation.recall[i], evaluation.precision[i]
    purity: list[object] = [percent(precision), bar(precision, "second")]
    if not evaluation.confusion[:, i].sum():
        purity = [Markup("<span class=soft>never predicted</span>"), ""]
    confused, j = Markup(), evaluation.most_confused(i)
    if j is not None:
        other = text(evaluation.classes[j])
        name = html('<a href="#c{}-{}">{}</a>', i, j, other) if linked else other
        confused = html("{} {}×", name, evaluation.confusion[i, j])
    return [*row, percent(recall), bar(recall), *purity, confused]


def comparison_html(rows: "Sequence[ComparedRecipe]") -> str:
    """Compared recipes as a plot and a table, best first."""
    from visualwords.apps.report.comparison import comparison_plot, comparison_rows

    return _shown(comparison_plot(rows), table(*comparison_rows(rows)))


def explanation_png(explanation: "Explanation") -> bytes:
    """The image, evidence maps of the best classes over it, and the words of the best one."""
    from visualwords.apps.explanation.pictures import draw_explanation

    return encode_image(draw_explanation(explanation.image, explanation), "png")


def detections_png(image: np.ndarray, boxes_xyxy: np.ndarray, confidences: np.ndarray) -> bytes:
    """An image with a box and its confidence in percent for every detection."""
    from visualwords.apps.detection.drawing import draw_detections

    return encode_image(draw_detections(image, boxes_xyxy, confidences), "png")


def _shown(*parts: Markup) -> str:
    return str(html("{}<div class=visualwords>{}</div>", STYLE, Markup().join(parts)))
