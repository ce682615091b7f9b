"""The guides: their Python and commands run, and what they point to exists.

A block that can't run here has a comment above it in the page: ``<!-- not run: why -->``. Commands
that are not run are listed with reasons in `tests.documents`. ``python -m tests.walk_documents``
runs those that are only slow, as a newcomer would, in a new environment.
"""

import glob
import re
import shlex
from pathlib import Path

import click
import pytest

from tests.conftest import ROOT
from tests.documents import (
    BLOCK,
    GENERATED,
    NOT_RUN,
    PAGES,
    SLOW,
    TUTORIALS,
    Step,
    blocks,
    code_of,
    command_lines,
    comparable,
    ids,
    inline_code,
    parts,
    steps,
    write_user_folder,
)
from visualwords import ImageClassifier
from visualwords.apps.classify_images import main as classify_images
from visualwords.apps.detect_pedestrians import main as detect_pedestrians

PROGRAMS = {
    "classify-images": classify_images,
    "detect-pedestrians": detect_pedestrians,
}
LINK = re.compile(r"\]\(([^)\s]+)\)|<img src=\"([^\"]+)\"")
ROOMS = "vision|features|codebook|classifiers|apps|tests|benchmarks|docs|\\.ci"
PLACE = re.compile(rf"^({ROOMS})/[\w./-]*$")
PLACEHOLDER = re.compile(r"[A-Z]{4,}|…")  # NAME in a path


@pytest.fixture(scope="module")
def made_folder(tmp_path_factory):
    """Give a folder that has the images that the guides speak of."""
    folder = tmp_path_factory.mktemp("user")
    write_user_folder(folder)
    return folder


@pytest.fixture
def user_folder(made_folder, monkeypatch):
    """Work in that folder; nothing is cached elsewhere."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(made_folder / "cache"))
    monkeypatch.chdir(made_folder)


GUIDES = [page for page in PAGES if page.parent != TUTORIALS]
WITH_CODE = [page for page in GUIDES if code_of(page).strip()]


@pytest.mark.parametrize("page", WITH_CODE, ids=ids)
def test_the_python_of_a_page_runs_from_top_to_bottom(page, user_folder, monkeypatch):
    # "auto" tries one recipe where a page does not say how long it may take, as below
    monkeypatch.setitem(ImageClassifier.__init__.__kwdefaults__, "budget", 0.0)
    code = compile(code_of(page), str(page), "exec")
    exec(code, {"__name__": "__main__"})


CHOSEN = {"--recipe", "--feature"}
WITH_COMMANDS = [page for page in GUIDES if any(not s.is_in(NOT_RUN | SLOW) for s in steps(page))]


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=ids)
def test_the_commands_of_a_page_run_and_print_what_it_shows(page, user_folder, capsys):
    for step in steps(page):
        if not step.is_in(NOT_RUN | SLOW):
            run_command(step, capsys)


TUTORIAL_PAGES = [page for page in PAGES if page.parent == TUTORIALS and parts(page)]


@pytest.mark.parametrize("page", TUTORIAL_PAGES, ids=ids)
def test_a_tutorial_runs_part_by_part_and_prints_what_it_shows(page, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    for step in parts(page):
        if step.kind == "python":
            exec(compile(step.command, str(page), "exec"), names)
            check_output(step, capsys.readouterr())
        elif not step.is_in(NOT_RUN | SLOW):
            run_command(step, capsys)


def run_command(step: Step, capsys) -> None:
    """Run a command of a page; it ends well and prints what the page shows."""
    program, *words = shlex.split(step.command)
    assert program in PROGRAMS, f"{step.command}: add it to NOT_RUN or SLOW, with the reason"
    words = [name for word in words for name in sorted(glob.glob(word)) or [word]]
    is_auto = (program, words[0]) == ("classify-images", "train") and (
        "auto" in words or not CHOSEN & set(words)
    )
    code = PROGRAMS[program].main([*words, *(["--budget", "0"] if is_auto else [])])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    if not is_auto:
        check_output(step, printed)


def check_output(step: Step, printed) -> None:
    """Every line that a page shows was printed, numbers and widths of tables aside."""
    said = comparable(printed.err + printed.out)
    assert [line for line in comparable(step.output or "") if line not in said] == []


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_verbs_and_flags_of_the_commands_exist(page):
    for (program, *words), is_whole in command_lines(page):
        name = Path(program).name
        if name in PROGRAMS and words and "…" not in words:
            check_command(PROGRAMS[name].command, name, words, is_whole)


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
            script, rest = ROOT / words[1].replace(".", "/"), words[2:]
            script = script / "run.py" if script.is_dir() else script.with_suffix(".py")
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
        if file.parent == GENERATED:  # made when the site is built, which checks links to it
            menu = (GENERATED / "index.md").read_text(encoding="utf-8").splitlines()
            assert file.stem in [*menu, "index"], target
            continue
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
    said = [why for kind in ("python", "bash") for _, why in blocks(page, kind) if why]
    assert text.count("<!-- not run:") == len(said)
