"""Features of a network that the user brings as a local ONNX file, run within limits.

A network is data here, but data that makes a runtime work: it can name files anywhere on the disk
and loop for ever. What is refused by `read_network` never reaches the runtime.

``python -m visualwords.features.onnx PATH SETTINGS`` runs a network once, on a black image.
"""

import hashlib
import importlib
import json
import math
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np

from visualwords.errors import ImageError
from visualwords.features.extractor import Extractor
from visualwords.features.local_features import LocalFeatures, LocalFeatureSets, grid_positions
from visualwords.features.pixels import as_rgb, resize_image
from visualwords.files import open_regular

BATCH = 16  # images that `transform` runs together
PREFERRED = ("embedding", "image_embeds", "pooler_output")  # names that exporters give
MOST_PIXELS = 2048  # side of the images that a network may ask for
MEMORY = 6 << 30  # bytes that one image may take the network
SECONDS = 60  # that one image may take it
TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(uint8)": np.uint8}
LAYOUTS = ("NCHW", "NHWC")
LARGEST = 1 << 31  # bytes; protobuf allows no larger message
LOOPS = frozenset(["Loop", "Scan"])  # their number of steps is data: it may have no end


class NetworkError(ValueError):
    """A network file that can't be used; the message names it."""


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
        """An output for prepared pixels, (n, …)."""
        try:
            return self.session.run([output], {self.input_name: pixels})[0]
        except Exception as problem:  # the runtime's errors have no common base
            raise NetworkError(f"{self.path}: the network failed ({_reason(problem)})") from None


