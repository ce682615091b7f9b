"""classify-images serve"""

import os

import click

from visualwords.apps.classify_images import options
from visualwords.apps.command_line import options as shared
from visualwords.apps.command_line.options import FILE, RESOURCES, flag, group
from visualwords.apps.command_line.verb import Verb

MOST_REPORT = 1 << 28  # bytes


@click.command(cls=Verb)
@click.argument("models", type=click.Path(), nargs=-1, required=True)
@options.host
@options.port
@flag("--report HTML", "Report to link on the page [default: the .html file beside MODEL].", FILE)
@options.allow_host
@options.api_key_file
@flag("--reload", "Load a model again when its file is replaced.")
@options.open_browser
@shared.quiet
@group(
    RESOURCES,
    flag(
        "--jobs N",
        "Images to work on at the same time [default: one for each core, at least 2].",
        click.IntRange(1, shared.MOST_JOBS),
    ),
)
@options.network
def serve(
    models: tuple[str, ...],
    host: str,
    port: int,
    report: str | None,
    names: tuple[str, ...],
    api_key_file: str | None,
    jobs: int | None,
    reload: bool,
    open_browser: bool,
    network: str | None,
    quiet: bool,
) -> int:
    """Serve a local web page, and an API, with the predictions of MODELS.

    A model is a model file, or "pedestrian" for the bundled detector. The page shows the first
    one; requests choose others by ?model=NAME, the file's name without .vw. Images do not leave
    this machine. Stop the server with Ctrl-C.
    """
    from visualwords.apps.command_line.terminal import note
    from visualwords.apps.page.limits import Limits
    from visualwords.apps.page.served_models import served_models
    from visualwords.apps.page.server import create_app
    from visualwords.apps.page.serving import announce, is_loopback, listen, names_of, read_key
    from visualwords.apps.page.serving import serve as run_server

    limits = Limits(n_workers=jobs or max(2, shared.n_threads(None)))
    key, page = read_key(api_key_file), _read_report(report, models[0])
    served = served_models(models, limits.max_pixels, network)
    with listen(host, port) as listener:
        address = announce(listener, host, key)
        app = create_app(
            served,
            limits=limits,
            names=names_of(listener, host, names),
            any_address=not is_loopback(listener),
            report=page,
            key=key,
            reload=reload,
        )
        click.echo(address)
        note("Drop an image on the page; Ctrl-C stops the server.")
        if open_browser:
            click.launch(address)
        run_server(app, listener, limits)
    return 0


def _read_report(report: str | None, model: str) -> bytes | None:
    """The given report, or the one beside the model if there is one."""
    from visualwords.errors import FolderError
    from visualwords.files import open_regular

    path = report or f"{os.path.splitext(model)[0]}.html"
    if report is None and not (os.path.isfile(model) and os.path.isfile(path)):
        return None
    with open_regular(path) as file:
        content = file.read(MOST_REPORT + 1)
    if len(content) > MOST_REPORT:
        raise FolderError(f"{path}: larger than {MOST_REPORT >> 20} MB, too large for a report")
    return content
