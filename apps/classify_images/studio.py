"""classify-images studio"""

import secrets

import click

from visualwords.apps.classify_images import options
from visualwords.apps.command_line import options as shared
from visualwords.apps.command_line.verb import Verb

FOLDER = "studio"


@click.command(cls=Verb)
@click.argument("folder", type=shared.FOLDER, required=False, metavar="[DIR]")
@options.host
@options.port
@options.allow_host
@options.api_key_file
@options.open_browser
@shared.quiet
@shared.jobs
@options.cache
def studio(
    folder: str | None,
    host: str,
    port: int,
    names: tuple[str, ...],
    api_key_file: str | None,
    open_browser: bool,
    jobs: int | None,
    cache_dir: str | None,
    quiet: bool,
) -> int:
    """Make a model on a local web page: drop images, correct labels, train, take it away.

    DIR holds one folder of images for each class, as all other commands read it, and is made if
    it is not there [default: ./studio]. Its hidden folder .studio holds the models, and what is
    needed to undo every change. Images do not leave this machine. With --host others can open the
    page, if they have the key that its address ends with. Stop the server with Ctrl-C.
    """
    from contextlib import closing

    from visualwords.apps.command_line.terminal import note
    from visualwords.apps.page.limits import Limits
    from visualwords.apps.page.served_models import ServedModels
    from visualwords.apps.page.serving import announce, is_loopback, listen, names_of, read_key
    from visualwords.apps.page.serving import serve as run_server
    from visualwords.apps.studio.learning import Learning
    from visualwords.apps.studio.studio_server import create_studio
    from visualwords.apps.studio.workspace import Workspace
    from visualwords.cache import default_folder

    limits, cache, key = Limits(), cache_dir or default_folder(), read_key(api_key_file)
    with closing(Workspace(folder or FOLDER)) as workspace, listen(host, port) as listener:
        if key is None and not is_loopback(listener):
            key = secrets.token_hex(16)
        address = announce(listener, host, key)
        learning = Learning(
            workspace,
            ServedModels({}),
            max_pixels=limits.max_pixels,
            n_jobs=shared.n_threads(jobs),
            cache_dir=None if cache is None else str(cache),
        )
        with closing(learning):
            app = create_studio(
                workspace,
                learning,
                limits=limits,
                names=names_of(listener, host, names),
                any_address=not is_loopback(listener),
                key=key,
            )
            click.echo(address)
            note(f"{workspace.root}: drop images on the page; Ctrl-C stops the server.")
            if open_browser:
                click.launch(address)
            run_server(app, listener, limits)
    return 0
