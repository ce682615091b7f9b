"""[Grauman06], Sec. 4.2: the objects of ETH-80 by the pyramid match and other kernels of sets.

The others are those of Table 1, as the paper describes them: match (Wallraven et al., 2003),
exponent (Lyu, 2005), Bhattacharyya (Kondor and Jebara, 2003) and Kullback–Leibler (Moreno et al.,
2003). Greedy matching and principal angles are not here.
"""

from collections.abc import Iterable
from functools import partial
from typing import Any

import cv2
import numpy as np
from sklearn.model_selection import GroupKFold

from benchmarks.papers import _loops as loops
from benchmarks.papers.datasets import five_views
from benchmarks.papers.lab import PMK, Lab, experiment, timed
from benchmarks.papers.results import Panel, Results, Row, Table
from benchmarks.papers.visual_words import some_patches
from visualwords.classifiers import KernelSVC
from visualwords.classifiers.kernels import pyramid_match
from visualwords.codebook import FeatureSetEncoder
from visualwords.features import DenseSIFT
from visualwords.features.local_features import LocalFeatures, LocalFeatureSets

QUALITY = 2e-4  # of the strongest corner: some 100 points an image; 153 in [Grauman06, Sec. 4.2]
APART, PATCH = 2, 16.0  # pixels between corners; diameter of a key point
RIDGE = 0.3  # of the mean variance, added to every covariance
EXPONENT = 9.0  # of a similarity in Lyu's kernel


def harris_features(images: Iterable[np.ndarray], most: int = 400) -> LocalFeatureSets:
    """Upright SIFT descriptors at the strongest corners of every image."""
    return LocalFeatureSets.concatenate(_describe(image, most) for image in images)


def _describe(image: np.ndarray, most: int) -> LocalFeatures:
    corners = cv2.goodFeaturesToTrack(image, most, QUALITY, APART, useHarrisDetector=True)
    places = np.zeros((0, 2)) if corners is None else corners.reshape(-1, 2)
    points = [cv2.KeyPoint(float(x), float(y), PATCH, 0.0) for x, y in places]
    described, computed = cv2.SIFT.create().compute(image, points)
    descriptors = np.zeros((0, 128), np.uint8) if computed is None else computed.astype(np.uint8)
    size_wh = np.array(image.shape[1::-1])
    positions = (np.array([p.pt for p in described]).reshape(-1, 2) + 0.5) / size_wh
    sizes = np.full(len(described), PATCH, np.float32)
    return LocalFeatures(descriptors, positions.astype(np.float32), sizes)


def match(sets: Iterable[np.ndarray]) -> np.ndarray:
    """The Gram matrix of the match kernel: every point and its best partner, O(dm²).

    The similarity of two points is exp(−‖x − y‖² / s), s the mean total variance of a set.

    Examples
    --------
    >>> match([[[0.0], [1.0]], [[0.0], [1.0], [9.0]]]).round(2)
    array([[1.  , 0.83],
           [0.83, 1.  ]])
    """
    return _over_pairs(loops.best_partners, sets, 1.0)


def exponent(sets: Iterable[np.ndarray]) -> np.ndarray:
    """The Gram matrix of Lyu's kernel: the mean similarity to the power 9 of all pairs.

    It is divided by √(K(x, x) K(y, y)).

    Examples
    --------
    >>> exponent([[[0.0], [1.0]], [[0.0], [1.0], [9.0]]]).round(2)
    array([[1.  , 0.85],
           [0.85, 1.  ]])
    """
    gram = _over_pairs(loops.sums_over_pairs, sets, EXPONENT)
    norms = np.sqrt(np.maximum(np.diag(gram), 1e-300))
    return gram / np.outer(norms, norms)


def _over_pairs(loop: Any, sets: Iterable[np.ndarray], power: float) -> np.ndarray:
    points = [np.asarray(one, float) for one in sets]
    bounds = np.concatenate([[0], np.cumsum([len(one) for one in points])])
    scale = float(np.mean([np.var(one, axis=0).sum() for one in points if len(one)]))
    gram = np.zeros((len(points), len(points)))
    loop(np.concatenate(points), bounds, scale / power, gram)
    return gram


