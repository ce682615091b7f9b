"""classify-images studio"""

import click

from visualwords.apps.classify_images import options
from visualwords.apps.command_line import options as shared

FOLDER = "studio"


@click.command()
@click.argument("folder", type=click.Path(file_okay=False), required=False, metavar="[DIR]")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    show_default=True,
    help="Port to listen on; 0 chooses a free one.",
)
@click.option("--open", "open_browser", is_flag=True, help="Open the page in a browser.")
@shared.jobs
@options.cache
@shared.quiet
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
    from visualwords.apps.command_line.terminal import note
    from visualwords.apps.page.limits import Limits
    from visualwords.apps.page.served_models import ServedModels
    from visualwords.apps.page.serving import address_of, listen, names_of
    from visualwords.apps.page.serving import serve as run_server
    from visualwords.apps.studio.learning import Learning
    from visualwords.apps.studio.studio_server import create_studio
    from visualwords.apps.studio.workspace import Workspace

    limits = Limits()
    workspace = Workspace(folder or FOLDER)
    try:
        with listen("127.0.0.1", port) as listener:
            learning = Learning(
                workspace,
                ServedModels({}),
                max_pixels=limits.max_pixels,
                n_jobs=shared.n_threads(jobs),
                cache_dir=options.cache_folder(cache_dir, no_cache=False),
            )
            try:
                names = names_of(listener, "127.0.0.1")
                app = create_studio(workspace, learning, limits=limits, names=names)
                click.echo(address_of(listener))
                note(f"{workspace.root}: drop images on the page; Ctrl-C stops the server.")
                if open_browser:
                    click.launch(address_of(listener))
                run_server(app, listener, limits)
            finally:
                learning.close()
    finally:
        workspace.close()
    return 0
