"""reproduce-papers list"""

from dataclasses import asdict

import click

from visualwords.apps.command_line import options as shared
from visualwords.apps.reproduce_papers.experiments import EXPERIMENTS


@click.command("list")
@shared.as_json
def list_experiments(as_json: bool) -> int:
    """List the experiments with their source, data and running time."""
    if as_json:
        from visualwords.apps.command_line.terminal import print_json

        print_json([asdict(experiment) for experiment in EXPERIMENTS.values()])
    else:
        _print_table()
    return 0


def _print_table() -> None:
    from rich.table import Table

    from visualwords.apps.command_line.terminal import stdout

    table = Table()
    for column in ("experiment", "paper", "what", "data", "minutes"):
        table.add_column(column, justify="right" if column == "minutes" else "left")
    for one in EXPERIMENTS.values():
        source = f"{one.paper.split(':')[0]}, {one.place}"
        data = ", ".join(one.data) or "generated"
        table.add_row(one.name, source, one.what, data, f"{one.minutes:g}")
    stdout().print(table)
