"""classify-images studio"""

from contextlib import closing
from functools import partial

from visualwords.apps.classify_images import options
from visualwords.apps.command_line import options as shared
from visualwords.apps.command_line.options import argument

FOLDER = "studio"


class Studio(options.Serving):
    """Make a model on a local web page: drop images, correct labels, train, take it away.

    DIR holds one folder of images for each class, as all other commands read it, and is made if
    it is not there [default: ./studio]. Its hidden folder .studio holds the models, and what is
    needed to undo every change. Images do not leave this machine. With --host others can open the
    page, if they have the key that its address ends with. Stop the server with Ctrl-C.
    """

    folder: str = argument(
        "folder", type=shared.FOLDER, required=False, metavar="[DIR]", default=FOLDER
    )
    jobs: int | None = shared.jobs
    cache_dir: str | None = options.cache

    def run(self) -> int:
        """Serve until interrupted."""
        from visualwords.apps.classify_images.running import cache_folder
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
                n_jobs=shared.n_threads(self.jobs),
                cache_dir=cache_folder(self.cache_dir),
            )
            with closing(learning):
                make = partial(create_studio, workspace, learning)
                hint = f"{workspace.root}: drop images on the page"
                return self.serve(make, limits, hint, secret=True)


studio = Studio.command()
