"""The contents of a model file as a table or as JSON, for the verb info of all commands."""

import json
import os
from typing import Any

from rich.table import Table
from rich.text import Text

from visualwords.apps.command_line.terminal import print_json, printable, stdout
from visualwords.apps.pipeline.loading import model_path
from visualwords.apps.pipeline.metric import METRICS
from visualwords.apps.pipeline.recipe import Recipe
from visualwords.errors import ModelFileError
from visualwords.model_file import read_manifest

TOML = "as TOML"
FEW = 8  # numbers of a list that are shown


def print_model_info(model: str, as_json: bool) -> None:
    """Print the manifest of a model file, or of the bundled detector ("pedestrian")."""
    path = model_path(model)
    manifest = read_manifest(path)
    if as_json:
        print_json(manifest)
        return
    try:
        rows = {"kind": manifest["kind"], "size": f"{os.path.getsize(path) / 1000:,.0f} kB"}
        rows |= _of_classifier(manifest) if "recipe" in manifest else _of_other(manifest)
        rows["made with"] = ", ".join(f"{name} {v}" for name, v in manifest["versions"].items())
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise ModelFileError(
            f"{model}: the manifest does not describe a model ({type(problem).__name__}: {problem})"
        ) from None
    table = Table(show_header=False, title=Text(printable(os.path.basename(model))))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows.items():
        lines = value.splitlines() if name == TOML else [str(value)]
        table.add_row(name, Text("\n".join(printable(line) for line in lines)))
    stdout().print(table)


def _of_classifier(manifest: dict[str, Any]) -> dict[str, str]:
    training, recipe, arrays = manifest["training"], manifest["recipe"], manifest["arrays"]
    counts = zip(manifest["classes"], training["images_per_class"])
    about = dict(manifest.get("about", {}))
    source = f"{about.pop('trained on')}: " if "trained on" in about else ""
    rows = {
        **about,
        "recipe": ": ".join(filter(None, (recipe["name"], recipe["summary"]))),
        TOML: Recipe.from_json(recipe).to_toml(),
        f"{len(manifest['classes'])} classes": ", ".join(f"{name} ({n})" for name, n in counts),
        "trained on": f"{source}{training['images']:,} images, {training['skipped']} skipped, "
        f"seed {training['random_state']}",
        "probabilities": _probabilities(arrays),
        "unknown images": "yes"
        if "novelty/known" in arrays
        else "no: an older version, or too few training images",
        "similar images": "yes" if "gallery/signatures" in arrays else "not kept",
    }
    if training["recipes_tried"]:
        is_cost = training.get("metric") == "cost"
        tried = sorted(training["recipes_tried"].items(), key=lambda pair: pair[1])
        figures = [f"{name} {x:.3f}" if is_cost else f"{name} {x:.1%}" for name, x in tried]
        metric = METRICS[training.get("metric", "mean-per-class")]
        rows[f"recipes tried, by {metric}"] = ", ".join(figures if is_cost else figures[::-1])
    if training.get("cut_off"):
        rows["no time for"] = ", ".join(training["cut_off"])
        budget = training["repeated_by_budget"]
        if budget is not None:
            rows["no time for"] += f"; --budget {budget:g}s repeats the choice"
    return rows


def _probabilities(arrays: Any) -> str:
    if "calibration/slope" in arrays:
        return "yes"
    return "no: too few training images"


def _of_other(manifest: dict[str, Any]) -> dict[str, str]:
    """Return the manifest of a model of another command."""
    shown_above = ("arrays", "checksum", "kind", "versions")
    return {name: _shown(value) for name, value in manifest.items() if name not in shown_above}


def _shown(value: Any) -> str:
    """Return a value as text; of many numbers only how many there are, and their range."""
    if isinstance(value, list) and len(value) > FEW and all(isinstance(v, float) for v in value):
        return f"{len(value)} numbers from {min(value):.3g} to {max(value):.3g}"
    return json.dumps(value)
