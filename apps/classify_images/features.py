"""classify-images features"""

from typing import TYPE_CHECKING, Any

import click

from visualwords.apps.classify_images import options, recipe_flags
from visualwords.apps.command_line import options as shared
from visualwords.apps.command_line.options import RECIPE, group
from visualwords.apps.command_line.verb import Verb

if TYPE_CHECKING:
    from visualwords.apps.classify_images.running import Run
    from visualwords.apps.pipeline.recipe import Recipe


@click.command(cls=Verb)
@click.argument("folder", type=click.Path())
@options.output(
    "-o --output X.npz|X.csv|X.parquet", "Where to write the feature matrix.", required=True
)
@shared.raw
@group(RECIPE, recipe_flags.composing)
@shared.seed
@options.reading
def features(
    folder: str,
    output: str,
    recipe: "str | Recipe",
    overrides: dict[str, Any],
    raw: bool,
    seed: int,
    run: "Run",
) -> int:
    """Write the feature vectors of all images of FOLDER, for other programs.

    Words and Gaussians are learned from the training part, if the folder has one, else from all
    images. Beside the numbers are the names of columns, paths, labels, groups and splits. Of an
    .npz file, sparse rows are the arrays data, indices, indptr and shape of a CSR matrix.
    """
    from visualwords.apps.command_line.terminal import say
    from visualwords.apps.pipeline.composing import BASE
    from visualwords.apps.pipeline.feature_matrix import (
        check_format,
        feature_matrix,
        write_features,
    )
    from visualwords.apps.pipeline.recipes import change_recipe, find_recipe
    from visualwords.errors import RecipeError
    from visualwords.folders import ImageFolder

    try:
        check_format(output)
    except RecipeError as problem:
        raise click.UsageError(str(problem)) from None
    if recipe == "auto":
        recipe = change_recipe(find_recipe(BASE), **overrides)
    images = ImageFolder(folder)
    with run.progress() as progress:
        env = run.environment(progress)
        matrix = feature_matrix(find_recipe(recipe), run.dataset(images), env, seed)
    run.skip([*images.skipped, *matrix.skipped])
    run.check_strict()
    write_features(output, matrix, raw=raw)
    rows, columns = matrix.rows.shape
    say(f"{output}: {rows} images × {columns} numbers")
    run.print_summary({"output": output, "images": rows, "columns": columns})
    return run.exit_code()
