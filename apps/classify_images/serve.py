"""classify-images serve"""

import os
from functools import partial

import click

from visualwords.apps.classify_images import options
from visualwords.apps.command_line import options as shared
from visualwords.apps.command_line.options import FILE, argument, flag

MOST_REPORT = 1 << 28  # bytes


class Serve(options.Serving):
    """Serve a local web page, and an API, with the predictions of MODELS.

    A model is a model file, or "pedestrian" for the bundled detector. The page shows the first
    one; requests choose others by ?model=NAME, the file's name without .vw. Images do not leave
    this machine. Stop the server with Ctrl-C.
    """

    models: tuple[str, ...] = argument("models", nargs=-1, required=True)
    report: str | None = flag(
        "--report HTML", "Report to link on the page [default: the .html file beside MODEL].", FILE
    )
    reload: bool = flag("--reload", "Load a model again when its file is replaced.")
    jobs: int | None = flag(
        "--jobs N",
        "Images to work on at the same time [default: one for each core, at least 2].",
        click.IntRange(1, shared.MOST_JOBS),
    )
    network: str | None = options.network

    def run(self) -> int:
        """Serve until interrupted."""
        from visualwords.apps.page.limits import Limits
        from visualwords.apps.page.served_models import served_models
        from visualwords.apps.page.server import create_app

        limits = Limits(n_workers=self.jobs or max(2, shared.n_threads(None)))
        page = self.report_page()
        served = served_models(self.models, limits.max_pixels, self.network)
        make = partial(create_app, served, report=page, reload=self.reload)
        return self.serve(make, limits, "Drop an image on the page", secret=False)

    def report_page(self) -> bytes | None:
        """The given report, or the one beside the model if there is one."""
        from visualwords.errors import FolderError
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


serve = Serve.command()
