"""Each figure stands in one place: the README's in docs/lab/accuracy.md, that page's are stored."""

import json
import re
from decimal import Decimal

import pytest

from tests.conftest import ROOT
from visualwords.apps.pipeline.recipes import load_results

NUMBER = re.compile(r"\d+(?:\.\d+)?")
README = (ROOT / "README.md").read_text(encoding="utf-8")
ACCURACY = (ROOT / "docs" / "lab" / "accuracy.md").read_text(encoding="utf-8")
BENCHMARKS = sorted((ROOT / "benchmarks" / "results").glob("*.json"))


def table(page: str, heading: str) -> list[dict[str, str]]:
    """The first table below a heading, a dict of cells for each row."""
    lines = [
        [re.sub("[`*]", "", cell).strip() for cell in line.split("|")[1:-1]]
        for line in page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0].splitlines()
        if line.startswith("|") and "|--" not in line
    ]
    width = len(lines[0])
    first = next((k for k, line in enumerate(lines) if len(line) != width), len(lines))
    return [dict(zip(lines[0], line)) for line in lines[1:first]]


def rows_of(page: str, heading: str, key: str = "data") -> dict[str, dict[str, str]]:
    return {row[key]: row for row in table(page, heading)}


def is_rounded(text: str, figure: float) -> bool:
    """Whether a number in a text is a figure, rounded to as many places."""
    half = float(Decimal(5).scaleb(Decimal(text).as_tuple().exponent - 1))
    return abs(float(text) - figure) <= half + 1e-9


def test_rounding_is_to_the_places_that_are_shown():
    assert is_rounded("90.7", 90.68)
    assert not is_rounded("90.7", 90.6)
    assert is_rounded("91", 90.6)


def test_figures_of_the_readme_are_those_of_the_page_on_accuracy():
    search = rows_of(ACCURACY, "auto")
    script = rows_of(ACCURACY, "Beside OpenCV and scikit-learn")
    network = rows_of(ACCURACY, "Beside a small network")
    published = {
        row["published, with hand-crafted features"]
        for row in table(ACCURACY, "Beside published figures")
    }
    for row in table(README, "Results"):
        name = re.sub(r", [\d,]+$", "", row["data, training images"])
        assert row["auto"] == search[name]["60 s"]
        assert row["longest"] == search[name]["longest budget"]
        assert row["OpenCV, scikit-learn"] == script[name]["the script"]
        assert row["small network"] in (
            "",
            network.get(name, {}).get("network, LogisticRegression"),
        )
        assert not row["published"] or row["published"].split()[0] in published


def test_figures_of_recipes_and_of_the_detector_are_those_that_were_measured():
    measured = load_results()["recipes"]
    for name, row in rows_of(ACCURACY, "Recipes", "recipe").items():
        columns = {"scene15": "scene15", "caltech101": "Caltech-101", "corel1000": "Corel-1000"}
        for data, column in columns.items():
            stored = {"fisher": "photo", "rich-fisher": "pattern"}.get(name, name)
            found = measured.get(name, measured.get(stored, {})).get(data)
            if found is None:
                assert not row[column], (name, data)  # what was not measured has no figure
            else:
                assert is_rounded(row[column], 100 * found["mean_per_class_accuracy"]), (name, data)
    stored = json.loads(BENCHMARKS[0].read_text(encoding="utf-8"))
    figures = [cell for row in table(ACCURACY, "Detector")[:2] for cell in row.values()]
    for shown in (cell for cell in figures if NUMBER.fullmatch(cell)):
        assert any(is_rounded(shown, figure) for figure in stored["figures"].values())


@pytest.mark.parametrize("path", BENCHMARKS, ids=lambda path: path.stem)
def test_a_stored_result_of_a_benchmark_says_where_it_comes_from(path):
    stored = json.loads(path.read_text(encoding="utf-8"))
    assert list(stored) == ["command", "state", "date", "machine", "versions", "figures"]
    assert re.fullmatch(r"[0-9a-f]{7,}", stored["state"]), "run it from a clean checkout"
    assert stored["command"].startswith("python -m benchmarks.")
