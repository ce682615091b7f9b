"""classify-images cache"""

from typing import TYPE_CHECKING

import click

from visualwords.apps.classify_images import options
from visualwords.apps.command_line import options as shared
from visualwords.apps.command_line.terminal import print_json, printable
from visualwords.apps.command_line.verb import VerbGroup, Work

if TYPE_CHECKING:
    from visualwords.cache import FeatureCache


class Clear(Work):
    """Delete the entries of the cache; other files in the folder are kept."""

    cache_dir: str | None = options.cache

    def run(self) -> int:
        """Delete the entries."""
        path, found = self.opened()
        n_entries, n_bytes = found.clear()
        print(f"{printable(path)}: {n_entries:,} entries deleted, {n_bytes / 1e6:,.1f} MB freed")
        return 0

    def opened(self) -> "tuple[str, FeatureCache]":
        """The folder of the cache, and the cache."""
        from visualwords.apps.classify_images.running import cache_folder
        from visualwords.cache import open_cache
        from visualwords.errors import FolderError

        path = cache_folder(self.cache_dir)
        if path is None:
            raise FolderError("no home folder for the default cache; name one with --cache DIR")
        return path, open_cache(path)


class Info(Clear):
    """Print the folder of the cache, the number of its entries and their size."""

    as_json: bool = shared.as_json

    def run(self) -> int:
        """Print the size."""
        path, found = self.opened()
        n_entries, n_bytes = found.size()
        if self.as_json:
            print_json({"folder": path, "entries": n_entries, "bytes": n_bytes})
        else:
            print(f"{printable(path)}: {n_entries:,} entries, {n_bytes / 1e6:,.1f} MB")
        return 0


@click.group(cls=VerbGroup)
def cache() -> None:
    """Show or clear the feature cache.

    Clearing it is safe: features are recomputed when they are needed.
    """


cache.add_command(Info.command())
cache.add_command(Clear.command())
