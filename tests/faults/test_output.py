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
LABELS = ["=cmd|calc!A0", f"a{CLEAR}"]


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    """Give a folder whose classes and files have names that programs take for commands."""
    folder, rng = tmp_path_factory.mktemp("odd"), np.random.default_rng(0)
    for name, color in zip(LABELS, COLORS.values()):
        for i in range(3):
            write_png(folder / name / f"@{CLEAR}{i}.png", noisy(color, rng, (20, 20)))
    return folder


@pytest.fixture(scope="module")
def odd_model(odd, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.vw"
    train = ["train", str(odd), "-o", str(path), "--recipe", "tiny", "--no-cache", "-q"]
    assert main(train) == 0
    return path


def test_a_cell_that_begins_like_a_formula_gets_a_quote_unless_raw_and_numbers_stay_numbers():
    for first in "=+-@\t\r":
        assert csv_cells([f"{first}SUM(A1)"])[0].startswith("'")
        assert csv_cells([f"{first}SUM(A1)"], raw=True) == [f"{first}SUM(A1)"]
    numbers = ["-0.5", "+1e9", -0.5, 3, None, "1"]
    assert csv_cells(numbers) == numbers


def test_csv_holds_no_formula_and_no_escape_unless_raw(
    odd, odd_model, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(odd)
    common = ["--no-cache", "-q"]
    lines = [["predict", str(odd_model), str(odd), "--csv", "-o", str(tmp_path / "x.csv"), *common]]
    lines += [["features", ".", "-o", str(tmp_path / "x.csv"), "--recipe", "tiny", *common]]
    for line in lines:
        for raw, labels in ([], {"'=cmd|calc!A0", r"a\x1b[2J"}), (["--raw"], set(LABELS)):
            assert main([*line, *raw]) == 0
            text = (tmp_path / "x.csv").read_text()
            assert {row["label"] for row in csv.DictReader(io.StringIO(text))} == labels
            assert ("\x1b" in text) == bool(raw)


def test_raw_csv_on_a_terminal_is_escaped(odd, odd_model, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert main(["predict", str(odd_model), str(odd), "--csv", "--raw", "--no-cache", "-q"]) == 0
    assert CLEAR not in capsys.readouterr().out


LINES = [
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
]


def test_no_escape_of_a_name_reaches_the_terminal(odd, odd_model, tmp_path, capsys):
    places = {"odd": odd, "model": odd_model, "tmp": tmp_path}
    for line in LINES:
        main([argument.format(**places) for argument in line])
        printed = capsys.readouterr()
        assert printed.out + printed.err
        assert CLEAR not in printed.out + printed.err, line


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
