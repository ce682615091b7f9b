"""Commands in a shell: pipes, lists of paths on stdin, result files, completion, verbosity."""

import io
import json
import os
import subprocess
import sys

import pytest
from click.shell_completion import BashComplete

from tests.apps.conftest import COLORS
from visualwords.apps.classify_images.main import command, main

CLASSIFY = [sys.executable, "-m", "visualwords.apps.classify_images"]


def offered(group, words, typed):
    """The completions that Tab offers after some words."""
    found = BashComplete(group, {}, "it", "_IT_COMPLETE").get_completions(words, typed)
    return [item.value for item in found]


@pytest.fixture
def model(photos, tmp_path, capsys):
    path = tmp_path / "m.vw"
    words = ["train", photos, "-o", path, "--recipe", "tiny", "--no-cache", "-q"]
    assert main([str(word) for word in words]) == 0
    capsys.readouterr()
    return path


@pytest.mark.parametrize("ends", [b"\n", b"\r\n", b"\0"])
def test_paths_come_from_stdin(model, photos, ends, capsys, monkeypatch):
    paths = sorted((photos / "sea").iterdir())[:2]
    if ends == b"\0":
        paths[0] = paths[0].rename(photos / "two\nlines.png")
    given = b"".join(os.fsencode(path) + ends for path in paths)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(given)))
    assert main(["predict", str(model), "-", "--json", "--no-cache"]) == 0
    found = json.loads(capsys.readouterr().out)["predictions"]
    assert [one["path"] for one in found] == [str(path) for path in paths]


@pytest.mark.parametrize(("name", "start"), [("p.json", "{"), ("p.csv", "path,"), ("p.txt", "┏")])
def test_results_go_to_a_file_in_the_format_of_its_name(
    model, photos, tmp_path, capsys, name, start
):
    words = ["predict", str(model), str(photos / "sea"), "-o", str(tmp_path / name), "--no-cache"]
    assert main(words) == 0
    assert capsys.readouterr().out == ""
    assert (tmp_path / name).read_text(encoding="utf-8").startswith(start)


def test_quiet_leaves_results_and_warnings_and_verbose_adds_times(photos, tmp_path, capsys):
    words = ["train", photos, "-o", tmp_path / "m.vw", "--recipe", "tiny", "--no-cache"]
    words = [str(word) for word in words]
    assert main([*words, "-q"]) == 0
    (said,) = capsys.readouterr().err.splitlines()
    assert said.startswith("warning: few images of class sand (8), sea (8), wood (8); ")
    assert main([*words, "-v"]) == 0
    err = capsys.readouterr().err
    assert "training the classifier: " in err
    assert "threads; cache: none" in err
    words[words.index("tiny")] = "auto"
    for flags, is_said in (([], False), (["-v"], True)):
        assert main([*words, *flags, "--budget", "0"]) == 0
        assert ("channels to weigh: 1 · about " in capsys.readouterr().err) == is_said


def test_next_steps_can_be_typed(monkeypatch, tmp_path):
    from visualwords.apps.command_line.terminal import typed

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    line = typed("classify-images", "recipes", "--json")
    monkeypatch.undo()
    result = subprocess.run(line, shell=True, capture_output=True, env={"PATH": "/nowhere"})
    assert json.loads(result.stdout)["recipes"]


def test_colors_obey_the_environment(model, monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert main(["recipes"]) == 0
    assert "\x1b[" in capsys.readouterr().out
    monkeypatch.delenv("FORCE_COLOR")
    assert main(["recipes"]) == 0
    assert "\x1b[" not in capsys.readouterr().out


def test_the_shell_completes_recipes_and_classes(model):
    assert offered(command, ["train", "--recipe"], "fa") == ["fast"]
    assert "auto" in offered(command, ["check", "--recipe"], "")
    assert offered(command, ["train", "--kernel"], "ngm") == ["ngmm"]
    assert offered(command, ["explain", str(model), "x.jpg", "--label"], "s") == ["sand", "sea"]
    assert offered(command, ["explain", "missing.vw", "x.jpg", "--label"], "") == []


def test_labels_come_from_file_names(photos, tmp_path, capsys):
    flat = tmp_path / "flat"
    flat.mkdir()
    for path in photos.rglob("*.png"):
        path.rename(flat / f"{path.parent.name}_{path.name}")
    pattern = ["--label-from", r"(.+)_\d+"]
    model = str(tmp_path / "m.vw")
    quick = ["--no-cache", "--json"]
    words = ["train", str(flat), "-o", model, "--recipe", "tiny", "--test-size", "0.25"]
    assert main([*words, *pattern, *quick]) == 0
    capsys.readouterr()
    assert main(["evaluate", model, str(flat), *pattern, *quick]) == 0
    assert json.loads(capsys.readouterr().out)["test"]["classes"].keys() == COLORS.keys()
    main(["check", str(flat), "--no-labels", *pattern, *quick])
    assert json.loads(capsys.readouterr().out)["classes"] == ["sand", "sea", "wood"]
    assert main(["train", str(flat), "-o", model, *quick]) == 1
    assert "Traceback" not in capsys.readouterr().err
