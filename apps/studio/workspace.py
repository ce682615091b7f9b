"""What people do with the images of a studio; every action can be undone."""

import os
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from visualwords.apps.command_line.sort_into import alike
from visualwords.apps.page.guards import RefusedError
from visualwords.apps.studio import class_folders as on_disk
from visualwords.apps.studio.change_log import TRASH, ChangeLog
from visualwords.apps.studio.class_folders import ImageFile, Listed
from visualwords.files import create_temporary, remove_abandoned

INCOMING = f"{on_disk.HIDDEN}/incoming"
SHARE = 0.1  # of the time that goes into looking at the folder, at most


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
        on_disk.check_layout(self.root)
        on_disk.own_folder(self.root, on_disk.HIDDEN)
        incoming = on_disk.own_folder(self.root, INCOMING)
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
                found = on_disk.list_classes(self.root)
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
        label = next((one for one in self.listed().folders if on_disk.shown(one) == name), "")
        _folders(self.listed(), label)
        return label

    def add_class(self, name: str) -> str:
        """Make a class, or find the one of that name; return its label."""
        with self._lock:
            listed = self.listed()
            for label in listed.folders:
                if alike(label) == alike(name.strip()):
                    return label
            label = on_disk.check_label(name, listed.folders)
            self.log.do(_token(), f"add class {label}", [("", label)])
            return label

    def rename_class(self, label: str, name: str) -> str:
        """Give a class another name; return it."""
        with self._lock:
            listed = self.listed()
            folder, *twins = _folders(listed, label)
            if twins:
                sentence = (
                    f"{on_disk.shown(label)} has {1 + len(twins)} folders, whose names differ "
                )
                sentence += "in their encoding; move its images to another class instead"
                raise RefusedError(409, sentence)
            new = on_disk.check_label(name, listed.folders.keys() - {label})
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
                folder, name = _folders(listed, label)[0], on_disk.file_name(name)
                place = self._free(folder, name, is_other)
                is_new = not os.path.lexists(self.root / place)
                if is_new:
                    move = (f"{TRASH}/{token}/{place}", place)
                    self.log.do(token, f"add to {label}", [move], source=temporary)
            return ImageFile(on_disk.id_of(self.root / place), label, place), is_new
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
