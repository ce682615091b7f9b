"""classify-images info"""

import json
import os
import sys
from typing import Any

import click

from visualwords.apps.classify_images import options
from visualwords.apps.classify_images.verb import Verb


@click.command(cls=Verb)
@click.argument("model", type=click.Path())
@options.as_json
def info(model: str, as_json: bool) -> int:
    """Say what is in a MODEL file: its classes, recipe, training images and versions."""
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

    from visualwords.apps.terminal import printable, stdout

    training = manifest["training"]
    recipe = manifest["recipe"]
    table = Table(show_header=False, title=Text(printable(os.path.basename(model))))
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    rows = {
        "kind": manifest["kind"],
        "size": f"{os.path.getsize(model) / 1000:,.0f} kB",
        "classes": ", ".join(
            f"{name} ({count})"
            for name, count in zip(manifest["classes"], training["images_per_class"])
        ),
        "trained on": f"{training['images']} images, {training['skipped']} skipped",
        "recipe": f"{recipe['name']}: {recipe['summary']}",
        "seed": str(training["random_state"]),
        "versions": ", ".join(f"{name} {v}" for name, v in manifest["versions"].items()),
    }
    for name, value in rows.items():
        table.add_row(name, Text(printable(value)))
    stdout().print(table)
