"""detect-pedestrians info"""

import click

from visualwords.apps.command_line import options as shared
from visualwords.apps.command_line.exit_codes import DONE
from visualwords.apps.command_line.verb import Verb
from visualwords.apps.detect_pedestrians import options


@click.command(cls=Verb)
@click.argument("model", type=click.Path(), default=options.SHIPPED)
@shared.as_json
def info(model: str, as_json: bool) -> int:
    """Print the contents of a MODEL file: parameters, training summary and versions.

    MODEL is a model file; by default "pedestrian", the bundled detector.
    """
    from visualwords.apps.command_line.model_info import print_model_info

    print_model_info(model, as_json)
    return DONE
