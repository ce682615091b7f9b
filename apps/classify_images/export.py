"""classify-images export and features: for other programs."""

import os

import click

from visualwords.apps.classify_images import options
from visualwords.apps.command_line import verb
from visualwords.apps.command_line.terminal import print_json, printable, say
from visualwords.apps.command_line.verb import argument, flag

PIXELS = r"([1-9]\d{0,4})"


class Export(verb.Work):
    """Write MODEL as one ONNX file, which runs without this program.

    It has everything from an image (uint8 RGB) to its label, in standard operators. The golden
    images of the model are predicted by the file before it is written: labels must agree.

    Parameters
    ----------
    output
        The ONNX file to write; of .html, also a page that uses it in a browser.
    size
        Width and height of all images, which makes the graph static [default: any size].
    """

    model: str = argument()
    output: str = flag("-o --output M.onnx|M.html", kind=verb.OUTPUT, required=True)
    size: tuple[int, int] | None = flag(
        "--size WxH",
        kind=verb.parts("WIDTHxHEIGHT, such as 384x256", PIXELS + "x" + PIXELS, int, int),
    )
    as_json: bool = verb.as_json

    def run(self) -> None:
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


class Features(options.Composing, options.Reading):
    """Write the feature vectors of all images of FOLDER, for other programs.

    Words and Gaussians are learned from the training part, if the folder has one, else from all
    images. Beside the numbers are the names of columns, paths, labels, groups and splits. Of an
    .npz file, sparse rows are the arrays data, indices, indptr and shape of a CSR matrix.

    Parameters
    ----------
    output
        Where to write the feature matrix.
    """

    folder: str = argument()
    output: str = flag("-o --output X.npz|X.csv|X.parquet", kind=verb.OUTPUT, required=True)
    raw: bool = verb.raw
    seed: int = verb.seed

    def work(self) -> None:
        """Encode the images, and write the file."""
        from visualwords.apps.pipeline import feature_matrix
        from visualwords.apps.pipeline.composing import BASE, change_recipe
        from visualwords.apps.pipeline.recipes import find_recipe
        from visualwords.folders import ImageFolder

        recipe, overrides = self.composed()
        if recipe == "auto":
            recipe = change_recipe(find_recipe(BASE), **overrides)
        with options.usage_checked():
            feature_matrix.check_format(self.output)
        images = ImageFolder(self.folder)
        with self.progress() as progress:
            data, env = self.dataset(images), self.environment(progress)
            matrix = feature_matrix.feature_matrix(find_recipe(recipe), data, env, self.seed)
        self.skip([*images.skipped, *matrix.skipped])
        self.check_strict()
        feature_matrix.write_features(self.output, matrix, raw=self.raw)
        rows, columns = matrix.rows.shape
        say(f"{self.output}: {rows} images × {columns} numbers")
        self.print_summary({"output": self.output, "images": rows, "columns": columns})
