"""classify-images serve and studio: pages on the network."""

import os
import secrets
from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Any

import click

from visualwords.apps.classify_images import options
from visualwords.apps.command_line import verb
from visualwords.apps.command_line.terminal import note
from visualwords.apps.command_line.verb import argument, flag
from visualwords.errors import FolderError

MOST_REPORT = 1 << 28  # bytes
STUDIO = "studio"  # folder of a studio without a name


class Serving(verb.Work):
    """A command that opens a page on the network.

    Parameters
    ----------
    host
        Address to listen on.
    port
        Port to listen on; 0 chooses a free one.
    names
        Accept requests for this host name too; may be repeated.
    api_key_file
        Answer only requests with the key in this file, or in VISUALWORDS_API_KEY.
    open_browser
        Open the page in a browser.
    """

    host: str = flag("--host ADDRESS", default="127.0.0.1")
    port: int = flag("--port N", kind=click.IntRange(0, 65535), default=8000)
    names: tuple[str, ...] = flag("--allow-host NAME")
    api_key_file: str | None = flag("--api-key-file FILE")
    open_browser: bool = flag("--open")
    quiet: Any = verb.quiet

    def serve(self, make: Callable[..., Any], limits: Any, hint: str, secret: bool) -> None:
        """Serve what a function makes of the rules for requests, until interrupted.

        A ``secret`` page that other machines can reach has a key, even if none was given.
        """
        from visualwords.apps.page import serving

        key = serving.read_key(self.api_key_file)
        with serving.listen(self.host, self.port) as listener:
            is_open = not serving.is_loopback(listener)
            if secret and is_open and key is None:
                key = secrets.token_hex(16)
            names = serving.names_of(listener, self.host, self.names)
            address = serving.announce(listener, self.host, key)
            app = make(limits=limits, names=names, any_address=is_open, key=key)
            click.echo(address)
            note(f"{hint}; Ctrl-C stops the server.")
            if self.open_browser:
                click.launch(address)
            serving.serve(app, listener, limits)


class Serve(Serving):
    """Serve a local web page, and an API, with the predictions of MODELS.

    A model is a model file, or "pedestrian" for the bundled detector. The page shows the first
    one; requests choose others by ?model=NAME, the file's name without .vw. Images do not leave
    this machine. Stop the server with Ctrl-C.

    Parameters
    ----------
    report
        Report to link on the page [default: the .html file beside MODEL].
    reload
        Load a model again when its file is replaced.
    jobs
        Images to work on at the same time [default: one for each core, at least 2].
    """

    models: tuple[str, ...] = argument(required=True)
    report: str | None = flag("--report HTML", kind=verb.FILE)
    reload: bool = flag("--reload")
    jobs: int | None = flag("--jobs N", kind=click.IntRange(1, verb.MOST_JOBS))
    network: str | None = options.network

    def run(self) -> None:
        """Serve until interrupted."""
        from visualwords.apps.page.limits import Limits
        from visualwords.apps.page.served_models import served_models
        from visualwords.apps.page.server import create_app

        limits = Limits(n_workers=self.jobs or max(2, verb.n_threads(None)))
        page = self.report_page()
        served = served_models(self.models, limits.max_pixels, self.network)
        make = partial(create_app, served, report=page, reload=self.reload)
        self.serve(make, limits, "Drop an image on the page", secret=False)

    def report_page(self) -> bytes | None:
        """The given report, or the one beside the model if there is one."""
        from visualwords.files import open_regular

        model = self.models[0]
        path = self.report or f"{os.path.splitext(model)[0]}.html"
        if self.report is None and not (os.path.isfile(model) and os.path.isfile(path)):
            return None
        with open_regular(path) as file:
            content = file.read(MOST_REPORT + 1)
        if len(content) > MOST_REPORT:
            raise FolderError(f"{path}: larger than {MOST_REPORT >> 20} MB, too large for a report")
        return content


class Studio(Serving):
    """Make a model on a local web page: drop images, correct labels, train, take it away.

    DIR holds one folder of images for each class, as all other commands read it, and is made if
    it is not there [default: ./studio]. Its hidden folder .studio holds the models, and what is
    needed to undo every change. Images do not leave this machine. With --host others can open the
    page, if they have the key that its address ends with. Stop the server with Ctrl-C.
    """

    folder: str = argument(type=verb.FOLDER, required=False, metavar="[DIR]", default=STUDIO)
    jobs: int | None = verb.jobs
    cache_dir: str | None = options.cache

    def run(self) -> None:
        """Serve until interrupted."""
        from visualwords.apps.page.limits import Limits
        from visualwords.apps.page.served_models import ServedModels
        from visualwords.apps.studio.learning import Learning
        from visualwords.apps.studio.studio_server import create_studio
        from visualwords.apps.studio.workspace import Workspace

        limits = Limits()
        with closing(Workspace(self.folder)) as workspace:
            learning = Learning(
                workspace,
                ServedModels({}),
                max_pixels=limits.max_pixels,
                n_jobs=verb.n_threads(self.jobs),
                cache_dir=options.cache_folder(self.cache_dir),
            )
            with closing(learning):
                make = partial(create_studio, workspace, learning)
                hint = f"{workspace.root}: drop images on the page"
                self.serve(make, limits, hint, secret=True)
