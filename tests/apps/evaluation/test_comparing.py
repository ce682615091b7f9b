"""Recipes compared on the same folds: paired, shared stages once, resumed from the cache."""

import json

import numpy as np
import pytest

from tests.apps.conftest import COLORS, noisy, write_png
from visualwords import Recipe, compare
from visualwords.apps.classify_images.main import main
from visualwords.apps.pipeline.channel import Channel
from visualwords.apps.pipeline.costs import features_of_sample
from visualwords.errors import FolderError, RecipeError
from visualwords.features import DenseSIFT

WORDS = """
name = "{name}"
[[channels]]
extractor = "DenseSIFT"
params = {{ step = 12 }}
words = {{ codebook = "{codebook}", n_words = 8, pyramid = 1 }}
[classifier]
kind = "{kind}"
"""


def words(codebook, kind):
    text = WORDS.format(name=f"{codebook} {kind}", codebook=codebook, kind=kind)
    return Recipe.from_toml(text)


FOUR = [words(codebook, kind) for codebook in ("kmeans", "hik") for kind in ("icd", "pmsvm")]


@pytest.fixture
def few(tmp_path):
    """Give a folder with three classes of six small images each."""
    rng = np.random.default_rng(5)
    for name, color in COLORS.items():
        for i in range(6):
            write_png(tmp_path / "few" / name / f"{i}.png", noisy(color, rng, (40, 44)))
    return tmp_path / "few"


def test_rows_are_ranked_and_differences_paired(few):
    rows = compare(few, FOUR, folds=3, seeds=2)
    assert sorted(row.name for row in rows) == sorted(recipe.name for recipe in FOUR)
    means = [row.mean for row in rows]
    assert means == sorted(means, reverse=True)
    assert rows[0].difference == 0
    for row in rows:
        assert len(row.figures) == len(row.accuracies) == 3 * 2
        assert row.model_bytes > 0
        assert row.interval[0] <= row.difference <= row.interval[1]
        assert row.difference == pytest.approx(rows[0].mean - row.mean)


def test_patches_are_extracted_once_for_all_recipes_and_folds(few, monkeypatch, tmp_path):
    seen = []
    extract = DenseSIFT.extract
    monkeypatch.setattr(
        DenseSIFT,
        "extract",
        lambda self, image: seen.append(image.tobytes()) or extract(self, image),
    )
    for recipe in FOUR:  # on which entries of caches are tried
        features_of_sample(recipe.channels[0], recipe.view)
    sample = set(seen)
    recipes = FOUR[:2], FOUR
    counts = []
    for number, some in enumerate(recipes):
        seen.clear()
        compare(few, some, folds=2, cache_dir=tmp_path / f"cache {number}")
        counts.append(sum(image not in sample for image in seen))
    checks = [6 * len(some) + 3 * len(some) for some in recipes]  # noise; golden images
    once = [count - other for count, other in zip(counts, checks)]
    assert once[0] == once[1]  # two more codebooks, not one more extraction
    assert once[0] <= 2 * 18  # once to sample, once to encode


def test_an_interrupted_comparison_extracts_nothing_again(few, tmp_path, monkeypatch):
    seen = []
    see = Channel.see
    monkeypatch.setattr(Channel, "see", lambda self, pixels: seen.append(1) or see(self, pixels))
    compare(few, ["tiny", "fast"], folds=2, cache_dir=tmp_path / "cache")
    first = len(seen)
    seen.clear()
    compare(few, ["tiny", "fast"], folds=2, cache_dir=tmp_path / "cache")
    assert len(seen) < first / 2  # golden images and noise


def test_a_test_part_is_used_once(few, tmp_path):
    for name in COLORS:
        for part in ("train", "test"):
            (tmp_path / "split" / part / name).mkdir(parents=True)
        for i, path in enumerate(sorted((few / name).iterdir())):
            path.rename(tmp_path / "split" / ("test" if i < 2 else "train") / name / path.name)
    rows = compare(tmp_path / "split", ["tiny", "fast"], folds=None)
    assert [len(row.figures) for row in rows] == [1, 1]
    assert rows[1].interval[0] <= rows[1].difference <= rows[1].interval[1]


def test_what_can_not_be_compared_is_refused(few):
    with pytest.raises(RecipeError, match="at least two recipes"):
        compare(few, ["tiny"])
    with pytest.raises(RecipeError, match="two recipes are named 'tiny'"):
        compare(few, ["tiny", "tiny"])
    with pytest.raises(FolderError, match="no train and test parts"):
        compare(few, ["tiny", "fast"], folds=None)


def test_the_command_prints_table_json_csv_and_markdown(few, tmp_path, capsys):
    flags = ["compare", str(few), "--folds", "2", "--feature", "DenseSIFT(step=12)"]
    flags += ["--pyramid", "1", "--vary", "codebook=kmeans,hik", "--vary", "words=4,8"]
    flags += ["--cache", str(tmp_path / "cache"), "--quiet", "--jobs", "1"]
    plot, report = tmp_path / "plot.svg", tmp_path / "report.html"
    assert main([*flags, "--json", "--plot", str(plot), "--report", str(report)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["recipes"]) == 4
    assert {len(row["trials"]) for row in found["recipes"]} == {2}
    assert "words=8" in plot.read_text(encoding="utf-8")
    assert "n_words = 8" in report.read_text(encoding="utf-8").replace("&quot;", '"')
    assert main([*flags, "--csv"]) == 0
    assert len(capsys.readouterr().out.strip().splitlines()) == 5
    assert main([*flags, "--markdown"]) == 0
    assert capsys.readouterr().out.startswith("| recipe |")
    assert main(flags) == 0
    assert "below the best" in capsys.readouterr().out
