"""The guides as data: their blocks, their commands, and a folder with the images they speak of."""

import os
import re
import shlex
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np
from onnx import TensorProto, helper, save

from tests.conftest import ROOT
from visualwords import ImageClassifier
from visualwords.apps.classify_images.demo_images import texture_tiles, write_demo
from visualwords.apps.detection.demo_picture import demo_picture

GENERATED = ROOT / "docs" / "reference"  # by the site, from the code
TUTORIALS = ROOT / "docs" / "tutorials"  # run part by part in a folder of their own
PAGES = sorted(
    [
        *(ROOT / "README.md", ROOT / "CONTRIBUTING.md"),
        *(page for page in (ROOT / "docs").rglob("*.md") if GENERATED not in page.parents),
    ]
)
BLOCK = re.compile(
    r"(?:<!-- not run: (?P<why>.+?) -->\n)?^```(?P<kind>\w*)\n(?P<text>.*?)^```", re.S | re.M
)
OUTPUT = re.compile(r"\s*^```\n(?P<text>.*?)^```", re.S | re.M)  # directly below a command
NOT_RUN = {  # commands that neither the tests nor the walk run, and why
    r"python3? -m venv": "the walk itself runs the first one; the other is the test suite",
    r"pip install|pip-audit": "the walk installs what the pages need",
    r"-m pytest|ruff |\.ci/|fuzz_images": "checks of the project, minutes to hours",
    r"-m benchmarks\.|-m tests\.": "measurements, minutes to hours",
    r"^dask |tcp://": "needs several machines",
    r"million/": "needs a million images",
    r"run 0 |parts\.vw 0 |rtsp:": "needs a camera",
    r"^classify-images watch ": "never ends",
    r"corel1000/": "needs Corel-1000",
    r"train mug-crops/|mugs\.vw": "needs crops of mugs",
    r"\.mp4": "needs a video",
}
SLOW = {  # commands that only the walk runs
    r"compare .*--seeds 3": "trains 360 models",
    r"compare textures/": "trains 36 models",
    r"--scheduler local": "starts processes",
    r" serve | studio|^curl ": "a server",
    r"classify-images demo": "trains two models with auto",
    r"evaluate scenes/": "searches pictures for people",
    r"--words 500|my-words\.toml": "learns 500 words",
}


class Step(NamedTuple):
    """One command, or block of Python, of a page, and the output that the page shows for it."""

    command: str
    output: str | None
    kind: str = "bash"

    def is_in(self, patterns: dict[str, str]) -> bool:
        return any(re.search(pattern, self.command) for pattern in patterns)


def steps(page: Path) -> list[Step]:
    """Return the commands of a page's bash blocks, in their order."""
    return [part for part in parts(page) if part.kind == "bash"]


def parts(page: Path) -> list[Step]:
    """Return the commands and Python blocks of a page that are run, in their order."""
    text, found = page.read_text(encoding="utf-8"), []
    for block in BLOCK.finditer(text):
        if block["kind"] not in ("bash", "python") or block["why"]:
            continue
        shown = OUTPUT.match(text, block.end())
        if block["kind"] == "python":
            found.append(Step(block["text"], None, "python"))
        else:
            lines = [line.split("  #")[0].strip() for line in _whole_lines(block["text"])]
            found += [Step(line, None) for line in lines if line]
        if shown and found:
            found[-1] = found[-1]._replace(output=shown["text"])
    return found


def _whole_lines(block: str) -> list[str]:
    return block.replace("\\\n", " ").splitlines()


def comparable(output: str) -> list[str]:
    """Return the lines of an output without what differs between machines: numbers and widths."""
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
            for number, tile in enumerate(own[:6]):
                write(f"{name}/{number}.jpg", tile)
    for name in ("new/1.jpg", "new/2.jpg", "photo.jpg"):
        write(name, tiles[0])
    for name in ("street.jpg", "scenes/1.jpg", "kitchen.jpg"):
        write(name, demo_picture())
    (folder / "boxes.csv").write_text(
        "file,xmin,ymin,xmax,ymax\n1.jpg,10,10,60,140\n", encoding="utf-8"
    )
    write_demo("tiles", os.path.join(folder, "visualwords-demo", "tiles"))
    mine = 'name = "hue"\n[[channels]]\nextractor = "ColorHistogram"\nparams = { space = "hsv" }\n'
    (folder / "mine.toml").write_text(mine, encoding="utf-8")
    for name, recipe in {"photos": "color", "old": "color", "new": "texture"}.items():
        ImageClassifier(recipe).fit(folder / "photos").save(folder / f"{name}.vw")
    (folder / "net.toml").write_text("mean = 0.5\nstd = 0.5\n", encoding="utf-8")
    _write_network(folder / "net.onnx")
    _write_tables(folder)


def _write_network(path: Path) -> None:
    """Write a network that gives the mean colour of an image, and its pixels as patches."""
    pixels = helper.make_tensor_value_info("pixels", TensorProto.FLOAT, [None, 3, 16, 16])
    outputs = [
        helper.make_tensor_value_info("embedding", TensorProto.FLOAT, [None, 3]),
        helper.make_tensor_value_info("patches", TensorProto.FLOAT, [None, 3, 16, 16]),
    ]
    nodes = [
        helper.make_node("GlobalAveragePool", ["pixels"], ["pooled"]),
        helper.make_node("Flatten", ["pooled"], ["embedding"]),
        helper.make_node("Identity", ["pixels"], ["patches"]),
    ]
    graph = helper.make_graph(nodes, "means", [pixels], outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    save(model, path)


def _write_tables(folder: Path) -> None:
    """Write the settings and recipes that pages show, each under the name that it has there."""
    for page in PAGES:
        for text, _ in blocks(page, "toml"):
            named = re.match(r"# ([\w-]+\.toml)", text) or re.match(r'name = "([\w-]+)"', text)
            if named:
                name = named[1].removesuffix(".toml") + ".toml"
                (folder / name).write_text(text, encoding="utf-8")


def blocks(page, kind):
    """Yield the text of every block of a kind, and why it is not run."""
    for found in BLOCK.finditer(page.read_text(encoding="utf-8")):
        if found["kind"] == kind:
            yield found["text"], found["why"]


def code_of(page):
    """Return the Python blocks of a page, one after the other, at their own line numbers."""
    text = page.read_text(encoding="utf-8")
    lines = [""] * text.count("\n")
    for found in BLOCK.finditer(text):
        if found["kind"] == "python" and not found["why"]:
            first = text.count("\n", 0, found.start("text"))
            lines[first : first + found["text"].count("\n")] = found["text"].splitlines()
    return "\n".join(lines)


def inline_code(page):
    """Return what stands between backticks outside of blocks."""
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    return [" ".join(one.split()) for one in re.findall(r"`([^`]+)`", text)]


def command_lines(page):
    """Yield the words of every command of a page, and whether it is whole: one of a bash block."""
    for text, _ in blocks(page, "bash"):
        for line in text.replace("\\\n", " ").splitlines():
            yield from (
                (words, True) for part in re.split(r"&&|\|", line) if (words := _words(part))
            )
    yield from ((words, False) for one in inline_code(page) if (words := _words(one)))


def _words(line):
    try:
        words = shlex.split(line, comments=True)
    except ValueError:  # code of another kind, with a single quotation mark
        return []
    while words and re.fullmatch(r"\w+=.*", words[0]):  # a variable of the environment
        words.pop(0)
    return words


def ids(page):
    return str(page.relative_to(ROOT))
