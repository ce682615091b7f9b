"""The content of images: each file is opened once, fingerprinted, and kept while there is room.

Two images of one path share their content, so that training, testing and the search for duplicates
open a file once a run. Pixels that the next pass needs again are kept, too, so that an image is
decoded once a size. Where there is no room, and on workers of other processes, a file is opened
again and compared with its first fingerprint: a file that changed meanwhile is left out.
"""

import hashlib
import os
import threading
from functools import cached_property
from typing import Any

import numpy as np

from visualwords.apps.pipeline.channel import Channel
from visualwords.apps.pipeline.encoder import Features
from visualwords.apps.pipeline.view import View
from visualwords.errors import ChangedImageError, ImageError, Skipped, UnreadableImageError
from visualwords.features.pixels import as_grey, as_rgb
from visualwords.images import read_bytes, read_image, shrink
from visualwords.inputs import Source

DIGEST_BYTES = 8  # a false alarm among a million different files has a chance of 1 in 37 million
MOST_BYTES = 100_000_000  # of files and pixels that are kept in memory


class Contents:
    """The images that were asked for, each with its content, and room for what is kept of them.

    Parameters
    ----------
    most_bytes : int
        What is kept in memory.
    """

    def __init__(self, most_bytes: int = MOST_BYTES):
        self._room = most_bytes
        self._lock = threading.Lock()
        self._files: dict[str, Content] = {}

    def of(self, source: Source, position: int) -> "Content":
        """The content of an image; what has no path is named by its position."""
        if not isinstance(source, str):
            return Content(source, f"image {position}", self)
        if source not in self._files:
            self._files[source] = Content(source, source, self)
        return self._files[source]

    def reserve(self, n_bytes: int) -> bool:
        """Reserve memory, if there is enough; a negative number releases some."""
        with self._lock:
            fits = n_bytes <= self._room
            self._room -= n_bytes * fits
        return fits


class Content:
    """One image: where it comes from, its bytes, and what identifies them.

    Attributes
    ----------
    source : path, content of a file (bytes) or uint8 array
    name : str
        The path; "image 3" where there is none.
    """

    def __init__(self, source: Source, name: str, contents: Contents | None = None):
        self.source, self.name = source, name
        self._contents = contents
        self._kept = source if isinstance(source, bytes) else None
        self._pixels: dict[tuple[str, int | None], np.ndarray] = {}
        self._identity: tuple[bytes, bytes] | None = None
        self._problem: ImageError | None = None
        if isinstance(source, np.ndarray):
            self._identity = b"", b""

    @property
    def fingerprint(self) -> bytes:
        """SHA-256 of the file, by which caches find what was made of it; empty for an array."""
        return self.identity[0]

    @property
    def digest(self) -> bytes:
        """The eight bytes of the file that models keep; empty for an array."""
        return self.identity[1]

    @property
    def identity(self) -> tuple[bytes, bytes]:
        """Fingerprint and digest; the file is opened unless it has been."""
        if self._identity is None:
            self.read()
        return self._identity or (b"", b"")

    @property
    def is_known(self) -> bool:
        """Whether the file has been opened, or could not be."""
        return self._identity is not None or self._problem is not None

    def take_over(self, found: "tuple[bytes, bytes] | Skipped") -> None:
        """Note what a worker of another process found: the identity, or why there is none."""
        if isinstance(found, tuple):
            self._identity = found
        elif found.may_pass:
            self._problem = UnreadableImageError(found.reason)
            self._problem.kind = found.kind

    @property
    def seed(self) -> int:
        """A number that depends on the content alone."""
        if isinstance(self.source, np.ndarray):
            return int.from_bytes(digest(np.ascontiguousarray(self.source).tobytes()), "little")
        return int.from_bytes(self.digest, "little")

    def read(self) -> bytes:
        """The bytes of the file.

        Raises
        ------
        ImageError
            If there are none, as when they were asked for first, or if the file has changed.
        """
        if self._problem is not None:
            raise self._problem.with_traceback(None)
        try:
            data = self._kept if self._kept is not None else read_bytes(str(self.source))
            if not data:
                raise UnreadableImageError("the file is empty")
            if self._kept is None or self._identity is None:
                self._identify(data)
        except ImageError as problem:
            self._problem = problem
            raise
        return data

    def _identify(self, data: bytes) -> None:
        found = hashlib.sha256(data).digest(), digest(data)
        if self._identity is not None and found != self._identity:
            raise ChangedImageError("the file changed while it was in use; run the same again")
        self._identity = found
        if self._contents is not None and self._contents.reserve(len(data)):
            self._kept = data

    def keep_pixels(self, mode: str, max_side: int | None, pixels: np.ndarray) -> None:
        """Keep decoded pixels for the next pass, if there is room."""
        if self._contents is not None and self._contents.reserve(pixels.nbytes):
            self._pixels[mode, max_side] = pixels

    def kept_pixels(self, mode: str, max_side: int | None, keep: bool) -> np.ndarray | None:
        """Pixels that were kept; unless ``keep``, they are not kept any longer."""
        pixels = self._pixels.get((mode, max_side))
        if pixels is not None and not keep and self._contents is not None:
            del self._pixels[mode, max_side]
            self._contents.reserve(-pixels.nbytes)
        return pixels

    def __getstate__(self) -> dict[str, Any]:
        """What workers need: names that they understand, and no bytes of files."""
        is_path = isinstance(self.source, str)
        source = os.path.abspath(self.source) if isinstance(self.source, str) else self.source
        kept = None if is_path else self._kept
        return self.__dict__ | {"source": source, "_kept": kept, "_pixels": {}, "_contents": None}


