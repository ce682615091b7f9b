"""Equal files, and copies that were scaled, recompressed or brightened, are found; no others."""

import cv2
import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist
from skimage import data

from visualwords.apps.classify_images.demo_images import texture_tiles
from visualwords.duplicates import (
    MAX_COLOR_DISTANCE,
    MIN_CORRELATION,
    SIDE,
    describe_duplicates,
    find_duplicates,
    find_near_duplicates,
    portrait,
)
from visualwords.folders import ImageFolder
from visualwords.images import read_bytes


def described(path):
    folder = ImageFolder(path)
    return describe_duplicates(folder, [read_bytes(file) for file in folder.paths])


def test_equal_fingerprints_are_found_in_order_but_not_missing_ones():
    fingerprints = [b"1", b"2", b"", b"3", b"2", b"1", b""]
    assert find_duplicates(fingerprints) == [[0, 5], [1, 4]]


HARMS = {
    ("train/cat/1.jpg", "train/cat/2.jpg"): "more than once in a class",
    ("train/cat/1.jpg", "train/dog/1.jpg"): "in more than one class, so that a label is wrong",
    ("train/cat/1.jpg", "test/cat/1.jpg"): "in more than one split",
    ("train/cat/1.jpg", "test/dog/1.jpg"): "in more than one split",
}


@pytest.mark.parametrize("files", HARMS)
def test_each_kind_of_harm_has_its_sentence(files, tree):
    root = tree(dict.fromkeys(files, b"same") | {"train/cat/3.jpg": b"3"})
    (sentence,) = described(root)
    assert sentence.startswith(f"{root}: 1 image occurs {HARMS[files]}")
    assert all(name in sentence for name in files)


def test_several_duplicates_are_counted_and_the_first_is_named(tree):
    root = tree({f"cat/{i}.jpg": b"%d" % (i // 2) for i in range(6)})
    (sentence,) = described(root)
    assert "3 images occur more than once in a class (first: cat/0.jpg = cat/1.jpg)" in sentence
    (root / "t.csv").write_bytes(b"path,label\ncat/0.jpg,a\ncat/1.jpg,b\n")
    (sentence,) = described(root / "t.csv")
    assert "(first: cat/0.jpg = cat/1.jpg)" in sentence


def sets_of(images):
    portraits = [portrait(np.ascontiguousarray(image)) for image in images]
    assert [one.size_wh for one in portraits] == [image.shape[1::-1] for image in images]
    portraits = [one.to_array() for one in portraits]
    return find_near_duplicates(np.array(portraits)).sets


def recompressed(image):
    return cv2.imdecode(cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 40])[1], 1)


@pytest.mark.parametrize(
    "change",
    [
        recompressed,
        lambda image: cv2.resize(image, None, fx=0.37, fy=0.37, interpolation=cv2.INTER_AREA),
        lambda image: cv2.resize(image, None, fx=1.3, fy=1.3, interpolation=cv2.INTER_CUBIC),
        lambda image: np.clip(image.astype(int) + 5, 0, 255).astype(np.uint8),
        lambda image: image[2:-2, 3:-1],
    ],
)
def test_a_changed_copy_is_found_among_others(change):
    images = [data.astronaut(), data.coffee(), data.cat(), data.rocket()]
    assert sets_of([*images, change(images[1])]) == [[1, 4]]


def test_tiles_of_the_same_texture_are_different_pictures():
    tiles, _ = texture_tiles("train")
    assert sum(len(group) for group in sets_of(tiles)) <= 2


def test_uniform_images_and_other_colours_do_not_count():
    flat = np.full((40, 40, 3), 90, np.uint8)
    picture = data.astronaut()
    assert sets_of([flat, flat]) == []
    assert sets_of([picture, 255 - picture]) == []
    assert sets_of([picture, picture // 2]) == []
    assert sets_of([np.zeros((1, 1, 3), np.uint8), np.zeros((1, 5000, 3), np.uint8)]) == []
    assert sets_of([]) == []
    assert find_near_duplicates(np.empty((0, SIDE**2 + 5))).components() == []


def cloud(n, n_centers, spread, rng):
    """Portraits around some centres, of which many are near and some are not."""
    centers, colors = rng.normal(size=(n_centers, SIDE**2)), rng.uniform(60, 200, (n_centers, 3))
    kinds = rng.integers(0, n_centers, n)
    patterns = centers[kinds] + spread * rng.normal(size=(n, SIDE**2))
    patterns -= patterns.mean(axis=1, keepdims=True)
    patterns /= np.linalg.norm(patterns, axis=1, keepdims=True)
    colors = colors[kinds] + 3 * rng.normal(size=(n, 3))
    return np.hstack([patterns, colors, np.full((n, 2), 90)]).astype(np.float32)


@pytest.mark.parametrize(
    ("n", "n_centers", "spread"),
    [(60, 60, 0.1), (500, 3, 0.12), (500, 20, 0.125), (900, 500, 0.11)],
)
def test_pairs_are_near_and_connect_what_all_pairs_connect(n, n_centers, spread, rng):
    portraits = cloud(n, n_centers, spread, rng)
    found = find_near_duplicates(portraits)
    patterns, colors = portraits[:, : SIDE**2].astype(float), portraits[:, SIDE**2 : -2]
    similar = patterns @ patterns.T
    apart = cdist(colors, colors)
    pairs = [(one[0], other) for one in found.sets for other in one[1:]]
    assert all(similar[a, b] == pytest.approx(value, abs=1e-5) for a, b, value in found.links)
    for a, b in [*pairs, *(link[:2] for link in found.links)]:
        assert similar[a, b] > MIN_CORRELATION - 1e-6
        assert apart[a, b] < MAX_COLOR_DISTANCE + 1e-4
    alike = (similar >= MIN_CORRELATION) & (apart <= MAX_COLOR_DISTANCE)
    name = connected_components(alike, directed=False)[1]
    groups = [np.flatnonzero(name == k).tolist() for k in np.unique(name)]
    assert found.components() == [group for group in groups if len(group) > 1]


def test_a_set_is_no_chain_but_sets_of_a_chain_are_linked():
    angles = np.radians(4.0 * np.arange(6))  # near are those up to 9.9 degrees apart
    basis = np.linalg.qr(np.stack([np.ones(SIDE**2), *np.eye(SIDE**2)[:2]]).T)[0].T[1:]
    patterns = np.stack([np.cos(angles), np.sin(angles)], axis=1) @ basis
    portraits = np.hstack([patterns, np.full((6, 5), 90.0)]).astype(np.float32)
    found = find_near_duplicates(portraits)
    assert found.sets == [[0, 1, 2], [3, 4, 5]]
    ((first, second, similarity),) = found.links
    assert (first, second) == (1, 3)
    assert similarity == pytest.approx(np.cos(np.radians(8)), abs=1e-5)
    assert found.components() == [[0, 1, 2, 3, 4, 5]]
