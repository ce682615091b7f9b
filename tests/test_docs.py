"""Pages: what they show runs, what they point to exists, and they are plain English.

A block that can't run here has a comment above it in the page: ``<!-- not run: why -->``. Commands
that are not run, or only with the tests that take long, are listed with reasons in
`tests.documents`.
"""

import glob
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import visualwords
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
    command_lines,
    comparable,
    ids,
    inline_code,
    parts,
    prose,
    write_user_folder,
)
from visualwords import ImageClassifier
from visualwords.apps.classify_images import main as classify_images
from visualwords.apps.detect_pedestrians import main as detect_pedestrians

PROGRAMS = {
    "classify-images": classify_images,
    "visualwords": classify_images,
    "detect-pedestrians": detect_pedestrians,
}
LINK = re.compile(r"\]\(([^)\s]+)\)|<img src=\"([^\"]+)\"")
ROOMS = "vision|features|codebook|classifiers|apps|tests|benchmarks|docs|\\.ci"
PLACE = re.compile(rf"^({ROOMS})/[\w./-]*$")
PLACEHOLDER = re.compile(r"[A-Z]{4,}|…")  # NAME in a path
CHOSEN = {"--recipe", "--feature", "--words"}
WIDEST, LONGEST = 110, 25  # characters of a line; words of a sentence, on average
LONG = {TUTORIALS / "detector.md"}  # trains four detectors: with the tests that take long
DIALECT = (  # what crept in, and the field's words in its place (CONTRIBUTING.md)
    r"\bjudg(e|es|ed|ing)\b|what the model said",  # predict, prediction, score
    r"\bsamples? (that )?rests?\b|\blet go\b|made again",  # shrink; free; recompute
    r"tells? (the classes|apart|no more)|(is|are) told better|told apart",  # distinguish
    r"(comes?|came|brings?|brought) along",  # ships with, bundled
    r"of everything random|what was chosen on what|what knows strange",
    r"signs? of strange|nothing odd|machines? .{0,30}say no\b",  # novelty scores; all are negative
    r"says? (too )?(little|nothing)|(have|has) a say|counts? nothing",  # is too noisy; affects
    r"decides? nothing|makes? up for what",  # is ignored; offsets
    r"(mirrored|rotated|near) cop(y|ies)|copies of (an|the) image",  # views; duplicates
    r"at one stroke|not forgers|is no order|nobody tells|is none of single",  # atomically
    r"\b(lie|lies|lay) (on disk|in (a|the) (cache|file|folder))",  # is kept
    r"(refused|stops?|ends?) with (a|one) sentence",  # is an error
    r"work that auto may plan|files that are done|takes? for a formula|wants? pixels",
    r"leaves? processors|other work slows|script that was not kept",
)
RUNNING = [
    *[
        pytest.param(page, NOT_RUN | SLOW, id=ids(page))
        for page in PAGES
        if page not in LONG and any(not step.is_in(NOT_RUN | SLOW) for step in parts(page))
    ],
    *[
        pytest.param(page, NOT_RUN, marks=pytest.mark.slow, id=f"{ids(page)} slow")
        for page in PAGES
        if page in LONG or any(step.is_in(SLOW) for step in parts(page))
    ],
]


@pytest.fixture(scope="module")
def user_folder(tmp_path_factory):
    """A folder that has the images that the guides speak of."""
    folder = tmp_path_factory.mktemp("user")
    write_user_folder(folder)
    return folder


