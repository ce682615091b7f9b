"""classify-images cache"""

from typing import TYPE_CHECKING

import click

from visualwords.apps.classify_images import options
from visualwords.apps.command_line import options as shared
from visualwords.apps.command_line.verb import Verb, VerbGroup

if TYPE_CHECKING:
    from visualwords.cache import FeatureCache


@click.group(cls=VerbGroup)
def cache() -> None:
    """Show or clear the feature cache.

    Clearing it is safe: features are recomputed when they are needed.
    """


@cache.command(cls=Verb)
@options.cache
@shared.as_json
def info(cache_dir: str | None, as_json: bool) -> int:
    """Print the folder of the cache, the number of its entries and their size."""
    from visualwords.apps.command_line.terminal import print_json, printable

    path, found = _opened(cache_dir)
    n_entries, n_bytes = found.size()
    if as_json:
        print_json({"folder": path, "entries": n_entries, "bytes": n_bytes})
    else:
        print(f"{printable(path)}: {n_entries:,} entries, {n_bytes / 1e6:,.1f} MB")
    return 0


@cache.command(cls=Verb)
@options.cache
def clear(cache_dir: str | None) -> int:
    """Delete the entries of the cache; other files in the folder are kept."""
    from visualwords.apps.command_line.terminal import printable

    path, found = _opened(cache_dir)
    n_entries, n_bytes = found.clear()
    print(f"{printable(path)}: {n_entries:,} entries deleted, {n_bytes / 1e6:,.1f} MB freed")
    return 0


def _opened(cache_dir: str | None) -> "tuple[str, FeatureCache]":
    from visualwords.cache import default_folder, open_cache
    from visualwords.errors import FolderError

    path = cache_dir or default_folder()
    if path is None:
        raise FolderError("no home folder for the default cache; name a folder with --cache DIR")
    return str(path), open_cache(str(path))