def bhattacharyya(sets: Iterable[np.ndarray], ridge: float = RIDGE) -> np.ndarray:
    """The affinity ∫ √p √q of Gaussians fitted to sets of points.

    In the space of the points itself, not in a kernel's: linear in the number of points. A share
    ``ridge`` of the mean variance is added to every covariance.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> near, far = rng.normal(0, 1, (2, 50, 3)), rng.normal(9, 1, (50, 3))
    >>> gram = bhattacharyya([*near, far])
    >>> bool(np.isclose(gram[0, 0], 1)), bool(gram[0, 1] > 0.5), bool(gram[0, 2] < 0.01)
    (True, True, True)
    """
    means, spreads = _gaussians(sets, ridge)
    volumes = np.linalg.slogdet(spreads)[1]
    gram = np.empty((len(means), len(means)))
    for i, (mean, spread) in enumerate(zip(means, spreads)):
        between = (spreads + spread) / 2
        apart = means - mean
        far = np.einsum("nd,nd->n", apart, np.linalg.solve(between, apart[..., None])[..., 0])
        log = (volumes + volumes[i]) / 4 - np.linalg.slogdet(between)[1] / 2 - far / 8
        gram[i] = np.exp(log)
    return (gram + gram.T) / 2


def kullback_leibler(sets: Iterable[np.ndarray], ridge: float = RIDGE) -> np.ndarray:
    """Exp(−(KL(p‖q) + KL(q‖p)) / s) of Gaussians fitted to sets, s the median of the sums.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> near, far = rng.normal(0, 1, (2, 50, 3)), rng.normal(9, 1, (50, 3))
    >>> gram = kullback_leibler([*near, far])
    >>> bool(np.isclose(gram[0, 0], 1)), bool(gram[0, 1] > gram[0, 2])
    (True, True)
    """
    means, spreads = _gaussians(sets, ridge)
    inverses = np.linalg.inv(spreads)
    d = means.shape[1]
    traces = np.einsum("nij,mji->nm", inverses, spreads)  # tr(Σₙ⁻¹ Σₘ)
    apart = means[:, None] - means[None]
    far = np.einsum("nmi,nij,nmj->nm", apart, inverses, apart)
    sums = (traces + traces.T + far + far.T) / 2 - d  # the determinants cancel
    return np.exp(-sums / np.median(sums[sums > 1e-9]))


def _gaussians(sets: Iterable[np.ndarray], ridge: float) -> tuple[np.ndarray, np.ndarray]:
    """Means and covariances; a share of the mean variance is added to every covariance."""
    points = [np.asarray(one, float) for one in sets]
    d = points[0].shape[1]
    means = np.array([one.sum(axis=0) / max(len(one), 1) for one in points])
    apart = [one - mean for one, mean in zip(points, means)]
    spreads = np.array([one.T @ one / max(len(one), 1) for one in apart])
    return means, spreads + ridge * np.trace(spreads, axis1=1, axis2=2).mean() / d * np.eye(d)


SHIFTS, C = 8, 10.0
TREATMENTS = (0.1, 0.2, 0.3, 0.5)  # powers for bins of side 1; the paper does not print its own
FEW = 40  # patches an image  [Grauman06, Sec. 4.2]
HARRIS_COMPONENTS = 10  # [Grauman06, Sec. 4.2], there of Caltech-101
CORNERS = "SIFT at OpenCV's Harris corners; the paper has PCA-SIFT at 153 Harris points"
RIDGES = (0.05, 0.1, 0.3, 1.0)  # of Gaussians' covariances
SIZES, QUICK_SIZES = (10, 20, 40, 80, 160), (5, 10)  # patches an image of Figure 4
FINEST_OF_FIGURE = 5  # chosen on training objects in most folds of the experiment
SLOW = (match, exponent)
Points = dict[str, list[tuple[int, float, float]]]  # patches, accuracy in %, seconds


