"""The folder of a studio: its classes and images, and what people do with them.

They are plain class folders, as all commands read them. Every action can be undone.
"""

import hashlib
import os
import secrets
import threading
import time
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from visualwords.apps.command_line.sort_into import FORBIDDEN, alike, folder_name
from visualwords.apps.command_line.terminal import printable
from visualwords.apps.page.guards import RefusedError
from visualwords.apps.studio.change_log import HIDDEN, TRASH, ChangeLog, own_folder
from visualwords.errors import FolderError
from visualwords.files import create_temporary, remove_abandoned
from visualwords.folders import NOT_IMAGES, ImageFolder, files_below, folders_in
from visualwords.tables import split_of

LONGEST_LABEL = 100  # characters that a name given on the page may have
LONGEST_STEM = 150  # bytes of a file's name before its extension
INCOMING = f"{HIDDEN}/incoming"
SHARE = 0.1  # of the time that goes into looking at the folder, at most


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


class Workspace:
    """The images in a folder, and the actions on them; any thread may call.

    Parameters
    ----------
    root : path-like
        Made if it is not there.
    """

    def __init__(self, root: str | os.PathLike[str]):
        self.root = Path(os.path.abspath(root))
        self.root.mkdir(parents=True, exist_ok=True)
        check_layout(self.root)
        own_folder(self.root, HIDDEN)
        incoming = own_folder(self.root, INCOMING)
        self.log = ChangeLog(self.root)
        remove_abandoned(incoming)
        self._lock = threading.RLock()
        self._listed = Listed({}, [])
        self._look_again, self._seen = 0.0, -1  # on the clock; and steps of the log
        self.listed()

    def listed(self) -> Listed:
        """What the folder holds now, whoever changed it.

        Looking takes time in proportion to the images; it takes no more than `SHARE` of all time.
        """
        with self._lock:
            start = time.monotonic()
            if start >= self._look_again or self._seen != self.log.n_steps:
                self._seen = self.log.n_steps
                found = list_classes(self.root)
                end = time.monotonic()
                self._look_again = end + (end - start) / SHARE
                if found.version != self._listed.version:
                    self._listed = found
            return self._listed

    def image(self, number: str) -> ImageFile:
        """An image by what requests call it."""
        found = self._listed.by_id.get(number)
        if found is None or not os.path.lexists(self.root / found.place):
            found = self.listed().by_id.get(number)
        if found is None:
            raise RefusedError(404, "the image is no longer there; it was deleted or replaced")
        return found

    def label(self, name: str) -> str:
        """The class that the page shows by a name."""
        label = next((one for one in self.listed().folders if shown(one) == name), "")
        _folders(self.listed(), label)
        return label

    def add_class(self, name: str) -> str:
        """Make a class, or find the one of that name; return its label."""
        with self._lock:
            listed = self.listed()
            for label in listed.folders:
                if alike(label) == alike(name.strip()):
                    return label
            label = check_label(name, listed.folders)
            self.log.do(_token(), f"add class {label}", [("", label)])
            return label

    def rename_class(self, label: str, name: str) -> str:
        """Give a class another name; return it."""
        with self._lock:
            listed = self.listed()
            folder, *twins = _folders(listed, label)
            if twins:
                sentence = f"{shown(label)} has {1 + len(twins)} folders, whose names differ "
                sentence += "in their encoding; move its images to another class instead"
                raise RefusedError(409, sentence)
            new = check_label(name, listed.folders.keys() - {label})
            if new != label:
                self.log.do(_token(), f"rename {label} to {new}", [(folder, new)])
            return new

    def delete_class(self, label: str) -> None:
        """Move a class with its images to the trash."""
        with self._lock:
            self._throw_away(f"delete class {label}", _folders(self.listed(), label))

    def add_image(self, label: str, name: str, data: bytes, token: str) -> tuple[ImageFile, bool]:
        """Keep an image in a class; return it, and whether it is new.

        A file of the same name and content is not added again.
        """

        def is_other(path: Path) -> bool:
            same_size = path.is_file() and path.stat().st_size == len(data)
            return os.path.lexists(path) and not (same_size and path.read_bytes() == data)

        temporary, file = create_temporary(self.root / INCOMING)
        try:
            with file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            with self._lock:
                listed = self._listed if label in self._listed.folders else self.listed()
                folder, name = _folders(listed, label)[0], file_name(name)
                place = self._free(folder, name, is_other)
                is_new = not os.path.lexists(self.root / place)
                if is_new:
                    move = (f"{TRASH}/{token}/{place}", place)
                    self.log.do(token, f"add to {label}", [move], source=temporary)
            return ImageFile(id_of(self.root / place), label, place), is_new
        finally:
            temporary.unlink(missing_ok=True)

    def move_images(self, numbers: Sequence[str], label: str) -> int:
        """Move images to another class; return how many."""
        with self._lock:
            folder = _folders(self.listed(), label)[0]
            found = [image for image in self._found(numbers) if image.label != label]
            taken: set[Path] = set()
            moves = []
            for image in found:
                place = self._free(folder, image.name, lambda p: p in taken or os.path.lexists(p))
                taken.add(self.root / place)
                moves.append((image.place, place))
            if moves:
                self.log.do(_token(), f"move {_counted(found)} to {label}", moves)
            return len(moves)

    def _free(self, folder: str, name: str, is_taken: Callable[[Path], bool]) -> str:
        """A place for a file, with a number where there is another of its name."""
        stem, suffix = os.path.splitext(name)
        number, place = 1, f"{folder}/{name}"
        while is_taken(self.root / place):
            number += 1
            place = f"{folder}/{stem}-{number}{suffix}"
        return place

    def delete_images(self, numbers: Sequence[str]) -> int:
        """Move images to the trash; return how many."""
        with self._lock:
            found = self._found(numbers)
            if found:
                self._throw_away(f"delete {_counted(found)}", [image.place for image in found])
            return len(found)

    def accept_images(self, numbers: Sequence[str]) -> int:
        """Confirm the labels of images, so that they are not asked about again."""
        with self._lock:
            found = self._found(numbers)
            pairs = [(image.id, image.label) for image in found]
            if pairs:
                self.log.do(_token(), f"accept {_counted(found)}", [], pairs)
            return len(found)

    def close(self) -> None:
        """Let other processes have the folder."""
        self.log.close()

    def _found(self, numbers: Sequence[str]) -> list[ImageFile]:
        by_id = self.listed().by_id
        return [by_id[number] for number in numbers if number in by_id]

    def _throw_away(self, what: str, places: Sequence[str]) -> None:
        token = _token()
        self.log.do(token, what, [(place, f"{TRASH}/{token}/{place}") for place in places])


def _token() -> str:
    return secrets.token_hex(8)


def _folders(listed: Listed, label: str) -> list[str]:
    if label not in listed.folders:
        raise RefusedError(404, "the class is no longer there; it was renamed or deleted")
    return listed.folders[label]


def _counted(images: Sequence[ImageFile]) -> str:
    return "1 image" if len(images) == 1 else f"{len(images)} images"


def list_classes(root: Path) -> Listed:
    """The classes and images below a folder, by the rules of `ImageFolder`."""
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
    r"""A class as the page shows and requests name it: printable, and for no other class.

    Examples
    --------
    >>> shown("a\\x1b"), shown("a\x1b")
    ('a\\\\x1b', 'a\\x1b')
    """
    return printable(label.replace("\\", "\\\\"))


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
    """The name of a new class as it will be written, or refuse it with the reason."""
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
    """A name under which a file can be kept on any system and is seen by all readers.

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
