"""The classes and images of a studio: plain class folders, as all commands read them."""

import hashlib
import os
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from visualwords.apps.command_line.sort_into import FORBIDDEN, alike, folder_name
from visualwords.apps.command_line.terminal import printable
from visualwords.apps.page.guards import RefusedError
from visualwords.errors import FolderError
from visualwords.folders import NOT_IMAGES, ImageFolder, files_below, folders_in
from visualwords.tables import split_of

HIDDEN = ".studio"  # journal, trash and models; readers of image folders ignore hidden names
LONGEST_LABEL = 100  # characters that a name given on the page may have
LONGEST_STEM = 150  # bytes of a file's name before its extension


@dataclass(frozen=True)
class ImageFile:
    """One image of a class folder.

    Attributes
    ----------
    id : str
        What the file is called in requests. It stays when the file is moved or renamed, and changes
        with its content.
    label : str
        Its class.
    place : str
        Its path below the studio's folder, with slashes.
    """

    id: str
    label: str
    place: str

    @property
    def name(self) -> str:
        """Its file's name."""
        return self.place.rpartition("/")[2]


@dataclass(frozen=True)
class Listed:
    """What the folder holds at one moment.

    Attributes
    ----------
    folders : dict of class → its folders below the root
        In the order of their names; a class may be empty. It has several folders where their names
        differ in the encoding of the same text.
    images : list of ImageFile
    """

    folders: dict[str, list[str]]
    images: list[ImageFile]

    @cached_property
    def by_id(self) -> dict[str, ImageFile]:
        """Images by what requests call them."""
        return {image.id: image for image in self.images}

    @cached_property
    def version(self) -> str:
        """What changes with any class or image."""
        digest = hashlib.blake2b(repr(list(self.folders)).encode("utf-8", "surrogatepass"))
        for image in self.images:
            digest.update(f"{image.id} {image.place}\n".encode("utf-8", "surrogatepass"))
        return digest.hexdigest()[:16]

    @cached_property
    def classes(self) -> list[str]:
        """The classes that have images."""
        return sorted({image.label for image in self.images})


def list_classes(root: Path) -> Listed:
    """Return the classes and images below a folder, by the rules of `ImageFolder`."""
    folders: dict[str, list[str]] = {}
    images: dict[str, ImageFile] = {}
    start = len(os.path.join(root, ""))
    for name, path in folders_in(str(root)).items():
        label = unicodedata.normalize("NFC", name)
        folders.setdefault(label, []).append(name)
        for file in sorted(files_below(path, []), key=os.fsencode):
            place = file[start:].replace(os.sep, "/")
            try:
                found = id_of(file)
            except OSError:  # gone since its folder was listed
                continue
            if found in images:  # two names of one file
                found = _digest(f"{found} {place}")
            images[found] = ImageFile(found, label, place)
    return Listed(folders, list(images.values()))


def shown(label: str) -> str:
    r"""Return a class as the page shows and requests name it: printable, and for no other class.

    Examples
    --------
    >>> shown("a\\x1b"), shown("a\x1b")
    ('a\\\\x1b', 'a\\x1b')
    """
    return printable(label.replace("\\", "\\\\"))


def own_folder(root: Path, place: str) -> Path:
    """Return a folder of the studio's own, made if need be; a link is refused."""
    folder = root / place
    if os.path.realpath(folder) != os.path.join(os.path.realpath(root), place):
        raise FolderError(f"{folder}: a link; the studio keeps its files here, remove the link")
    folder.mkdir(exist_ok=True)
    return folder


def id_of(path: str | os.PathLike[str]) -> str:
    """The name of a file in requests: it outlives moves, but no change of the content."""
    status = os.stat(path)
    return _digest(f"{status.st_dev} {status.st_ino} {status.st_size} {status.st_mtime_ns}")


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def check_layout(root: Path) -> None:
    """Refuse folders whose labels do not come from class folders: splits and tables."""
    if not root.is_dir():
        raise FolderError(f"{root}: not a folder; give one to work in, or none for ./studio")
    try:
        images = ImageFolder(root).items
    except FolderError as problem:
        if "look like splits" in str(problem):
            raise
        return  # no class yet, or none that has an image
    for item in images:
        first = Path(os.path.relpath(item.path, root)).parts[0]
        if item.split is not None:
            sentence = "has the parts train, val or test; open one of them, such as"
            raise FolderError(f"{root}: {sentence} {root / first}")
        if unicodedata.normalize("NFC", first) != item.label:
            raise FolderError(f"{root}: its labels come from a table; the studio has class folders")


def check_label(name: str, others: Iterable[str]) -> str:
    """Return the name of a new class as it will be written, or refuse it with the reason."""
    label, fault = unicodedata.normalize("NFC", name.strip()), ""
    twin = next((known for known in others if alike(known) == alike(label)), None)
    if not label:
        fault = "a class needs a name; type one"
    elif len(label) > LONGEST_LABEL:
        fault = f"the name is longer than {LONGEST_LABEL} characters; shorten it"
    elif label.startswith(".") or label == "__MACOSX" or folder_name(label) != label:
        fault = (
            "the name can't be that of a folder; leave out / \\ : * ? \" < > | and dots at its ends"
        )
    elif split_of(label) is not None:
        fault = f"{label} is the name of a part of a data set; choose another one"
    elif twin is not None:
        fault = f"there is a class {twin} already; choose another name"
    if fault:
        raise RefusedError(422, fault)
    return label


def file_name(given: str) -> str:
    """Return a name under which a file can be kept on any system and is seen by all readers.

    Examples
    --------
    >>> [file_name(name) for name in ("C:\\\\photos\\\\a cat.jpg", "../.hidden", "notes.txt", "")]
    ['a cat.jpg', 'hidden', 'notes.txt.image', 'image']
    """
    name = given.replace("\\", "/").rpartition("/")[2].translate(FORBIDDEN).lstrip(". ")
    stem, suffix = os.path.splitext(name)
    stem = os.fsencode(stem)[:LONGEST_STEM].decode(errors="ignore")
    name = folder_name(stem + suffix[:12]) if name else "image"
    return f"{name}.image" if os.path.splitext(name)[1].lower() in NOT_IMAGES else name
