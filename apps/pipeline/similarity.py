"""Finding similar training images by short signatures of their rows."""

from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from visualwords.apps.pipeline.contents import OpenedImage
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.stages import Environment, Step, each_image
from visualwords.apps.pipeline.view import View
from visualwords.classifiers.row_file import RowFile
from visualwords.errors import Skipped
from visualwords.images import encode_image
from visualwords.model_file import part_of, prefixed

__all__ = ["Gallery", "Signed", "Signer", "make_thumbnails", "sign_images"]

BUCKETS = 4096
COMPONENTS = 128
LEARN_FROM = 600  # rows at most, evenly taken
BLOCK = 256  # rows that are read from a file at once
MEASURED = 4096  # images at most whose held-out distances are measured
SEED = 2010
THUMBNAIL_SIDE = 96
THUMBNAIL_QUALITY = 75


class Signer:
    """Rows of a model as 128 bytes each whose products measure how alike images are.

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

    def __init__(self, mean: np.ndarray, directions: np.ndarray):
        self.mean_, self.directions_ = mean, directions

    @classmethod
    def fit(cls, sketch: np.ndarray, mean: np.ndarray | None = None) -> "Signer":
        """Learn the components of training rows, given by `sketch_rows`.

        Where these are only some of the rows, ``mean`` is that of all.
        """
        if mean is None:
            mean = sketch.mean(axis=0, dtype=np.float64).astype(np.float32)
        sketch = sketch[:: -(-len(sketch) // LEARN_FROM)]
        centered = (sketch - mean).astype(np.float64)
        values, vectors = np.linalg.eigh(centered @ centered.T)
        n_components = min(COMPONENTS, max(1, len(sketch) - 1))
        strongest = vectors[:, ::-1][:, :n_components]
        lengths = np.sqrt(np.maximum(values[::-1][:n_components], 1e-12))
        directions = (centered.T @ strongest) / lengths
        largest = np.abs(directions).argmax(axis=0)  # made positive: signs are reproducible
        directions *= np.where(directions[largest, np.arange(n_components)] < 0, -1, 1)
        return cls(mean, directions.T.astype(np.float16))

    def sign(self, sketch: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Signatures, (n, n_components) int8, and what they were divided by, (n,) float32.

        Signatures have length 127; times these lengths / 127 they are the components.
        """
        projected = self._components(sketch)
        lengths = np.linalg.norm(projected, axis=1)
        unit = projected / np.maximum(lengths, 1e-12)[:, None]
        return np.rint(127 * unit).astype(np.int8), lengths.astype(np.float32)

    def distances(
        self, sketch: np.ndarray, signatures: np.ndarray, lengths: np.ndarray
    ) -> np.ndarray:
        """The distance of sketched rows to the nearest signed one, (n,) float32.

        What of a row is not in the components counts; of the signed rows it is not known.
        """
        found = self._components(sketch)
        known = signatures * (lengths / 127)[:, None].astype(np.float64)
        inside = (found**2).sum(axis=1)
        squares = inside[:, None] + (known**2).sum(axis=1) - 2 * found @ known.T
        whole = ((sketch - self.mean_).astype(np.float64) ** 2).sum(axis=1)
        nearest = np.maximum(squares.min(axis=1), 0) + np.maximum(whole - inside, 0)
        return np.sqrt(nearest).astype(np.float32)

    def transform(self, rows: Any) -> np.ndarray:
        """The signatures of other rows, (n, n_components) int8."""
        return self.sign(sketch_rows(rows))[0]

    def get_state(self) -> dict[str, np.ndarray]:
        """What was learned, as plain arrays."""
        return {"mean": self.mean_, "directions": self.directions_}

    @cached_property
    def _matrix(self) -> np.ndarray:
        """The directions in a type to compute with; made once, it would take most of the time."""
        return np.ascontiguousarray(self.directions_.T, np.float64)

    def _components(self, sketch: np.ndarray) -> np.ndarray:
        """The principal components of sketched rows, (n, n_components) float64."""
        return (sketch - self.mean_).astype(np.float64) @ self._matrix


