"""What can go wrong with a user's input; every message names the input, the fault and the cure."""

from collections.abc import Iterator
from dataclasses import dataclass


class VisualWordsError(Exception):
    """Base of all errors that are about the user's input rather than about our code."""


class ImageError(VisualWordsError, ValueError):
    """An image that can't be used; the message is one line without the file's name."""

    kind = "unusable"


class UnreadableImageError(ImageError):
    """The bytes can't be read: missing, not a regular file, no permission, empty."""

    kind = "unreadable"


class MissingImageError(UnreadableImageError):
    """There is no file of this name."""

    kind = "missing"


class ChangedImageError(UnreadableImageError):
    """The file was opened again and is not what it was."""

    kind = "changed"


class UnknownFormatError(ImageError):
    """The bytes are of no image format that is read here."""

    kind = "unknown-format"


class DamagedImageError(ImageError):
    """An image format, but truncated, inconsistent, or with values that are not colours."""

    kind = "damaged"


class CrashedDecoderError(DamagedImageError):
    """The process that decoded the image ended: by a fault of its decoder, or from outside."""

    kind = "crashed"


class ImageTooLargeError(ImageError):
    """The header promises more pixels than are allowed; nothing was decoded."""

    kind = "too-large"


class FolderError(VisualWordsError, ValueError):
    """A folder or list of images that can't be used as training or test data."""


class RecipeError(VisualWordsError, ValueError):
    """A recipe with a name that does not exist, a value that can't be, or parts that don't fit."""


class ModelFileError(VisualWordsError, ValueError):
    """A file that is not a usable model."""


class ClusterError(VisualWordsError, RuntimeError):
    """A cluster that can't be reached, can't do the work, or was lost."""


@dataclass(frozen=True)
class Skipped:
    """An image that was left out.

    It unpacks into ``source, reason``, which is what listings show.

    Attributes
    ----------
    source : str
        Path of the file; "image 3" for an image that has none.
    reason : str
        One line.
    kind : str
        "missing", "unreadable", "changed", "unknown-format", "damaged", "crashed", "too-large" or
        "unusable".

    Examples
    --------
    >>> name, reason = Skipped("a.png", "the file is empty", "unreadable")
    >>> f"{name}: {reason}"
    'a.png: the file is empty'
    """

    source: str
    reason: str
    kind: str = ImageError.kind

    @classmethod
    def of(cls, source: str, problem: ImageError) -> "Skipped":
        """The skipped image, with the reason that an error gives."""
        return cls(source, str(problem), problem.kind)

    @property
    def may_pass(self) -> bool:
        """Whether the same bytes could be read another time: the fault is not in them."""
        return self.kind in ("missing", "unreadable", "changed")

    def __iter__(self) -> Iterator[str]:
        return iter((self.source, self.reason))

    def __str__(self) -> str:
        return f"{self.source}: {self.reason}"
