"""Words, windows, Fisher vectors and second moments against the libraries that have the like.

Run ``python -m benchmarks.speed.codebook``. CPU time of one thread, compilation not counted; what
is compared is checked to be the same first. The descriptors are dense SIFT of photographs: those
of scene15, or of scikit-image where that data is missing. faiss is compared if it is installed
(``pip install faiss-cpu``), with a kernel of its BLAS that suits the processor.
"""

# isort: off
from benchmarks.timing import Table, best_cpu_seconds
# isort: on

import sys
import warnings

import cv2
import numba
import numpy as np
from skimage import data
from skimage.feature import fisher_vector
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture

from benchmarks.data import DATA
from visualwords.codebook import (
    BagOfWords,
    FisherVectors,
    HIKCodebook,
    KMeansCodebook,
    SecondOrderPooling,
    SpatialPyramid,
)
from visualwords.codebook.second_order import log_matrices
from visualwords.features import DenseSIFT
from visualwords.features.local_features import LocalFeatures, LocalFeatureSets
from visualwords.folders import ImageFolder
from visualwords.images import read_image

try:
    import faiss
except ImportError:
    faiss = None

N = 200_000


def main() -> None:
    cv2.setNumThreads(1)
    warnings.simplefilter("ignore")  # scikit-learn: stopped after 10 iterations, as asked
    sets = real_descriptors()
    wanted = sys.argv[1:] or ["assign", "fit", "hik", "windows", "image", "fisher", "moments"]
    for name in wanted:
        BENCHMARKS[name](sets)


def real_descriptors() -> LocalFeatureSets:
    """Dense SIFT of photographs in random order, N of them."""
    random, found, n = np.random.default_rng(0), [], 0
    if (DATA / "scene15").is_dir():
        paths = random.permutation(ImageFolder(DATA / "scene15").part("train").paths)
        images = (read_image(path, "grey") for path in paths)
    else:
        print("no scene15: the photographs of scikit-image instead")
        pictures = [data.astronaut(), data.coffee(), data.chelsea(), data.rocket(), data.camera()]
        images = (picture for _ in range(50) for picture in pictures)
    for image in images:
        found.append(DenseSIFT(4, 8).extract(image))
        n += len(found[-1])
        if n >= N:
            break
    sets = LocalFeatureSets.concatenate(found)
    return LocalFeatureSets(
        sets.descriptors[:N], sets.positions[:N], sets.sizes[:N], np.minimum(sets.offsets, N)
    )


def bench_assignment(sets: LocalFeatureSets) -> None:
    table = Table(f"nearest of words, {N:,} SIFT descriptors")
    floats = sets.descriptors.astype(np.float32)
    for n_words in (200, 2000):
        codebook = KMeansCodebook(n_words, random_state=0, max_iter=3).fit(sets)
        labels = codebook.predict(sets)
        ours = best_cpu_seconds(lambda c=codebook: c.predict(sets), 5)
        peer = KMeans(n_words, init=codebook.words_, n_init=1, max_iter=1)
        peer.fit(floats[: 2 * n_words])
        peer.cluster_centers_, peer._n_threads = codebook.words_, 1
        different = np.count_nonzero(peer.predict(floats) != labels)
        theirs = best_cpu_seconds(lambda p=peer: p.predict(floats), 3)
        table.add(f"{n_words} words, KMeans.predict ({different} differ)", ours, theirs, 1.4)
        if faiss is not None:
            faiss.omp_set_num_threads(1)
            index = faiss.IndexFlatL2(128)
            index.add(codebook.words_)
            different = np.count_nonzero(index.search(floats, 1)[1][:, 0] != labels)
            theirs = best_cpu_seconds(lambda i=index: i.search(floats, 1), 3)
            table.add(f"{n_words} words, faiss ({different} differ)", ours, theirs, 1.1)


def bench_fit(sets: LocalFeatureSets) -> None:
    table = Table(f"k-means, 10 iterations from the same words, {N:,} SIFT descriptors")
    floats = sets.descriptors.astype(np.float32)
    for n_words, bar in ((200, 1.0), (2000, 1.5)):
        seeds = KMeansCodebook(n_words, random_state=0, max_iter=0).fit(sets).words_
        ours = KMeansCodebook(n_words, init=seeds, max_iter=10, tol=0)
        peer = KMeans(n_words, init=seeds, n_init=1, max_iter=10, tol=0, algorithm="lloyd")
        seconds = best_cpu_seconds(lambda o=ours: o.fit(sets), 2)
        theirs = best_cpu_seconds(lambda p=peer: p.fit(floats), 2)
        table.add(f"{n_words} words, KMeans.fit", seconds, theirs, bar)
        ratio = ours.inertia_ / peer.inertia_
        table.check(f"{n_words} words: inertia, ours / scikit-learn's", ratio, 1.00001, False)


