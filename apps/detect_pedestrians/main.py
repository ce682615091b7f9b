"""The command and its verbs; everything heavy is imported by the verb that needs it."""

import os
from collections.abc import Sequence
from typing import NoReturn

import click

import visualwords
from visualwords.apps.command_line.info import info_verb
from visualwords.apps.command_line.process import run_installed
from visualwords.apps.command_line.verb import HELP, HELP_NAMES, VerbGroup, run_command
from visualwords.apps.detect_pedestrians.demo import demo
from visualwords.apps.detect_pedestrians.evaluate import evaluate
from visualwords.apps.detect_pedestrians.options import SHIPPED
from visualwords.apps.detect_pedestrians.run import run
from visualwords.apps.detect_pedestrians.train import train


class _RunByDefault(VerbGroup):
    """Takes ``detect-pedestrians street.jpg`` for ``detect-pedestrians run street.jpg``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            is_source = os.path.exists(args[0]) or args[0].isdecimal() or set(args[0]) & set("./\\")
            if not is_source:  # an image, a folder, a video or a camera's number
                self.fail_unknown(ctx, args[0], "verb or file")
            args = ["run", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_RunByDefault, context_settings=HELP_NAMES, epilog=HELP)
@click.version_option(visualwords.__version__, prog_name="detect-pedestrians")
def command() -> None:
    """Detect pedestrians in images and videos, or objects of a class you train on.

    \b
    detect-pedestrians demo                       a first look, offline
    detect-pedestrians street.jpg -o found/       with the bundled model
    detect-pedestrians run walk.mp4 -o found.mp4
    detect-pedestrians train crops/ photos/ -o mugs.vw
    """


for verb in (run, train, evaluate, demo, info_verb(SHIPPED)):
    command.add_command(verb)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    return run_command(command, "detect-pedestrians", argv)


def console() -> NoReturn:
    """Run as the installed command."""
    run_installed(main)
