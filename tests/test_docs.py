"""The guides: their Python runs, their commands parse, and what they point to exists.

A Python block that can't run here has a comment above it in the page: ``<!-- not run: why -->``.
"""

import re
import shlex
from pathlib import Path

import click
import cv2
import numpy as np
import pytest

from tests.conftest import ROOT
from visualwords.apps.classify_images import main as classify_images
from visualwords.apps.classify_images.demo_images import texture_tiles
from visualwords.apps.detect_pedestrians import main as detect_pedestrians
from visualwords.apps.detection.demo_picture import demo_picture
from visualwords.apps.reproduce_papers import main as reproduce_papers

PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
PROGRAMS = {
    "classify-images": classify_images.command,
    "detect-pedestrians": detect_pedestrians.command,
    "reproduce-papers": reproduce_papers.command,
}
BLOCK = re.compile(
    r"(?:<!-- not run: (?P<why>.+?) -->\n)?^```(?P<kind>\w*)\n(?P<text>.*?)^```", re.S | re.M
)
LINK = re.compile(r"\]\(([^)\s]+)\)|<img src=\"([^\"]+)\"")
ROOMS = "vision|features|codebook|classifiers|apps|tests|benchmarks|docs|\\.ci"
PLACE = re.compile(rf"^({ROOMS})/[\w./-]*$")
PLACEHOLDER = re.compile(r"[A-Z]{4,}|…")  # NAME in a path


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


@pytest.fixture
def user_folder(tmp_path, monkeypatch):
    """Work in a folder that has the images that the guides speak of."""

    def write(name, image):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(cv2.imencode(path.suffix, image[..., ::-1])[1].tobytes())

    tiles, labels = texture_tiles("train")
    names = {"brick": "cat", "grass": "dog", "moon": "fox"}
    for label, name in names.items():
        own = [tile for tile, found in zip(tiles, labels) if found == label]
        for number, tile in enumerate(own[:6]):
            write(f"photos/{name}/{number}.jpg", np.atleast_3d(tile).repeat(3, 2)[..., :3])
    for name in ("new/1.jpg", "new/2.jpg", "photo.jpg"):
        write(name, np.atleast_3d(tiles[0]).repeat(3, 2)[..., :3])
    write("street.jpg", demo_picture())
    monkeypatch.chdir(tmp_path)


WITH_CODE = [page for page in PAGES if code_of(page).strip()]


@pytest.mark.parametrize("page", WITH_CODE, ids=ids)
def test_the_python_of_a_page_runs_from_top_to_bottom(page, user_folder):
    code = compile(code_of(page), str(page), "exec")
    exec(code, {"__name__": "__main__"})


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_verbs_and_flags_of_the_commands_exist(page):
    for (program, *words), is_whole in command_lines(page):
        name = Path(program).name
        if name in PROGRAMS and words and "…" not in words:
            check_command(PROGRAMS[name], name, words, is_whole)


def check_command(command, name, words, is_whole):
    """Parse a command line as click does, without its types and callbacks, which ask for files."""
    context = click.Context(command, info_name=name)
    if isinstance(command, click.Group):
        if name == "detect-pedestrians" and "." in words[0]:  # an image; the verb is run
            words = ["run", *words]
        assert words[0] in command.commands, f"{name} has no verb {words[0]}"
        check_command(command.commands[words[0]], words[0], words[1:], is_whole)
        return
    found, _, _ = command.make_parser(context).parse_args(list(words))
    for parameter in command.params:
        value = found.get(parameter.name)
        if parameter.required and is_whole:
            assert value not in (None, ()), f"{name} {words}: {parameter.name} is missing"
        if isinstance(parameter.type, click.Choice) and isinstance(value, str):
            parameter.type.convert(value, parameter, context)


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_scripts_exist_and_know_their_flags(page):
    for (program, *words), _ in command_lines(page):
        if Path(program).name not in ("python", "python3") or not words:
            continue
        if words[0] == "-m" and words[1].startswith(("benchmarks.", "tests.")):
            script, rest = ROOT / (words[1].replace(".", "/") + ".py"), words[2:]
        elif words[0].endswith(".py"):
            script, rest = ROOT / words[0], words[1:]
        else:
            continue
        source = script.read_text(encoding="utf-8")
        assert [w for w in rest if w.startswith("--") and f'"{w}"' not in source] == []


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_links_lead_to_files_and_headings_that_exist(page):
    for pair in LINK.findall(page.read_text(encoding="utf-8")):
        target = pair[0] or pair[1]
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), target
        if anchor:
            assert anchor in anchors(file), target


def anchors(page):
    """Return the names that GitHub gives the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", BLOCK.sub("", page.read_text(encoding="utf-8")), re.M)
    return {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_paths_of_the_repository_exist(page):
    named = [one for one in inline_code(page) if PLACE.match(one) and not PLACEHOLDER.search(one)]
    assert [one for one in named if not (ROOT / one).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_a_block_that_is_not_run_says_why(page):
    text = page.read_text(encoding="utf-8")
    assert text.count("not run:") == sum(bool(why) for _, why in blocks(page, "python"))
