"""Trials: what was said about every image, held back or fold by fold."""

import numpy as np
import pytest

from tests.apps.conftest import COLORS, noisy, write_png
from visualwords import ImageClassifier
from visualwords.apps.evaluation.trial import cross_validate, run_trial
from visualwords.errors import FolderError
from visualwords.folders import ImageFolder
from visualwords.progress import StageTimes


def test_a_trial_has_what_the_model_says_and_lists_what_it_could_not_read(photos):
    train, test = ImageFolder(photos).split(0.25, seed=0)
    model = ImageClassifier("tiny").fit(train)
    broken = photos / "sea" / "zz.png"
    broken.write_bytes(b"no picture")
    (photos / "sea" / "zz2.png").write_bytes((photos / "sea" / "0.png").read_bytes())
    trial = run_trial(model, ImageFolder(photos))
    assert [path for path, _ in trial.skipped] == [str(broken)]
    assert trial.n_known == len(train) + 1
    assert trial.scores.shape == trial.probabilities.shape == (25, 3)
    assert trial.guesses == model.predict(trial.paths).tolist()
    assert np.array_equal(trial.probabilities, model.predict_proba(trial.paths))
    sure = trial.probabilities[0, trial.classes.index(trial.guesses[0])]
    assert trial.confidence[0] == sure
    assert run_trial(model, test).n_known == 0
    two = train.select([i for i, label in enumerate(train.labels) if label != "wood"])
    scores = run_trial(ImageClassifier("tiny").fit(two), two).scores
    assert np.array_equal(scores[:, 0], -scores[:, 1])


def test_folds_try_every_image_once_on_a_model_that_has_not_seen_it(photos, monkeypatch):
    folder = ImageFolder(photos)
    seen = []
    fit = ImageClassifier.fit

    def spy(self, X, y=None, **options):
        seen.append(set(X.names))
        return fit(self, X, y, **options)

    monkeypatch.setattr(ImageClassifier, "fit", spy)
    times = StageTimes()
    trial = cross_validate(ImageClassifier("tiny"), folder, 4, progress=times)
    assert sorted(trial.paths) == sorted(folder.paths)
    assert [folder.labels[folder.paths.index(path)] for path in trial.paths] == trial.truth
    assert [len(paths) for paths in seen] == [18] * 4
    for k, path in enumerate(trial.paths):
        assert path not in seen[k // 6]
    assert (trial.n_known, trial.n_folds) == (0, 4)
    assert trial.evaluation.accuracy == 1.0
    assert "reading images" in times.seconds


def test_groups_stay_in_one_fold(tmp_path, rng):
    rows = ["path,label,group"]
    for label, color in COLORS.items():
        for i in range(6):
            write_png(tmp_path / label / f"{i}.png", noisy(color, rng))
            rows.append(f"{label}/{i}.png,{label},{label}{i // 2}")
    (tmp_path / "table.csv").write_text("\n".join(rows))
    folder = ImageFolder(tmp_path / "table.csv")
    trial = cross_validate(ImageClassifier("tiny"), folder, 3)
    assert len(trial.paths) == 18
    group_of = dict(zip(folder.paths, folder.groups))
    fold = [{group_of[path] for path in trial.paths[k : k + 6]} for k in (0, 6, 12)]
    assert sum(map(len, fold)) == len(set.union(*fold)) == 9


def test_a_class_smaller_than_the_folds_is_fine_but_not_one_of_one_image(photos, rng):
    for i in range(2):
        write_png(photos / "pair" / f"{i}.png", noisy((250, 10, 250), rng))
    trial = cross_validate(ImageClassifier("tiny"), ImageFolder(photos), 5)
    assert trial.truth.count("pair") == 2
    write_png(photos / "alone" / "0.png", noisy(COLORS["sea"], rng))
    with pytest.raises(FolderError, match="class 'alone' has only 1 image; folds need 2"):
        cross_validate(ImageClassifier("tiny"), ImageFolder(photos))
