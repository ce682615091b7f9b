"""The graph of a whole model: image in; label, probabilities and scores out."""

from typing import TYPE_CHECKING

import numpy as np

from visualwords.apps.export.channel_graph import channel_row
from visualwords.apps.export.classifier_graph import class_scores, label_code, probabilities
from visualwords.apps.export.graph import FLOAT, TEXT, UINT8, Graph, Value
from visualwords.apps.export.image_graph import as_grey, planes_of, resize_view
from visualwords.apps.export.model_parts import ModelParts

if TYPE_CHECKING:
    import onnx


def model_graph(
    parts: ModelParts, size: tuple[int, int] | None, metadata: dict[str, str]
) -> "onnx.ModelProto":
    """Write the graph of a model.

    Parameters
    ----------
    parts : ModelParts
    size : (width, height) or None
        Of all images; None: any.
    metadata : dict of str → str
    """
    graph = Graph()
    width, height = ("width", "height") if size is None else size
    image = graph.input("image", UINT8, [1, height, width, 3])
    row = _row(parts, planes_of(image))
    scores = class_scores(parts.classifier, row)
    n = len(parts.classes)
    chances = scores if parts.calibration is None else probabilities(scores, *parts.calibration)
    code = label_code(chances, parts.costs, parts.thresholds)
    names = graph.constant(np.append(parts.classes, parts.rejected).astype(str))
    graph.output("label", graph.op("Gather", names, code, kind=TEXT), [1])
    if parts.calibration is not None:
        graph.output("probabilities", chances.reshape(1, n), [1, n])
    graph.output("scores", scores.reshape(1, n), [1, n])
    return graph.model("image_classifier", metadata)


def _row(parts: ModelParts, rgb: Value) -> Value:
    """The row of an image, which all channels make together."""
    planes: dict[str, Value] = {}  # by the mode that extractors want
    rows = []
    for one in parts.channels:
        mode = one.extractor.color_mode
        if mode not in planes:
            whole = as_grey(rgb) if mode == "grey" else rgb
            planes[mode] = resize_view(whole, parts.max_side, parts.min_side)
        rows.append(channel_row(one, planes[mode]))
    if any(row.kind == FLOAT for row in rows):
        rows = [_as_floats(row) for row in rows]
    return rgb.graph.concat(rows, 0)


def _as_floats(row: Value) -> Value:
    return row.cast(FLOAT)
