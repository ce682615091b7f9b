"""Whatever a person types or a table says: a sentence and an exit code, never a traceback."""

import os
import subprocess

import click
import pytest

from tests.apps.conftest import COLORS, noisy, write_png
from tests.faults.commands import COMMAND
from visualwords.apps.classify_images.main import main
from visualwords.apps.command_line.verb import FAILED, UNEXPECTED, USAGE, run_command

pytestmark = pytest.mark.posix
SETTINGS = {
    "deep": b"a = " + b"[" * 3000 + b"]" * 3000,
    "no text": b"\xff",
    "half": b"a = ",
    "large": bytes(2 << 20),
}


def test_settings_that_are_no_toml_or_no_regular_file_are_wrong_usage(photos, tmp_path, capsys):
    for name, content in SETTINGS.items():
        (tmp_path / name).write_bytes(content)
    os.mkfifo(tmp_path / "pipe")
    places = {str(tmp_path / name): name for name in SETTINGS}
    places |= dict.fromkeys(["/dev/zero", str(tmp_path / "pipe")], "not a regular file")
    for path, told in (places | {"/dev/stdin": ""}).items():
        assert main(["train", str(photos), "--config", path]) == USAGE, path
        assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "row", "told"),
    [
        ("t.csv", "1.png," + "x" * 18_000, "characters"),
        ("t.jsonl", '{"path": "1.png", "label": "\\ud800"}', "not text"),
        ("t.jsonl", '{"path": "1.png", "label": "a", "group": "\\ud800"}', "not text"),
        ("t.jsonl", "[" * 5000, "not JSON"),
    ],
    ids=["long label", "lone surrogate", "lone surrogate in a group", "deep"],
)
def test_a_bad_table_fails_with_a_sentence(name, row, told, tmp_path, capsys):
    (tmp_path / name).write_text(("path,label\n" if name == "t.csv" else "") + row + "\n")
    assert main(["train", str(tmp_path / name), "-o", str(tmp_path / "m.vw")]) == FAILED
    error = capsys.readouterr().err
    assert told in error
    assert "Traceback" not in error


@pytest.mark.parametrize("redirected", [">&- 2>&-", "<&- >&- 2>&-", "> /dev/full", "| true"])
def test_a_closed_or_full_output_is_no_traceback(redirected):
    line = f"{' '.join(COMMAND)} --version {redirected}"
    done = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    assert done.returncode == (FAILED if "full" in redirected else 0)


@pytest.mark.parametrize("sizes", [(1, 4), (2, 3)], ids=str)
def test_few_images_of_a_class_are_no_traceback(sizes, tmp_path, rng, capsys):
    for label, (n_images, color) in zip("ab", zip(sizes, COLORS.values())):
        for i in range(n_images):
            write_png(tmp_path / "few" / label / f"{i}.png", noisy(color, rng, (20, 20)))
    folder, model = str(tmp_path / "few"), str(tmp_path / "m.vw")
    lines = [["check", folder, "--recipe", "tiny"]]
    lines += [["train", folder, "-o", model, "--recipe", "tiny", "--folds", "5"]]
    lines += [["evaluate", model, folder, "--report", str(tmp_path / "r.html")]]
    lines += [["compare", folder, "--recipe", "tiny", "--vary", "C=1,2"]]
    for line in lines:
        if line[0] == "evaluate" and not os.path.exists(model):
            continue  # too few images to train on
        assert main([*line, "--no-cache", "-q"]) in (0, FAILED), line
        error = capsys.readouterr().err
        assert "Traceback" not in error
        assert "unexpected" not in error
    assert os.path.exists(model) or 1 in sizes


def test_the_unforeseen_is_a_sentence_and_debug_adds_the_details(capsys):
    @click.command()
    def fail():
        raise ZeroDivisionError("by \x1b[31mzero")

    assert run_command(fail, "fail", []) == UNEXPECTED
    brief = capsys.readouterr().err
    assert brief.startswith("error: unexpected ZeroDivisionError")
    assert "--debug" in brief
    assert len(brief.splitlines()) == 1
    assert run_command(fail, "fail", ["--debug"]) == UNEXPECTED  # the only way to see them
    detailed = capsys.readouterr().err
    assert "in fail" in detailed
    assert "\x1b" not in detailed
