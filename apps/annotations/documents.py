"""Reading JSON, XML and text of others: limits of size and depth, and one sentence for faults."""

import json
import os
from pathlib import Path
from typing import Any, NoReturn
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers.expat import ExpatError, ParserCreate

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


def read_json(path: str | os.PathLike[str]) -> Any:
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


def read_xml(path: str | os.PathLike[str]) -> Element:
    """Return the root of an XML file.

    A document type is refused: it may declare entities that expand to gigabytes or that name
    other files, and no format of annotations has one.
    """
    builder, depth = TreeBuilder(), 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > DEEPEST:
            raise FolderError(f"{os.fspath(path)}: nested too deeply to be annotations")
        builder.start(tag, attributes)

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(tag)

    def refuse(*_: Any) -> None:
        raise FolderError(
            f"{os.fspath(path)}: has a document type (<!DOCTYPE …>), which is refused as it may "
            "declare entities; remove it"
        )

    parser = ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = builder.data
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = refuse
    try:
        parser.Parse(read_content(path), True)
    except (ExpatError, ValueError, LookupError) as problem:
        if isinstance(problem, FolderError):
            raise
        raise FolderError(f"{os.fspath(path)}: not XML ({problem})") from None
    return builder.close()


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

    def __init__(self, value: Any, words: str):
        self.value = value
        self.words = words

    def __str__(self) -> str:
        return self.words

    def __getitem__(self, key: str) -> "Place":
        self._need(isinstance(self.value, dict), "an object")
        if key not in self.value:
            raise FolderError(f"{self.words}: no {key!r}")
        return Place(self.value[key], f"{self.words}{'.' if ', ' in self.words else ', '}{key}")

    def __contains__(self, key: str) -> bool:
        self._need(isinstance(self.value, dict), "an object")
        return self.value.get(key) is not None

    def items(self) -> "list[Place]":
        """Return the members of a list."""
        self._need(isinstance(self.value, list), "a list")
        return [Place(value, f"{self.words}[{k}]") for k, value in enumerate(self.value)]

    def text(self) -> str:
        """Return a text."""
        self._need(isinstance(self.value, str), "a text")
        return str(self.value)

    def whole(self) -> int:
        """Return a whole number."""
        self._need(self._is_number() and float(self.value).is_integer(), "a whole number")
        return int(self.value)

    def number(self) -> float:
        """Return a number."""
        self._need(self._is_number(), "a number")
        return float(self.value)

    def key(self) -> int | str:
        """Return an identifier: a whole number or a text."""
        return self.text() if isinstance(self.value, str) else self.whole()

    def _is_number(self) -> bool:
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            return False
        return abs(self.value) < 1e300  # larger ones are no floats

    def _need(self, fits: bool, what: str) -> None:
        if not fits:
            shown = repr(self.value)
            shown = shown if len(shown) <= 60 else shown[:57] + "..."
            raise FolderError(f"{self.words}: {shown} where {what} belongs")


def number_of(place: str, text: str | None) -> float:
    """Return the number that a text is; ``FolderError`` if it is none, or not finite.

    Python also reads digits of other scripts and underscores, which no program writes.
    """
    cleaned = (text or "").strip()
    try:
        if not cleaned.isascii() or "_" in cleaned:
            raise ValueError
        value = float(cleaned)
        if not abs(value) < 1e300:  # NaN and infinity too
            raise ValueError
    except ValueError:
        raise FolderError(f"{place}: {cleaned[:40]!r} where a number belongs") from None
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
