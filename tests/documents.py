"""The guides as data: their blocks, their commands, and a folder with the images they speak of."""

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np

from tests.apps.pipeline.test_networks import write_network
from tests.conftest import ROOT
from visualwords import ImageClassifier, Recipe
from visualwords.apps.classify_images.demo_images import texture_tiles, write_demo
from visualwords.apps.detection.drawing import demo_picture

DOCS = ROOT / "docs"
TUTORIALS = DOCS / "tutorials"  # run in a folder of their own, which their first block fills
GENERATED = DOCS / "reference" / "api"  # by the site, from docstrings
RESULTS = DOCS / "results"  # by benchmarks.papers, from stored figures
PAGES = sorted(
    [
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")),
        *(page for page in DOCS.rglob("*.md") if not {GENERATED, RESULTS} & {*page.parents}),
    ]
)
BLOCK = re.compile(
    r"(?:<!-- not run: (?P<why>.+?) -->\n)?^```(?P<kind>\w*)\n(?P<text>.*?)^```", re.S | re.M
)
OUTPUT = re.compile(r"\s*^```\n(?P<text>.*?)^```", re.S | re.M)  # directly below a command
NOT_RUN = {  # commands that the tests do not run, and why
    r"python3? -m venv": "one is the step demo of .ci/run; the other is the test suite",
    r"pip install|git tag": "the steps demo and wheel of .ci/run install",
    r"-m pytest|ruff |\.ci/": "checks of the project, minutes to hours",
    r"-m benchmarks\.|-m tests\.": "measurements, minutes to hours",
    r"^dask |tcp://": "needs several machines",
    r"parts\.vw 0 |rtsp:": "needs a camera",
    r"^classify-images watch ": "never ends",
    r" serve | studio|^curl ": "servers never end; tests/apps/page asks them",
    r"train mug-crops/|mugs\.vw": "needs pictures of mugs",
    r"\.mp4": "needs a video",
}
SLOW = {  # commands that run with the tests that take long
    r"--scheduler local": "starts processes",
    r"evaluate scenes/": "searches pictures for people",
}


class Step(NamedTuple):
    """One command, or block of Python, of a page, and the output that the page shows for it."""

    command: str
    output: str | None
    kind: str = "bash"

    def is_in(self, patterns: dict[str, str]) -> bool:
        return any(re.search(pattern, self.command) for pattern in patterns)


def parts(page: Path) -> list[Step]:
    """The commands and Python blocks of a page, in their order."""
    text, found = page.read_text(encoding="utf-8"), []
    for block in BLOCK.finditer(text):
        if block["kind"] not in ("bash", "python") or block["why"]:
            continue
        shown = OUTPUT.match(text, block.end())
        if block["kind"] == "python":
            found.append(Step(block["text"], None, "python"))
        else:
            whole = block["text"].replace("\\\n", " ").splitlines()
            lines = [line.split("  #")[0].strip() for line in whole]
            found += [Step(line, None) for line in lines if line]
        if shown and found:
            found[-1] = found[-1]._replace(output=shown["text"])
    return found


def comparable(output: str) -> list[str]:
    """The lines of an output without what differs between machines: numbers and widths."""
    lines = [re.sub(r"[\d,.]+", "#", line) for line in output.splitlines()]
    lines = [re.sub(r"[\s─━═┄]+", " ", line).strip() for line in lines]
    return [line for line in lines if re.search(r"\w", line) and "made with" not in line]


def write_user_folder(folder: Path) -> None:
    """Write the images and files that the guides speak of."""

    def write(name: str, image: np.ndarray) -> None:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(cv2.imencode(path.suffix, image[..., ::-1])[1].tobytes())

    tiles, labels = texture_tiles("train")
    tiles = [np.atleast_3d(tile).repeat(3, 2)[..., :3] for tile in tiles]
    for label, names in {
        "brick": ["photos/cat", "parts/ok"],
        "grass": ["photos/dog", "parts/defect"],
        "moon": ["photos/fox"],
    }.items():
        own = [tile for tile, found in zip(tiles, labels) if found == label]
        for name in names:
            for number, tile in enumerate(own[:10]):
                write(f"{name}/{number}.jpg", tile)
    for name in ("new/1.jpg", "new/2.jpg", "photo.jpg"):
        write(name, tiles[0])
    for name in ("street.jpg", "scenes/1.jpg"):
        write(name, demo_picture())
    (folder / "boxes.csv").write_text(
        "file,xmin,ymin,xmax,ymax\n1.jpg,10,10,60,140\n", encoding="utf-8"
    )
    (folder / "key").write_text("secret\n", encoding="utf-8")
    (folder / "inbox").mkdir()
    write_demo("tiles", os.path.join(folder, "visualwords-demo", "tiles"))
    hue = '[[channels]]\nextractor = "ColorHistogram"\nparams = { space = "hsv" }\n'
    for name in ("photos", "old", "new", "parts"):
        images = folder / ("parts" if name == "parts" else "photos")
        recipe = Recipe.from_toml(hue) if name == "old" else "tiny"
        ImageClassifier(recipe).fit(images).save(folder / f"{name}.vw")
    write_network(folder / "net.onnx", maps="patches")
    _write_tables(folder)


def _write_tables(folder: Path) -> None:
    """Write the settings and recipes that pages show, each under the name that it has there."""
    for page in PAGES:
        for text, _ in blocks(page, "toml"):
            named = re.match(r"# ([\w-]+\.toml)", text)
            if named:
                (folder / named[1]).write_text(text, encoding="utf-8")


def blocks(page: Path, kind: str) -> Iterator[tuple[str, str | None]]:
    """The text of every block of a kind, and why it is not run."""
    for found in BLOCK.finditer(page.read_text(encoding="utf-8")):
        if found["kind"] == kind:
            yield found["text"], found["why"]


def prose(page: Path) -> str:
    """A page without its blocks, tables, pictures, comments and headings."""
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    lines = [line for line in text.splitlines() if not re.match(r"\||#|!\[|<|>|:::", line)]
    return "\n".join(lines)


def inline_code(page: Path) -> list[str]:
    """What stands between backticks outside of blocks."""
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    return [" ".join(one.split()) for one in re.findall(r"`([^`]+)`", text)]


def command_lines(page: Path) -> Iterator[tuple[list[str], bool]]:
    """The words of every command of a page, and whether it is whole: one of a bash block."""
    for text, _ in blocks(page, "bash"):
        for line in text.replace("\\\n", " ").splitlines():
            yield from (
                (words, True) for part in re.split(r"&&|\|", line) if (words := _words(part))
            )
    for one in inline_code(page):
        yield from ((words, False) for part in one.split("|") if (words := _words(part)))


def _words(line: str) -> list[str]:
    try:
        words = shlex.split(line, comments=True)
    except ValueError:  # code of another kind, with a single quotation mark
        return []
    while words and re.fullmatch(r"\w+=.*", words[0]):  # a variable of the environment
        words.pop(0)
    return words


def ids(page: Path) -> str:
    return str(page.relative_to(ROOT))
