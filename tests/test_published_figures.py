"""Figures of the README and of the table of recipes come from stored results."""

import json
import re
from decimal import Decimal

import pytest

from benchmarks.papers import icd_table3, pmsvm_vision
from tests.conftest import ROOT
from visualwords.apps.pipeline.recipe_results import load_results

NUMBER = re.compile(r"\d+(?:\.\d+)?")
README = (ROOT / "README.md").read_text(encoding="utf-8")
BENCHMARKS = sorted((ROOT / "benchmarks" / "results").glob("*.json"))


def table_rows(text):
    """Return the cells of all lines of tables but the rules."""
    lines = [line for line in text.splitlines() if line.startswith("|") and "|--" not in line]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]


def stored_figures():
    """Return the figures of every command that has a stored result."""
    found = {}
    for path in BENCHMARKS:
        stored = json.loads(path.read_text(encoding="utf-8"))
        found[stored["command"]] = list(stored["figures"].values())
    for path in (ROOT / "docs" / "results").glob("*.json"):
        rows = json.loads(path.read_text(encoding="utf-8"))["results"]["rows"]
        figures = [row[key] for row in rows for key in ("ours", "spread") if row[key] is not None]
        found[f"python -m benchmarks.papers run {path.stem}"] = figures
    for recipe, sets in load_results()["recipes"].items():
        for data, figures in sets.items():
            command = f"python -m benchmarks.accuracy.all_recipes --recipe {recipe} --data {data}"
            found[command] = [100 * figures["mean_per_class_accuracy"]]
    return found


def paper_of_eth80():
    """Return what the pyramid match paper has with all interest points."""
    path = ROOT / "docs" / "results" / "pmk-eth80.json"
    rows = json.loads(path.read_text(encoding="utf-8"))["results"]["rows"]
    return next(row["paper"] for row in rows if row["what"].startswith("all Harris points"))


def is_rounded(text, figures):
    """Whether a number in a text is one of the figures, rounded to as many places."""
    half = float(Decimal(5).scaleb(Decimal(text).as_tuple().exponent - 1))
    return any(abs(float(text) - figure) <= half + 1e-9 for figure in figures)


RESULTS = table_rows(README.partition("## Results")[2].partition("\n## ")[0])[1:]
STORED = stored_figures()
PAPERS = {
    "[1]": pmsvm_vision.PAPER["PmSVM-LUT-HI"],
    "[2]": paper_of_eth80(),
    "[3]": icd_table3.PAPER["scene15", "ICD"][0],
}
each_row = pytest.mark.parametrize("cells", RESULTS, ids=lambda cells: f"{cells[0]}, {cells[1]}")


def test_rounding_is_to_the_places_that_are_shown():
    assert is_rounded("90.7", [12.0, 90.68])
    assert not is_rounded("90.7", [90.6])
    assert is_rounded("91", [90.6])


@each_row
def test_a_figure_of_the_readme_is_that_of_its_stored_result(cells):
    command = cells[-1].strip("`")
    assert command in STORED, "run it, with --store if it is a benchmark"
    shown = NUMBER.findall(cells[3])
    assert shown
    assert [text for text in shown if not is_rounded(text, STORED[command])] == []


@each_row
def test_a_published_figure_of_the_readme_is_a_papers_and_has_its_source(cells):
    published, source = re.fullmatch(r"([^\[]*)((?:\[\d\])?)", cells[2]).groups()
    assert bool(published) == bool(source)
    assert all(is_rounded(text, [PAPERS[source]]) for text in NUMBER.findall(published))
    assert not source or f"\n{source} " in README or f". {source} " in README


def test_the_table_of_recipes_is_what_was_measured():
    page = (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8")
    header, *rows = table_rows(page.partition("## Recipes")[2].partition("\n## ")[0])
    assert header == ["recipe", "scene15", "Caltech-101", "Corel-1000"]
    measured = load_results()["recipes"]
    assert {row[0].strip("`") for row in rows} == set(measured)
    for name, *cells in rows:
        for data, cell in zip(("scene15", "caltech101", "corel1000"), cells):
            found = measured[name.strip("`")].get(data)
            if found is None:
                assert not cell, (name, data)  # what was not measured has no figure
            else:
                figure = 100 * found["mean_per_class_accuracy"]
                assert is_rounded(cell.strip("*"), [figure]), (name, data)


@pytest.mark.parametrize("path", BENCHMARKS, ids=lambda path: path.stem)
def test_a_stored_result_of_a_benchmark_says_where_it_comes_from(path):
    stored = json.loads(path.read_text(encoding="utf-8"))
    assert list(stored) == ["command", "state", "date", "machine", "versions", "figures"]
    assert re.fullmatch(r"[0-9a-f]{7,}", stored["state"]), "run it from a clean checkout"
    assert stored["command"].startswith("python -m benchmarks.")
