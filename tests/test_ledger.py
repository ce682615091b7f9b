"""The table of what must not get worse, and the weight of the code in it."""

import copy

import pytest

from benchmarks import ledger, mutants, weight
from benchmarks.ledger import Entry, differences, mean_per_class


@pytest.fixture
def measured() -> Entry:
    """An entry of one recipe on two sets of 300 images."""
    right = {f"{name} words": hex(int("1" + "1" * 240 + "0" * 60, 2)) for name in ("a", "b")}
    accuracy = {f"accuracy: {name} words": 0.8 for name in ("a", "b", "mean")}
    accuracy["accuracy: mean words"] = 0.8
    costs = {"CPU: train a words": 10.0, "memory: train a words": 4e8, "weight: modules": 421.0}
    return Entry({"commit": "1"}, accuracy | costs, right)


def with_more_mistakes(entry: Entry, name: str, n: int) -> Entry:
    worse = copy.deepcopy(entry)
    bits = int(worse.right[f"{name} words"], 16)
    for k in range(n):
        bits &= ~(1 << (60 + k))
    worse.right[f"{name} words"] = hex(bits)
    worse.numbers[f"accuracy: {name} words"] -= n / 300
    worse.numbers["accuracy: mean words"] -= n / 600
    return worse


def test_a_loss_of_two_points_is_reported(measured):
    lines = differences(measured, with_more_mistakes(measured, "a", 6))
    assert any("worse   accuracy: a words: 80.0 % → 78.0 %" in line for line in lines)
    assert any("accuracy: mean words" in line for line in lines)


def test_a_loss_within_its_standard_error_is_not_reported(measured):
    assert differences(measured, with_more_mistakes(measured, "a", 3)) == []


def test_costs_and_weights_are_reported_beyond_their_noise_in_the_right_direction(measured):
    other = copy.deepcopy(measured)
    other.numbers |= {"CPU: train a words": 11.0, "memory: train a words": 5e8}
    other.numbers["weight: modules"] = 210.0
    assert [line.split(":")[0] for line in differences(measured, other)] == [
        "worse   memory",
        "better  weight",
    ]


def test_an_entry_is_read_as_it_was_written(measured, tmp_path):
    ledger.write_ledger(tmp_path / "ledger.json", [measured, measured])
    assert ledger.read_ledger(tmp_path / "ledger.json") == [measured, measured]


def test_the_mean_is_over_classes_not_images():
    assert mean_per_class(["a"] * 3 + ["b"], [True, True, False, True]) == pytest.approx(5 / 6)


MODULE = '''"""A docstring
of two lines."""

from visualwords import other  # a comment


def add(a, b):
    """The sum."""
    # why
    return (
        a + b
    )
'''


@pytest.fixture
def checkout(tmp_path):
    """A project of two modules that import each other, one of them inside a function."""
    for folder in weight.FOLDERS:
        (tmp_path / folder).mkdir()
    (tmp_path / "vision" / "one.py").write_text(MODULE)
    (tmp_path / "vision" / "other.py").write_text("def f():\n    import visualwords.one\n")
    return tmp_path


def test_lines_of_code_are_neither_blank_nor_comments_nor_docstrings(checkout):
    assert weight.code_lines(checkout / "vision") == 5 + 2


def test_circles_are_found_through_imports_in_functions(checkout):
    assert weight.circles(checkout) == [["visualwords.one", "visualwords.other"]]


def test_a_mutant_changes_one_line_of_one_file_and_is_taken_back(checkout):
    path = checkout / "vision" / "one.py"
    path.write_text("def add(first, second):\n    return first + second * 2\n")
    found = {mutant.changed for mutant in mutants.common_mutants(checkout, checkout, 0)}
    assert found <= {"return first - second * 2", "return first + second / 2"} | {
        "return first + second * 3"
    }
    mutant = mutants.common_mutants(checkout, checkout, 0)[0]
    with mutants.applied(mutant, checkout):
        assert mutant.changed in path.read_text()
    assert "first + second * 2" in path.read_text()
