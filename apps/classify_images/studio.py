"""classify-images studio"""

import click

from visualwords.apps.classify_images import options
from visualwords.apps.command_line import options as shared
from visualwords.apps.command_line.verb import Verb

FOLDER = "studio"


@click.command(cls=Verb)
@click.argument("folder", type=shared.FOLDER, required=False, metavar="[DIR]")
@options.port
@options.open_browser
@shared.quiet
@shared.jobs
@options.cache
def studio(
    folder: str | None,
    port: int,
    open_browser: bool,
    jobs: int | None,
    cache_dir: str | None,
    quiet: bool,
) -> int:
    """Make a model on a local web page: drop images, correct labels, train, take it away.

    DIR holds one folder of images for each class, as all other commands read it, and is made if
    it is not there [default: ./studio]. Its hidden folder .studio holds the models, and what is
    needed to undo every change. Images do not leave this machine. Stop the server with Ctrl-C.
    """
    from contextlib import closing

    from visualwords.apps.command_line.terminal import note
    from visualwords.apps.page.limits import Limits
    from visualwords.apps.page.served_models import ServedModels
    from visualwords.apps.page.serving import address_of, listen, names_of
    from visualwords.apps.page.serving import serve as run_server
    from visualwords.apps.studio.learning import Learning
    from visualwords.apps.studio.studio_server import create_studio
    from visualwords.apps.studio.workspace import Workspace
    from visualwords.cache import default_folder

    limits, cache = Limits(), cache_dir or default_folder()
    with closing(Workspace(folder or FOLDER)) as workspace, listen("127.0.0.1", port) as listener:
        learning = Learning(
            workspace,
            ServedModels({}),
            max_pixels=limits.max_pixels,
            n_jobs=shared.n_threads(jobs),
            cache_dir=None if cache is None else str(cache),
        )
        with closing(learning):
            names = names_of(listener, "127.0.0.1")
            app = create_studio(workspace, learning, limits=limits, names=names)
            click.echo(address_of(listener))
            note(f"{workspace.root}: drop images on the page; Ctrl-C stops the server.")
            if open_browser:
                click.launch(address_of(listener))
            run_server(app, listener, limits)
    return 0
