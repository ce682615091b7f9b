"""The images that a model learns from or predicts: one value that every stage takes."""

import hashlib
import os
import warnings
from collections import Counter
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from visualwords.apps.pipeline.contents import Content, Contents
from visualwords.errors import FolderError, ImageError
from visualwords.folders import ImageFolder
from visualwords.inputs import Source, as_images

__all__ = ["Dataset", "as_folder", "is_folder", "test_part"]

UNNAMED = "images"  # what images without a folder or table are called in messages


class Dataset:
    """For every image its source, label, group, split and content, each found once.

    Make one with `of` or `of_folder`; `part` gives some of its images, with the same contents.

    Attributes
    ----------
    contents : list of Content
        Source, name, bytes and fingerprint of every image.
    labels : (n,) array of str
    groups, splits : list of str or None
    origin : str
        What the images are called in messages.
    weights : (n,) float64 or None
        How often each image counts in training.

    Examples
    --------
    >>> data = Dataset.of([b"1", b"2", b"3", b"4"], ["a", "b", "a", "b"], ["x", "x", "y", "y"])
    >>> data.classes.tolist(), data.codes.tolist(), data.folds(2, seed=0).tolist()
    (['a', 'b'], [0, 1, 0, 1], [1, 1, 0, 0])
    """

    def __init__(
        self,
        contents: list[Content],
        labels: np.ndarray,
        groups: Sequence[str | None],
        splits: Sequence[str | None],
        origin: str = UNNAMED,
        weights: np.ndarray | None = None,
    ):
        self.contents, self.labels, self.weights = contents, labels, weights
        self.groups, self.splits, self.origin = list(groups), list(splits), origin

    def __repr__(self) -> str:
        return f"<Dataset {self.origin}: {len(self)} images of {len(self.classes)} classes>"

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any = None,
        groups: Any = None,
        *,
        contents: Contents | None = None,
    ) -> "Dataset":
        """The images that people hand to a classifier.

        Parameters
        ----------
        X : path of a folder or table, ImageFolder, Dataset, or images
            Images are all that `visualwords.inputs.as_images` takes, with labels or without. Of a
            folder with given splits, the training part is used, unless there are labels.
        y : sequence of labels, optional
        groups : sequence, optional
            What belongs together and is never divided between folds; None is an image of its own.
            A folder or table has its own.
        contents : Contents, optional
            Those of other images of the same run; a file that is in both is opened once.
        """
        if isinstance(X, cls):
            return X
        if isinstance(X, ImageFolder) or (y is None and isinstance(X, str | os.PathLike)):
            folder = as_folder(X)
            if y is None:
                part = folder.part("train") if "train" in folder.splits else folder
                return cls.of_folder(part, groups, contents=contents)
            groups = folder.groups if groups is None else groups
            sources: Sequence[Source] = list(folder.paths)
            known = None
        else:
            sources, known = as_images(X)
        given = known if y is None else y
        if given is None:
            raise TypeError(f"labels are needed for images given as {type(X).__name__}")
        labels = np.atleast_1d(np.asarray(given).astype(str))
        if len(sources) != len(labels):
            raise ValueError(f"{len(sources)} images but {len(labels)} labels")
        return cls._made(sources, labels, groups, None, contents)

    @classmethod
    def of_folder(
        cls, folder: ImageFolder, groups: Any = None, *, contents: Contents | None = None
    ) -> "Dataset":
        """All images of a folder, whatever their splits."""
        groups = folder.groups if groups is None else groups
        labels = np.array(folder.labels, dtype=str)
        made = cls._made(list(folder.paths), labels, groups, folder.splits, contents)
        made.origin = folder.path
        return made

    @classmethod
    def unlabelled(cls, X: Any, *, contents: Contents | None = None) -> "Dataset":
        """Images to predict, one or many; their bytes are kept only in ``contents``."""
        if isinstance(X, cls):
            return X
        if isinstance(X, ImageFolder) or is_folder(X):
            sources: Sequence[Source] = list(as_folder(X).paths)
        else:
            sources = as_images(X).images
        contents = Contents(0) if contents is None else contents
        return cls._made(sources, np.full(len(sources), ""), None, None, contents)

    @classmethod
    def _made(
        cls,
        sources: Sequence[Source],
        labels: np.ndarray,
        groups: Any,
        splits: Sequence[str | None] | None,
        contents: Contents | None,
    ) -> "Dataset":
        contents = Contents() if contents is None else contents
        opened = [contents.of(source, i) for i, source in enumerate(sources)]
        nothing = [None] * len(sources)
        groups = nothing if groups is None else [_group_name(group) for group in groups]
        if len(groups) != len(sources):
            raise ValueError(f"{len(sources)} images but {len(groups)} groups")
        return cls(opened, labels, groups, nothing if splits is None else splits)

    def weighted(self, sample_weight: Any) -> "Dataset":
        """The images that count, each as often as its weight says."""
        from visualwords.classifiers.one_vs_rest import check_sample_weight

        weights = check_sample_weight(sample_weight, np.empty((len(self), 1)))
        some = np.flatnonzero(weights)
        part = self.part(some)
        part.weights = weights[some]
        return part

    def __len__(self) -> int:
        return len(self.contents)

    @cached_property
    def names(self) -> list[str]:
        """Paths of the images; what has none is called by its position."""
        return [content.name for content in self.contents]

    @cached_property
    def classes(self) -> np.ndarray:
        """The different labels, sorted."""
        return np.unique(self.labels)

    @cached_property
    def codes(self) -> np.ndarray:
        """The place of every image's label among the classes."""
        return np.unique(self.labels, return_inverse=True)[1]

    @property
    def fingerprints(self) -> list[bytes]:
        """Fingerprint of each file; empty for an array and for a file that can't be read."""
        return [_fingerprint(content) for content in self.contents]

    def part(self, positions: Any) -> "Dataset":
        """Some of the images."""
        places = [int(i) for i in positions]
        return Dataset(
            [self.contents[i] for i in places],
            self.labels[places],
            [self.groups[i] for i in places],
            [self.splits[i] for i in places],
            self.origin,
            None if self.weights is None else self.weights[places],
        )

    def grouped(self, groups: Sequence[str | None]) -> "Dataset":
        """The same images in other groups."""
        return Dataset(self.contents, self.labels, groups, self.splits, self.origin, self.weights)

    def fingerprint(self, *, labels: bool = False) -> bytes | None:
        """What identifies all contents in their order; None if some image is no file.

        A file that can't be read counts as such. With ``labels``, these and the groups count too.
        """
        if any(isinstance(content.source, np.ndarray) for content in self.contents):
            return None
        digest = hashlib.sha256(b"".join(f or bytes(32) for f in self.fingerprints))
        if labels:
            known = repr((self.labels.tolist(), self.groups))
            digest.update(known.encode("utf-8", "surrogatepass"))
        return digest.digest()

    def folds(self, n: int, seed: int) -> np.ndarray:
        """The number of every image's fold, (n_images,) int.

        Folds have the classes in the same proportions, as far as groups, which stay together,
        allow. A class may be smaller than the number of folds; there are fewer folds where there
        are fewer groups.
        """
        n = min(n, int(np.bincount(self.codes).max(initial=0)), len(set(self.group_names)))
        if n < 2:
            raise FolderError(
                f"{self.origin}: all images belong to one group (or are near duplicates), and a "
                "group is never divided; folds need images of two groups or more"
            )
        groups = tuple(self.group_names) if self.is_grouped else None
        return np.array(_divided(tuple(self.codes.tolist()), groups, n, seed % 2**32), np.intp)

    def folds_of_all_classes(self, n: int, seed: int) -> np.ndarray | None:
        """At most n folds, such that the images outside of each have all classes.

        None where there are no such: a class has one image, or one group. A class may have fewer
        groups than there are folds: one small class does not decide how much all others learn from.
        """
        members = set(zip(self.codes.tolist(), self.group_names))
        if min(Counter(code for code, _ in members).values(), default=0) < 2:
            return None
        for fewer in range(n, 1, -1):
            folds = self.folds(fewer, seed)
            in_folds = np.unique(np.stack([self.codes, folds]), axis=1)[0]
            if np.bincount(in_folds).min() > 1:
                return folds
        return None

    def check_classes(self) -> None:
        """Refuse fewer than two classes."""
        if len(self.classes) < 2:
            found = f"only class {str(self.classes[0])!r}" if len(self) else "no readable image"
            raise FolderError(f"found {found}; at least two classes are needed")

    @property
    def is_grouped(self) -> bool:
        """Whether any image belongs to a group."""
        return any(group is not None for group in self.groups)

    @property
    def group_names(self) -> list[str]:
        """The group of every image; one without a group is a group of its own."""
        return [f"image {i}" if g is None else f"group {g}" for i, g in enumerate(self.groups)]


