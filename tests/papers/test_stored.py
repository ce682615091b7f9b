"""Stored results: pages and summary come from them, and a run of all goes on where it stopped."""

from dataclasses import replace

import pytest

from benchmarks.papers import run as running
from benchmarks.papers.experiments import EXPERIMENTS
from benchmarks.papers.icd_table3 import explained
from benchmarks.papers.results import Results, Row, Table
from benchmarks.papers.run import main
from benchmarks.papers.stored import Record, read_all
from benchmarks.papers.summary import UNEXPLAINED, summary
from benchmarks.papers.writing import markdown
from tests.conftest import ROOT

RESULTS = ROOT / "docs" / "results"
NAMES = sorted(path.stem for path in RESULTS.glob("*.json"))


def record(name="pmk-fig3", **changes):
    results = Results("Ten rows.", [Row("HIK", 81.25, 82.0, n=100)], ["A note."], [])
    tables = [Table("More", ("a", "b"), [["x", 0.5]])]
    return replace(Record.now(name, replace(results, tables=tables), 12.0, quick=False), **changes)


def test_a_record_is_read_as_it_was_written(tmp_path):
    written = record()
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


def test_a_run_of_all_goes_on_where_it_stopped(tmp_path, monkeypatch):
    started = []

    def repeat(experiment, lab):
        started.append(experiment.name)
        if len(started) == 3:
            raise KeyboardInterrupt
        return record(experiment.name, quick=True)

    monkeypatch.setattr(running, "_repeat", repeat)
    command = ["run", "all", "--quick", "-o", str(tmp_path), "-q"]
    assert main(command) == 130
    assert main(command) == 0
    names = list(EXPERIMENTS)
    assert started == [*names[:3], *names[2:]]
    started.clear()
    assert main([*command, "--again"]) == 130
    assert started == names[:3]


def test_verdicts_follow_the_difference_and_the_direction():
    assert Row("x", 81.5, 82.0).verdict == "equal"
    assert Row("x", 79.0, 82.0).verdict == "worse"
    assert Row("x", 79.0, 82.0, error=True).verdict == "better"
    assert Row("x", 79.0, 82.0, unlike="other images").verdict == "unlike"
    assert Row("x", 79.0).verdict == ""


def test_the_summary_counts_verdicts_and_gives_reasons():
    rows = [
        Row("same", 81.5, 82.0),
        Row("lower", 70.0, 82.0, why="fewer images"),
        Row("lower still", 60.0, 82.0),
    ]
    text = summary([record("icd-table3", results=Results("", rows))])
    assert "| [icd-table3](icd-table3.md) | 1 |  | 2 |" in text
    assert "| 82 % | 70.00 % | fewer images |" in text
    assert f"| 82 % | 60.00 % | {UNEXPLAINED} |" in text
    assert "sports" in text


def test_every_page_of_results_has_its_experiment_and_picture():
    pages = {page.stem for page in RESULTS.glob("*.md")} - {"README", "summary"}
    assert pages <= set(EXPERIMENTS)
    assert {picture.stem for picture in RESULTS.glob("*.png")} == pages
    assert set(NAMES) <= pages


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_what_its_stored_result_gives(name):
    stored = Record.read(str(RESULTS), name)
    page = (RESULTS / f"{name}.md").read_text(encoding="utf-8")
    assert markdown(EXPERIMENTS[name], stored) == page, (
        "run: python -m benchmarks.papers run all --pages"
    )
    assert not stored.quick


def test_the_summary_is_what_the_stored_results_give():
    page = (RESULTS / "summary.md").read_text(encoding="utf-8")
    assert page == summary(read_all(str(RESULTS), list(EXPERIMENTS)))


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_more_than_a_point_below_the_paper_is_explained(name):
    rows = Record.read(str(RESULTS), name).results.rows
    assert [row.what for row in rows if row.verdict == "worse" and not row.why] == []


def test_a_worse_cell_of_icd_table3_says_what_was_tried():
    worse, equal = Row("HIK", 50.0, 54.0), Row("HIK", 54.5, 54.0)
    assert explained(equal, None, lambda: 60.0) == equal
    assert explained(worse, replace(worse, ours=52.0), lambda: 60.0).why == (
        "with words of CENTRIST 52.00 %; one-vs-rest with the same Gram matrix 60.00 %"
    )