class Views:
    """Images of objects, and how well a Gram matrix of theirs finds the class.

    Parameters
    ----------
    classes, objects : arrays of str
        Of every image.
    """

    def __init__(self, classes: np.ndarray, objects: np.ndarray):
        self.classes, self.objects = classes, objects
        places = places_in_class(classes, objects)
        self.folds = [
            (np.flatnonzero(places != place), np.flatnonzero(places == place))
            for place in range(places.max() + 1)
        ]  # training and test images, leaving out one object of each class at a time

    def accuracy(
        self, gram: np.ndarray, train: Any, test: Any, power: float | None = None
    ) -> float:
        """Share of right answers; ``power`` of the sub-polynomial kernel, if any."""
        model = KernelSVC("precomputed", C=C, sub_polynomial=power)
        model.fit(gram[np.ix_(train, train)], self.classes[train])
        return float(np.mean(model.predict(gram[np.ix_(test, train)]) == self.classes[test]))

    def best_of(self, grams: Iterable[np.ndarray], powers: Any = (None,)) -> list[float]:
        """Accuracies by fold, of the matrix and power that are best on its training objects."""
        pairs = [(gram, power) for gram in grams for power in powers]
        shares = []
        for known, test in self.folds:
            folds = GroupKFold(3, shuffle=True, random_state=0)
            parts = list(folds.split(known, groups=self.objects[known]))
            inner = [
                np.mean([self.accuracy(gram, known[a], known[b], power) for a, b in parts])
                for gram, power in pairs
            ]
            gram, power = pairs[int(np.argmax(inner))]
            shares.append(self.accuracy(gram, known, test, power))
        return shares


@experiment("pmk-eth80", PMK, "Section 4.2, Figure 4, Table 1", data=("eth80",), minutes=2)
def eth80(lab: Lab) -> Results:
    """Objects from five views with the pyramid match, one object of each class left out at a time.

    8 classes × 10 objects × 5 views (four sides and the top). The paper has 83 % with PCA-SIFT at
    153 Harris points on average, and 73 % with 40. Here it is SIFT at Harris corners, 10
    components, finest bins of side 1 and T = 8, with and without the position, which the paper does
    not mention here. Few points of two sets share a bin of side 1 in ten dimensions, so the
    diagonal of the kernel matrix dominates. The paper treats it (Sec. 4.2) by a sub-polynomial
    kernel and the empirical kernel map; the power is chosen on training objects. Two rows are
    without the treatment.

    Four of the six kernels that Table 1 compares stand beside it. On the same points
    Bhattacharyya's (74 % with 40 points and 85 % with 120, cited there from Eichhorn and Chapelle)
    and the Kullback–Leibler kernel, of Gaussians fitted to both sets. The paper says neither
    whether the cited Gaussians are in a kernel's space, as their cubic cost suggests, nor how they
    are regularised. Here they are those of the points, and the share of the mean variance that is
    added to every covariance is chosen on training objects, out of four values that were set after
    a first look at all images. The other two are in the figure.

    The figure repeats Figure 4 with dense patches in place of Harris points: accuracy over the time
    of the Gram matrix with 10 to 160 patches, T = 1, finest bins of side 2⁵, 6 components and the
    position, the encoder learned from all images without their classes. All
    three kernels are compiled. At the same number of patches the pyramid match is the least
    accurate and by far the fastest one. In the same time it affords more patches and is the most
    accurate one, as the paper says.

    **Not repeated.** PCA-SIFT; of Table 1 the greedy matching and the principal angles.
    """
    images, classes, objects = five_views(lab)
    views = Views(classes, objects)
    extractor = DenseSIFT(bin_size=8, step=6)
    features = LocalFeatureSets.concatenate(extractor.extract(image) for image in images)
    rows, n_points = harris_rows(lab, images, views)
    points = accuracy_over_time(lab, features, views)
    lines = {
        kernel: ([seconds for *_, seconds in own], [right for _, right, _ in own])
        for kernel, own in points.items()
    }
    cells = [[f"{kernel}, {n} patches", *own] for kernel in points for n, *own in points[kernel]]
    mean = np.diff(features.offsets).mean()
    return Results(
        f"{len(images)} images of {len(set(objects))} objects in {len(set(classes))} classes; "
        f"for the figure {mean:.0f} dense SIFT patches an image on average.",
        rows,
        notes=[
            f"T = {SHIFTS}, C = {C:g}, seed 0.",
            "Harris points an image on average: " + " and ".join(f"{n:.0f}" for n in n_points),
            "± is the standard deviation over the ten objects that are left out together.",
        ],
        tables=[
            Table("Figure 4: accuracy over time", ("", "accuracy, %", "Gram matrix, s"), cells)
        ],
        panels=[Panel("", "seconds for the Gram matrix", "accuracy, %", lines, "x")],
    )