@pytest.mark.parametrize(("page", "left_out"), RUNNING)
def test_a_page_runs_and_prints_what_it_shows(
    page, left_out, request, tmp_path, monkeypatch, capsys
):
    steps = [step for step in parts(page) if not step.is_in(left_out)]
    is_tutorial = page.parent == TUTORIALS
    folder = tmp_path if is_tutorial else request.getfixturevalue("user_folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    monkeypatch.chdir(folder)
    # "auto" tries one recipe where a page does not say how long it may take, as below
    monkeypatch.setitem(ImageClassifier.__init__.__kwdefaults__, "budget", 0.0)
    names = {"__name__": "__main__"}
    capsys.readouterr()
    for step in steps:
        if step.kind == "python":
            exec(compile(step.command, str(page), "exec"), names)
            check_output(step, capsys.readouterr())
        else:
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


@pytest.mark.parametrize("what", ["commands", "scripts", "links", "paths", "reasons"])
def test_what_pages_point_to_exists(what):
    assert [f"{ids(page)}: {fault}" for page in PAGES for fault in FAULTS[what](page)] == []


def faults_of_commands(page: Path) -> Iterator[str]:
    for (program, *words), is_whole in command_lines(page):
        name = Path(program).name
        if name in PROGRAMS and words and "…" not in words:
            try:
                check_command(PROGRAMS[name].command, name, words, is_whole)
            except (click.ClickException, LookupError) as error:
                yield f"{name} {' '.join(words)}: {error!r}"


def check_command(command, name, words, is_whole):
    """Parse a command line as click does, without its types and callbacks, which ask for files."""
    context = click.Context(command, info_name=name)
    if isinstance(command, click.Group):
        if name == "detect-pedestrians" and "." in words[0]:  # an image; run is meant
            words = ["run", *words]
        check_command(command.commands[words[0]], words[0], words[1:], is_whole)
        return
    found, _, _ = command.make_parser(context).parse_args(list(words))
    for parameter in command.params:
        value = found.get(parameter.name)
        if parameter.required and is_whole and value in (None, ()):
            raise LookupError(f"{parameter.name} is missing")
        if isinstance(parameter.type, click.Choice) and isinstance(value, str):
            parameter.type.convert(value, parameter, context)


def faults_of_scripts(page: Path) -> Iterator[str]:
    for (program, *words), _ in command_lines(page):
        if re.fullmatch(r"(speed|accuracy|peers)\.\w+", program):  # in tables of the lab
            program, words = "python", ["-m", f"benchmarks.{program}", *words]
        if Path(program).name not in ("python", "python3") or not words:
            continue
        if words[0] == "-m" and words[1].startswith(("benchmarks.", "tests.")):
            script, rest = ROOT / words[1].replace(".", "/"), words[2:]
            script = script / "__main__.py" if script.is_dir() else script.with_suffix(".py")
        elif words[0].endswith(".py"):
            script, rest = ROOT / words[0], words[1:]
        else:
            continue
        if not script.exists():
            yield f"{script} is missing"
            continue
        source = script.read_text(encoding="utf-8")
        yield from (w for w in rest if w.startswith("--") and f'"{w}"' not in source)


def faults_of_links(page: Path) -> Iterator[str]:
    for pair in LINK.findall(page.read_text(encoding="utf-8")):
        target = pair[0] or pair[1]
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if "://" in target or GENERATED in file.parents:  # checked when the site is built
            continue
        if not file.exists() or (anchor and anchor not in anchors(file)):
            yield target


def anchors(page: Path) -> set[str]:
    """The names that GitHub gives the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", BLOCK.sub("", page.read_text(encoding="utf-8")), re.M)
    return {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}


def faults_of_paths(page: Path) -> Iterator[str]:
    for one in inline_code(page):
        if PLACE.match(one) and not PLACEHOLDER.search(one) and not (ROOT / one).exists():
            yield one


def faults_of_reasons(page: Path) -> Iterator[str]:
    said = [why for kind in ("python", "bash") for _, why in blocks(page, kind) if why]
    if page.read_text(encoding="utf-8").count("<!-- not run:") != len(said):
        yield "a comment 'not run' stands above no block"


FAULTS = {
    "commands": faults_of_commands,
    "scripts": faults_of_scripts,
    "links": faults_of_links,
    "paths": faults_of_paths,
    "reasons": faults_of_reasons,
}


def test_pages_are_plain_english():
    faults = []
    for page in PAGES:
        text = prose(page)
        faults += [f"{ids(page)}: {line}" for line in text.splitlines() if len(line) > WIDEST]
        faults += [f"{ids(page)}: {found}" for found in dialect(text)]
        if words_of_a_sentence(text) > LONGEST:
            faults.append(f"{ids(page)}: {words_of_a_sentence(text):.1f} words a sentence")
    assert faults == []


@pytest.mark.parametrize("folder", ["vision", "features", "codebook", "classifiers", "apps"])
def test_docstrings_and_errors_are_plain_english(folder):
    faults = [
        f"{path.relative_to(ROOT)}: {found}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        for found in dialect(path.read_text(encoding="utf-8"))
    ]
    assert faults == []


def test_generated_pages_are_those_of_the_code(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import reference_pages

    for name, text in reference_pages.pages().items():  # else: python docs/reference_pages.py
        committed = (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8")
        assert [line for line in text.splitlines() if line not in committed.splitlines()] == []
        assert committed == text, name


def dialect(text: str) -> list[str]:
    """The passages of a text that the field says in other words."""
    text = " ".join(re.sub(r"`[^`]*`", "`code`", text).split())
    return [
        text[max(0, found.start() - 30) : found.end() + 30]
        for pattern in DIALECT
        for found in re.finditer(pattern, text, re.I)
    ]


def words_of_a_sentence(text: str) -> float:
    """The mean number of words between full stops; an item of a list is a sentence."""
    text = re.sub(r"\n\s*([-*]|\d+\.) |\n\n", ". ", text)
    sentences = [one for one in re.split(r"[.:;?!]\W*\s", text) if len(one.split()) > 2]
    return sum(len(one.split()) for one in sentences) / max(1, len(sentences))


def test_there_is_one_version():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\nversion: {visualwords.__version__}\n" in citation
    assert re.findall(r"^## (\S+)", changes, re.M)[0] == visualwords.__version__
