"""Copy images into one folder for each label; never move or overwrite a file."""

import hashlib
import os
import shutil
import unicodedata
from collections.abc import Collection, Sequence
from contextlib import suppress
from io import BufferedReader
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
from visualwords.progress import Progress, Silent

LONGEST_NAME = 200  # bytes of a folder's name; file systems allow 255
FORBIDDEN = str.maketrans(dict.fromkeys('/\\:*?"<>|' + "".join(map(chr, range(32))), "_"))
RESERVED = frozenset(
    ["con", "prn", "aux", "nul", *(f"{port}{i}" for port in ("com", "lpt") for i in range(10))]
)  # names that Windows keeps for devices, with any extension


def sort_images(
    paths: Sequence[str],
    labels: Sequence[str],
    folder: str | os.PathLike[str],
    *,
    progress: Progress | None = None,
) -> list[str]:
    """Copy images into ``folder/label/``.

    A name that is taken gets a number: ``1.jpg``, ``1-2.jpg``, ``1-3.jpg``. A file that is there
    already, with the same name and content, is not copied again, so that a second run adds only
    what is new. Copies appear complete or not at all.

    Parameters
    ----------
    paths, labels : sequences of str
    folder : path-like
        Made if it is not there.
    progress : Progress, optional

    Returns
    -------
    list of str
        Where the copies are.

    Examples
    --------
    >>> import tempfile
    >>> root = Path(tempfile.mkdtemp())
    >>> _ = (root / "1.jpg").write_bytes(b"a sunset")
    >>> target, = sort_images([str(root / "1.jpg")], ["evening"], root / "sorted")
    >>> Path(target).relative_to(root).as_posix()
    'sorted/evening/1.jpg'
    """
    progress = progress or Silent()
    progress.start("copying images", len(paths))
    sorter = Sorter(folder)
    copies = []
    for path, label in zip(paths, labels):
        copies.append(sorter.copy(path, label))
        progress.advance()
    return copies


class Sorter:
    """Copies images into folders of their labels, one at a time.

    Parameters
    ----------
    folder : path-like
    """

    def __init__(self, folder: str | os.PathLike[str]):
        self.folder = folder
        self._folders: dict[str, _LabelFolder] = {}

    def copy(self, path: str, label: str) -> str:
        """Copy an image as `sort_images` does; return where the copy is."""
        name = folder_name(label)
        if name not in self._folders:
            self._folders[name] = _LabelFolder(Path(self.folder, name))
        return self._folders[name].copy(path)


def folder_name(label: str) -> str:
    """Return a label as the name of one folder, on every system and whatever characters it has.

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
    """Return the label under which images of no class are sorted; no class has its folder.

    Examples
    --------
    >>> folder_of_rejected(["cat", "dog"]), folder_of_rejected(["cat", "Unknown", "none"])
    ('unknown', 'unknown-2')
    """
    taken = {alike(folder_name(name)) for name in classes}
    number, label = 1, UNKNOWN
    while label in taken:
        number += 1
        label = f"{UNKNOWN}-{number}"
    return label


class _LabelFolder:
    """A folder that copies are added to.

    What it holds is listed once. Of files that share a name, only those of the same size are
    compared, by digests of their contents that are computed once: many copies take time in
    proportion to their number. Names that some disk takes for one count as one on every disk: a
    sorted folder can be copied to any of them.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        if folder.is_symlink():
            raise FolderError(f"{folder}: a link, and links are not written through; remove it")
        self.folder.mkdir(parents=True, exist_ok=True)
        remove_abandoned(folder)
        self._files: dict[str, tuple[str, int]] = {}  # name and size by what names share
        with os.scandir(folder) as entries:
            for entry in entries:
                with suppress(OSError):
                    is_file = entry.is_file(follow_symlinks=False)
                    size = entry.stat().st_size if is_file else -1
                    self._files[alike(entry.name)] = entry.name, size
        self._families: dict[str, _Family] = {}

    def copy(self, path: str) -> str:
        """Copy a file under a free name; return the name of the copy, or of one that is equal."""
        original = Path(path).name
        try:
            with open_regular(path) as source:
                family = self._family(original)
                name = family.equal_to(source, self.folder)
                if name is None:
                    name = self._add(path, source, original, family)
                return str(self.folder / name)
        except OSError as problem:
            raise OSError(
                problem.errno, f"not copied to {self.folder}: {problem.strerror}", path
            ) from None

    def _add(self, path: str, source: BufferedReader, original: str, family: "_Family") -> str:
        temporary, target = create_temporary(self.folder)
        try:
            with target:
                shutil.copyfileobj(source, target)
                target.flush()
                shutil.copystat(path, temporary)
                if has_locks():  # an open file is locked, and so not taken for abandoned
                    name = self._give_name(temporary, original, family)
            if not has_locks():  # Windows renames closed files only
                name = self._give_name(temporary, original, family)
        finally:
            temporary.unlink(missing_ok=True)
        size = os.stat(self.folder / name).st_size
        self._files[alike(name)] = name, size
        family.add(name, size)
        return name

    def _family(self, original: str) -> "_Family":
        """Return the files here that have this name, or it with a number."""
        key = alike(original)
        if key not in self._families:
            family = self._families[key] = _Family()
            while (name := alike(_numbered(original, family.number))) in self._files:
                family.add(*self._files[name])
                family.number += 1
        return self._families[key]

    def _give_name(self, temporary: Path, original: str, family: "_Family") -> str:
        """Name a complete copy; a name that another process took meanwhile is passed over."""
        while True:
            name = _numbered(original, family.number)
            family.number += 1
            if alike(name) not in self._files:
                with suppress(FileExistsError):
                    move_without_replacing(temporary, self.folder / name)
                    return name


class _Family:
    """The files of a folder that have one name, or it with a number: by size, then by content."""

    def __init__(self) -> None:
        self.number = 1  # of the next name
        self._known: dict[int, dict[bytes, str]] = {}  # size → digest → name
        self._unread: dict[int, list[str]] = {}  # size → names of files without a digest so far

    def add(self, name: str, size: int) -> None:
        self._unread.setdefault(size, []).append(name)

    def equal_to(self, source: BufferedReader, folder: Path) -> str | None:
        """Return the name of a file with the content of another; None if there is none."""
        size = os.fstat(source.fileno()).st_size
        if size not in self._known and size not in self._unread:
            return None
        known = self._known.setdefault(size, {})
        for name in self._unread.pop(size, []):
            with suppress(OSError), open_regular(folder / name, follow_links=False) as file:
                known.setdefault(_content_of(file), name)
        found = known.get(_content_of(source))
        source.seek(0)
        return found


def _numbered(name: str, number: int) -> str:
    stem, suffix = os.path.splitext(name)
    return name if number == 1 else f"{stem}-{number}{suffix}"


def _content_of(file: BufferedReader) -> bytes:
    """Return the digest of all that a file has to give."""
    return hashlib.file_digest(file, "blake2b").digest()
