"""classify-images info"""

import json
import os
import sys
from typing import Any

import click

from visualwords.apps.command_line import options as shared
from visualwords.apps.command_line.verb import Verb


@click.command(cls=Verb)
@click.argument("model", type=click.Path())
@shared.as_json
def info(model: str, as_json: bool) -> int:
    """Print the contents of a MODEL file: classes, recipe, training summary and versions."""
    from visualwords.model_file import read_manifest

    manifest = read_manifest(model)
    if as_json:
        json.dump(manifest, sys.stdout, indent=1)
        print()
    else:
        _print(model, manifest)
    return 0


def _print(model: str, manifest: dict[str, Any]) -> None:
    from rich.table import Table
    from rich.text import Text

    from visualwords.apps.command_line.terminal import printable, stdout
    from visualwords.errors import ModelFileError

    try:
        rows = {"kind": manifest["kind"], "size": f"{os.path.getsize(model) / 1000:,.0f} kB"}
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
        table.add_row(name, Text(printable(str(value))))
    stdout().print(table)


def _of_classifier(manifest: dict[str, Any]) -> dict[str, str]:
    training, recipe, arrays = manifest["training"], manifest["recipe"], manifest["arrays"]
    counts = zip(manifest["classes"], training["images_per_class"])
    channels = [
        f"{channel['extractor']} {json.dumps(channel['params'])}" for channel in recipe["channels"]
    ]
    rows = {
        "recipe": f"{recipe['name']}: {recipe['summary']}",
        "features": "; ".join(channels),
        f"{len(manifest['classes'])} classes": ", ".join(f"{name} ({n})" for name, n in counts),
        "trained on": f"{training['images']:,} images, {training['skipped']} skipped, "
        f"seed {training['random_state']}",
        "probabilities": "yes" if "sigmoids" in arrays else "no: too few training images",
        "similar images": "yes" if "gallery/signatures" in arrays else "not kept",
    }
    if training["recipes_tried"]:
        tried = sorted(training["recipes_tried"].items(), key=lambda pair: -pair[1])
        rows["recipes tried"] = ", ".join(f"{name} {accuracy:.1%}" for name, accuracy in tried)
    return rows


def _of_other(manifest: dict[str, Any]) -> dict[str, str]:
    """Return the manifest of a model of another command."""
    shown_above = ("arrays", "checksum", "kind", "versions")
    return {name: json.dumps(value) for name, value in manifest.items() if name not in shown_above}
