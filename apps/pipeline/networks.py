"""Networks of recipes: pinned by their content when a model learns, found again when it is loaded.

A model file keeps a network's name, SHA-256 and settings, not the network. While a recipe is in
use its channels have the whole path; files and cache keys have only the name and the SHA-256, so
that the same network gives the same model wherever it lies.
"""

import os
from dataclasses import replace
from typing import Any

from visualwords.apps.pipeline.recipe import Channel, Recipe
from visualwords.errors import ModelFileError

EXTRACTOR = "ONNXFeatures"
FOLDERS = "VISUALWORDS_NETWORKS"  # environment variable: folders to look for networks in


def is_network(channel: Channel) -> bool:
    """Return whether a channel's extractor is a network."""
    return channel.extractor == EXTRACTOR


def pin_networks(recipe: Recipe) -> Recipe:
    """Return a recipe whose networks are named by whole paths and SHA-256."""
    return _changed(recipe, _pinned)


def with_names_only(recipe: Recipe) -> Recipe:
    """Return a recipe as files keep it: networks without their folders."""
    return _changed(recipe, lambda c: {**c.params, "path": os.path.basename(c.params["path"])})


def find_networks(recipe: Recipe, model: str, network: str | None = None) -> Recipe:
    """Return a recipe of a model file with the paths of its networks.

    Parameters
    ----------
    recipe : Recipe
        As `with_names_only` gave it.
    model : str
        The model file; networks may lie beside it.
    network : str, optional
        A network file, or a folder of some.

    Raises
    ------
    ModelFileError
        If a network is not found, or another file has its name.
    """
    return _changed(recipe, lambda channel: _found(channel, model, network))


def _pinned(channel: Channel) -> dict[str, Any]:
    from visualwords.features.onnx_file import read_network

    path = os.path.abspath(channel.params["path"])
    return {**channel.params, "path": path, "sha256": read_network(path)[2]}


def _found(channel: Channel, model: str, network: str | None) -> dict[str, Any]:
    from visualwords.features.onnx_file import NetworkError, read_network

    name, sha256 = channel.params.get("path"), channel.params.get("sha256")
    if not isinstance(name, str) or name != os.path.basename(name) or not isinstance(sha256, str):
        raise ModelFileError("a network of the recipe has no name and SHA-256")
    others = []
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


def _places(name: str, model: str, network: str | None) -> list[str]:
    """Return where a network may be, the likeliest first."""
    beside = os.path.join(os.path.dirname(os.path.abspath(model)), name)
    folders = [f for f in os.environ.get(FOLDERS, "").split(os.pathsep) if f]
    given = [] if network is None else [network, os.path.join(network, name)]
    return [*given, beside, *(os.path.join(folder, name) for folder in folders)]


def _changed(recipe: Recipe, params_of: Any) -> Recipe:
    if not any(map(is_network, recipe.channels)):
        return recipe
    return replace(
        recipe,
        channels=tuple(
            replace(channel, params=params_of(channel)) if is_network(channel) else channel
            for channel in recipe.channels
        ),
    )
