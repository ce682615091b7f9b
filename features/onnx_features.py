"""Features of a network that the user brings as a local ONNX file."""

import os
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import numpy as np

from visualwords.errors import ImageError
from visualwords.features.extractor import Extractor, as_rgb
from visualwords.features.local_features import LocalFeatures, LocalFeatureSets
from visualwords.features.onnx_file import NetworkError
from visualwords.features.onnx_network import Network, check_runs, open_network
from visualwords.features.resizing import resize_image

__all__ = ["ONNXFeatures"]

BATCH = 16  # images that `transform` runs together
PREFERRED = ("embedding", "image_embeds", "pooler_output")  # names that exporters give


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
    run is in a process with limits of memory and time (see `visualwords.features.onnx_network`).
    Needs onnxruntime.
    """

    version = 1
    is_normalized = True
    is_signed = True

    def __init__(
        self,
        path: str | os.PathLike[str],
        output: str | None = None,
        size: int | None = None,
        mean: float | Sequence[float] | None = None,
        std: float | Sequence[float] | None = None,
        layout: str | None = None,
        *,
        sha256: str | None = None,
    ):
        self.path = path
        self.output = output
        self.size = size
        self.mean = mean
        self.std = std
        self.layout = layout
        self.sha256 = sha256

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
        """Return the opened network."""
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
        """Return the vector of an image, (d,) float32."""
        return self._run([image])[0]

    def extract(self, image: np.ndarray) -> LocalFeatures:
        """Return the descriptors of the places of an image, (n, d) float32."""
        return self._places(self._run([image])[0], image)

    def transform(self, images: Iterable[np.ndarray]) -> np.ndarray | LocalFeatureSets:
        """Turn images into rows of a matrix, or into sets of local features, in batches."""
        self.check_parameters()
        local = self.is_local
        waiting = iter(images)
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
                f"{network.path}: how it wants pixels is not known; give mean and std of "
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
        """Return an output with places, of one image, as local features."""
        if values.ndim == 3:
            if self.network().layout == "NCHW":
                values = values.transpose(1, 2, 0)
        elif values.ndim == 2:
            values = _tokens_on_a_grid(values, os.fspath(self.path))
        else:
            raise NetworkError(
                f"{os.fspath(self.path)}: an output of {values.ndim + 1} dimensions; needed are 2 "
                "for a vector, 3 for tokens, 4 for maps"
            )
        rows, columns, d = values.shape
        y, x = np.divmod(np.arange(rows * columns), columns)
        positions = np.stack([(x + 0.5) / columns, (y + 0.5) / rows], axis=1).astype(np.float32)
        side = np.sqrt(image.shape[0] / rows * (image.shape[1] / columns))
        sizes = np.full(rows * columns, side, np.float32)
        return LocalFeatures(np.ascontiguousarray(values.reshape(-1, d)), positions, sizes)


def _tokens_on_a_grid(tokens: np.ndarray, path: str) -> np.ndarray:
    """Return the tokens of a transformer as (rows, columns, d), without extra ones in front."""
    n = len(tokens)
    side = int(np.sqrt(n))
    if n - side * side > 8:  # class and register tokens; more would be no square of places
        raise NetworkError(f"{path}: {n} tokens are no square of places")
    return tokens[n - side * side :].reshape(side, side, -1)