@numba.njit(nogil=True)
def naive_look_up(levels, tables, bias, label):
    """One word after the other, one look-up after the other."""
    for i in range(levels.shape[0]):
        best = -np.inf
        for k in range(tables.shape[0]):
            score = bias[k]
            for j in range(levels.shape[1]):
                score += tables[k, j, levels[i, j]]
            if score > best:
                best, label[i] = score, k


def bench_hik(sets: LocalFeatureSets) -> None:
    table = Table(f"HIK words, 256 levels, 200 words, {N:,} SIFT descriptors")
    codebook = HIKCodebook(200, random_state=0, max_iter=3).fit(sets)
    tables, bias = exact_tables(codebook, sets.descriptors)
    some = sets.descriptors[:20_000]
    label = np.empty(len(some), np.int32)
    naive_look_up(some, tables, bias, label)
    table.check(
        "share of labels equal to float64's", np.mean(label == codebook.predict(some)), 0.99
    )
    ours = best_cpu_seconds(lambda: codebook.predict(sets), 5)
    naive = best_cpu_seconds(lambda: naive_look_up(some, tables, bias, label), 2) * N / len(some)
    table.add("naive loop over float64 tables", ours, naive, 30)
    if faiss is not None:
        faiss.omp_set_num_threads(1)
        index = faiss.IndexFlatL2(128)
        index.add(KMeansCodebook(200, random_state=0, max_iter=3).fit(sets).words_)
        floats = sets.descriptors.astype(np.float32)
        table.add("faiss L2", ours, best_cpu_seconds(lambda: index.search(floats, 1), 3), 0.6)
    floats = sets.descriptors.astype(np.float32)
    learned = HIKCodebook(200, random_state=0, init="random", max_iter=10, tol=0)
    peer = KMeans(200, init="random", n_init=1, max_iter=10, tol=0, algorithm="lloyd")
    ours = best_cpu_seconds(lambda: learned.fit(sets), 1)
    theirs = best_cpu_seconds(lambda: peer.fit(floats), 1)
    table.add("10 iterations of learning, KMeans.fit", ours, theirs, 0.6)


