"""Dividing a folder: every class on both sides, groups together, and only the seed decides."""

import os
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from visualwords._splitting import choose_groups, choose_images
from visualwords.errors import FolderError
from visualwords.folders import ImageFolder


def names(folder):
    """Return the paths relative to the folder."""
    return [os.path.relpath(path, folder.path) for path in folder.paths]


@pytest.mark.parametrize("test_size", [0.1, 0.2, 0.5, 0.9])
def test_a_split_takes_its_share_of_every_class(test_size, tree):
    files = [f"{name}/{i}.jpg" for name, n in (("a", 40), ("b", 20), ("c", 2)) for i in range(n)]
    folder = ImageFolder(tree(files))
    train, test = folder.split(test_size=test_size, seed=3)
    assert sorted(train.paths + test.paths) == sorted(folder.paths)
    counts = Counter(test.labels)
    assert counts == {"a": round(40 * test_size), "b": round(20 * test_size), "c": 1}
    assert train.classes == test.classes == folder.classes


def test_the_seed_and_the_names_alone_decide_a_split(tree, tmp_path):
    files = [f"{label}/{i:03}.jpg" for label in "abc" for i in range(30)]
    one = ImageFolder(tree(files)).split(seed=1)
    tree_again = tmp_path / "again"
    for name in reversed(files):  # another order on disk
        (tree_again / name).parent.mkdir(parents=True, exist_ok=True)
        (tree_again / name).write_bytes(b"")
    other = ImageFolder(tree_again).split(seed=1)
    assert [names(part) for part in one] == [names(part) for part in other]
    assert names(one[1]) != names(ImageFolder(tree_again).split(seed=2)[1])


def test_a_split_that_can_not_be_made_says_why(tree):
    folder = ImageFolder(tree(["cat/1.jpg", "dog/1.jpg", "dog/2.jpg"]))
    with pytest.raises(FolderError, match="class 'cat' has only 1"):
        folder.split()
    with pytest.raises(FolderError, match="there is none"):
        folder.part("test").split()
    for size in 0, 1, -0.5, 7:
        with pytest.raises(ValueError, match="test_size"):
            folder.split(test_size=size)


def test_one_class_can_be_split(tree):
    train, test = ImageFolder(tree([f"cat/{i}.jpg" for i in range(10)])).split(test_size=0.3)
    assert (len(train), len(test)) == (7, 3)


labelled = st.lists(st.sampled_from("abc"), min_size=1, max_size=12).flatmap(
    lambda labels: st.tuples(
        st.just(labels * 2),
        st.lists(
            st.sampled_from([None, "g", "h", "i", "j"]),
            min_size=2 * len(labels),
            max_size=2 * len(labels),
        ),
    )
)


@given(labelled, st.floats(0.05, 0.95), st.integers(0, 5))
def test_groups_stay_together_and_classes_on_both_sides(data, test_size, seed):
    labels, groups = data
    try:
        is_test = choose_groups(labels, groups, test_size, seed, "data")
    except FolderError as refusal:
        assert "more groups" in str(refusal)  # noqa: PT017
        return
    for group in set(groups) - {None}:
        assert len({bool(is_test[i]) for i, name in enumerate(groups) if name == group}) == 1
    for label in set(labels):
        assert {bool(is_test[i]) for i, name in enumerate(labels) if name == label} == {True, False}


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=30), st.floats(0.01, 0.99))
def test_the_share_of_each_class_is_rounded_but_neither_none_nor_all(labels, test_size):
    labels = labels * 2
    is_test = choose_images(labels, test_size, seed=0)
    for label, n in Counter(labels).items():
        n_test = sum(is_test[i] for i in range(len(labels)) if labels[i] == label)
        assert 1 <= n_test <= n - 1
        assert n_test in (1, n - 1, round(test_size * n))


def test_groups_of_equal_size_give_the_share_that_was_asked_for():
    labels = [label for label in "ab" for _ in range(50)]
    groups = [f"{i // 5}" for i in range(100)]
    for test_size in 0.1, 0.2, 0.5, 0.8:
        is_test = choose_groups(labels, groups, test_size, 0, "data")
        assert is_test[:50].sum() == is_test[50:].sum() == round(50 * test_size)
