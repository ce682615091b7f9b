"""Classifiers trained by the workers of a Dask cluster, and what may go wrong there."""

import json
import os
import tempfile
from pathlib import Path

import joblib
import numpy as np
import pytest
from PIL import Image

from tests.apps.cluster.conftest import QUIET, a_killed_worker, local_workers
from visualwords import ImageClassifier
from visualwords.apps.classify_images.main import main
from visualwords.apps.cluster.connection import on_cluster
from visualwords.cache import FeatureCache
from visualwords.classifiers import ICDClassifier, one_vs_rest
from visualwords.classifiers.linear import ByteLinearClassifier
from visualwords.classifiers.row_file import RowFile
from visualwords.codebook import HIKCodebook, KMeansCodebook
from visualwords.errors import ClusterError
from visualwords.folders import ImageFolder
from visualwords.parallel import map_on_workers

dask = pytest.importorskip("dask", reason="needs visualwords[distributed]")

pytestmark = [pytest.mark.slow, QUIET]

N_CLASSES = 10


def rows_of(n, d):
    """Rows of ten classes, which overlap."""
    random = np.random.default_rng(0)
    y = np.arange(n) % N_CLASSES
    return random.gamma(0.4, 1.0 + (y[:, None] == np.arange(d) % N_CLASSES)), y


def learned_by(model, X, y):
    """Everything that a model learns, as bytes."""
    state = model.fit(X, y).get_state()
    return {name: value.tobytes() for name, value in state.items()}


def bytes_held_out(X, y):
    X = np.clip(10 * X, 0, 127).astype(np.int8)
    model = ByteLinearClassifier()
    held_out = model.fit_and_hold_out(X, y, np.arange(len(X)) % 5)
    return [held_out.tobytes(), model.weights_.tobytes(), model.factors_.tobytes()]


def levels_in_blocks(X, y):
    model = ICDClassifier(solver="blocks")
    held_out = model.fit_and_hold_out(X, y, np.arange(len(X)) % 5)
    return [held_out.tobytes(), *(value.tobytes() for value in model.get_state().values())]


