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
without it (a first run had the power 0.5 only: 90.25 and 77.75 %). The patch size was fixed after a
first look at all images; any of 24, 32 and 40 pixels gave 92–96 %.

The figure repeats Figure 4: accuracy over run time with ever more patches, T = 1, one object of
each class left out at a time, the encoder learned from all images without their classes.
"""

from typing import Any

import numpy as np

from visualwords.apps.reproduce_papers.datasets import five_views
from visualwords.apps.reproduce_papers.lab import Lab, timed
from visualwords.apps.reproduce_papers.match_kernel import accuracy_over_time, draw, sampled
from visualwords.apps.reproduce_papers.results import Results, Row, Table
from visualwords.classifiers import KernelSVC
from visualwords.classifiers.kernels import pyramid_match
from visualwords.codebook import FeatureSetEncoder
from visualwords.features import DenseSIFT
from visualwords.features.local_features import LocalFeatureSets

SHIFTS, C, COMPONENTS = 8, 10.0, 6
FINEST, POWERS = (4, 5, 6), (None, 0.5)
TREATMENTS = (0.1, 0.2, 0.3, 0.5)  # powers for bins of side 1; the paper does not print its own
FEW = 40  # patches an image  [Grauman06, Sec. 4.2]
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
        plain, treated, ours = 100 * np.mean(found, axis=0)
        rows += [
            Row(f"{title}, finest bins chosen on training objects", ours, paper, seconds=seconds),
            Row(f"{title}, finest bins of side 1, diagonal treated (Sec. 4.2)", treated, paper),
            Row(f"{title}, finest bins of side 1, diagonal untreated", plain, paper),
        ]
    points = accuracy_over_time(lab, features, classes, places_in_class(classes, objects))
    curve = [[f"{p.kernel}, {p.n_patches} patches", p.accuracy, p.seconds] for p in points]
    mean = np.diff(features.offsets).mean()
    return Results(
        f"{len(images)} images of {len(set(objects))} objects in {len(set(classes))} classes; "
        f"{mean:.0f} dense SIFT patches an image on average, {COMPONENTS} components and position.",
        rows,
        notes=[f"T = {SHIFTS}, C = {C:g}, seed 0; seconds include choosing."],
        tables=[
            Table("Figure 4: accuracy over time", ("", "accuracy, %", "Gram matrix, s"), curve),
            Table("What was chosen", ("fold", "finest level", "power", "power, side 1"), choices),
        ],
        draw=lambda figure: draw(figure, points),
    )


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
    from sklearn.model_selection import GroupKFold

    folds = list(GroupKFold(3, shuffle=True, random_state=0).split(known, groups=objects[known]))
    tried = []
    for finest in levels:
        gram = gram_of(sets, finest)
        for power in powers:
            scores = [accuracy(gram, classes, known[a], known[b], power) for a, b in folds]
            tried.append((np.mean(scores), (finest, power), gram))
    return max(tried, key=lambda one: one[0])[1:]


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