class Signed(NamedTuple):
    """The signatures of training images.

    Attributes
    ----------
    signer : Signer
    signatures : (n, n_components) int8
    lengths : (n,) float32
    distances : of the `spread` images to the nearest one outside of their fold, or None
    """

    signer: Signer
    signatures: np.ndarray
    lengths: np.ndarray
    distances: np.ndarray | None


def sign_images(rows: Any, places: np.ndarray, folds: np.ndarray | None) -> Signed:
    """Sign images whose rows have some places in a matrix or a file, a block at a time.

    Components are learned from the `spread` images, and distances are measured among these.
    """
    n, some = len(places), spread(len(places))
    blocks = [np.arange(i, min(i + BLOCK, n)) for i in range(0, n, BLOCK)]
    total, known = np.zeros(BUCKETS), []
    for block in blocks:
        sketch = sketch_rows(_taken(rows, places[block]))
        total += sketch.sum(axis=0, dtype=np.float64)
        known.append(sketch[np.isin(block, some)])
    measured = np.concatenate(known)
    signer = Signer.fit(measured, (total / n).astype(np.float32))
    if len(some) < n:
        signed = [signer.sign(sketch_rows(_taken(rows, places[block]))) for block in blocks]
    else:
        signed = [signer.sign(sketch) for sketch in known]
    distances = None if folds is None else held_out_distances(measured, folds[some])
    signatures, lengths = map(np.concatenate, zip(*signed))
    return Signed(signer, signatures, lengths, distances)


def _taken(rows: Any, places: np.ndarray) -> Any:
    """Some rows of a matrix or of a file."""
    if isinstance(rows, RowFile):
        return np.concatenate([rows[place : place + 1] for place in places])
    return rows[places]


def held_out_distances(sketch: np.ndarray, folds: np.ndarray) -> np.ndarray:
    """The distance of every sketched row to the nearest one outside of its fold, (n,).

    Components are learned without the fold, too, as those of the model are without new images.
    """
    distances = np.zeros(len(sketch))
    for fold in np.unique(folds):
        others = sketch[folds != fold]
        signer = Signer.fit(others)
        here = folds == fold
        distances[here] = signer.distances(sketch[here], *signer.sign(others))
    return distances


def spread(n: int) -> np.ndarray:
    """The positions of at most `MEASURED` of n images, evenly.

    Examples
    --------
    >>> spread(3).tolist(), len(spread(100_000))
    ([0, 1, 2], 4096)
    """
    return np.arange(n) if n <= MEASURED else np.linspace(0, n - 1, MEASURED).astype(np.intp)


