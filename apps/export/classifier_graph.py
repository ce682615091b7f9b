"""Graphs from an image's row to scores, probabilities and a label."""

import numpy as np

from visualwords.apps.export.graph import BOOL, DOUBLE, FLOAT, INT32, INT64, Value
from visualwords.apps.export.packed_tables import sum_of_tables, unpacked
from visualwords.apps.pipeline.table_bytes import EXPONENTS, VALUES, packed_state
from visualwords.classifiers.icd import ICDClassifier
from visualwords.classifiers.linear import ByteLinearClassifier
from visualwords.classifiers.pmsvm import PmSVMClassifier
from visualwords.classifiers.quantizer import Quantizer


def class_scores(classifier: object, row: Value) -> Value:
    """The scores of all classes, (n_classes,) float32; of two, the first has minus the second's."""
    if isinstance(classifier, ICDClassifier):
        scores = _sum_of_tables(classifier, row)
    elif isinstance(classifier, ByteLinearClassifier):
        used = classifier.weights_.any(axis=0)  # small images never reach some columns
        row = row if used.all() else row.graph.op("Compress", row, used, axis=0)
        weights = unpacked(row.graph, classifier.weights_[:, used])
        sums = row.graph.op("MatMulInteger", weights, row.reshape(-1, 1), kind=INT32)
        scores = sums.reshape(-1).cast(FLOAT) * classifier.factors_.astype(np.float32)
    elif isinstance(classifier, PmSVMClassifier):
        scores = _sum_of_vectors(classifier, row)
    else:
        raise TypeError(f"{type(classifier).__name__} has no graph")
    if len(classifier.classes_) > 2:
        return scores
    return row.graph.concat([row.graph.op("Neg", scores), scores], 0)


def probabilities(scores: Value, slope: float, offsets: np.ndarray) -> Value:
    """The softmax of scores times a slope plus offsets."""
    logits = scores * slope + offsets.astype(np.float32)
    return scores.graph.op("Softmax", logits, axis=-1)


def label_code(chances: Value, costs: np.ndarray | None, thresholds: np.ndarray) -> Value:
    """The class of an image, (1,) int64; the number of classes where none may be the label."""
    g, merit = chances.graph, chances
    if costs is not None:
        merit = g.op("Neg", chances.reshape(1, -1) @ costs.astype(np.float32)).reshape(-1)
    has = ~np.isnan(thresholds)
    if has.any():
        reached = chances >= np.where(has, thresholds, 2.0).astype(np.float32)
        merit = g.where(g.constant(has), -1e30, merit)
        merit = g.where(reached, chances + 2.0, merit)
        nothing = g.constant(np.array([-1e29], np.float32))
        merit = g.concat([merit, nothing], 0)
    return g.op("ArgMax", merit, kind=INT64, axis=0, keepdims=1)


def _sum_of_tables(classifier: ICDClassifier, row: Value) -> Value:
    """Σ_j T[j, level of x_j], of tables that are whole multiples of a power of two."""
    g, layout, state = row.graph, classifier.layout_, packed_state(classifier)
    add_up = sum_of_tables(g, state[VALUES], layout.offsets)
    unit = np.exp2(state[EXPONENTS].astype(np.float32))
    n_levels = classifier.quantizer_.n_levels_
    level = _levels(classifier.quantizer_, row)
    number = g.constant(layout.number_of[:n_levels].astype(np.int32)).gather(level)
    above_0 = (number > 0).cast(FLOAT)
    between = np.setdiff1d(np.arange(n_levels), layout.heights)
    if not (between < layout.heights[-1]).any():
        return add_up(number, above_0) * unit
    heights = layout.heights.astype(np.float32)
    rise = g.constant(np.diff(heights, append=heights[-1] + 1))
    share = level.cast(FLOAT) - g.constant(heights).gather(number)
    share = (share / rise.gather(number)).at_most(1.0)
    return (add_up(number, above_0 * (1.0 - share)) + add_up(number + 1, share)) * unit


def _sum_of_vectors(classifier: PmSVMClassifier, row: Value) -> Value:
    """Σ_j w_j · s(level of x_j), s being the vector of a level; zeros add nothing."""
    g, state = row.graph, classifier.get_state()
    table, weights = state["score_table"], state["weights"]
    above = row - state["shift"].astype(np.float32)
    share = (above * state["factor"].astype(np.float32)).at_least(0.0).at_most(1.0)
    if state["root"]:
        share = share.sqrt()
    level = (share * float(len(table) - 1) + 0.5).cast(INT64)
    vectors = g.constant(table.astype(np.float32)).gather(level)
    vectors = g.where(g.op("Equal", above, 0.0, kind=BOOL).reshape(-1, 1), 0.0, vectors)
    flat = weights.reshape(len(weights), -1).astype(np.float32)
    return (g.constant(flat) @ vectors.reshape(-1, 1)).reshape(-1)


def _levels(quantizer: Quantizer, row: Value) -> Value:
    """The level of every number, (d,) int64."""
    g = row.graph
    if quantizer.strategy == "quantile":
        reached = row.cast(DOUBLE).reshape(-1, 1) >= quantizer.edges_
        return reached.cast(INT64).sum(1)
    lowest, scale = quantizer.line()
    level = (row.cast(DOUBLE) - lowest) * scale
    top = g.constant(np.array(float(quantizer.n_levels_ - 1)))
    return level.at_least(0.0).at_most(top).cast(INT64)