def bytes_in_a_file(X, y):
    with tempfile.TemporaryDirectory() as folder:
        file = RowFile(Path(folder) / "rows")
        file.append(np.clip(10 * X, 0, 127).astype(np.int8))
        model = ByteLinearClassifier()
        held_out = model.fit_and_hold_out(file, y, np.arange(len(X)) // 10 % 5)
    return [held_out.tobytes(), model.weights_.tobytes(), model.factors_.tobytes()]


TRAINING = {
    "gram": ("solve_some", lambda X, y: learned_by(ICDClassifier(solver="gram"), X, y)),
    "tables": ("solve_some", lambda X, y: learned_by(ICDClassifier(solver="dual"), X, y)),
    "folds": ("score_fold", lambda X, y: learned_by(ICDClassifier(probability=True), X, y)),
    "bytes": ("solve_on_gram", bytes_held_out),
    "products": ("exact_product", bytes_held_out),
    "blocks": ("solve_some", levels_in_blocks),
    "file": ("solve_some", bytes_in_a_file),
}


@pytest.mark.parametrize("name", TRAINING)
def test_a_worker_killed_in_training_changes_nothing(name, mortals):
    stage, train = TRAINING[name]
    data = rows_of(800, 120)
    expected = train(*data)
    with on_cluster(mortals), a_killed_worker(mortals, stage):
        found = train(*data)
    assert found == expected


def test_workers_train_on_joblibs_own_backend_too(client):
    data = rows_of(200, 40)
    with joblib.parallel_config("dask"):
        assert len(one_vs_rest.blocks(N_CLASSES)) == 2
        found = learned_by(ICDClassifier(), *data)
    assert found == learned_by(ICDClassifier(), *data)


RECIPES = {
    "scene": {"recipe": "scene", "n_gaussians": 4},
    "scene from disk": {"recipe": "scene", "n_gaussians": 4, "memory": 1},
    "words from disk": {"recipe": "fast", "n_words": 8, "memory": 1},
    "pyramid-match": {"recipe": "pyramid-match"},
    "auto": {"recipe": "auto", "representation": "histogram"},
}


@pytest.mark.parametrize("name", RECIPES)
def test_models_of_all_kinds_have_the_same_bytes(name, client, images, tmp_path):
    ImageClassifier(**RECIPES[name]).fit(str(images)).save(tmp_path / "here.vw")
    with on_cluster(client):
        model = ImageClassifier(**RECIPES[name]).fit(str(images))
    model.save(tmp_path / "there.vw")
    assert (tmp_path / "there.vw").read_bytes() == (tmp_path / "here.vw").read_bytes()


def test_a_comparison_on_a_cluster_has_the_same_figures(client, images, tmp_path, capsys):
    command = ["compare", str(images), "--recipe", "color", "--recipe", "texture", "--folds", "2"]
    found = []
    for place in ([], ["--scheduler", client.scheduler.address]):
        assert main([*command, "--json", "--quiet", "--no-cache", *place]) == 0
        rows = json.loads(capsys.readouterr().out)["recipes"]
        found.append([(row["name"], row["trials"]) for row in rows])
    assert found[0] == found[1]


def test_files_that_workers_cannot_read_are_skipped_with_the_reason(client, images, tmp_path):
    sources = sorted(str(path) for path in images.glob("*/*.png"))
    labels = [Path(source).parent.name for source in sources]
    (tmp_path / "cut.png").write_bytes(Path(sources[0]).read_bytes()[:200])
    sources += [str(tmp_path / "cut.png"), str(tmp_path / "gone.png")]
    labels += labels[:2]
    here = ImageClassifier("texture").fit(sources, labels, warn=False)
    with on_cluster(client):
        there = ImageClassifier("texture").fit(sources, labels, warn=False)
    assert there.skipped_ == here.skipped_
    assert [name for name, _ in there.skipped_] == sources[-2:]
    assert np.array_equal(there.decision_function(sources[:5]), here.decision_function(sources[:5]))


def test_entries_of_a_shared_cache_that_cannot_be_read_are_made_again(client, images, tmp_path):
    def scores():
        model = ImageClassifier("fast", n_words=8, cache_dir=tmp_path / "cache")
        return model.fit(str(images)).decision_function(ImageFolder(images)).tobytes()

    with on_cluster(client):
        expected = scores()
        n_entries = FeatureCache(tmp_path / "cache").size()[0]
        for k, segment in enumerate(sorted((tmp_path / "cache").glob("segment-*.vwc"))):
            content = segment.read_bytes()
            segment.write_bytes(b"" if k % 2 else content[: len(content) // 2])
        assert scores() == expected
    assert n_entries > 36


class Counted:
    """Knows how often one was made from what was sent to this process."""

    made = 0

    def __reduce__(self):
        return make_counted, ()


def make_counted():
    Counted.made += 1
    return Counted()


def count(shared, number):
    return os.getpid(), type(shared) is Counted, Counted.made


def test_what_is_shared_reaches_each_worker_once(client):
    with on_cluster(client):
        found = list(map_on_workers(count, [(i,) for i in range(40)], shared=[Counted()]))
    assert len({process for process, *_ in found}) == 2
    assert {tuple(seen) for _, *seen in found} == {(True, 1)}


def test_a_worker_out_of_memory_is_told_and_what_was_done_is_kept(images, tmp_path):
    sources = sorted(str(path) for path in images.glob("*/*.png"))
    labels = [Path(source).parent.name for source in sources]
    huge = np.zeros((9000, 11000, 3), np.uint8)
    huge[::50] = 255
    Image.fromarray(huge).save(tmp_path / "huge.png", compress_level=1)
    model = ImageClassifier("color", cache_dir=tmp_path / "cache")
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        local_workers(1, memory_limit="450 MB") as client,
        pytest.raises(ClusterError, match="tried it; give them more memory"),
        on_cluster(client),
    ):
        model.fit([*sources, str(tmp_path / "huge.png")], [*labels, labels[0]])
    assert FeatureCache(tmp_path / "cache").size()[0] > 0
    with local_workers(1) as client, on_cluster(client):
        model.fit([*sources, str(tmp_path / "huge.png")], [*labels, labels[0]])
    assert len(model.skipped_) == 0


@pytest.mark.parametrize("kind", [KMeansCodebook, HIKCodebook])
def test_words_learned_from_parts_that_workers_keep_are_the_same(kind, client, monkeypatch):
    monkeypatch.setattr("visualwords.codebook.codebook.ROWS", 50)
    X = np.random.default_rng(2).gamma(1.0, 30.0, (300, 6)).astype(np.float32)
    expected = kind(7, random_state=0).fit(X).get_state()
    with on_cluster(client):
        found = kind(7, random_state=0).fit(X).get_state()
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, err_msg=name)