@dataclass(eq=False, repr=False)
class ONNXFeatures(Extractor):
    """What a network of a local ONNX file gives for an image; nothing is downloaded.

    An output of two dimensions (images × numbers) is one vector an image, for `describe`. One with
    places is local features, for `extract`: maps (images × channels × rows × columns, or channels
    last where the input has them last) or the tokens of a transformer (images × tokens × numbers),
    whose class token in front of a square number of places is left out.

    Images are brought to the network's square by resizing, not cropping, so that positions in the
    unit square stay what they are.

    Parameters
    ----------
    path : path-like
        The file. What it needs is read from it; a file of the same name that ends in ``.toml``, or
        the file's metadata, may have ``mean``, ``std``, ``size`` and ``layout``.
    output : str, optional
        Name of the output; ``embedding`` if there is one, else the first of two dimensions, else
        the first.
    size : int, optional
        Side of the images, where the file takes any.
    mean, std : float or three floats, optional
        The network sees (pixel / 255 − mean) / std. Not needed where it takes bytes.
    layout : {"NCHW", "NHWC"}, optional
        Where the file does not say it.
    sha256 : str, optional, keyword only
        Fingerprint that the file must have, as model files keep it.

    Notes
    -----
    The file is checked before the runtime sees it: no loops, no data outside its folder. Its first
    run is in a process with limits of memory and time (`check_runs`).
    Needs onnx and onnxruntime.
    """

    path: str | os.PathLike[str]
    output: str | None = None
    size: int | None = None
    mean: float | Sequence[float] | None = None
    std: float | Sequence[float] | None = None
    layout: str | None = None
    _: KW_ONLY
    sha256: str | None = None

    version = 1
    is_normalized = True
    is_signed = True

    @property
    def is_local(self) -> bool:
        network = self.network()
        return network.outputs[self._output(network)] > 2

    def check_parameters(self) -> None:
        """Raise ``ValueError`` where the file or a parameter can't be used."""
        network = self.network()
        self._output(network)
        self._scaling(network)

    def network(self) -> Network:
        """The opened network."""
        path = os.fspath(self.path)
        check_runs(path, self.size, self.layout)  # first: opening computes constants
        network = open_network(path, self.size, self.layout)
        if self.sha256 is not None and network.sha256 != self.sha256:
            raise NetworkError(
                f"{path}: not the network that is asked for: its SHA-256 begins with "
                f"{network.sha256[:12]}, needed is {self.sha256[:12]}"
            )
        return network

    def describe(self, image: np.ndarray) -> np.ndarray:
        """The vector of an image, (d,) float32."""
        return self._run([image])[0]

    def extract(self, image: np.ndarray) -> LocalFeatures:
        """The descriptors of the places of an image, (n, d) float32."""
        return self._places(self._run([image])[0], image)

    def transform(self, images: Iterable[np.ndarray]) -> np.ndarray | LocalFeatureSets:
        """Turn images into rows of a matrix, or into sets of local features, in batches."""
        self.check_parameters()
        local = self.is_local
        waiting = (self._pixels(image) for image in images)
        found: list[Any] = []
        while batch := list(islice(waiting, self.network().batch or BATCH)):
            values = self._run(batch)
            found += [self._places(v, i) for v, i in zip(values, batch)] if local else list(values)
        if local:
            return LocalFeatureSets.concatenate(found)
        return np.stack(found) if found else np.zeros((0, len(self.get_feature_names_out())))

    def _run(self, images: Sequence[np.ndarray]) -> np.ndarray:
        network = self.network()
        pixels = np.stack([self._prepared(network, image) for image in images])
        n_missing = (network.batch or 0) - len(images)
        if n_missing > 0:  # the file takes batches of one length only
            pixels = np.concatenate([pixels, np.repeat(pixels[-1:], n_missing, axis=0)])
        values = network.run(pixels, self._output(network))[: len(images)]
        if values.ndim == 1 or len(values) != len(images):
            raise NetworkError(
                f"{network.path}: output {self._output(network)!r} of shape {values.shape} has no "
                "row for each image"
            )
        values = values.astype(np.float32, copy=False)
        if not np.isfinite(values).all():
            raise ImageError("the network gives numbers that are not finite")
        return values

    def _prepared(self, network: Network, image: np.ndarray) -> np.ndarray:
        pixels = resize_image(as_rgb(image), network.size, network.size)
        if network.layout == "NCHW":
            pixels = pixels.transpose(2, 0, 1)
        if network.dtype is np.uint8:
            return np.ascontiguousarray(pixels)
        shape = (3, 1, 1) if network.layout == "NCHW" else (3,)
        mean, std = (numbers.reshape(shape) for numbers in self._scaling(network))
        scaled = np.multiply(pixels, np.float32(1 / 255), order="C")
        scaled -= mean
        scaled /= std
        return scaled.astype(network.dtype, copy=False)

    def _scaling(self, network: Network) -> tuple[np.ndarray, np.ndarray]:
        mean = self.mean if self.mean is not None else network.metadata.get("mean")
        std = self.std if self.std is not None else network.metadata.get("std")
        if network.dtype is np.uint8:
            return np.zeros(3, np.float32), np.ones(3, np.float32)
        if mean is None or std is None:
            raise NetworkError(
                f"{network.path}: its normalisation of pixels is not known; give mean and std of "
                "(pixel / 255 - mean) / std: 0.5 and 0.5 for -1 to 1, 0 and 1 for 0 to 1, or "
                "[0.485, 0.456, 0.406] and [0.229, 0.224, 0.225] for most of PyTorch's"
            )
        try:
            both = [np.broadcast_to(np.asarray(v, np.float32), 3) for v in (mean, std)]
        except (TypeError, ValueError):
            both = []
        if not both or not all(np.isfinite(v).all() for v in both) or not (both[1] > 0).all():
            raise NetworkError(
                f"{network.path}: mean={mean!r}, std={std!r}; needed are one number or three, "
                "std positive"
            )
        return both[0], both[1]

    def _output(self, network: Network) -> str:
        if self.output is None:
            flat = [name for name, rank in network.outputs.items() if rank == 2]
            known = [name for name in PREFERRED if name in network.outputs]
            return (known or flat or list(network.outputs))[0]
        if self.output not in network.outputs:
            raise NetworkError(
                f"{network.path}: no output {self.output!r}; there are {', '.join(network.outputs)}"
            )
        return self.output

    def _places(self, values: np.ndarray, image: np.ndarray) -> LocalFeatures:
        """An output with places, of one image, as local features."""
        if values.ndim == 3:
            if self.network().layout == "NCHW":
                values = values.transpose(1, 2, 0)
        elif values.ndim == 2:
            n, side = len(values), math.isqrt(len(values))
            if n - side * side > 8:  # class and register tokens; more would be no square
                raise NetworkError(f"{os.fspath(self.path)}: {n} tokens are no square of places")
            values = values[n - side * side :].reshape(side, side, -1)
        else:
            raise NetworkError(
                f"{os.fspath(self.path)}: an output of {values.ndim + 1} dimensions; needed are 2 "
                "for a vector, 3 for tokens, 4 for maps"
            )
        rows, columns, d = values.shape
        x, y = ((np.arange(n) + 0.5) / n for n in (columns, rows))
        side = np.sqrt(image.shape[0] / rows * (image.shape[1] / columns))
        sizes = np.full(rows * columns, side, np.float32)
        descriptors = np.ascontiguousarray(values.reshape(-1, d))
        return LocalFeatures(descriptors, grid_positions(x, y), sizes)


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
    shape = taken.shape
    if taken.type not in TYPES or len(shape) != 4:
        raise NetworkError(
            f"{path}: takes {taken.type} of shape {shape}; needed are images: four dimensions of "
            f"{', '.join(TYPES)}"
        )
    layout = _layout(path, shape, layout or metadata.get("layout"))
    size = _size(path, shape, layout, size or metadata.get("size"))
    batch = shape[0] if isinstance(shape[0], int) and shape[0] > 0 else None
    outputs = {given.name: len(given.shape) for given in session.get_outputs()}
    return Network(
        path, sha256, session, taken.name, TYPES[taken.type], layout, size, batch, outputs, metadata
    )


