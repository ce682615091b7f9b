"""Networks of recipes: pinned by their content when a model learns, found again when it is loaded.

A model file keeps a network's name, SHA-256 and settings, and the network itself only if asked.
While a recipe is in use its channels have the whole path; files and cache keys have only the name
and the SHA-256, so that the same network gives the same model wherever it lies.
"""

import hashlib
import os
import re
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from visualwords.apps.pipeline.channel import NETWORK, Channel
from visualwords.apps.pipeline.recipe import Recipe
from visualwords.cache import default_folder
from visualwords.errors import ModelFileError, RecipeError
from visualwords.features.registry import find_extractor
from visualwords.files import write_atomically

FOLDERS = "VISUALWORDS_NETWORKS"  # environment variable: folders to look for networks in
MS_OF_A_NETWORK = 10.0  # milliseconds of one core for an image, and for each megabyte
MS_OF_A_MEGABYTE = 1.0


def pin_networks(recipe: Recipe) -> Recipe:
    """A recipe whose networks have whole paths, SHA-256 and costs by the size of files."""
    return replace(recipe, channels=tuple(map(_pinned, recipe.channels)))


def with_names_only(recipe: Recipe) -> Recipe:
    """A recipe as files keep it: networks without their folders."""
    return _changed(recipe, lambda c: {**c.params, "path": os.path.basename(c.params["path"])})


def read_networks(channels: Iterable[Channel]) -> dict[str, np.ndarray]:
    """The networks of channels as bytes, by their SHA-256.

    Raises
    ------
    RecipeError
        If there is none, or one has its weights in files of their own.
    """
    from visualwords.features.onnx import read_network

    found = {}
    for channel in channels:
        if not channel.is_network:
            continue
        content, data_files, sha256 = read_network(channel.params["path"])
        if data_files:
            raise RecipeError(
                f"{channel.params['path']}: its weights are in files of their own and can't be "
                "embedded; save it as one file, or keep it beside the model"
            )
        found[sha256] = np.frombuffer(content, np.uint8)
    if not found:
        raise RecipeError("no channel of the recipe is a network that could be embedded")
    return found


def find_networks(
    recipe: Recipe,
    model: str,
    network: str | None = None,
    embedded: dict[str, np.ndarray] | None = None,
) -> Recipe:
    """A recipe of a model file with the paths of its networks.

    Parameters
    ----------
    recipe : Recipe
        As `with_names_only` gave it.
    model : str
        The model file; networks may lie beside it.
    network : str, optional
        A network file, or a folder of some.
    embedded : dict of SHA-256 → bytes, optional
        Networks that are part of the model file.

    Raises
    ------
    ModelFileError
        If a network is not found, or another file has its name.
    """
    return _changed(recipe, lambda channel: _found(channel, model, network, embedded or {}))


def _pinned(channel: Channel) -> Channel:
    if not channel.is_network:
        return channel
    from visualwords.features.onnx import read_network

    path = os.path.abspath(channel.params["path"])
    content, data_files, sha256 = read_network(path)
    size = len(content) + sum(map(os.path.getsize, data_files))
    cost = MS_OF_A_NETWORK + MS_OF_A_MEGABYTE * size / 1e6  # the same on all machines
    params = {**channel.params, "path": path, "sha256": sha256}
    told = find_extractor(NETWORK)(**params).network().metadata
    for name in ("mean", "std", "size", "layout"):  # a file beside the network may say them
        if params.get(name) is None and name in told:
            params[name] = told[name]
    return replace(channel, params=params, cost=cost)


def _found(
    channel: Channel, model: str, network: str | None, embedded: dict[str, np.ndarray]
) -> dict[str, Any]:
    from visualwords.features.onnx import NetworkError, read_network

    name, sha256 = channel.params.get("path"), channel.params.get("sha256")
    if not isinstance(name, str) or name != os.path.basename(name) or not isinstance(sha256, str):
        raise ModelFileError("a network of the recipe has no name and SHA-256")
    others = []
    if network is None and sha256 in embedded:
        return {**channel.params, "path": _unpacked(embedded[sha256], sha256, name)}
    for path in _places(name, model, network):
        if os.path.isfile(path):
            try:
                if read_network(path)[2] == sha256:
                    return {**channel.params, "path": os.path.abspath(path)}
            except NetworkError:
                pass
            others.append(path)
    found = f"{others[0]} is another one" if others else "it is not there"
    raise ModelFileError(
        f"needs the network {name} (SHA-256 {sha256[:12]}…), but {found}; put it beside the model, "
        f"or give --network PATH"
    )


def _unpacked(content: np.ndarray, sha256: str, name: str) -> str:
    """A file with an embedded network, which the runtime's process of limits needs."""
    if hashlib.sha256(content.tobytes()).hexdigest() != sha256 or not _is_file_name(name):
        raise ModelFileError("the embedded network is not the one that the recipe names")
    folder = default_folder()
    place = Path(tempfile.mkdtemp(prefix="visualwords-")) if folder is None else folder / "networks"
    path = place / sha256 / name
    if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != sha256:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content.tobytes())
    return str(path)


def _is_file_name(name: str) -> bool:
    return name not in ("", ".", "..") and not re.search(r"[/\\:\0]", name)


def _places(name: str, model: str, network: str | None) -> list[str]:
    """Where a network may be, the likeliest first."""
    beside = os.path.join(os.path.dirname(os.path.abspath(model)), name)
    folders = [f for f in os.environ.get(FOLDERS, "").split(os.pathsep) if f]
    given = [] if network is None else [network, os.path.join(network, name)]
    return [*given, beside, *(os.path.join(folder, name) for folder in folders)]


def _changed(recipe: Recipe, params_of: Any) -> Recipe:
    return replace(
        recipe,
        channels=tuple(
            replace(channel, params=params_of(channel)) if channel.is_network else channel
            for channel in recipe.channels
        ),
    )
