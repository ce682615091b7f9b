"""Running a network of an ONNX file on images: what goes in, what comes out, within limits."""

import importlib
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from visualwords.features.onnx_file import NetworkError, read_network

MOST_PIXELS = 2048  # side of the images that a network may ask for
MEMORY = 6 << 30  # bytes that one image may take the network
SECONDS = 60  # that one image may take it
TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(uint8)": np.uint8}
LAYOUTS = ("NCHW", "NHWC")
INSTALL = "a network file needs onnxruntime: pip install onnxruntime"


@dataclass(frozen=True)
class Network:
    """A network that is ready to run.

    Attributes
    ----------
    path, sha256 : str
    session : onnxruntime.InferenceSession
    input_name : str
    dtype : numpy type of the input
    layout : "NCHW" or "NHWC"
    size : side of the square images
    batch : number of images that it takes at once; None for any
    outputs : dict of name → rank
    metadata : dict
        What the sidecar file, else the network's own metadata, says of ``mean``, ``std``, ``size``
        and ``layout``.
    """

    path: str
    sha256: str
    session: Any
    input_name: str
    dtype: Any
    layout: str
    size: int
    batch: int | None
    outputs: dict[str, int]
    metadata: dict[str, Any]

    def run(self, pixels: np.ndarray, output: str) -> np.ndarray:
        """Return an output for prepared pixels, (n, …)."""
        try:
            return self.session.run([output], {self.input_name: pixels})[0]
        except Exception as problem:  # the runtime's errors have no common base
            reason = " ".join(str(problem).split())[:200]
            raise NetworkError(f"{self.path}: the network failed ({reason})") from None


@lru_cache(maxsize=8)
def open_network(path: str, size: int | None, layout: str | None) -> Network:
    """Open a network file that `check_runs` has tried in a process with limits.

    Opening it already computes what does not depend on the image, whatever memory that takes.
    """
    content, data_files, sha256 = read_network(path)
    session = _session(path, content, data_files)
    metadata = _metadata(path, session)
    inputs = session.get_inputs()
    if len(inputs) != 1:
        names = ", ".join(given.name for given in inputs)
        raise NetworkError(f"{path}: takes {len(inputs)} inputs ({names}); needed is one image")
    (taken,) = inputs
    if taken.type not in TYPES or len(taken.shape) != 4:
        raise NetworkError(
            f"{path}: takes {taken.type} of shape {taken.shape}; needed are images: four "
            f"dimensions of {', '.join(TYPES)}"
        )
    layout = _layout(path, taken.shape, layout or metadata.get("layout"))
    size = _size(path, taken.shape, layout, size or metadata.get("size"))
    batch = taken.shape[0] if isinstance(taken.shape[0], int) and taken.shape[0] > 0 else None
    outputs = {given.name: len(given.shape) for given in session.get_outputs()}
    return Network(
        path, sha256, session, taken.name, TYPES[taken.type], layout, size, batch, outputs, metadata
    )


def _session(path: str, content: bytes, data_files: Sequence[str]) -> Any:
    try:
        runtime = importlib.import_module("onnxruntime")
    except ImportError:
        raise NetworkError(f"{path}: {INSTALL}") from None
    options = runtime.SessionOptions()
    # One thread: images are spread over threads by n_jobs, and sums keep their order.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        return runtime.InferenceSession(
            path if data_files else content, options, providers=["CPUExecutionProvider"]
        )
    except Exception as problem:  # the runtime's errors have no common base
        reason = " ".join(str(problem).split())[:200]
        raise NetworkError(f"{path}: onnxruntime can't load it ({reason})") from None


def _metadata(path: str, session: Any) -> dict[str, Any]:
    """Return what is known of a network: the TOML file beside it, else its own metadata."""
    sidecar = os.path.splitext(path)[0] + ".toml"
    if os.path.isfile(sidecar):
        try:
            with open(sidecar, "rb") as file:
                return tomllib.load(file)
        except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
            raise NetworkError(f"{sidecar}: {problem}") from None
    found: dict[str, Any] = {}
    for name, text in session.get_modelmeta().custom_metadata_map.items():
        if name in ("mean", "std", "size", "layout"):
            try:
                found[name] = json.loads(text)
            except ValueError:
                found[name] = text
    return found


def _layout(path: str, shape: Sequence[Any], wanted: Any) -> str:
    if wanted is not None:
        if wanted not in LAYOUTS:
            raise NetworkError(f"{path}: layout {wanted!r}; choose NCHW or NHWC")
        return wanted
    fits = [name for name in LAYOUTS if shape[name.index("C")] == 3]
    if len(fits) != 1:
        raise NetworkError(
            f"{path}: shape {list(shape)} does not say where colours are; give layout='NCHW' or "
            "'NHWC'"
        )
    return fits[0]


def _size(path: str, shape: Sequence[Any], layout: str, wanted: Any) -> int:
    sides = {shape[layout.index(axis)] for axis in "HW"}
    fixed = {side for side in sides if isinstance(side, int)}
    if len(fixed) > 1:
        raise NetworkError(f"{path}: takes images of {sides}; needed are square ones")
    size = next(iter(fixed), wanted)
    if size is None:
        raise NetworkError(f"{path}: takes images of any size; give size=224 or what it wants")
    if fixed and wanted is not None and wanted != size:
        raise NetworkError(f"{path}: takes images of {size} pixels a side, not {wanted}")
    if not isinstance(size, int) or not 1 <= size <= MOST_PIXELS:
        raise NetworkError(f"{path}: size {size!r} is not between 1 and {MOST_PIXELS}")
    return size


@lru_cache(maxsize=8)
def check_runs(path: str, size: int | None, layout: str | None) -> None:
    """Run a network once in a process of its own, with limits of memory and time.

    Inputs have one shape, so that what one image takes, every image takes.
    """
    command = [sys.executable, "-m", "visualwords.features.onnx_trial", path]
    settings = json.dumps({"size": size, "layout": layout, "memory": MEMORY})
    try:
        done = subprocess.run(
            [*command, settings],
            capture_output=True,
            encoding="utf-8",
            errors="replace",  # a library may print in a code page
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise NetworkError(f"{path}: needs more than {SECONDS} s for one image") from None
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        reason = lines[-1][:300] if done.returncode == 1 and lines else "ended by the system"
        raise NetworkError(
            reason.removeprefix("error: ")
            if reason.startswith("error: ")
            else f"{path}: fails for one image, perhaps for more than {MEMORY >> 30} GB ({reason})"
        )
