"""What people do with the images of a studio; every action can be undone."""

import os
import secrets
import threading
import time
from collections.abc import Callable, Collection, Sequence
from itertools import chain
from pathlib import Path

from visualwords.apps.command_line.sort_into import alike
from visualwords.apps.page.guards import RefusedError
from visualwords.apps.studio.change_log import TRASH, ChangeLog, Move
from visualwords.apps.studio.class_folders import (
    HIDDEN,
    ImageFile,
    Listed,
    check_label,
    check_layout,
    file_name,
    id_of,
    list_classes,
    own_folder,
    shown,
)
from visualwords.files import create_temporary, remove_abandoned

INCOMING = f"{HIDDEN}/incoming"
LOOK_AGAIN = 20.0  # seconds


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
        self._watched: dict[str, int] = {}  # folder below the root → when it was changed last
        self._looked = 0.0
        self._look()

    def listed(self) -> Listed:
        """What the folder holds now, whoever changed it.

        All files are looked at when a folder has changed, and now and then: a file that was
        replaced does not change its folder.
        """
        with self._lock:
            is_old = time.monotonic() > self._looked + LOOK_AGAIN
            if is_old or self._watched != self._times(self._watched):
                self._look()
            return self._listed

    def _look(self) -> None:
        found = list_classes(self.root)
        places = {image.place.rpartition("/")[0] for image in found.images}
        self._watched = self._times({"", *chain(*found.folders.values()), *places})
        self._looked = time.monotonic()
        if found.version != self._listed.version:
            self._listed = found

    def _times(self, places: "dict[str, int] | set[str]") -> dict[str, int]:
        times = dict.fromkeys(places, 0)
        for place in places:
            try:
                times[place] = os.stat(self.root / place).st_mtime_ns
            except OSError:  # gone
                continue
        return times

    def image(self, number: str) -> ImageFile:
        """An image by what requests call it."""
        found = self._listed.by_id.get(number) or self.listed().by_id.get(number)
        if found is None:
            raise RefusedError(404, "the image is no longer there; it was deleted or replaced")
        return found

    def label(self, name: str) -> str:
        """The class that the page shows by a name."""
        for label in self.listed().folders:
            if shown(label) == name:
                return label
        raise RefusedError(404, "the class is no longer there; it was renamed or deleted")

    def add_class(self, name: str) -> str:
        """Make a class, or find the one of that name; return its label."""
        with self._lock:
            listed = self.listed()
            known = {alike(label): label for label in listed.folders}
            if alike(name.strip()) in known:
                return known[alike(name.strip())]
            label = _checked(name, listed)
            self._do(f"add class {label}", [("", label)])
            return label

    def rename_class(self, label: str, name: str) -> str:
        """Give a class another name; return it."""
        with self._lock:
            listed = self.listed()
            folder, *twins = _folders(listed, label)
            if twins:
                raise RefusedError(
                    409,
                    f"{shown(label)} has {1 + len(twins)} folders, whose names differ in their "
                    "encoding; move its images to another class instead",
                )
            others = {known: place for known, place in listed.folders.items() if known != label}
            new = _checked(name, Listed(others, []))
            if new != label:
                self._do(f"rename {label} to {new}", [(folder, new)])
            return new

    def delete_class(self, label: str) -> None:
        """Move a class with its images to the trash."""
        with self._lock:
            self._throw_away(f"delete class {label}", _folders(self.listed(), label))

    def add_image(self, label: str, name: str, data: bytes, token: str) -> tuple[ImageFile, bool]:
        """Keep an image in a class; return it, and whether it is new.

        A file of the same name and content is not added again.
        """

        def is_equal(path: Path) -> bool:
            is_long = path.is_file() and path.stat().st_size == len(data)
            return is_long and path.read_bytes() == data

        temporary, file = create_temporary(self.root / INCOMING)
        try:
            with file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            with self._lock:
                listed = self._listed if label in self._listed.folders else self.listed()
                place = self._free(_folders(listed, label)[0], file_name(name), or_if=is_equal)
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
            listed = self.listed()
            folder = _folders(listed, label)[0]
            found = [image for image in _found(listed, numbers) if image.label != label]
            moves: dict[str, str] = {}
            for image in found:
                name = image.place.rpartition("/")[2]
                moves[image.place] = self._free(folder, name, taken=moves.values())
            if moves:
                self._do(f"move {_counted(found)} to {label}", list(moves.items()))
            return len(moves)

    def _free(
        self,
        folder: str,
        name: str,
        *,
        taken: Collection[str] = (),
        or_if: Callable[[Path], bool] = lambda _: False,
    ) -> str:
        """A place for a file, with a number where there is another of its name."""
        stem, suffix = os.path.splitext(name)
        number, place = 1, f"{folder}/{name}"
        while place in taken or (
            os.path.lexists(self.root / place) and not or_if(self.root / place)
        ):
            number += 1
            place = f"{folder}/{stem}-{number}{suffix}"
        return place

    def delete_images(self, numbers: Sequence[str]) -> int:
        """Move images to the trash; return how many."""
        with self._lock:
            found = _found(self.listed(), numbers)
            if found:
                self._throw_away(f"delete {_counted(found)}", [image.place for image in found])
            return len(found)

    def accept_images(self, numbers: Sequence[str]) -> int:
        """Confirm the labels of images, so that they are not asked about again."""
        with self._lock:
            found = _found(self.listed(), numbers)
            pairs = [(image.id, image.label) for image in found]
            if pairs:
                self.log.do(_token(), f"accept {_counted(found)}", [], pairs)
            return len(found)

    def close(self) -> None:
        """Let other processes have the folder."""
        self.log.close()

    def _throw_away(self, what: str, places: Sequence[str]) -> None:
        token = _token()
        self._do(what, [(place, f"{TRASH}/{token}/{place}") for place in places], token)

    def _do(self, what: str, moves: Sequence[Move], token: str | None = None) -> None:
        self.log.do(token or _token(), what, moves)
        self.listed()


def _token() -> str:
    return secrets.token_hex(8)


def _checked(name: str, others: Listed) -> str:
    try:
        return check_label(name, others)
    except ValueError as problem:
        raise RefusedError(422, str(problem)) from None


def _folders(listed: Listed, label: str) -> list[str]:
    if label not in listed.folders:
        raise RefusedError(404, "the class is no longer there; it was renamed or deleted")
    return listed.folders[label]


def _found(listed: Listed, numbers: Sequence[str]) -> list[ImageFile]:
    return [listed.by_id[number] for number in numbers if number in listed.by_id]


def _counted(images: Sequence[ImageFile]) -> str:
    return "1 image" if len(images) == 1 else f"{len(images)} images"
