"""classify-images export"""

import os

import click

from visualwords.apps.command_line import options as shared
from visualwords.apps.command_line.exit_codes import DONE
from visualwords.apps.command_line.options import Pair, argument, flag
from visualwords.apps.command_line.terminal import print_json, printable
from visualwords.apps.command_line.verb import Work


def _pixels(text: str) -> int:
    if not 1 <= int(text) < 100_000:
        raise ValueError(text)
    return int(text)


class Export(Work):
    """Write MODEL as one ONNX file, which runs without this program.

    It has everything from an image (uint8 RGB) to its label, in standard operators. The golden
    images of the model are predicted by the file before it is written: labels must agree.
    """

    model: str = argument("model")
    output: str = flag(
        "-o --output M.onnx|M.html",
        "The ONNX file to write; of .html, also a page that uses it in a browser.",
        shared.OUTPUT,
        required=True,
    )
    size: tuple[int, int] | None = flag(
        "--size WxH",
        "Width and height of all images, which makes the graph static [default: any size].",
        Pair("WIDTHxHEIGHT, such as 384x256", "x", _pixels, _pixels),
    )
    as_json: bool = shared.as_json

    def run(self) -> int:
        """Write the file."""
        from visualwords.apps.export.exporting import exported, web_page
        from visualwords.files import write_atomically

        stem, ending = os.path.splitext(self.output)
        if ending.lower() not in (".onnx", ".html"):
            raise click.BadParameter(f"{self.output}: name a file ending in .onnx or .html")
        found = exported(self.model, size=self.size)
        path, data = self.output, found.model.SerializeToString()
        if ending.lower() == ".html":
            path = f"{stem}.onnx"
            write_atomically(self.output, web_page(os.path.basename(path), found.classes))
        write_atomically(path, data)
        n_images, difference = found.n_images, found.largest_difference
        if self.as_json:
            figures = {"largest_difference": difference, "golden_images": n_images}
            print_json({"model": path, "bytes": len(data), **figures})
        else:
            print(
                f"{printable(path)}: {len(data):,} bytes; {n_images} golden images have the same "
                f"labels (largest difference {difference:.2g})"
            )
        return DONE


export = Export.command()
