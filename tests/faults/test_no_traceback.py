"""Whatever a person types or a table says: a sentence and an exit code, never a traceback."""

import os
import subprocess

import pytest

from tests.apps.conftest import COLORS, noisy, write_png
from tests.faults.commands import COMMAND
from visualwords.apps.classify_images.main import main
from visualwords.apps.command_line.verb import FAILED, UNEXPECTED, USAGE, run_command

pytestmark = pytest.mark.posix


@pytest.mark.parametrize(
    "content",
    [b"a = " + b"[" * 3000 + b"]" * 3000, b"\xff", b"a = ", bytes(2 << 20)],
    ids=["deep", "no text", "half", "large"],
)
def test_a_bad_settings_file_is_wrong_usage(content, photos, tmp_path, capsys):
    (tmp_path / "c.toml").write_bytes(content)
    assert main(["train", str(photos), "--config", str(tmp_path / "c.toml")]) == USAGE
    assert "c.toml" in capsys.readouterr().err


@pytest.mark.parametrize("place", ["/dev/zero", "/dev/stdin", "pipe"])
def test_settings_are_read_from_regular_files_only(place, photos, tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe")
    path = place if place.startswith("/") else str(tmp_path / place)
    assert main(["train", str(photos), "--config", path]) == USAGE
    assert "not a regular file" in capsys.readouterr().err or place == "/dev/stdin"


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


@pytest.mark.parametrize("redirected", [">&-", ">&- 2>&-", "<&- >&- 2>&-", "> /dev/full", "| true"])
def test_a_closed_or_full_output_is_no_traceback(redirected):
    line = f"{' '.join(COMMAND)} --version {redirected}"
    done = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    assert done.returncode == (FAILED if "full" in redirected else 0)


@pytest.mark.parametrize(
    ("verb", "sizes"),
    [
        *(("check", sizes) for sizes in [(1, 4), (2, 2), (2, 3), (4, 4)]),
        *(("train", sizes) for sizes in [(1, 4), (2, 2), (2, 3), (4, 4)]),
        ("evaluate", (2, 3)),
        ("compare", (2, 3)),
    ],
    ids=str,
)
def test_few_images_of_a_class_are_no_traceback(verb, sizes, tmp_path, rng, capsys):
    for label, (n_images, color) in zip("ab", zip(sizes, COLORS.values())):
        for i in range(n_images):
            write_png(tmp_path / "few" / label / f"{i}.png", noisy(color, rng, (20, 20)))
    folder, model = str(tmp_path / "few"), str(tmp_path / "m.vw")
    quick = ["--no-cache", "-q"]
    train = ["train", folder, "-o", model, "--recipe", "tiny", *quick]
    if verb == "evaluate":
        assert main(train) == 0
    line = {
        "check": ["check", folder, "--recipe", "tiny", *quick],
        "train": [*train, "--folds", "5"],
        "evaluate": ["evaluate", model, folder, "--report", str(tmp_path / "r.html"), *quick],
        "compare": ["compare", folder, "--recipe", "tiny", "--vary", "C=1,2", *quick],
    }[verb]
    assert main(line) in (0, FAILED)
    error = capsys.readouterr().err
    assert "Traceback" not in error
    assert "unexpected" not in error


def test_the_unforeseen_is_a_sentence_and_debug_adds_the_details(capsys):
    import click

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
