"""The command and its verbs; everything heavy is imported by the verb that needs it."""

from collections.abc import Sequence
from typing import NoReturn

import click

import visualwords
from visualwords.apps.command_line import exit_codes
from visualwords.apps.command_line.verb import VerbGroup, run_command, run_installed
from visualwords.apps.reproduce_papers.listing import list_experiments
from visualwords.apps.reproduce_papers.run import run


@click.group(
    cls=VerbGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=exit_codes.HELP,
)
@click.version_option(visualwords.__version__, prog_name="reproduce-papers")
def command() -> None:
    """Reproduce the experiments of the papers and compare the results.

    \b
    reproduce-papers list                    the experiments and the data they need
    reproduce-papers run pmk-fig3            needs no data
    reproduce-papers run gcs-table2 --data DIR
    """


for verb in (list_experiments, run):
    command.add_command(verb)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    return run_command(command, "reproduce-papers", argv)


def console() -> NoReturn:
    """Run as the installed command."""
    run_installed(main)
