"""The program and its commands; everything heavy is imported by the command that needs it."""

from collections.abc import Sequence
from typing import NoReturn

import click

import visualwords
from visualwords.apps.classify_images.cache import cache
from visualwords.apps.classify_images.check import check
from visualwords.apps.classify_images.compare import compare
from visualwords.apps.classify_images.demo import demo
from visualwords.apps.classify_images.evaluate import evaluate
from visualwords.apps.classify_images.explain import explain
from visualwords.apps.classify_images.export import export
from visualwords.apps.classify_images.features import features
from visualwords.apps.classify_images.predict import predict
from visualwords.apps.classify_images.recipes import recipes
from visualwords.apps.classify_images.serve import serve
from visualwords.apps.classify_images.studio import studio
from visualwords.apps.classify_images.train import train
from visualwords.apps.classify_images.watch import watch
from visualwords.apps.command_line.exit_codes import HELP
from visualwords.apps.command_line.info import info_verb
from visualwords.apps.command_line.verb import HELP_NAMES, VerbGroup, run_command, run_installed


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
    *(demo, train, evaluate, predict, explain, compare, features, export),
    *(watch, check, info_verb(), recipes, serve, studio, cache),
):
    command.add_command(verb)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    return run_command(command, "classify-images", argv)


def console() -> NoReturn:
    """Run as the installed command."""
    run_installed(main)
