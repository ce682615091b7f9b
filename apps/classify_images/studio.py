"""classify-images studio"""

import secrets

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
        from contextlib import closing

        from visualwords.apps.classify_images.running import cache_folder
        from visualwords.apps.page import serving
        from visualwords.apps.page.limits import Limits
        from visualwords.apps.page.served_models import ServedModels
        from visualwords.apps.studio.learning import Learning
        from visualwords.apps.studio.studio_server import create_studio
        from visualwords.apps.studio.workspace import Workspace

        limits, key = Limits(), serving.read_key(self.api_key_file)
        with (
            closing(Workspace(self.folder)) as workspace,
            serving.listen(self.host, self.port) as listener,
        ):
            if key is None and not serving.is_loopback(listener):
                key = secrets.token_hex(16)
            address = serving.announce(listener, self.host, key)
            learning = Learning(
                workspace,
                ServedModels({}),
                max_pixels=limits.max_pixels,
                n_jobs=shared.n_threads(self.jobs),
                cache_dir=cache_folder(self.cache_dir),
            )
            with closing(learning):
                app = create_studio(
                    workspace,
                    learning,
                    limits=limits,
                    names=serving.names_of(listener, self.host, self.names),
                    any_address=not serving.is_loopback(listener),
                    key=key,
                )
                self.open_page(address, f"{workspace.root}: drop images on the page")
                serving.serve(app, listener, limits)
        return 0


studio = Studio.command()
