"""The data set: sources, labels, groups and folds, and that groups reach all folds."""

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from sklearn.model_selection import StratifiedKFold

from tests.apps.conftest import COLORS, noisy, write_png
from visualwords import ImageClassifier
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.errors import FolderError
from visualwords.folders import ImageFolder


def made(labels, groups=None):
    return Dataset.of([b"%d" % i for i in range(len(labels))], list(labels), groups)


def test_folds_without_groups_are_those_of_scikit_learn(rng):
    labels = rng.choice(["a", "b", "c"], 60)
    folds = made(labels).folds(4, seed=3)
    expected = StratifiedKFold(4, shuffle=True, random_state=3).split(labels, labels)
    for number, (_, members) in enumerate(expected):
        np.testing.assert_array_equal(np.flatnonzero(folds == number), members)
    kept = folds.copy()
    folds[:] = 7  # what was given is not what is kept
    np.testing.assert_array_equal(made(labels).folds(4, seed=3), kept)


def test_a_group_is_in_one_fold_and_images_without_group_are_their_own():
    labels = ["a", "b"] * 20
    groups = [None if i % 10 == 0 else i // 4 for i in range(40)]
    folds = made(labels, groups).folds(5, seed=0)
    for group in range(10):
        assert len({folds[i] for i in range(40) if groups[i] == group}) == 1
    assert np.unique(folds).tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(FolderError, match="all images belong to one group"):
        made("abab", ["x"] * 4).folds(2, seed=0)


@pytest.mark.parametrize("n_others", [6, 30])
def test_every_class_is_outside_of_every_fold_and_a_small_one_does_not_lower_their_number(n_others):
    labels, groups = ["a"] * 6 + ["b"] * n_others, [0, 0, 0, 1, 1, 1, *range(2, 2 + n_others)]
    folds = made(labels, groups).folds_of_all_classes(5, seed=0)
    assert len(set(folds[:6])) == 2
    assert len(set(folds)) == (5 if n_others == 30 else len(set(folds[6:])))
    for fold in set(folds):
        assert {"a", "b"} == {label for label, f in zip(labels, folds) if f != fold}


@pytest.mark.parametrize("groups", [[0, 0, 0, 1, 2], [None, None, None, 5, 5]])
def test_a_class_of_one_group_can_not_be_held_out(groups):
    assert made(["a", "a", "a", "b", "b"], groups).folds_of_all_classes(5, seed=0) is None


def test_parts_keep_what_belongs_to_each_image(photos):
    folder = ImageFolder(photos)
    data = Dataset.of(folder, None, [f"g{i // 2}" for i in range(len(folder))])
    part = data.part([20, 3])
    assert part.names == [folder.paths[20], folder.paths[3]]
    assert part.labels.tolist() == [folder.labels[20], folder.labels[3]]
    assert part.groups == ["g10", "g1"]
    assert part.contents[0] is data.contents[20]
    assert part.fingerprints == [data.fingerprints[20], data.fingerprints[3]]


def test_images_labels_and_groups_must_be_equally_many(photos):
    paths, labels = ImageFolder(photos).paths, ImageFolder(photos).labels
    with pytest.raises(ValueError, match="24 images but 3 groups"):
        Dataset.of(paths, labels, [1, 2, 3])
    with pytest.raises(ValueError, match="24 images but 1 labels"):
        Dataset.of(paths, "sea")
    with pytest.raises(TypeError, match="labels are needed for images given as list"):
        Dataset.of(paths)


def test_weights_of_zero_leave_images_out_and_others_stay_with_their_images():
    data = made("aabb").weighted([2, 0, 1, 3])
    assert data.names == ["image 0", "image 2", "image 3"]
    assert data.weights.tolist() == [2, 1, 3]
    assert data.part([2, 0]).weights.tolist() == [3, 2]
    for wrong in ([1, 2], [1, -1, 1, 1], [1, np.nan, 1, 1]):
        with pytest.raises(ValueError, match="sample"):
            made("aabb").weighted(wrong)


@pytest.fixture
def objects(tmp_path, rng):
    """A table of two objects of each class, three pictures of each."""
    rows = ["path,label,group"]
    for label, color in COLORS.items():
        for i in range(6):
            write_png(tmp_path / "objects" / label / f"{i}.png", noisy(color, rng))
            rows.append(f"{label}/{i}.png,{label},{label} {i // 3}")
    (tmp_path / "objects" / "table.csv").write_text("\n".join(rows))
    return tmp_path / "objects" / "table.csv"


@pytest.mark.parametrize("recipe", ["tiny", "auto"])
def test_groups_of_a_table_and_of_arrays_reach_the_folds(objects, recipe, monkeypatch):
    found = []
    divide = Dataset.folds

    def spy(self, n, seed):
        folds = divide(self, n, seed)
        found.append((self.group_names, folds))
        return folds

    monkeypatch.setattr(Dataset, "folds", spy)
    folder = ImageFolder(objects)
    model = ImageClassifier(recipe, budget=1).fit(objects)
    again = ImageClassifier(recipe, budget=1).fit(folder.paths, folder.labels, groups=folder.groups)
    np.testing.assert_array_equal(model.predict_proba(folder), again.predict_proba(folder))
    assert model.held_out_.groups == folder.groups
    for groups, folds in found:
        for group in set(groups):
            assert len({f for f, g in zip(folds, groups) if g == group}) == 1


def test_one_image_gives_one_answer_and_many_an_array_in_every_form(photos):
    """Of all forms of images `tests.vision.test_inputs` has more."""
    folder = ImageFolder(photos)
    model = ImageClassifier("tiny").fit(folder)
    paths = [photos / "sea" / f"{i}.png" for i in range(3)]
    first = model.predict_proba([paths[0]])[0]
    for image in str(paths[0]), Image.open(paths[0]):
        assert model.predict(image) == "sea"
        assert isinstance(model.predict(image), str)
        np.testing.assert_array_equal(model.predict_proba(image), first)
        assert model.decision_function(image).shape == (3,)
        assert np.ndim(model.novelty(image)) == 0
        assert model.transform(image).shape[0] == 1
        assert len(model.similar(image, k=2)) == 2
        assert model.predict_one(image).label == model.explain(image).label == "sea"
    for images in paths, pd.Series(map(str, paths)), [(path, "sea") for path in paths]:
        assert model.predict(images).tolist() == ["sea"] * 3
        assert model.predict_proba(images).shape == (3, 3)
        assert model.novelty(images).shape == (3,)
        assert [len(one) for one in model.similar(images, k=2)] == [2] * 3
    assert model.predict(str(photos)).shape == (24,)  # a folder is many
    pixels = [np.asarray(Image.open(path)) for path in folder.paths]
    pairs = list(zip(folder.paths, folder.labels))
    for arguments in [pairs], [folder.paths, folder.labels], [pixels, folder.labels]:
        again = ImageClassifier("tiny").fit(*arguments)
        np.testing.assert_array_equal(again.predict_proba(folder), model.predict_proba(folder))
    assert again.score(pairs) == 1.0
    with pytest.raises(ValueError, match="there are no images; give at least one"):
        model.predict([])
    with pytest.raises(TypeError, match=r"image 1: int is no image; give a path"):
        model.predict([paths[0], 3])
