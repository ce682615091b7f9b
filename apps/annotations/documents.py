"""Reading JSON, XML and text of others: limits of size and depth, and one sentence for faults."""

import json
import os
from pathlib import Path
from typing import NoReturn
from xml.etree.ElementTree import Element, ParseError, TreeBuilder, XMLParser

from visualwords.errors import FolderError
from visualwords.files import read_settings

__all__ = ["Place", "number_of", "read_json", "read_xml", "text_of"]

MOST_BYTES = 1 << 29  # of a file of annotations; those of the largest public sets have 450 MB
DEEPEST = 100  # levels of nesting in XML


def read_content(path: str | os.PathLike[str], most: int = MOST_BYTES) -> bytes:
    """Return the bytes of a regular file of limited size."""
    try:
        return read_settings(path, most)
    except OSError as problem:
        reason = (problem.strerror or str(problem)).lower()
        raise FolderError(f"{os.fspath(path)}: {reason}") from None


def text_of(path: str | os.PathLike[str], most: int = MOST_BYTES) -> str:
    """Return the text of a UTF-8 file, without its byte-order mark."""
    try:
        text = read_content(path, most).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FolderError(f"{os.fspath(path)}: not UTF-8 text; save it in UTF-8") from None
    if "\0" in text:
        raise FolderError(f"{os.fspath(path)}: not text, but binary data")
    return text


def read_json(path: str | os.PathLike[str]) -> object:
    """Return the value of a JSON file; NaN and infinity, which JSON lacks, are refused."""
    text = text_of(path)
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise FolderError(f"{os.fspath(path)}: nested too deeply to be annotations") from None
    except ValueError as problem:
        raise FolderError(f"{os.fspath(path)}: not JSON ({problem})") from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


class _Tree(TreeBuilder):
    """Builds elements; refuses deep nesting, and document types.

    A document type may declare entities that expand to gigabytes or that name other files, and no
    format of annotations has one.
    """

    depth = 0

    def start(self, tag: str, attrs: dict[str, str]) -> Element:  # type: ignore[override]
        self.depth += 1
        if self.depth > DEEPEST:
            raise FolderError("nested too deeply to be annotations")
        return super().start(tag, attrs)

    def end(self, tag: str) -> Element:
        self.depth -= 1
        return super().end(tag)

    def doctype(self, *_: object) -> NoReturn:
        raise FolderError(
            "has a document type (<!DOCTYPE …>), which is refused as it may declare entities; "
            "remove it"
        )


def read_xml(path: str | os.PathLike[str]) -> Element:
    """Return the root of an XML file."""
    parser = XMLParser(target=_Tree())
    try:
        parser.feed(read_content(path))
        root: Element = parser.close()
    except (ParseError, ValueError, LookupError) as problem:
        fault = str(problem) if isinstance(problem, FolderError) else f"not XML ({problem})"
        raise FolderError(f"{os.fspath(path)}: {fault}") from None
    return root


class Place:
    """Where in a file something stands, and checked access to the JSON value there.

    Parameters
    ----------
    value : JSON value
    words : str
        Begins every sentence about it: the file's name, and the way to the value.

    Examples
    --------
    >>> images = Place({"images": [{"id": "one"}]}, "a.json")["images"]
    >>> images.items()[0]["id"].whole()
    Traceback (most recent call last):
    ...
    visualwords.errors.FolderError: a.json, images[0].id: 'one' where a whole number belongs
    """

    def __init__(self, value: object, words: str):
        self.value = value
        self.words = words

    def __str__(self) -> str:
        return self.words

    def __getitem__(self, key: str) -> "Place":
        if key not in (members := self._members()):
            raise FolderError(f"{self.words}: no {key!r}")
        return Place(members[key], f"{self.words}{'.' if ', ' in self.words else ', '}{key}")

    def __contains__(self, key: str) -> bool:
        return self._members().get(key) is not None

    def _members(self) -> dict[str, object]:
        return self.value if isinstance(self.value, dict) else self._refuse("an object")

    def items(self) -> "list[Place]":
        """Return the members of a list."""
        values = self.value if isinstance(self.value, list) else self._refuse("a list")
        return [Place(value, f"{self.words}[{k}]") for k, value in enumerate(values)]

    def text(self) -> str:
        """Return a text."""
        return self.value if isinstance(self.value, str) else self._refuse("a text")

    def whole(self) -> int:
        """Return a whole number."""
        number = self.number("a whole number")
        return int(number) if number.is_integer() else self._refuse("a whole number")

    def number(self, kind: str = "a number") -> float:
        """Return a number; those that are no finite floats are none."""
        is_number = isinstance(self.value, int | float) and not isinstance(self.value, bool)
        return float(self.value) if is_number and abs(self.value) < 1e300 else self._refuse(kind)

    def key(self) -> int | str:
        """Return an identifier: a whole number or a text."""
        return self.text() if isinstance(self.value, str) else self.whole()

    def _refuse(self, kind: str) -> NoReturn:
        shown = repr(self.value)
        shown = shown if len(shown) <= 60 else shown[:57] + "..."
        raise FolderError(f"{self.words}: {shown} where {kind} belongs")


def number_of(place: str, text: str | None) -> float:
    """Return the number that a text is; ``FolderError`` if it is none, or not finite.

    Python also reads digits of other scripts and underscores, which no program writes.
    """
    cleaned = (text or "").strip()
    try:
        value = float(cleaned) if cleaned.isascii() and "_" not in cleaned else float("nan")
    except ValueError:
        value = float("nan")
    if not abs(value) < 1e300:
        raise FolderError(f"{place}: {cleaned[:40]!r} where a number belongs")
    return value


def short(value: float) -> str:
    """Return a number in as few digits as give it back.

    Examples
    --------
    >>> short(12.0), short(0.25)
    ('12', '0.25')
    """
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def stem_of(name: str) -> str:
    """Return the file name without folder and suffix."""
    return Path(name.replace("\\", "/")).stem


def free_name(stem: str, suffix: str, written: set[str]) -> str:
    """Return the name of an image's own file of annotations, which no other may have."""
    name = stem_of(stem) + suffix
    if name in written:
        raise FolderError(f"{name}: two images would have this file; give them other names")
    written.add(name)
    return name
