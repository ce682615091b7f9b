"""What can go wrong with a user's input; every message names the input, the fault and the cure."""


class VisualWordsError(Exception):
    """Base of all errors that are about the user's input rather than about our code."""


class ImageError(VisualWordsError, ValueError):
    """An image that can't be used; the message is one line without the file's name."""


class UnreadableImageError(ImageError):
    """The bytes can't be read: missing, not a regular file, no permission, empty."""


class UnknownFormatError(ImageError):
    """The bytes are of no image format that is read here."""


class DamagedImageError(ImageError):
    """An image format, but truncated, inconsistent, or with values that are not colours."""


class ImageTooLargeError(ImageError):
    """The header promises more pixels than are allowed; nothing was decoded."""


class FolderError(VisualWordsError, ValueError):
    """A folder or list of images that can't be used as training or test data."""


class ModelFileError(VisualWordsError, ValueError):
    """A file that is not a usable model."""


class ClusterError(VisualWordsError, RuntimeError):
    """A cluster that can't be reached, can't do the work, or was lost."""
