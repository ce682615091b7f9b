"""What others read: spreadsheets run no formula of ours, terminals obey no name of a file."""

import csv
import io

import numpy as np
import pytest

from tests.apps.conftest import COLORS, noisy, write_png
from visualwords.apps.classify_images.main import main
from visualwords.apps.command_line.csv_cells import csv_cells
from visualwords.apps.command_line.verb import USAGE

pytestmark = pytest.mark.posix
CLEAR = "\x1b[2J"


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    """Give a folder whose classes and files have names that programs take for commands."""
    folder, rng = tmp_path_factory.mktemp("odd"), np.random.default_rng(0)
    for name, color in zip(["=cmd|calc!A0", f"a{CLEAR}"], COLORS.values()):
        for i in range(3):
            write_png(folder / name / f"@{CLEAR}{i}.png", noisy(color, rng, (20, 20)))
    return folder


@pytest.fixture(scope="module")
def odd_model(odd, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.vw"
    train = ["train", str(odd), "-o", str(path), "--recipe", "tiny", "--no-cache", "-q"]
    assert main(train) == 0
    return path


@pytest.mark.parametrize("first", ["=", "+", "-", "@", "\t", "\r"])
def test_a_cell_that_begins_like_a_formula_gets_a_quote_unless_raw(first):
    text = f"{first}SUM(A1)"
    assert csv_cells([text])[0].startswith("'")
    assert csv_cells([text], raw=True) == [text]


def test_numbers_stay_numbers():
    assert csv_cells(["-0.5", "+1e9", -0.5, 3, None, "1"]) == ["-0.5", "+1e9", -0.5, 3, None, "1"]


def test_predictions_as_csv_hold_no_formula_and_no_escape(odd, odd_model, capsys):
    predict = ["predict", str(odd_model), str(odd), "--csv", "--no-cache", "-q"]
    assert main(predict) == 0
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    rows = list(csv.DictReader(io.StringIO(printed)))
    assert {row["label"] for row in rows} == {"'=cmd|calc!A0", r"a\x1b[2J"}
    assert main([*predict, "--raw"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {row["label"] for row in rows} == {"=cmd|calc!A0", f"a{CLEAR}"}


def test_raw_csv_on_a_terminal_is_escaped(odd, odd_model, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert main(["predict", str(odd_model), str(odd), "--csv", "--raw", "--no-cache", "-q"]) == 0
    assert CLEAR not in capsys.readouterr().out


def test_features_as_csv_hold_no_formula(odd, tmp_path, monkeypatch):
    monkeypatch.chdir(odd)
    path = tmp_path / "x.csv"
    features = ["features", ".", "-o", str(path), "--recipe", "tiny", "--no-cache", "-q"]
    assert main(features) == 0
    rows = list(csv.DictReader(io.StringIO(path.read_text())))
    assert {row["label"] for row in rows} == {"'=cmd|calc!A0", r"a\x1b[2J"}
    assert main([*features, "--raw"]) == 0
    rows = list(csv.DictReader(io.StringIO(path.read_text())))
    assert {row["label"] for row in rows} == {"=cmd|calc!A0", f"a{CLEAR}"}


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "{odd}", "-o", "{tmp}/n.vw", "--recipe", "tiny", "--folds", "2"],
        ["evaluate", "{model}", "{odd}"],
        ["predict", "{model}", "{odd}"],
        ["check", "{odd}", "--recipe", "tiny"],
        ["info", "{model}"],
        ["explain", "{model}", f"{{odd}}/a{CLEAR}/@{CLEAR}0.png"],
        ["predict", f"missing{CLEAR}.vw", "x.png"],
        ["train", f"missing{CLEAR}", "-o", "{tmp}/n.vw"],
        ["recipes", "--show", f"no{CLEAR}"],
        [f"no{CLEAR}"],
        ["train", f"--no{CLEAR}"],
        ["predict", "{model}", "--config", f"no{CLEAR}.toml"],
    ],
    ids=lambda arguments: arguments[0].partition("\x1b")[0] + str(len(arguments)),
)
def test_no_escape_of_a_name_reaches_the_terminal(arguments, odd, odd_model, tmp_path, capsys):
    places = {"odd": odd, "model": odd_model, "tmp": tmp_path}
    main([argument.format(**places) for argument in arguments])
    printed = capsys.readouterr()
    assert printed.out + printed.err
    assert CLEAR not in printed.out + printed.err


def test_a_usage_error_is_a_sentence_and_the_way_to_the_help(capsys):
    assert main(["train"]) == USAGE
    assert capsys.readouterr().err.splitlines() == [
        "classify-images train --help lists the options",
        "error: Missing argument 'FOLDER'.",
    ]


def test_rejected_images_are_sorted_apart_from_a_class_named_unknown(photos, tmp_path):
    (tmp_path / "named").mkdir()
    for name, label in zip(COLORS, ["unknown", "b", "c"]):
        (tmp_path / "named" / label).symlink_to(photos / name)
    model, target = tmp_path / "m.vw", tmp_path / "sorted"
    train = ["train", tmp_path / "named", "-o", model, "--recipe", "tiny", "--no-cache", "-q"]
    assert main([str(argument) for argument in train]) == 0
    predict = ["predict", model, tmp_path / "named", "--sort-into", target, "--no-cache", "-q"]
    assert main([str(argument) for argument in [*predict, "--min-confidence", "1"]]) == 0
    assert sorted(path.name for path in target.iterdir()) == ["unknown-2"]