def _session(path: str, content: bytes, data_files: Sequence[str]) -> Any:
    runtime = _imported("onnxruntime", path)
    options = runtime.SessionOptions()
    # One thread: images are spread over threads by n_jobs, and sums keep their order.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        return runtime.InferenceSession(
            path if data_files else content, options, providers=["CPUExecutionProvider"]
        )
    except Exception as problem:  # the runtime's errors have no common base
        raise NetworkError(f"{path}: onnxruntime can't load it ({_reason(problem)})") from None


def _imported(module: str, path: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise NetworkError(
            f"{path}: a network file needs onnx and onnxruntime: pip install onnx onnxruntime"
        ) from None


def _metadata(path: str, session: Any) -> dict[str, Any]:
    """What is known of a network: the TOML file beside it, else its own metadata."""
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
            found[name] = text
            with suppress(ValueError):
                found[name] = json.loads(text)
    return found


def _layout(path: str, shape: Sequence[Any], wanted: Any) -> str:
    fits = [name for name in LAYOUTS if shape[name.index("C")] == 3]
    if wanted not in (None, *LAYOUTS):
        raise NetworkError(f"{path}: layout {wanted!r}; choose NCHW or NHWC")
    if wanted is None and len(fits) != 1:
        raise NetworkError(
            f"{path}: shape {list(shape)} does not say where colours are; give layout='NCHW' or "
            "'NHWC'"
        )
    return wanted or fits[0]


def _size(path: str, shape: Sequence[Any], layout: str, wanted: Any) -> int:
    sides = {shape[layout.index(axis)] for axis in "HW"}
    fixed = {side for side in sides if isinstance(side, int)}
    size = next(iter(fixed), wanted)
    if len(fixed) > 1:
        raise NetworkError(f"{path}: takes images of {sides}; needed are square ones")
    if size is None:
        raise NetworkError(f"{path}: takes images of any size; give size=224 or what it wants")
    if wanted not in (None, size):
        raise NetworkError(f"{path}: takes images of {size} pixels a side, not {wanted}")
    if not isinstance(size, int) or not 1 <= size <= MOST_PIXELS:
        raise NetworkError(f"{path}: size {size!r} is not between 1 and {MOST_PIXELS}")
    return size


def _reason(problem: Exception) -> str:
    return " ".join(str(problem).split())[:200]


# The file, before a runtime sees it


def read_network(path: str) -> tuple[bytes, list[str], str]:
    """The content of a network file, the data files beside it, and the SHA-256 of all.

    Raises
    ------
    NetworkError
        If it is no ONNX file, loops, or names data outside its own folder.
    """
    content = _read(path)
    if len(content) > LARGEST:
        raise NetworkError(f"{path}: larger than 2 GB, which no ONNX file can be")
    folder = os.path.dirname(os.path.abspath(path))
    digest = hashlib.sha256(content)
    data_files = []
    for name in sorted(set(_names_of_data(path, content))):
        data = os.path.join(folder, name)
        if os.path.basename(name) != name or name in ("", ".", "..") or os.path.islink(data):
            raise NetworkError(
                f"{path}: keeps data in {name!r}; only files in the network's own folder are read"
            )
        data_files.append(data)
        digest.update(hashlib.sha256(_read(data)).digest())
    return content, data_files, digest.hexdigest()


def _read(path: str) -> bytes:
    try:
        with open_regular(path) as file:
            return file.read(LARGEST + 1)
    except OSError as problem:
        raise NetworkError(f"{path}: {(problem.strerror or str(problem)).lower()}") from None


def _names_of_data(path: str, content: bytes) -> list[str]:
    """The files that tensors of a network are in."""
    model = _imported("onnx", path).ModelProto()
    try:
        model.ParseFromString(content)
        parts = [model.graph, *model.functions]
        names = [name for part in parts for name in _locations(part)]
    except NetworkError as problem:
        raise NetworkError(f"{path}: {problem}") from None
    except Exception:  # protobuf's errors depend on how it was built
        raise NetworkError(f"{path}: not an ONNX file") from None
    if not model.HasField("graph"):
        raise NetworkError(f"{path}: has no graph; not an ONNX network")
    return names


def _locations(graph: Any) -> Iterator[str]:
    """Yield where the tensors of a graph, or function, and of all graphs inside are kept."""
    tensors = list(getattr(graph, "initializer", ()))  # functions have none
    sparse = list(getattr(graph, "sparse_initializer", ()))
    for node in graph.node:
        if node.op_type in LOOPS:
            raise NetworkError(
                f"has a {node.op_type} operator, whose number of steps is not known; "
                "export the network with its loops unrolled"
            )
        for attribute in node.attribute:
            tensors += [attribute.t, *attribute.tensors]
            sparse += [attribute.sparse_tensor, *attribute.sparse_tensors]
            for inner in (attribute.g, *attribute.graphs):
                yield from _locations(inner)
    for one in sparse:
        tensors += [one.values, one.indices]
    for tensor in tensors:
        yield from (entry.value for entry in tensor.external_data if entry.key == "location")


# The first run, in a process of its own


@lru_cache(maxsize=8)
def check_runs(path: str, size: int | None, layout: str | None) -> None:
    """Run a network once in a process of its own, with limits of memory and time.

    Inputs have one shape, so that what one image takes, every image takes.
    """
    settings = json.dumps({"size": size, "layout": layout, "memory": MEMORY})
    command = [sys.executable, "-m", "visualwords.features.onnx", path, settings]
    try:
        done = subprocess.run(command, capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise NetworkError(f"{path}: needs more than {SECONDS} s for one image") from None
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines()  # of any code page
        reason = lines[-1][:300] if done.returncode == 1 and lines else "ended by the system"
        if reason.startswith("error: "):
            raise NetworkError(reason.removeprefix("error: "))
        memory = f"perhaps for more than {MEMORY >> 30} GB ({reason})"
        raise NetworkError(f"{path}: fails for one image, {memory}")


def main(path: str, settings: str) -> int:
    """Run a network on a black image; 1 and a line on stderr if that fails."""
    given = json.loads(settings)
    with suppress(ImportError):  # Windows: only the time is limited
        resource = importlib.import_module("resource")
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
