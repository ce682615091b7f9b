"""Run a network once under limits: ``python -m visualwords.features.onnx_trial PATH SETTINGS``."""

import json
import sys

import numpy as np

from visualwords.features.onnx_file import NetworkError
from visualwords.features.onnx_network import open_network


def main(path: str, settings: str) -> int:
    """Run a network on a black image; 1 and a line on stderr if that fails."""
    given = json.loads(settings)
    try:
        import resource
    except ImportError:  # Windows: only the time is limited
        pass
    else:
        resource.setrlimit(resource.RLIMIT_AS, (given["memory"], given["memory"]))
    try:
        network = open_network(path, given["size"], given["layout"])
        sides = {"N": network.batch or 1, "C": 3, "H": network.size, "W": network.size}
        shape = [sides[axis] for axis in network.layout]
        for output in network.outputs:
            network.run(np.zeros(shape, network.dtype), output)
    except (NetworkError, MemoryError) as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