def exact_tables(codebook: HIKCodebook, levels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The next iteration in float64, (word, dimension, level), which the codebook makes too."""
    counts = codebook.accumulate(levels)
    shares = counts.astype(np.float64)[:, ::-1].cumsum(axis=1)[:, ::-1] / counts[0].sum(axis=0)
    shares[:, 0] = 0
    codebook.improve([counts])
    tables = np.ascontiguousarray(shares.cumsum(axis=1).transpose(2, 0, 1))
    return tables, -0.5 * (shares**2).sum(axis=(0, 1))


def bench_windows(sets: LocalFeatureSets) -> None:
    table = Table("31 windows, 200 words, one image of 18,000 descriptors")
    codebook = KMeansCodebook(200, random_state=0, max_iter=5).fit(sets)
    pyramid = SpatialPyramid(31)
    image = photograph()
    features = DenseSIFT(4, 4).extract(image)
    words = codebook.predict(features)
    encoder = BagOfWords(codebook, pyramid, output="dense")
    counting = best_cpu_seconds(lambda: pyramid.count(words, features.positions, 200))
    encoding = best_cpu_seconds(lambda: encoder.transform([DenseSIFT(4, 4).extract(image)]))
    table.check(
        f"counting / encoding, {len(features):,} descriptors", counting / encoding, 0.03, False
    )


def bench_image(sets: LocalFeatureSets) -> None:
    table = Table("one image of about 18,000 descriptors: extract, assign, count in 31 windows")
    codebook = KMeansCodebook(200, random_state=0, max_iter=5).fit(sets)
    encoder = BagOfWords(codebook, 31, output="dense")
    image, extractor = photograph(), DenseSIFT(4, 4)
    features = extractor.extract(image)
    centers = features.positions * (image.shape[1], image.shape[0])
    points = [cv2.KeyPoint(float(x), float(y), 8.0, 0.0) for x, y in centers]
    sift = cv2.SIFT_create()
    ours = best_cpu_seconds(lambda: encoder.transform([extractor.extract(image)]))
    theirs = best_cpu_seconds(lambda: sift.compute(image, points), 3)
    table.add(f"{len(features):,} descriptors, cv2.SIFT.compute", ours, theirs, 5)


def photograph() -> np.ndarray:
    """A grey photograph with 18,000 places for descriptors on a grid of 4 pixels."""
    return np.ascontiguousarray(cv2.resize(data.camera(), (632, 484)))


def bench_fisher(sets: LocalFeatureSets) -> None:
    table = Table("Fisher vectors, 64 components, 64 Gaussians")
    encoder = FisherVectors(64, 64, 1, random_state=0, max_descriptors=50_000).fit(sets)
    mixture = encoder.mixture_
    peer = GaussianMixture(64, covariance_type="diag")
    peer.weights_, peer.means_ = mixture.weights, mixture.means
    peer.covariances_ = mixture.variances
    peer.precisions_cholesky_ = 1 / np.sqrt(mixture.variances)
    directions, mean = encoder.projection_.directions.T.astype(float), encoder.projection_.mean

    def with_skimage(image: LocalFeatures, boxes: np.ndarray) -> list[np.ndarray]:
        projected, (x, y) = (image.descriptors - mean.astype(float)) @ directions, image.positions.T
        inside = [(x >= a) & (x < c) & (y >= b) & (y < d) for a, b, c, d in boxes]
        return [fisher_vector(projected[rows], peer, improved=True) for rows in inside]

    for n in (1_000, 4_000, 18_000):
        image = LocalFeatures(sets.descriptors[:n], sets.positions[:n], sets.sizes[:n])
        for windows in (1, 8):
            encoder.pyramid = SpatialPyramid(windows)
            boxes = encoder.pyramid.boxes
            check_fisher(encoder.encode(image).reshape(windows, -1), with_skimage(image, boxes))
            ours = best_cpu_seconds(lambda i=image: encoder.encode(i), 5)
            theirs = best_cpu_seconds(lambda i=image, b=boxes: with_skimage(i, b), 3)
            table.add(
                f"{n:,} descriptors, {windows} windows, skimage",
                ours,
                theirs,
                8 if windows > 1 else 3,
            )


def check_fisher(ours: np.ndarray, theirs: list[np.ndarray]) -> None:
    """Same direction, once its weights are left out and the sign of its spreads is turned."""
    for a, b in zip(ours, theirs):
        b = np.concatenate([b[64 : 64 + 4096], -b[64 + 4096 :]])
        assert a @ b / np.linalg.norm(b) > 0.9999


def bench_moments(sets: LocalFeatureSets) -> None:
    table = Table("Logarithms of second moments, 64 components, 31 windows of one image")
    encoder = SecondOrderPooling(64, 31, random_state=0, max_descriptors=50_000).fit(sets)
    found = np.empty((31, 64 * 65 // 2), np.float32)
    epsilon = encoder.regularization

    def with_eigenvectors(moments: np.ndarray) -> np.ndarray:
        values, vectors = np.linalg.eigh(moments)
        logs = np.log(np.maximum(values, 0) + epsilon)[:, None]
        return encoder.unfold((vectors * logs) @ vectors.transpose(0, 2, 1))

    for n in (1_000, 7_000):
        image = LocalFeatures(sets.descriptors[:n], sets.positions[:n], sets.sizes[:n])
        moments, _ = encoder.moments(image)
        log_matrices(moments.copy(), epsilon, found)
        np.testing.assert_allclose(found, with_eigenvectors(moments.astype(float)), atol=1e-3)
        ours = best_cpu_seconds(lambda m=moments: log_matrices(m.copy(), epsilon, found))
        for dtype in (np.float32, np.float64):
            given = moments.astype(dtype)
            theirs = best_cpu_seconds(lambda m=given: with_eigenvectors(m), 5)
            table.add(f"{n:,} descriptors, eigh of {given.dtype}", ours, theirs, 1.5)


BENCHMARKS = {
    "assign": bench_assignment,
    "fit": bench_fit,
    "hik": bench_hik,
    "windows": bench_windows,
    "image": bench_image,
    "fisher": bench_fisher,
    "moments": bench_moments,
}

if __name__ == "__main__":
    main()
