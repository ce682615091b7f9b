"""The program and its commands; everything heavy is imported by the command that needs it."""

from collections.abc import Sequence
from typing import NoReturn

import click

import visualwords
from visualwords.apps.classify_images.check import Check
from visualwords.apps.classify_images.compare import Compare
from visualwords.apps.classify_images.demo_images import Demo
from visualwords.apps.classify_images.evaluate import Evaluate
from visualwords.apps.classify_images.explain import Explain
from visualwords.apps.classify_images.export import Export, Features
from visualwords.apps.classify_images.housekeeping import Recipes, cache
from visualwords.apps.classify_images.pages import Serve, Studio
from visualwords.apps.classify_images.predict import Predict
from visualwords.apps.classify_images.train import Train
from visualwords.apps.classify_images.watch import Watch
from visualwords.apps.command_line.info import Info
from visualwords.apps.command_line.process import run_installed
from visualwords.apps.command_line.verb import HELP, HELP_NAMES, VerbGroup, run_command


@click.group(cls=VerbGroup, context_settings=HELP_NAMES, epilog=HELP)
@click.version_option(visualwords.__version__, prog_name="classify-images")
def command() -> None:
    """Train image classifiers on folders of examples, and use them.

    \b
    classify-images demo                        a first look, offline
    classify-images train photos/ -o photos.vw  one folder for each class
    classify-images predict photos.vw new/*.jpg
    classify-images serve photos.vw             a local web page for single images
    classify-images studio photos/              make a model on a local web page
    classify-images watch photos.vw inbox/      predict images as they arrive
    """


for verb in (
    *(Demo, Train, Evaluate, Predict, Explain, Compare, Features, Export),
    *(Watch, Check, Info, Recipes, Serve, Studio),
):
    command.add_command(verb.command())
command.add_command(cache)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    return run_command(command, "classify-images", argv)


def console() -> NoReturn:
    """Run as the installed command."""
    run_installed(main)
