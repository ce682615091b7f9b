"""Stored results: pages and summary come from them, and verdicts follow from their rows."""

from dataclasses import replace

import pytest

from benchmarks.papers.__main__ import main
from benchmarks.papers.lab import all_experiments
from benchmarks.papers.pages import markdown, read_all, summary
from benchmarks.papers.results import Record, Results, Row, Table
from tests.conftest import ROOT

RESULTS = ROOT / "docs" / "results"
NAMES = sorted(path.stem for path in RESULTS.glob("*.json"))
EXPERIMENTS = all_experiments()


def record(name="pmk-fig3", rows=None, **changes):
    rows = rows or [Row("HIK", 81.25, 82.0, spread=0.5, seconds=1.5), Row("other", 3.0, unit="×")]
    results = Results("Ten rows.", rows, ["A note."], [Table("More", ("a", "b"), [["x", 0.5]])])
    return replace(Record.now(name, results, 12.0, quick=False), **changes)


def test_the_page_has_paper_ours_and_difference_and_where_they_come_from():
    text = markdown(EXPERIMENTS["pmk-fig3"], record(load=1.0))
    assert "| HIK | 82% | 81.25±0.50% | -0.75 | 1.50 |" in text
    assert "| other |  | 3.00 × |  |  |" in text
    assert "| x | 0.50 |" in text
    assert "python -m benchmarks.papers run pmk-fig3" in text
    assert "scikit-learn" in text
    assert "cores" in text
    assert "upper bounds" not in text
    assert "upper bounds" in markdown(EXPERIMENTS["pmk-fig3"], record(load=9.0))


def test_a_record_is_read_as_it_was_written(tmp_path):
    rows = [Row("HIK", 50.0, 52.0, n=100, rival=True, unlike="x", fails="y")]
    written = record(rows=[*rows, Row("iterations", 0.0, 1.0, unit="")])
    written.write(str(tmp_path))
    read = Record.read(str(tmp_path), "pmk-fig3")
    assert markdown(EXPERIMENTS["pmk-fig3"], read) == markdown(EXPERIMENTS["pmk-fig3"], written)
    assert read.results.rows == written.results.rows


def test_a_damaged_record_is_one_sentence(tmp_path, capsys):
    (tmp_path / "pmk-fig3.json").write_text('{"experiment": 1}')
    assert main(["run", "pmk-fig3", "--pages", "-o", str(tmp_path)]) == 1
    assert "pmk-fig3.json: not a stored result" in capsys.readouterr().err


def test_pages_of_a_result_that_is_not_stored_are_one_sentence(tmp_path, capsys):
    assert main(["run", "pmk-fig3", "--pages", "-o", str(tmp_path)]) == 1
    assert "no stored result of pmk-fig3" in capsys.readouterr().err


def test_verdicts_follow_the_difference_the_direction_and_whose_method_it_is():
    assert Row("x", 81.5, 82.0).verdict == "equal"
    assert Row("x", 79.0, 82.0).verdict == "worse"
    assert Row("x", 79.0, 82.0, error=True).verdict == "better"
    assert Row("x", 79.0, 82.0, error=True, rival=True).verdict == "differs"
    assert Row("x", 81.5, 82.0, unlike="other images").verdict == "unlike"
    assert Row("x", 79.0).verdict == ""


def test_the_summary_counts_verdicts_and_says_what_fails_and_what_is_missing():
    rows = [
        Row("same", 81.5, 82.0),
        Row("lower", 70.0, 82.0, why="fewer images"),
        Row("lower still", 60.0, 82.0),
        Row("error", 61.0, 25.3, error=True, unlike="other images", fails="it fails"),
    ]
    text = summary([record("icd-table3", rows)])
    assert "| [icd-table3](icd-table3.md) | 1 |  | 2 |  | 1 |" in text
    assert "| 82% | 70.00% | fewer images |" in text
    assert "| 82% | 60.00% | not explained |" in text
    assert "| 25.3% | 61.00% | it fails |" in text
    assert "sports" in text
    assert "No stored result: " in text


def test_every_page_of_results_has_its_experiment_and_picture():
    pages = {page.stem for page in RESULTS.glob("*.md")} - {"README", "summary"}
    assert pages <= set(EXPERIMENTS)
    drawn = {name for name in pages if Record.read(str(RESULTS), name).drawn}
    assert {picture.stem for picture in RESULTS.glob("*.png")} == drawn
    assert set(NAMES) <= pages


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_what_its_stored_result_gives(name):
    stored = Record.read(str(RESULTS), name)
    page = (RESULTS / f"{name}.md").read_text(encoding="utf-8")
    assert markdown(EXPERIMENTS[name], stored) == page, (
        "run: python -m benchmarks.papers run all --pages"
    )
    assert not stored.quick
    assert "dirty" not in stored.state


def test_the_summary_is_what_the_stored_results_give():
    page = (RESULTS / "summary.md").read_text(encoding="utf-8")
    assert page == summary(read_all(str(RESULTS)))


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_of_ours_more_than_a_point_below_the_paper_is_explained(name):
    rows = Record.read(str(RESULTS), name).results.rows
    assert [row.what for row in rows if row.verdict == "worse" and not row.why] == []
