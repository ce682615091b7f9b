"""The command info of all programs: the contents of a model file as a table or as JSON."""

import json
import os
import textwrap
from typing import Any

import click

from visualwords.apps.command_line.terminal import print_json, print_table
from visualwords.apps.command_line.verb import Work, argument, as_json

LONGEST = 200  # characters of a value that are shown


class Info(Work):
    """Print the contents of a MODEL file: classes, recipe, training summary and versions.

    MODEL is a model file, or "pedestrian" for the bundled detector.
    """

    model: str = argument()
    as_json: bool = as_json

    def run(self) -> None:
        """Print the manifest."""
        from visualwords.errors import ModelFileError
        from visualwords.model_file import model_path, read_manifest

        path = model_path(self.model)
        manifest = read_manifest(path)
        if self.as_json:
            print_json(manifest)
            return
        try:
            rows = {"kind": manifest["kind"], "size": f"{os.path.getsize(path) / 1000:,.0f} kB"}
            rows |= _of_classifier(manifest) if "recipe" in manifest else _of_other(manifest)
            rows["made with"] = ", ".join(f"{name} {v}" for name, v in manifest["versions"].items())
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            raise ModelFileError(
                f"{self.model}: the manifest does not describe a model "
                f"({type(problem).__name__}: {problem})"
            ) from None
        print_table([os.path.basename(self.model), ""], [[k, v] for k, v in rows.items()])


def info_verb(default: str | None = None) -> click.Command:
    """The command, for a program; ``default`` is the model without an argument."""
    made = Info.command()
    if default is not None:
        made.params[0].required, made.params[0].default = False, default
    return made


def _of_classifier(manifest: dict[str, Any]) -> dict[str, str | list[str]]:
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
        "as TOML": Recipe.from_table(recipe).to_toml().splitlines(),
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


def _of_other(manifest: dict[str, Any]) -> dict[str, str | list[str]]:
    """The manifest of a model of another program; long values are cut off."""
    names = sorted(manifest.keys() - {"arrays", "checksum", "kind", "versions"})
    return {name: textwrap.shorten(json.dumps(manifest[name]), LONGEST) for name in names}
