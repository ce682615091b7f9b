"""A TOML file in place of flags: the same names, the same checks, and the command it equals."""

import json
import shlex

import pytest

from visualwords.apps.classify_images.main import main


@pytest.fixture
def settle(tmp_path, monkeypatch):
    """Give ``write(text)`` → the name of a configuration file; relative names are of its folder."""
    monkeypatch.chdir(tmp_path)

    def write(text):
        (tmp_path / "f.toml").write_text(text)
        return "f.toml"

    return write


def equivalent_command(stderr):
    (line,) = [line for line in stderr.splitlines() if line.startswith("equivalent command: ")]
    words = shlex.split(line.removeprefix("equivalent command: "))
    assert words[0] == "classify-images"
    return words[1:]


def test_a_file_equals_its_flags_and_the_printed_command_does_the_same(photos, settle, capsys):
    config = settle(
        'folder = "photos"\noutput = "a.vw"\nrecipe = "tiny"\ntest-size = 0.25\nseed = 3\n'
        "json = true\nno-cache = true\n"
    )
    assert main(["train", "--config", config]) == 0
    first = capsys.readouterr()
    words = equivalent_command(first.err)
    assert words[:2] == ["train", "photos"]
    assert "--config" not in words
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["test"] == json.loads(first.out)["test"]


def test_flags_win_over_the_file(photos, settle, capsys):
    config = settle('folder = "photos"\noutput = "a.vw"\nrecipe = "tiny"\nno-cache = true\n')
    assert main(["train", "--config", config, "--recipe", "fast", "-o", "b.vw"]) == 0
    words = equivalent_command(capsys.readouterr().err)
    assert words[words.index("--recipe") + 1] == "fast"
    assert words[words.index("-o") + 1] == "b.vw"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("recipes = 'color'", "train has no setting 'recipes'; it has C, alarm, budget"),
        ("recipe = ['tiny']", "recipe is ['tiny']; it must be one value"),
        ("recipe = true", "recipe is True; it must be one value"),
        ("json = 'yes'", "json is 'yes'; it must be true or false"),
        ("feature = 'HOG'", "feature is 'HOG'; it must be a list"),
        ("seed = -1", "--seed"),
        ("seed = 1.5", "--seed"),
        ("recipe = ", "not a TOML file"),
        ("config = 'g.toml'", "train has no setting 'config'"),
    ],
)
def test_a_wrong_file_gets_one_sentence_and_exit_code_2(photos, settle, text, sentence, capsys):
    assert main(["train", "photos", "-o", "a.vw", "--config", settle(text)]) == 2
    assert sentence in capsys.readouterr().err


def test_names_that_look_like_flags_come_after_two_dashes(settle, capsys):
    config = settle("json = true")
    assert main(["predict", "--config", config, "m.vw", "--", "-odd name.png"]) == 4
    assert equivalent_command(capsys.readouterr().err)[-3:] == ["--", "m.vw", "-odd name.png"]


def test_cache_says_its_size_and_is_emptied(photos, settle, capsys):
    settle("")
    assert main(["train", "photos", "-o", "a.vw", "--recipe", "tiny", "--cache", "kept"]) == 0
    capsys.readouterr()
    assert main(["cache", "info", "--cache", "kept", "--json"]) == 0
    n_entries = json.loads(capsys.readouterr().out)["entries"]
    assert n_entries > 24
    assert main(["cache", "clear", "--cache", "kept"]) == 0
    assert main(["cache", "info", "--cache", "kept"]) == 0
    shown = capsys.readouterr().out
    assert f"{n_entries} entries deleted" in shown
    assert "kept: 0 entries" in shown