def sketch_rows(rows: Any) -> np.ndarray:
    """Rows with their columns added up in buckets, as (n, BUCKETS) float32.

    Of numbers that are no bytes the square roots are taken, with their signs, so that a few large
    counts do not decide.
    """
    n, d = rows.shape
    signs = _signs(d)
    sketch = np.zeros((n, BUCKETS), np.float32)
    for i in range(n):
        row = rows[[i]].toarray()[0] if sparse.issparse(rows) else rows[i]
        padded = np.zeros(-(-d // BUCKETS) * BUCKETS, np.float32)
        padded[:d] = row if row.dtype == np.int8 else np.sign(row) * np.sqrt(np.abs(row))
        padded[:d] *= signs
        sketch[i] = padded.reshape(-1, BUCKETS).sum(axis=0)
    return sketch


@lru_cache(maxsize=8)
def _signs(d: int) -> np.ndarray:
    """A fixed random sign, +1 or −1, for each of d columns."""
    return np.random.default_rng(SEED).integers(0, 2, d, dtype=np.int8) * np.int8(2) - np.int8(1)


class Gallery:
    """The training images of a model, as much of them as is needed to name similar ones.

    Parameters
    ----------
    signer : Signer
    signatures : (n, n_components) int8
    names : list of str
    labels : (n,) array of str
    lengths : (n,) float32
        Of the rows' components.
    thumbnails : list of bytes, optional
        JPEG files.
    """

    def __init__(
        self,
        signer: Signer,
        signatures: np.ndarray,
        names: list[str],
        labels: np.ndarray,
        lengths: np.ndarray,
        thumbnails: list[bytes] | None = None,
    ):
        self.signer = signer
        self.signatures = signatures
        self.names = names
        self.labels = labels
        self.lengths = lengths
        self.thumbnails = thumbnails

    def __repr__(self) -> str:
        return f"<Gallery: {self.kept} of {len(self.names)} images>"

    @property
    def kept(self) -> str:
        """What is stored of each image."""
        return "signatures and thumbnails" if self.thumbnails else "signatures"

    def query(self, rows: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Positions of the k most similar images and similarities −1 … 1, best first."""
        wanted = self.signer.transform(rows).astype(np.float32)
        known = self.signatures.astype(np.float32)
        cosines = (wanted @ known.T) / np.maximum(
            np.linalg.norm(wanted, axis=1)[:, None] * np.linalg.norm(known, axis=1), 1e-12
        )
        order = np.argsort(-cosines, axis=1, kind="stable")[:, :k]
        return order, np.take_along_axis(cosines, order, axis=1)

    def distances(self, rows: Any) -> np.ndarray:
        """The distance of rows to the nearest training image, (n,)."""
        return self.signer.distances(sketch_rows(rows), self.signatures, self.lengths)

    def get_state(self) -> dict[str, np.ndarray]:
        """Everything as plain arrays."""
        names = "\0".join(self.names).encode("utf-8", "surrogateescape")
        state = {
            "signatures": self.signatures,
            "lengths": self.lengths,
            "names": np.frombuffer(names, np.uint8),
            **prefixed("signer_", self.signer.get_state()),
        }
        if self.thumbnails is not None:
            sizes = [len(thumbnail) for thumbnail in self.thumbnails]
            state["thumbnails"] = np.frombuffer(b"".join(self.thumbnails), np.uint8)
            state["thumbnail_ends"] = np.cumsum(sizes, dtype=np.int64)
        return state

    @classmethod
    def from_state(cls, state: dict[str, np.ndarray], labels: np.ndarray) -> "Gallery":
        """Restore a gallery from `get_state`; the labels are kept elsewhere in a model file."""
        names = state["names"].tobytes().decode("utf-8", "surrogateescape").split("\0")
        signer = part_of("signer_", state)
        n, signatures, lengths = len(names), state["signatures"], state["lengths"]
        thumbnails = _cut(state) if "thumbnails" in state else None
        if not (signatures.shape == (n, len(signer["directions"])) and lengths.shape == (n,)):
            raise ValueError("the gallery's names, signatures and lengths differ in number")
        if not n == len(labels) == len(thumbnails or labels) or lengths.min() < 0:
            raise ValueError("the gallery's names, labels and thumbnails do not fit")
        signed = Signer(signer["mean"], signer["directions"])
        return cls(signed, signatures, names, labels, lengths, thumbnails)


def make_thumbnails(data: Dataset, env: Environment) -> list[bytes]:
    """Small JPEGs of images; nothing for one that can't be read any more."""
    step = Step("thumbnail", {"jpeg": [THUMBNAIL_SIDE, THUMBNAIL_QUALITY]}, draw_thumbnail)
    made = each_image([step], data, env, "drawing thumbnails")
    return [b"" if isinstance(one, Skipped) else one[0].tobytes() for one in made]


def draw_thumbnail(image: OpenedImage) -> np.ndarray:
    """The bytes of a small JPEG."""
    jpeg = encode_image(image.pixels("rgb", View(THUMBNAIL_SIDE)), "jpeg", THUMBNAIL_QUALITY)
    return np.frombuffer(jpeg, np.uint8)


def _cut(state: dict[str, np.ndarray]) -> list[bytes]:
    blob, ends = state["thumbnails"].tobytes(), state["thumbnail_ends"].tolist()
    return [blob[start:end] for start, end in zip([0, *ends], ends)]
