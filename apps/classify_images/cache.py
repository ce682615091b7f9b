"""classify-images cache"""

import json
import sys

import click

from visualwords.apps.classify_images import options
from visualwords.apps.command_line.verb import Verb

folder = click.option(
    "--cache",
    "cache_dir",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Which; the user's cache folder by default.",
)


@click.group()
def cache() -> None:
    """Look at, or empty, the folder where features of images are kept.

    Losing it loses nothing but time: features are computed again when they are needed.
    """


@cache.command(cls=Verb)
@folder
@options.as_json
def info(cache_dir: str | None, as_json: bool) -> int:
    """Say where the features are, how many, and how large."""
    from visualwords.apps.command_line.terminal import printable
    from visualwords.remote_cache import open_cache

    path = _path(cache_dir)
    n_entries, n_bytes = open_cache(path).size()
    if as_json:
        json.dump({"folder": path, "entries": n_entries, "bytes": n_bytes}, sys.stdout)
        print()
    else:
        print(f"{printable(path)}: {n_entries:,} entries, {n_bytes / 1e6:,.1f} MB")
    return 0


@cache.command(cls=Verb)
@folder
def clear(cache_dir: str | None) -> int:
    """Delete the features; files of others in the folder stay."""
    from visualwords.apps.command_line.terminal import printable
    from visualwords.remote_cache import open_cache

    path = _path(cache_dir)
    n_entries, n_bytes = open_cache(path).clear()
    print(f"{printable(path)}: {n_entries:,} entries deleted, {n_bytes / 1e6:,.1f} MB freed")
    return 0


def _path(cache_dir: str | None) -> str:
    from visualwords.errors import FolderError

    path = options.cache_folder(cache_dir, no_cache=False)
    if path is None:
        raise FolderError("there is no home, hence no cache folder; name one with --cache DIR")
    return path
