"""The data set: sources, labels, groups and folds, and that groups reach all folds."""

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from tests.apps.conftest import COLORS, noisy, write_png
from visualwords import ImageClassifier
from visualwords.apps.classify_images.main import main
from visualwords.apps.pipeline import training
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.training import n_divisions
from visualwords.classifiers import calibration
from visualwords.classifiers.linear import ByteLinearClassifier
from visualwords.folders import ImageFolder


def made(labels, groups=None):
    return Dataset.of([b"%d" % i for i in range(len(labels))], labels, groups)


def test_folds_that_were_changed_are_found_again():
    data = made(list("aabbaabb"))
    first = data.folds(2, seed=0)
    kept = first.copy()
    first[:] = 7
    np.testing.assert_array_equal(data.folds(2, seed=0), kept)


def test_folds_without_groups_are_those_of_scikit_learn(rng):
    labels = rng.choice(["a", "b", "c"], 60)
    folds = made(labels).folds(4, seed=3)
    expected = StratifiedKFold(4, shuffle=True, random_state=3).split(labels, labels)
    for number, (_, members) in enumerate(expected):
        np.testing.assert_array_equal(np.flatnonzero(folds == number), members)


def test_a_group_is_in_one_fold_and_images_without_group_are_their_own():
    labels = ["a", "b"] * 20
    groups = [None if i % 10 == 0 else i // 4 for i in range(40)]
    folds = made(labels, groups).folds(5, seed=0)
    for group in range(10):
        assert len({folds[i] for i in range(40) if groups[i] == group}) == 1
    assert np.unique(folds).tolist() == [0, 1, 2, 3, 4]


def test_every_class_is_outside_of_every_fold():
    labels, groups = ["a"] * 6 + ["b"] * 6, [0, 0, 0, 1, 1, 1, *range(2, 8)]
    folds = made(labels, groups).folds_of_all_classes(5, seed=0)
    assert len(set(folds[:6])) == 2
    assert len(set(folds[6:])) >= 2


def test_a_class_of_few_groups_does_not_lower_the_number_of_folds():
    labels, groups = ["a"] * 6 + ["b"] * 30, [0, 0, 0, 1, 1, 1, *range(2, 32)]
    folds = made(labels, groups).folds_of_all_classes(5, seed=0)
    assert np.unique(folds).tolist() == [0, 1, 2, 3, 4]
    assert len(set(folds[:6])) == 2


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


def test_as_many_groups_as_images_are_needed(photos):
    paths, labels = ImageFolder(photos).paths, ImageFolder(photos).labels
    with pytest.raises(ValueError, match="24 images but 3 groups"):
        ImageClassifier("color").fit(paths, labels, groups=[1, 2, 3])


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


@pytest.fixture
def used_folds(monkeypatch):
    """Collect the folds that classifiers are held out by."""
    found = []

    def spy(function):
        def called(*arguments, **options):
            found.append(np.asarray(options["folds"] if "folds" in options else arguments[3]))
            return function(*arguments, **options)

        return called

    monkeypatch.setattr(calibration, "held_out_scores", spy(calibration.held_out_scores))
    monkeypatch.setattr(
        ByteLinearClassifier, "fit_on_products", spy(ByteLinearClassifier.fit_on_products)
    )
    return found


def assert_grouped(found, groups):
    assert found
    for folds in found:
        of_groups = {group: {f for f, g in zip(folds, groups) if g == group} for group in groups}
        assert {len(members) for members in of_groups.values()} == {1}


@pytest.mark.parametrize("recipe", ["color", "scene", "pyramid-match", "auto"])
def test_groups_of_a_table_reach_the_folds_that_choose_and_calibrate(objects, used_folds, recipe):
    model = ImageClassifier(recipe, representation="histogram").fit(objects)
    assert_grouped(used_folds, ImageFolder(objects).groups)
    assert model.calibration_ is not None
    assert len(used_folds) == max(n_divisions(18) * len(model.tried_), 1)


def test_groups_of_arrays_reach_the_folds_too(objects, used_folds):
    folder = ImageFolder(objects)
    ImageClassifier("color").fit(folder.paths, folder.labels, groups=folder.groups)
    assert_grouped(used_folds, folder.groups)


@pytest.mark.parametrize("options", [[], ["--folds", "2"]], ids=["all", "folds"])
def test_groups_reach_the_folds_of_the_command(objects, used_folds, tmp_path, options):
    folder = ImageFolder(objects)
    group_of = dict(zip(folder.paths, folder.groups))
    seen = []
    fit = training.Training.train

    def spy(self, recipe):
        seen.append([group_of[name] for name in self.data.names])
        return fit(self, recipe)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(training.Training, "train", spy)
        command = ["train", str(objects), "-o", str(tmp_path / "m.vw"), "--recipe", "color"]
        assert main([*command, "--no-cache", "--quiet", *options]) == 0
    assert_grouped(used_folds[-1:], seen[-1])
    if options:
        first, second = map(set, seen[:2])
        assert not first & second


@pytest.mark.parametrize("shape", [(40, 50, 3), (40, 50)])
def test_a_single_array_is_one_image(photos, rng, shape):
    model = ImageClassifier("color").fit(photos)
    image = rng.integers(0, 256, shape, dtype=np.uint8)
    assert model.predict(image).shape == (1,)
    assert model.predict_proba(image).shape == (1, 3)
    np.testing.assert_array_equal(model.decision_function(image), model.decision_function([image]))
    several = np.stack([image, image])
    if image.ndim == 3:
        assert model.predict(several).shape == (2,)
