"""classify-images export"""

import os
import re
from typing import Any

import click

from visualwords.apps.classify_images import options
from visualwords.apps.command_line import options as shared
from visualwords.apps.command_line.exit_codes import DONE
from visualwords.apps.command_line.verb import Verb


class Size(click.ParamType):
    """Width and height: ``384x256``."""

    name = "size"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[int, int]:
        """Return the two numbers."""
        if isinstance(value, tuple):
            return value
        match = re.fullmatch(r"([1-9]\d{0,4})x([1-9]\d{0,4})", value)
        if not match:
            self.fail(f"{value!r} is not a size; write width x height, like 384x256", param, ctx)
        return int(match[1]), int(match[2])


@click.command(cls=Verb)
@click.argument("model", type=click.Path())
@options.output(
    "-o --output M.onnx|M.html",
    "The ONNX file to write; of .html, also a page that uses it in a browser.",
    required=True,
)
@shared.flag(
    "--size WxH",
    "Width and height of all images, which makes the graph static [default: any size].",
    Size(),
)
@shared.as_json
def export(model: str, output: str, size: tuple[int, int] | None, as_json: bool) -> int:
    """Write MODEL as one ONNX file, which runs without this program.

    It has everything from an image (uint8 RGB) to its label, in standard operators. The golden
    images of the model are predicted by the file before it is written: labels must agree.
    """
    from visualwords.apps.command_line.terminal import print_json, printable
    from visualwords.apps.export.exporting import exported, web_page
    from visualwords.files import write_atomically

    stem, ending = os.path.splitext(output)
    if ending.lower() not in (".onnx", ".html"):
        raise click.BadParameter(f"{output}: name a file ending in .onnx or .html")
    found = exported(model, size=size)
    path, data = output, found.model.SerializeToString()
    if ending.lower() == ".html":
        path = f"{stem}.onnx"
        write_atomically(output, web_page(os.path.basename(path), found.classes))
    write_atomically(path, data)
    if as_json:
        figures = {"largest_difference": found.largest_difference, "golden_images": found.n_images}
        print_json({"model": path, "bytes": len(data), **figures})
    else:
        print(
            f"{printable(path)}: {len(data):,} bytes; {found.n_images} golden images have the "
            f"same labels (largest difference {found.largest_difference:.2g})"
        )
    return DONE
