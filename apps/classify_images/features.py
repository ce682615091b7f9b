"""classify-images features"""

from typing import TYPE_CHECKING

from visualwords.apps.classify_images import options
from visualwords.apps.classify_images.recipe_flags import Composing
from visualwords.apps.command_line import options as shared
from visualwords.apps.command_line.options import argument, flag
from visualwords.apps.command_line.terminal import say
from visualwords.apps.command_line.verb import usage_checked

if TYPE_CHECKING:
    from visualwords.apps.classify_images.running import Run


class Features(Composing, options.Reading):
    """Write the feature vectors of all images of FOLDER, for other programs.

    Words and Gaussians are learned from the training part, if the folder has one, else from all
    images. Beside the numbers are the names of columns, paths, labels, groups and splits. Of an
    .npz file, sparse rows are the arrays data, indices, indptr and shape of a CSR matrix.
    """

    folder: str = argument("folder")
    output: str = flag(
        "-o --output X.npz|X.csv|X.parquet",
        "Where to write the feature matrix.",
        shared.OUTPUT,
        required=True,
    )
    raw: bool = shared.raw
    seed: int = shared.seed

    def work(self, run: "Run") -> None:
        """Encode the images, and write the file."""
        from visualwords.apps.pipeline import feature_matrix
        from visualwords.apps.pipeline.composing import BASE, change_recipe
        from visualwords.apps.pipeline.recipes import find_recipe
        from visualwords.folders import ImageFolder

        recipe, overrides = self.composed()
        if recipe == "auto":
            recipe = change_recipe(find_recipe(BASE), **overrides)
        with usage_checked():
            feature_matrix.check_format(self.output)
        images = ImageFolder(self.folder)
        with run.progress() as progress:
            data, env = run.dataset(images), run.environment(progress)
            matrix = feature_matrix.feature_matrix(find_recipe(recipe), data, env, self.seed)
        run.skip([*images.skipped, *matrix.skipped])
        run.check_strict()
        feature_matrix.write_features(self.output, matrix, raw=self.raw)
        rows, columns = matrix.rows.shape
        say(f"{self.output}: {rows} images × {columns} numbers")
        run.print_summary({"output": self.output, "images": rows, "columns": columns})


features = Features.command()
