"""reproduce-papers list"""

import json
import sys
from dataclasses import asdict

import click

from visualwords.apps.reproduce_papers.experiments import EXPERIMENTS


@click.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def list_experiments(as_json: bool) -> int:
    """Name every experiment, where it is from, the data it needs and how long it takes."""
    if as_json:
        json.dump([asdict(experiment) for experiment in EXPERIMENTS.values()], sys.stdout, indent=1)
        print()
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
