"""classify-images info"""

import click

from visualwords.apps.command_line import options as shared
from visualwords.apps.command_line.exit_codes import DONE
from visualwords.apps.command_line.verb import Verb


@click.command(cls=Verb)
@click.argument("model", type=click.Path())
@shared.as_json
def info(model: str, as_json: bool) -> int:
    """Print the contents of a MODEL file: classes, recipe, training summary and versions.

    MODEL is a model file, or "pedestrian" for the bundled detector.
    """
    from visualwords.apps.command_line.model_info import print_model_info

    print_model_info(model, as_json)
    return DONE
