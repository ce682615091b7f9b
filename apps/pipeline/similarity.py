"""Finding similar training images by short signatures of their rows."""

from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from scipy import sparse

from visualwords.apps.pipeline._similarity import nearest_squares, project
from visualwords.apps.pipeline.class_distances import ClassDistances, NearestDirection
from visualwords.apps.pipeline.contents import OpenedImage
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.stage import Environment, Stage, each_image
from visualwords.apps.pipeline.view import View
from visualwords.errors import Skipped
from visualwords.images import encode_image
from visualwords.model_file import part_of, prefixed

__all__ = ["Gallery", "Signer", "make_thumbnails"]

BUCKETS = 4096
COMPONENTS = 128
LEARN_FROM = 600  # rows at most, evenly taken
SEED = 2010
THUMBNAIL_SIDE = 96
THUMBNAIL_QUALITY = 75
MOST_THUMBNAIL = 1 << 16  # bytes


class Signer:
    """Rows of a model as 128 bytes each whose products tell how alike images are.

    The columns are added up, with random signs, in 4,096 buckets in turn (a count sketch [1]_,
    which keeps products of rows to about 1 in 60), and these are projected to the principal
    components of the training images. Signatures have length 127; the similarity of two is their
    cosine.

    Attributes
    ----------
    mean_ : (BUCKETS,) float32
    directions_ : (n_components, BUCKETS) float16

    References
    ----------
    .. [1] M. Charikar, K. Chen, M. Farach-Colton: Finding frequent items in data streams, 2002.
    """

    def fit(self, sketch: np.ndarray) -> "Signer":
        """Learn the components of training rows, given by `sketch_rows`."""
        mean = sketch.mean(axis=0, dtype=np.float64).astype(np.float32)
        return self.fit_some(sketch[:: -(-len(sketch) // LEARN_FROM)], mean)

    def fit_some(self, some: np.ndarray, mean: np.ndarray) -> "Signer":
        """Learn the components of some rows; the mean is that of all."""
        self.mean_ = mean
        centered = (some - self.mean_).astype(np.float64)
        values, vectors = np.linalg.eigh(centered @ centered.T)
        n_components = min(COMPONENTS, max(1, len(some) - 1))
        strongest = vectors[:, ::-1][:, :n_components]
        directions = (centered.T @ strongest) / np.sqrt(
            np.maximum(values[::-1][:n_components], 1e-12)
        )
        largest = np.abs(directions).argmax(axis=0)  # made positive: signs are reproducible
        directions *= np.where(directions[largest, np.arange(n_components)] < 0, -1, 1)
        self.directions_ = directions.T.astype(np.float16)
        self._forget()
        return self

    def sign(self, sketch: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return signatures, (n, n_components) int8, and what they were divided by, (n,) float32.

        Signatures have length 127; times these lengths / 127 they are the components.
        """
        projected = self.components(sketch)
        lengths = np.linalg.norm(projected, axis=1)
        unit = projected / np.maximum(lengths, 1e-12)[:, None]
        return np.rint(127 * unit).astype(np.int8), lengths

    def distances(
        self,
        sketch: np.ndarray,
        found: np.ndarray,
        signatures: np.ndarray,
        lengths: np.ndarray,
    ) -> np.ndarray:
        """Return the distance of rows, with their components, to the nearest signed one, (n,).

        What of a row is not in the components counts; of the signed rows it is not known.
        """
        inside = np.einsum("nc,nc->n", found, found, dtype=np.float64)
        centered = sketch - self.mean_
        whole = np.einsum("nc,nc->n", centered, centered, dtype=np.float64)
        apart = np.empty(len(found))
        nearest_squares(found, signatures, (lengths / 127).astype(np.float32), apart)
        return np.sqrt(apart + np.maximum(whole - inside, 0))

    def transform(self, rows: Any) -> np.ndarray:
        """Return the signatures of other rows, (n, n_components) int8."""
        return self.sign(sketch_rows(rows))[0]

    def get_state(self) -> dict[str, np.ndarray]:
        """Return what was learned as plain arrays."""
        return {"mean": self.mean_, "directions": self.directions_}

    def set_state(self, state: dict[str, np.ndarray]) -> "Signer":
        """Become the signer whose `get_state` this is."""
        self.mean_, self.directions_ = state["mean"], state["directions"]
        self._forget()
        return self

    def _forget(self) -> None:
        """Forget what was computed from what was learned before."""
        for name in ("_matrix", "_middle"):
            self.__dict__.pop(name, None)

    @cached_property
    def _matrix(self) -> np.ndarray:
        """The directions in a type to compute with; made once, it would take most of the time."""
        return np.ascontiguousarray(self.directions_.T, np.float32)

    @cached_property
    def _middle(self) -> np.ndarray:
        """The mean in components."""
        return self.mean_ @ self._matrix

    def components(self, sketch: np.ndarray) -> np.ndarray:
        """Return the principal components of sketched rows, (n, n_components) float32."""
        found = np.repeat(-self._middle[None], len(sketch), axis=0)
        project(np.ascontiguousarray(sketch, np.float32), self._matrix, found)
        return found


def unsigned(signatures: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return the components that signatures stand for, (n, n_components) float32."""
    return signatures * (lengths / 127).astype(np.float32)[:, None]


def sketch_rows(rows: Any, are_counts: bool | None = None) -> np.ndarray:
    """Return rows with their columns added up in buckets, as (n, BUCKETS) float32.

    Of rows without negative numbers square roots are taken, so that a few large counts do not
    decide; ``are_counts`` says whether they are such, where these are not all rows.
    """
    n, d = rows.shape
    signs = _signs(d)
    if are_counts is None:
        values = rows.data if sparse.issparse(rows) else rows
        are_counts = bool(values.min(initial=0) >= 0)
    sketch = np.zeros((n, BUCKETS), np.float32)
    for i in range(n):
        row = rows[[i]].toarray()[0] if sparse.issparse(rows) else rows[i]
        padded = np.zeros(-(-d // BUCKETS) * BUCKETS, np.float32)
        padded[:d] = np.sqrt(np.maximum(row, 0)) if are_counts else row
        padded[:d] *= signs
        sketch[i] = padded.reshape(-1, BUCKETS).sum(axis=0)
    return sketch


@lru_cache(maxsize=8)
def _signs(d: int) -> np.ndarray:
    """Return a fixed random sign, +1 or −1, for each of d columns."""
    return np.random.default_rng(SEED).integers(0, 2, d, dtype=np.int8) * np.int8(2) - np.int8(1)


class Gallery:
    """The training images of a model, as much of them as is needed to name similar ones.

    Parameters
    ----------
    signer : Signer
    signatures : (n, n_components) int8
    names : list of str
    labels : (n,) array of str
    thumbnails : list of bytes, optional
        JPEG files.
    lengths : (n,) float32, optional
        Of the rows' components; without them there are similarities but no distances.
    """

    def __init__(
        self,
        signer: Signer,
        signatures: np.ndarray,
        names: list[str],
        labels: np.ndarray,
        thumbnails: list[bytes] | None = None,
        lengths: np.ndarray | None = None,
    ):
        self.signer = signer
        self.signatures = signatures
        self.names = names
        self.labels = labels
        self.thumbnails = thumbnails
        self.lengths = lengths

    def __repr__(self) -> str:
        return f"<Gallery: {self.kept} of {len(self.names)} images>"

    @property
    def kept(self) -> str:
        """What is stored of each image."""
        return "signatures and thumbnails" if self.thumbnails else "signatures"

    def query(self, rows: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return positions of the k most similar images and similarities −1 … 1, best first."""
        wanted = self.signer.transform(rows).astype(np.float32)
        known = self.signatures.astype(np.float32)
        cosines = (wanted @ known.T) / np.maximum(
            np.linalg.norm(wanted, axis=1)[:, None] * np.linalg.norm(known, axis=1), 1e-12
        )
        order = np.argsort(-cosines, axis=1, kind="stable")[:, :k]
        return order, np.take_along_axis(cosines, order, axis=1)

    def distances(self, rows: Any) -> np.ndarray | None:
        """Return how far rows are from training images, (n, 3); None where it is not known.

        The distance to the nearest image, the relative one to the classes, and that to the nearest
        direction (`visualwords.apps.pipeline.class_distances`).
        """
        if self.lengths is None:
            return None
        sketch = sketch_rows(rows)
        found = self.signer.components(sketch)
        nearest = self.signer.distances(sketch, found, self.signatures, self.lengths)
        classes, directions = self._learned
        columns = nearest, classes.relative(found), directions.distances(found)
        return np.stack(columns, axis=1)

    @cached_property
    def _learned(self) -> tuple[ClassDistances, NearestDirection]:
        assert self.lengths is not None
        codes = np.unique(self.labels, return_inverse=True)[1]
        rows = unsigned(self.signatures, self.lengths)
        return ClassDistances.fit(rows, codes), NearestDirection.fit(rows, codes)

    def get_state(self) -> dict[str, np.ndarray]:
        """Return everything as plain arrays."""
        names = "\0".join(self.names).encode("utf-8", "surrogateescape")
        state = {
            "signatures": self.signatures,
            "names": np.frombuffer(names, np.uint8),
            **prefixed("signer_", self.signer.get_state()),
        }
        if self.lengths is not None:
            state["lengths"] = self.lengths
        if self.thumbnails is not None:
            sizes = [len(thumbnail) for thumbnail in self.thumbnails]
            state["thumbnails"] = np.frombuffer(b"".join(self.thumbnails), np.uint8)
            state["thumbnail_ends"] = np.cumsum(sizes, dtype=np.int64)
        return state

    @classmethod
    def from_state(cls, state: dict[str, np.ndarray], labels: np.ndarray) -> "Gallery":
        """Restore a gallery from `get_state`; the labels are kept elsewhere in a model file."""
        names = state["names"].tobytes().decode("utf-8", "surrogateescape").split("\0")
        signer = Signer().set_state(part_of("signer_", state))
        thumbnails = list(_cut(state)) if "thumbnails" in state else None
        n, lengths = len(state["signatures"]), state.get("lengths")
        given: list[Any] = [
            labels,
            names,
            thumbnails or labels,
            labels if lengths is None else lengths,
        ]
        if any(n != len(one) for one in given):
            raise ValueError("the gallery's names, labels and signatures differ in number")
        return cls(signer, state["signatures"], names, labels, thumbnails, lengths)


def make_thumbnails(data: Dataset, env: Environment) -> list[bytes]:
    """Return small JPEGs of images; nothing for one that can't be read any more."""
    settings = {"jpeg": [THUMBNAIL_SIDE, THUMBNAIL_QUALITY]}
    stage = Stage("thumbnail", settings, draw_thumbnail, accepts=_is_jpeg)
    made = each_image([stage], data, env, "drawing thumbnails")
    return [b"" if isinstance(one, Skipped) else one[0].tobytes() for one in made]


def _is_jpeg(array: np.ndarray) -> bool:
    """Return whether an array of the cache can be a thumbnail."""
    if array.dtype != np.uint8 or array.ndim != 1 or array.size > MOST_THUMBNAIL:
        return False
    jpeg = array.tobytes()
    return jpeg.startswith(b"\xff\xd8") and jpeg.count(b"\xff\xd8") == 1 == jpeg.count(b"\xff\xd9")


def draw_thumbnail(image: OpenedImage) -> np.ndarray:
    """Return the bytes of a small JPEG."""
    jpeg = encode_image(image.pixels("rgb", View(THUMBNAIL_SIDE)), "jpeg", THUMBNAIL_QUALITY)
    return np.frombuffer(jpeg, np.uint8)


def _cut(state: dict[str, np.ndarray]) -> Iterator[bytes]:
    blob, start = state["thumbnails"].tobytes(), 0
    for end in state["thumbnail_ends"].tolist():
        yield blob[start:end]
        start = end
