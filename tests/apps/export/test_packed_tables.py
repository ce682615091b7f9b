"""Tables in few bits give the numbers that they were made of, however these are spread."""

import numpy as np
import onnxruntime
import pytest

from visualwords.apps.export.graph import FLOAT, INT32, Graph
from visualwords.apps.export.packed_tables import sum_of_tables, unpacked

SPREADS = [0.3, 0.9, 2.0, 5.0, 12.0, 90.0]


def spread_numbers(spread, shape):
    """Mostly small numbers, and a few that no digit holds."""
    random = np.random.default_rng(3)
    numbers = random.normal(0, spread, shape)
    numbers[random.random(shape) < 0.004] *= 40
    return numbers.round().clip(-127, 127).astype(np.int8)


def session_of(graph):
    data = graph.model("part", {}).SerializeToString()
    return onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"]), len(data)


@pytest.mark.parametrize("spread", SPREADS)
def test_weights_come_back_and_small_ones_take_less(spread):
    weights, graph = spread_numbers(spread, (7, 3001)), Graph()
    graph.output("weights", unpacked(graph, weights), [7, 3001])
    session, size = session_of(graph)
    np.testing.assert_array_equal(session.run(None, {})[0], weights)
    assert spread > 12 or size < weights.nbytes * 0.85 + 2000


@pytest.mark.parametrize("most_cells", [1, 2, 6, 120])
@pytest.mark.parametrize("spread", SPREADS)
def test_sums_of_tables_are_exact(spread, most_cells):
    random = np.random.default_rng(most_cells)
    sizes = random.integers(1, most_cells + 1, 90)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    values = spread_numbers(spread, (offsets[-1], 3))
    values[offsets[:-1]] = 0
    graph = Graph()
    number, weight = graph.input("number", INT32, ["d"]), graph.input("weight", FLOAT, ["d"])
    graph.output("sums", sum_of_tables(graph, values, offsets)(number, weight), [3])
    session, _ = session_of(graph)
    for numbers in (0 * sizes, sizes - 1, random.integers(0, sizes + 2)):
        weights = np.where(numbers > 0, random.integers(1, 5, 90), 0).astype(np.float32)
        given = {"number": numbers.astype(np.int32), "weight": weights}
        cells = values[offsets[:-1] + np.minimum(numbers, sizes - 1)]
        np.testing.assert_array_equal(session.run(None, given)[0], weights @ cells)