@lru_cache(maxsize=16)  # all tries of a search ask for the same; groups take half a second
def _divided(
    codes: tuple[int, ...], groups: tuple[str, ...] | None, n: int, seed: int
) -> tuple[int, ...]:
    """The fold of every image."""
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    splitter = kind(n, shuffle=True, random_state=seed)
    numbers = np.zeros(len(codes), np.intp)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a class with fewer images than folds
        for number, (_, members) in enumerate(splitter.split(codes, codes, groups)):
            numbers[members] = number
    return tuple(numbers.tolist())


def _fingerprint(content: Content) -> bytes:
    try:
        return content.fingerprint
    except ImageError:
        return b""


def _group_name(group: Any) -> str | None:
    return None if group is None or group == "" else str(group)


def as_folder(X: Any) -> ImageFolder:
    """A folder or table of labelled images; anything else lacks labels."""
    if isinstance(X, ImageFolder):
        return X
    if isinstance(X, str | os.PathLike):
        return ImageFolder(X)
    raise TypeError(f"labels are needed for images given as {type(X).__name__}")


def test_part(folder: ImageFolder) -> ImageFolder:
    """The test part of a folder that has one, else all of it."""
    return folder.part("test") if "test" in folder.splits else folder


def is_folder(X: Any) -> bool:
    """Whether something is the path of a folder or table of images, not of one image."""
    if not isinstance(X, str | os.PathLike):
        return False
    return os.path.isdir(X) or os.fspath(X).lower().endswith((".csv", ".jsonl"))
