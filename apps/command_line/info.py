"""The verb info of all commands: the contents of a model file as a table or as JSON."""

import json
import os
from typing import Any

import click

from visualwords.apps.command_line.exit_codes import DONE
from visualwords.apps.command_line.options import PATH, as_json
from visualwords.apps.command_line.verb import Verb

TOML = "as TOML"
FEW = 8  # numbers of a list that are shown


def info_verb(default: str | None = None) -> click.Command:
    """The verb, for a command; ``default`` is the model without an argument."""

    @click.command("info", cls=Verb)
    @click.argument("model", type=PATH, required=default is None, default=default)
    @as_json
    def info(model: str, as_json: bool) -> int:
        """Print the contents of a MODEL file: classes, recipe, training summary and versions.

        MODEL is a model file, or "pedestrian" for the bundled detector.
        """
        print_model_info(model, as_json)
        return DONE

    return info


def print_model_info(model: str, as_json: bool) -> None:
    """Print the manifest of a model file, or of the bundled detector ("pedestrian")."""
    from visualwords.apps.command_line.terminal import print_json, print_table
    from visualwords.apps.pipeline.model_io import model_path
    from visualwords.errors import ModelFileError
    from visualwords.model_file import read_manifest

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
    lines = [[k, v.splitlines() if k == TOML else str(v)] for k, v in rows.items()]
    print_table([os.path.basename(model), ""], lines)


def _of_classifier(manifest: dict[str, Any]) -> dict[str, str]:
    from visualwords.apps.pipeline.metric import METRICS
    from visualwords.apps.pipeline.recipe import Recipe

    training, recipe, arrays = manifest["training"], manifest["recipe"], manifest["arrays"]
    counts = zip(manifest["classes"], training["images_per_class"])
    about = dict(manifest["about"])
    source = f"{about.pop('trained on')}: " if "trained on" in about else ""
    has_chances, few = "calibration/slope" in arrays, "no: too few training images"
    rows = {
        **about,
        "recipe": ": ".join(filter(None, (recipe["name"], recipe.get("summary")))),
        TOML: Recipe.from_table(recipe).to_toml(),
        f"{len(manifest['classes'])} classes": ", ".join(f"{name} ({n})" for name, n in counts),
        "trained on": f"{source}{training['images']:,} images, {training['skipped']} skipped, "
        f"seed {training['random_state']}",
        "probabilities": "yes" if has_chances else few,
        "unknown images": "yes" if "novelty/known" in arrays else few,
        "similar images": "yes" if "gallery/signatures" in arrays else "not kept",
    }
    if training["tried"]:
        is_cost = training["metric"] == "cost"
        tried = sorted(training["tried"].items(), key=lambda pair: pair[1])
        figures = [f"{name} {x:.3f}" if is_cost else f"{name} {x:.1%}" for name, x in tried]
        title = f"tried, by {METRICS[training['metric']]}"
        rows[title] = ", ".join(figures if is_cost else figures[::-1])
    if training["cut_off"]:
        rows["no time for"] = ", ".join(training["cut_off"])
    return rows


def _of_other(manifest: dict[str, Any]) -> dict[str, str]:
    """The manifest of a model of another command; long lists of numbers as their range."""
    rows = {}
    for name in manifest.keys() - {"arrays", "checksum", "kind", "versions"}:
        value = manifest[name]
        is_long = isinstance(value, list) and len(value) > FEW
        if is_long and all(isinstance(number, float) for number in value):
            rows[name] = f"{len(value)} numbers from {min(value):.3g} to {max(value):.3g}"
        else:
            rows[name] = json.dumps(value)
    return dict(sorted(rows.items()))