def harris_rows(lab: Lab, images: list, views: Views) -> tuple[list[Row], list[float]]:
    """The pyramid match and two rivals at Harris corners; points an image on average."""
    rows, n_points = [], []

    def add(what: str, shares: list[float], paper: float | None, rival: bool = False) -> None:
        unlike = "" if paper is None else CORNERS
        values = 100 * np.array(shares)
        rows.append(Row.mean(f"{named}, {what}", values, paper, rival=rival, unlike=unlike))

    for most, paper, affinity in ((400, 83.0, 85.0), (FEW, 73.0, 74.0)):
        features = harris_features(images, most)
        n_points.append(float(np.diff(features.offsets).mean()))
        named = "all Harris points" if most > FEW else f"{FEW} Harris points"
        for position in lab.steps(named, (False, True)):
            encoder = FeatureSetEncoder(HARRIS_COMPONENTS, positions=position, sample_size=20_000)
            sets = encoder.fit_transform(features)
            what = f"{'with' if position else 'without'} position, diagonal"
            gram = pyramid_match(sets, None, SHIFTS, "self") / SHIFTS
            add(f"{what} treated", views.best_of([gram], TREATMENTS), paper)
            if not position:
                add(f"{what} untreated", views.best_of([gram]), paper)
                for kernel, function, cited in (
                    ("Bhattacharyya", bhattacharyya, affinity),
                    ("Kullback–Leibler", kullback_leibler, None),
                ):
                    grams = [function(sets, ridge) for ridge in RIDGES]
                    add(f"{kernel} kernel", views.best_of(grams), cited, rival=True)
    return rows, n_points


def accuracy_over_time(lab: Lab, features: LocalFeatureSets, views: Views) -> Points:
    """Accuracy and time of the Gram matrix for growing numbers of patches: Figure 4."""
    points: Points = {"pyramid match": [], "match kernel": [], "exponent kernel": []}
    options = {"n_shifts": 1, "normalization": "self", "finest_level": FINEST_OF_FIGURE}
    for n in lab.steps("patches an image", QUICK_SIZES if lab.quick else SIZES):
        rng = np.random.default_rng(0)
        some = LocalFeatureSets.concatenate(some_patches(one, n, rng) for one in features)
        sets = FeatureSetEncoder(6, sample_size=20_000).fit_transform(some)
        arrays = [np.asarray(one, float) for one in sets]
        functions = (partial(pyramid_match, sets, **options), *(partial(f, arrays) for f in SLOW))
        for kernel, function in zip(points, functions):
            gram, seconds = timed(function, runs=2)
            right = np.mean([views.accuracy(gram, *fold) for fold in views.folds])
            points[kernel].append((n, 100 * float(right), seconds))
    return points


def places_in_class(classes: np.ndarray, objects: np.ndarray) -> np.ndarray:
    """0 … 9: the place of every image's object among those of its class."""
    places = np.empty(len(objects), int)
    for kind in np.unique(classes):
        own = classes == kind
        places[own] = np.unique(objects[own], return_inverse=True)[1]
    return places
