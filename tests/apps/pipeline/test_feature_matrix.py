"""Feature vectors for other programs: the same numbers as the classifier's, named and labelled."""

import csv

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

from visualwords import ImageClassifier
from visualwords.apps.classify_images.main import main
from visualwords.classifiers import KernelSVC
from visualwords.codebook import BagOfWords, KMeansCodebook
from visualwords.features import DenseSIFT
from visualwords.folders import ImageFolder


def run(photos, output, *flags):
    return main(["features", str(photos), "-o", str(output), "--no-cache", "--quiet", *flags])


def test_the_numbers_are_those_that_the_classifier_sees(photos, tmp_path):
    assert run(photos, tmp_path / "x.npz", "--recipe", "tiny") == 0
    model = ImageClassifier("tiny").fit(photos)
    with np.load(tmp_path / "x.npz", allow_pickle=False) as found:
        np.testing.assert_array_equal(found["X"], model.transform(ImageFolder(photos)))
        assert found["names"].tolist() == model.get_feature_names_out().tolist()
        assert found["labels"].tolist() == ImageFolder(photos).labels
        assert len(found["paths"]) == len(found["groups"]) == len(found["splits"]) == 24


def test_a_table_has_a_row_for_every_image_also_as_parquet(photos, tmp_path):
    flags = ["--feature", "DenseSIFT(step=12)", "--words", "5", "--pyramid", "1"]
    assert run(photos, tmp_path / "x.csv", *flags) == 0
    with open(tmp_path / "x.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    names = ["path", "label", "group", "split"]
    names += [f"DenseSIFT/level0_window0_word{k}" for k in range(5)]
    assert (len(rows), list(rows[0])) == (24, names)
    assert all(np.isfinite(float(value)) for value in list(rows[0].values())[4:])
    parquet = pytest.importorskip("pyarrow.parquet")
    assert run(photos, tmp_path / "x.parquet", *flags) == 0
    table = parquet.read_table(tmp_path / "x.parquet")
    assert (table.num_rows, table.column_names) == (24, names)


def test_sparse_rows_stay_sparse(photos, tmp_path):
    flags = ["--set", "hashes.n_hashes=8", "--set", "hashes.n_bits=4"]
    assert run(photos, tmp_path / "x.npz", "--feature", "ColorHistogram(bins=4)", *flags) == 0
    with np.load(tmp_path / "x.npz", allow_pickle=False) as found:
        parts = (found["data"], found["indices"], found["indptr"])
        rows = sparse.csr_matrix(parts, shape=tuple(found["shape"]))
        assert rows.shape == (24, 8 * 16)
        assert len(found["names"]) == rows.shape[1]
    assert (rows.sum(axis=1) == 8).all()


def test_an_unknown_format_is_refused_before_the_images_are_read(tmp_path, capsys):
    assert run(tmp_path / "nowhere", tmp_path / "x.xls") == 2
    assert "must end in .npz, .csv, .parquet" in capsys.readouterr().err


def test_a_pipeline_from_paths_to_labels_is_searched_like_any_other(photos):
    folder = ImageFolder(photos)
    words = BagOfWords(KMeansCodebook(8, random_state=0), 1, norm="l1")
    pipeline = Pipeline([("sift", DenseSIFT(step=12)), ("words", words), ("svc", KernelSVC())])
    grid = [
        {"words__codebook__n_words": [4, 8], "svc__kernel": ["hik", "chi2"]},
        {"svc__kernel": ["gcs"], "svc__kernel_params": [{"radius": "median"}, {"radius": 1.0}]},
    ]
    search = GridSearchCV(pipeline, grid, cv=2, error_score="raise")
    search.fit(folder.paths, folder.labels)
    assert len(search.cv_results_["params"]) == 6
    assert search.best_score_ > 0.6
    assert search.predict(folder.paths[:2]).tolist() == folder.labels[:2]
