"""Small graphs of one part, and images of many sizes to run them on."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import onnxruntime

from visualwords.apps.export.graph import UINT8, Graph, Value
from visualwords.apps.export.image_graph import as_grey, planes_of

SIZES = [(1, 1), (2, 7), (5, 90), (17, 16), (16, 33), (48, 64), (61, 47), (100, 200), (131, 90)]


def images(sizes: list[tuple[int, int]] = SIZES) -> Iterator[np.ndarray]:
    """Smooth noise with flat parts: edges of all directions, ties and saturated colours."""
    random = np.random.default_rng(7)
    for height, width in sizes:
        coarse = random.integers(-60, 316, (height // 5 + 2, width // 5 + 2, 3))
        image = np.kron(coarse, np.ones((5, 5, 1)))[:height, :width]
        image[: height // 2] += random.normal(0, 12, (height // 2, width, 3))
        yield image.clip(0, 255).astype(np.uint8)


def runner(
    compute: Callable[[Value], list[Value]], ranks: Sequence[int], grey: bool = False
) -> Callable[[np.ndarray], list[np.ndarray]]:
    """A function that runs what a graph makes of the planes of an image, arrays of these ranks."""
    graph = Graph()
    planes = planes_of(graph.input("image", UINT8, [1, "height", "width", 3]))
    for number, value in enumerate(compute(as_grey(planes) if grey else planes)):
        graph.output(f"output{number}", value, [None] * ranks[number])
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    session = onnxruntime.InferenceSession(
        graph.model("part", {}).SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return lambda image: session.run(None, {"image": image[None]})
