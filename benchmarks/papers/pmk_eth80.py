"""Objects from five views with the pyramid match, one object left out at a time.

8 classes × 10 objects × 5 views (four sides and the top). For every eight objects, one of each
class, the encoder is learned and the finest level and the treatment of the diagonal are chosen by
cross-validation on the other 72; then each object is left out with all its views, 80 folds. T = 8.

The paper has 83 % with some 150 interest points, and 73 % with 40. Ours is higher for two reasons,
neither of which uses test objects: dense patches, which also cover the outline and the plain
surfaces, and finest bins of side 2⁵ or 2⁶. With the paper's finest bins of side 1 few points of two
different sets share a bin in eight dimensions, so the diagonal of the kernel matrix dominates. The
paper expects this and treats it (Sec. 4.2): a sub-polynomial kernel, followed by the empirical
kernel map. The rows "side 1" are with that treatment, its power chosen on training objects, and
without it. The patch size was fixed after a first look at all images.

The rows "Harris points" are like for like: SIFT at Harris corners, 10 components, bins of side 1
with the paper's treatment, T = 8, one object of each class left out at a time, with and without the
position, which the paper does not mention here. The Bhattacharyya kernel stands beside them (74 %
with 40 points and 85 % with 120, cited there from Eichhorn and Chapelle): the affinity of Gaussians
fitted to both sets, as the paper describes it. The paper says neither whether the cited Gaussians
are in a kernel's space, as their cost, cubic in the number of points, suggests, nor how their
covariances are regularised. Here they are those of the points, and the share of the mean variance
that is added to every covariance is chosen on training objects, out of four values that were set
after a first look at all images; the last table has it fixed.

The figure repeats Figure 4: accuracy over run time with ever more patches, T = 1, one object of
each class left out at a time, the encoder learned from all images without their classes.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.papers.datasets import five_views
from benchmarks.papers.harris_points import bhattacharyya, harris_features
from benchmarks.papers.lab import Lab, timed
from benchmarks.papers.match_kernel import accuracy_over_time, draw, sampled
from benchmarks.papers.results import Results, Row, Table
from visualwords.classifiers import KernelSVC
from visualwords.classifiers.kernels import pyramid_match
from visualwords.codebook import FeatureSetEncoder
from visualwords.features import DenseSIFT
from visualwords.features.local_features import LocalFeatureSets

SHIFTS, C, COMPONENTS = 8, 10.0, 6
FINEST, POWERS = (4, 5, 6), (None, 0.5)
TREATMENTS = (0.1, 0.2, 0.3, 0.5)  # powers for bins of side 1; the paper does not print its own
FEW = 40  # patches an image  [Grauman06, Sec. 4.2]
HARRIS_COMPONENTS = 10  # [Grauman06, Sec. 4.2], there of Caltech-101
DENSE = "dense patches; the paper has Harris points"
RIDGES = (0.05, 0.1, 0.3, 1.0)  # of Gaussians' covariances
BINS = (
    "of side 1, diagonal untreated",
    "of side 1, diagonal treated (Sec. 4.2)",
    "chosen on training objects",
)
Views = tuple[LocalFeatureSets, np.ndarray, np.ndarray]  # features, classes, objects


def run(lab: Lab) -> Results:
    """Accuracy with all patches and with 40, for chosen finest bins and for bins of side 1."""
    images, classes, objects = five_views(lab)
    extractor = DenseSIFT(bin_size=8, step=6)
    features = LocalFeatureSets.concatenate(extractor.extract(image) for image in images)
    few = LocalFeatureSets.concatenate(sampled(features, FEW))
    rows, choices = [], []
    for title, sets, paper in (("all patches", features, 83.0), (f"{FEW} patches", few, 73.0)):
        (found, chosen), seconds = timed(leave_out_all, lab, title, (sets, classes, objects))
        choices += [[f"{title}, objects {i}", *map(str, c)] for i, c in enumerate(chosen)]
        by_places = np.mean(np.reshape(found, (len(chosen), -1, 3)), axis=1).T
        for what, own, took in zip(BINS, by_places, (None, None, seconds)):
            row = _over_places(f"{title}, finest bins {what}", own, paper)
            rows.append(replace(row, seconds=took, unlike=DENSE))
    harris, n_points, ridges = harris_rows(lab, images, classes, objects)
    rows += harris
    points = accuracy_over_time(lab, features, classes, places_in_class(classes, objects))
    curve = [[f"{p.kernel}, {p.n_patches} patches", p.accuracy, p.seconds] for p in points]
    mean = np.diff(features.offsets).mean()
    return Results(
        f"{len(images)} images of {len(set(objects))} objects in {len(set(classes))} classes; "
        f"{mean:.0f} dense SIFT patches an image on average, {COMPONENTS} components and position.",
        rows,
        notes=[
            f"T = {SHIFTS}, C = {C:g}, seed 0; seconds include choosing.",
            "Harris points an image on average: " + " and ".join(f"{n:.0f}" for n in n_points),
            "± is the standard deviation over the ten objects that are left out together.",
        ],
        tables=[
            Table("Figure 4: accuracy over time", ("", "accuracy, %", "Gram matrix, s"), curve),
            Table("What was chosen", ("fold", "finest level", "power", "power, side 1"), choices),
            Table(
                "Bhattacharyya kernel: accuracy in % with a fixed share of the variance added",
                ("", *map(str, RIDGES)),
                ridges,
            ),
        ],
        draw=lambda figure: draw(figure, points),
    )


def harris_rows(
    lab: Lab, images: list, classes: np.ndarray, objects: np.ndarray
) -> tuple[list[Row], list[float], list[list[Any]]]:
    """Rows like for like with the paper, points an image on average, accuracies of all ridges."""
    places = places_in_class(classes, objects)
    rows, n_points, fixed = [], [], []
    for most, paper, affinity in ((400, 83.0, 85.0), (FEW, 73.0, 74.0)):
        features = harris_features(images, most)
        n_points.append(float(np.diff(features.offsets).mean()))
        named = "all Harris points" if most > FEW else f"{FEW} Harris points"
        for position in lab.steps(named, (False, True)):
            encoder = FeatureSetEncoder(HARRIS_COMPONENTS, positions=position, sample_size=20_000)
            sets = encoder.fit_transform(features)
            what = f"{named}, {'with' if position else 'without'} position"
            treated = treated_by_place(gram_of(sets, 0), classes, objects, places)
            rows.append(_over_places(f"{what}, diagonal treated", treated, paper))
            if not position:
                grams = [bhattacharyya(sets, ridge) for ridge in RIDGES]
                found = best_gram_by_place(grams, classes, objects, places)
                rows.append(_over_places(f"{named}, Bhattacharyya kernel", found, affinity))
                plain = [np.mean(by_place(gram, classes, places, None)) for gram in grams]
                fixed.append([named, *(100 * float(value) for value in plain)])
    return rows, n_points, fixed


def _over_places(what: str, found: Any, paper: float) -> Row:
    values = 100 * np.array(found)
    return Row(what, float(values.mean()), paper, spread=float(values.std(ddof=1)))


def by_place(
    gram: np.ndarray, classes: np.ndarray, places: np.ndarray, power: float | None
) -> list[float]:
    """Accuracies, leaving out one object of each class at a time."""
    return [
        accuracy(gram, classes, np.flatnonzero(places != p), np.flatnonzero(places == p), power)
        for p in range(places.max() + 1)
    ]


def treated_by_place(
    gram: np.ndarray, classes: np.ndarray, objects: np.ndarray, places: np.ndarray
) -> list[float]:
    """Likewise, with the power that is best in folds of the other objects."""
    found = []
    for place in range(places.max() + 1):
        train, test = np.flatnonzero(places != place), np.flatnonzero(places == place)
        power = best_power(gram, classes, objects, train, TREATMENTS)[0]
        found.append(accuracy(gram, classes, train, test, power))
    return found


def best_gram_by_place(
    grams: list[np.ndarray], classes: np.ndarray, objects: np.ndarray, places: np.ndarray
) -> list[float]:
    """Accuracies with the Gram matrix that is best in folds of the other objects."""
    found = []
    for place in range(places.max() + 1):
        train, test = np.flatnonzero(places != place), np.flatnonzero(places == place)
        best = max(grams, key=lambda gram: best_power(gram, classes, objects, train, (None,))[1])
        found.append(accuracy(best, classes, train, test, None))
    return found


def leave_out_all(lab: Lab, title: str, views: Views) -> tuple[list, list]:
    """Accuracies for every object (side 1 untreated, treated; chosen), and the choices."""
    places = places_in_class(*views[1:])
    found, chosen = [], []
    for place in lab.steps(title, range(places.max() + 1)):
        choice, results = leave_out(views, places == place)
        found += results
        chosen.append(choice)
    return found, chosen


def leave_out(views: Views, left_out: np.ndarray) -> tuple[tuple, list[tuple[float, float, float]]]:
    """Choose on the other objects, then leave out one of these at a time."""
    features, classes, objects = views
    known = np.flatnonzero(~left_out)
    encoder = FeatureSetEncoder(COMPONENTS, sample_size=20_000)
    encoder.fit(LocalFeatureSets.concatenate(features[int(i)] for i in known))
    sets = encoder.transform(features)
    choice, gram = choose(sets, classes, objects, known, FINEST, POWERS)
    (_, treatment), finest = choose(sets, classes, objects, known, (0,), TREATMENTS)
    results = []
    for name in np.unique(objects[left_out]):
        split = np.flatnonzero(objects != name), np.flatnonzero(objects == name)
        results.append(
            (
                accuracy(finest, classes, *split, None),
                accuracy(finest, classes, *split, treatment),
                accuracy(gram, classes, *split, choice[1]),
            )
        )
    return (*choice, treatment), results


def choose(
    sets: Any,
    classes: np.ndarray,
    objects: np.ndarray,
    known: np.ndarray,
    levels: tuple[int, ...],
    powers: tuple[float | None, ...],
) -> tuple:
    """The finest level and power, and Gram matrix, best in folds of the known objects."""
    tried = []
    for finest in levels:
        gram = gram_of(sets, finest)
        power, score = best_power(gram, classes, objects, known, powers)
        tried.append((score, (finest, power), gram))
    return max(tried, key=lambda one: one[0])[1:]


def best_power(
    gram: np.ndarray, classes: np.ndarray, objects: np.ndarray, known: np.ndarray, powers: Any
) -> tuple[float | None, float]:
    """The power of the sub-polynomial kernel that is best in folds of objects, and its score."""
    from sklearn.model_selection import GroupKFold

    folds = list(GroupKFold(3, shuffle=True, random_state=0).split(known, groups=objects[known]))
    scores = [
        np.mean([accuracy(gram, classes, known[a], known[b], power) for a, b in folds])
        for power in powers
    ]
    return powers[int(np.argmax(scores))], float(max(scores))


def gram_of(sets: Any, finest_level: int) -> np.ndarray:
    """Normalised kernel values of all pairs of images."""
    return pyramid_match(sets, None, SHIFTS, "self", finest_level=finest_level) / SHIFTS


def accuracy(gram: np.ndarray, classes: np.ndarray, train: Any, test: Any, power: Any) -> float:
    """Share of right answers."""
    model = KernelSVC("precomputed", C=C, sub_polynomial=power)
    model.fit(gram[np.ix_(train, train)], classes[train])
    return float(np.mean(model.predict(gram[np.ix_(test, train)]) == classes[test]))


def places_in_class(classes: np.ndarray, objects: np.ndarray) -> np.ndarray:
    """Return 0 … 9: the place of every image's object among those of its class."""
    places = np.empty(len(objects), int)
    for kind in np.unique(classes):
        own = classes == kind
        places[own] = np.unique(objects[own], return_inverse=True)[1]
    return places