def digest(data: bytes) -> bytes:
    """The short fingerprint of a file's content that models keep."""
    return hashlib.blake2b(data, digest_size=DIGEST_BYTES).digest()


class OpenedImage:
    """The pixels of one image, as extractors want them, and its features, made once each.

    Parameters
    ----------
    content : Content
    max_pixels : int
        A larger image is refused.
    keep : bool
        Whether the next pass needs the same pixels.
    """

    def __init__(self, content: Content, max_pixels: int, keep: bool = False):
        self.content, self.max_pixels, self.keep = content, max_pixels, keep
        self._pixels: dict[tuple[str, View], np.ndarray] = {}
        self._whole: dict[str, np.ndarray] = {}  # by mode: decoded and not shrunk
        self._features: dict[tuple[str, str, bool, View], Features] = {}

    @cached_property
    def data(self) -> bytes:
        """The bytes of the file: here as long as the image is, whether there is room or not."""
        return self.content.read()

    def identify(self) -> None:
        """Open the file unless it has been opened before."""
        if not self.content.is_known:
            self.data  # noqa: B018  (the pixels are decoded from the same bytes)
        self.content.identity  # noqa: B018  (raises what was wrong before)

    def pixels(self, mode: str, view: View) -> np.ndarray:
        """The image as "rgb" or "grey", in the size and orientation that is wanted."""
        if (mode, view) not in self._pixels:
            self._pixels[mode, view] = view.of(self._read(mode, view.max_side))
        return self._pixels[mode, view]

    def features(self, channel: Channel, view: View) -> Features:
        """The local features or the vector that a channel's extractor gives."""
        key = channel.extractor, repr(channel.params), channel.learns, view
        if key not in self._features:
            self._features[key] = channel.see(self.pixels(channel.build().color_mode, view))
        return self._features[key]

    def _read(self, mode: str, max_side: int | None) -> np.ndarray:
        source = self.content.source
        if isinstance(source, np.ndarray):
            return shrink(as_rgb(source) if mode == "rgb" else as_grey(source), max_side)
        whole = self._whole.get(mode)
        if whole is not None and (max_side is None or max(whole.shape) < 2 * max_side):
            return shrink(whole, max_side)  # as the decoder does, which reduces larger JPEGs
        pixels = self.content.kept_pixels(mode, max_side, self.keep)
        if pixels is None:
            pixels = read_image(self.data, mode, self.max_pixels, max_side=max_side)
            if self.keep:
                self.content.keep_pixels(mode, max_side, pixels)
        if max_side is None or max(pixels.shape) < max_side:
            self._whole[mode] = pixels
        return pixels
