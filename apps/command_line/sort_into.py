"""Copy images into one folder for each label; never move or overwrite a file."""

import hashlib
import os
import re
import shutil
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterator
from contextlib import suppress
from io import BufferedReader
from itertools import chain, count
from pathlib import Path

from visualwords.apps.pipeline.decision import UNKNOWN
from visualwords.errors import FolderError
from visualwords.files import (
    create_temporary,
    has_locks,
    move_without_replacing,
    open_regular,
    remove_abandoned,
)

LONGEST_NAME = 200  # bytes of a folder's name; file systems allow 255
FORBIDDEN = str.maketrans(dict.fromkeys('/\\:*?"<>|' + "".join(map(chr, range(32))), "_"))
RESERVED = frozenset(
    ["con", "prn", "aux", "nul", *(f"{port}{i}" for port in ("com", "lpt") for i in range(10))]
)  # names that Windows keeps for devices, with any extension


class Sorter:
    """Copies images into ``folder/label/``, one at a time.

    A name that is taken gets a number: ``1.jpg``, ``1-2.jpg``, ``1-3.jpg``. A file that is there
    already, with the same name and content, is not copied again, so that a second run adds only
    what is new. Copies appear complete or not at all.

    Parameters
    ----------
    folder : path-like
        Made if it is not there.

    Examples
    --------
    >>> import tempfile
    >>> root = Path(tempfile.mkdtemp())
    >>> _ = (root / "1.jpg").write_bytes(b"a sunset")
    >>> target = Sorter(root / "sorted").copy(str(root / "1.jpg"), "evening")
    >>> Path(target).relative_to(root).as_posix()
    'sorted/evening/1.jpg'
    """

    def __init__(self, folder: str | os.PathLike[str]):
        self.folder = folder
        self._folders: dict[str, _LabelFolder] = {}

    def copy(self, path: str, label: str) -> str:
        """Copy an image; return where the copy is."""
        name = folder_name(label)
        if name not in self._folders:
            self._folders[name] = _LabelFolder(Path(self.folder, name))
        return self._folders[name].copy(path)


def folder_name(label: str) -> str:
    """A label as the name of one folder, on every system and whatever characters it has.

    Examples
    --------
    >>> [folder_name(label) for label in ("../sea side", "..", "C:shore", "nul")]
    ['.._sea side', '_', 'C_shore', '_nul']
    """
    name = label.translate(FORBIDDEN)
    name = os.fsencode(name)[:LONGEST_NAME].decode(errors="surrogateescape").rstrip(". ")
    if name.split(".")[0].rstrip().lower() in RESERVED:
        name = f"_{name}"
    return name or "_"


def alike(name: str) -> str:
    """A key that names share if some disk takes them for one: letters of any case, composed or not.

    The disks of Windows and macOS ignore case, and older ones of macOS decompose letters.

    Examples
    --------
    >>> alike("Café.JPG") == alike("cafe\u0301.jpg")
    True
    """
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def folder_of_rejected(classes: Collection[str]) -> str:
    """The label under which images of no class are sorted; no class has its folder.

    Examples
    --------
    >>> folder_of_rejected(["cat", "dog"]), folder_of_rejected(["cat", "Unknown", "none"])
    ('unknown', 'unknown-2')
    """
    taken = {alike(folder_name(name)) for name in classes}
    names = chain([UNKNOWN], (f"{UNKNOWN}-{number}" for number in count(2)))
    return next(name for name in names if name not in taken)


class _LabelFolder:
    """A folder that copies are added to.

    What it holds is listed once. Of files that share a name, or one with a number, only those of
    the same size are compared, by digests of their contents that are computed once: many copies
    take time in proportion to their number. Names that some disk takes for one count as one on
    every disk: a sorted folder can be copied to any of them.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        if folder.is_symlink():
            raise FolderError(f"{folder}: a link, and links are not written through; remove it")
        self.folder.mkdir(parents=True, exist_ok=True)
        remove_abandoned(folder)
        self._taken: set[str] = set()  # what the names of files share with others
        self._numbers = defaultdict[str, Iterator[int]](lambda: count(1))  # of the next copies
        self._unread = defaultdict[tuple[str, int], list[str]](list)  # files by name and size
        self._digests = defaultdict[tuple[str, int], dict[bytes, str]](dict)
        with os.scandir(folder) as entries:
            for entry in entries:
                with suppress(OSError):
                    is_file = entry.is_file(follow_symlinks=False)
                    self._add(entry.name, entry.stat().st_size if is_file else -1)

    def _add(self, name: str, size: int) -> None:
        """Note a file as one of its name, and of its name without the number."""
        key = alike(name)
        stem, suffix = os.path.splitext(key)
        self._taken.add(key)
        for family in {key, re.sub(r"-\d+$", "", stem) + suffix}:
            self._unread[family, size].append(name)

    def copy(self, path: str) -> str:
        """Copy a file under a free name; return the name of the copy, or of one that is equal."""
        original = Path(path).name
        try:
            with open_regular(path) as source:
                key = alike(original), os.fstat(source.fileno()).st_size
                digests = self._digests[key]
                for name in self._unread.pop(key, []):
                    with (
                        suppress(OSError),
                        open_regular(self.folder / name, follow_links=False) as file,
                    ):
                        digests.setdefault(_digest(file), name)
                equal = digests.get(_digest(source)) if digests else None
                return str(self.folder / (equal or self._add_copy(path, source, original)))
        except OSError as problem:
            raise OSError(
                problem.errno, f"not copied to {self.folder}: {problem.strerror}", path
            ) from None

    def _add_copy(self, path: str, source: BufferedReader, original: str) -> str:
        temporary, target = create_temporary(self.folder)
        try:
            with target:
                shutil.copyfileobj(source, target)
                target.flush()
                shutil.copystat(path, temporary)
                if has_locks():  # an open file is locked, and so not taken for abandoned
                    name = self._give_name(temporary, original)
            if not has_locks():  # Windows renames closed files only
                name = self._give_name(temporary, original)
        finally:
            temporary.unlink(missing_ok=True)
        self._add(name, os.stat(self.folder / name).st_size)
        return name

    def _give_name(self, temporary: Path, original: str) -> str:
        """Name a complete copy; a name that another process took meanwhile is passed over."""
        stem, suffix = os.path.splitext(original)
        while True:
            number = next(self._numbers[alike(original)])
            name = original if number == 1 else f"{stem}-{number}{suffix}"
            if alike(name) not in self._taken:
                with suppress(FileExistsError):
                    move_without_replacing(temporary, self.folder / name)
                    return name


def _digest(file: BufferedReader) -> bytes:
    """The digest of a file from its beginning, where it stands again afterwards."""
    found = hashlib.file_digest(file, "blake2b").digest()
    file.seek(0)
    return found
