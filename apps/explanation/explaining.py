"""From a model and an image to the explanation of its scores.

Scores that are sums over columns are shared among the places the columns come from. For others,
the evidence of a place is what the scores lose without it.

Counts of words are sums over patches, and so is their evidence. Other numbers are no sums: a Fisher
vector's columns are signed roots divided by lengths, second moments are logarithms of matrices. No
division among patches is the only right one; here the gradient decides, with powers and lengths
held fixed, and what it leaves is shared such that all parts add up to the score.

**Fisher vectors.** A column is g = Σ g_i over the patches of a window, then a signed root. Its
value v is divided in proportion to what each patch gave to g:

    v_i = v g g_i / (g² + δ²)   and   v δ² / (g² + δ²) in proportion to the responsibilities q_ik.

**Second moments.** The numbers of a window are those of L = log(M + ε I), M = Σ x_i x_iᵀ / n.
Where its columns have values v, they are ⟨A, L⟩ with A = v L / (L² + δ²) + rest, and a patch gives

    v_i = x_iᵀ B x_i / n,   B = V (Γ ∘ Vᵀ A V) Vᵀ,

where M + ε I = V diag(λ) Vᵀ and Γ_kl = (log λ_k − log λ_l) / (λ_k − λ_l), or 1 / λ_k where they are
equal (Daleckii and Krein). What is left of the window's value is shared equally.

δ = 1/√n is the size that a number has by chance in a window of n patches: one that is no larger has
no information about its patches, and dividing by it would amplify noise.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from visualwords.apps.explanation.explanation import ChannelEvidence, Explanation
from visualwords.apps.pipeline.appearance import measure_image
from visualwords.apps.pipeline.contents import Content, OpenedImage
from visualwords.apps.pipeline.encoder import ChannelEncoder, rows_of, side_by_side
from visualwords.apps.pipeline.predictions import Scores
from visualwords.classifiers.one_vs_rest import both_classes
from visualwords.codebook import BagOfWords, FeatureSets, FisherVectors, SecondOrderPooling
from visualwords.codebook.fisher import LEAST
from visualwords.codebook.spatial_pyramid import as_pyramid
from visualwords.errors import ImageError
from visualwords.features.local_features import LocalFeatures
from visualwords.inputs import as_source

if TYPE_CHECKING:
    from visualwords.apps.pipeline.fitted_classifier import FittedImageClassifier

GRID = 6  # parts in a row and in a column, where parts are left out
LEAVING_OUT = (
    f"Each of {GRID}×{GRID} parts of the image is left out in turn, and its evidence is what the "
    "scores lose by that; what the parts have in common is in the offsets."
)
WORDS = "each word's table value is shared equally among the patches counted in its window"
FISHER = (
    "each column of a Fisher vector is shared among patches in proportion to their contributions "
    "before the square root: a gradient, scaled to add up to the score"
)
SECOND_ORDER = (
    "second moments of a window are shared among its patches by the gradient of their logarithm, "
    "scaled to add up to the score"
)
SETS = "each bin's weights are shared equally among the patches in it"
CLASSES_AT_A_TIME = 8
Sums = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
NOWHERE = "the recipe has columns without a place in the image; they are part of the offset"


class Shares(NamedTuple):
    """What the places of an image have of its columns' values.

    Attributes
    ----------
    method : how they were shared, in a sentence
    of_places : (n_places, n_classes)
    of_names : (n_names, n_classes), values summed over windows
    names : of words, colours or other columns, whatever their window
    words : (n_places,) the word of each patch, or None
    exact : whether the model itself adds up these shares
    """

    method: str
    of_places: np.ndarray
    of_names: np.ndarray
    names: list[str]
    words: np.ndarray | None = None
    exact: bool = False

    def evidence(self, name: str, positions: np.ndarray, sizes: np.ndarray) -> ChannelEvidence:
        """The evidence of a channel, in single precision."""
        single = (positions, sizes, self.of_places, self.of_names)
        centers, extents, evidence, values = (array.astype(np.float32) for array in single)
        return ChannelEvidence(
            name, centers, extents, self.words, evidence, self.names, values, self.exact
        )


def explain_image(model: "FittedImageClassifier", image: Any) -> Explanation:
    """The scores of an image, decomposed.

    Parameters
    ----------
    model : ImageClassifier
        Fitted.
    image : path, bytes of a file, or uint8 array
    """
    source, view = as_source(image), model.recipe_.view
    opened = OpenedImage(Content(source, "image"), model.max_pixels)
    try:
        found = [opened.features(channel, view) for channel in model.recipe_.channels]
    except ImageError as problem:
        if isinstance(source, str):
            raise ImageError(f"{source}: {problem}") from None
        raise
    images = [opened.pixels(c.build().color_mode, view) for c in model.recipe_.channels]
    encoded = [encoder.encode(features) for encoder, features in zip(model.encoders_, found)]
    parts = [e.assemble([row]) for e, row in zip(model.encoders_, encoded)]
    row = side_by_side(parts)
    scores = model.classifier_.decision_function(row)
    distances = None if model.gallery_ is None else model.gallery_.distances(row)
    looks = None
    if model.novelty_ is not None and model.novelty_.appearance is not None:
        looks = model.novelty_.appearance.distances(measure_image(opened)[None])
    decided = model.decide(Scores(scores, np.zeros(1, np.intp), [], distances, looks))
    hashed = any(channel.hashes is not None for channel in model.recipe_.channels)
    if hasattr(model.classifier_, "contributions") and not hashed:
        columns = both_classes(model.classifier_.contributions(row))
        starts = np.cumsum([part.shape[1] for part in parts])[:-1]
        given = _names(model.encoders_), model.encoders_, images, found, np.split(columns, starts)
        shared = [share(*channel) for channel in zip(*given)]
        channels = [evidence for evidence, _ in shared]
        sentence = "; ".join(dict.fromkeys(how for _, how in shared))
        method = f"{sentence[:1].upper()}{sentence[1:]}."
    else:

        def decide(rows: Any) -> np.ndarray:
            return both_classes(model.classifier_.decision_function(rows))

        channels, method = _left_out(model.encoders_, images, found, encoded, decide), LEAVING_OUT
    values = both_classes(scores)[0].astype(np.float64)
    attributed = sum((c.evidence.sum(axis=0, dtype=np.float64) for c in channels), 0.0)
    return Explanation(
        classes=model.classes_,
        scores=values,
        probabilities=None if decided.probabilities is None else decided.probabilities[0],
        offsets=values - attributed,
        channels=channels,
        shape=(int(images[0].shape[0]), int(images[0].shape[1])),
        image=opened.pixels("rgb", view),
        method=method,
        decided=str(decided.labels[0]),
        novelty=None if decided.novelty is None else float(decided.novelty[0]),
    )


def _names(encoders: list[ChannelEncoder]) -> list[str]:
    """The extractors, with a number appended to those that occur more than once."""
    names = [encoder.channel.extractor for encoder in encoders]
    numbers = [f" {names[: i + 1].count(name)}" for i, name in enumerate(names)]
    return [n + number * (names.count(n) > 1) for n, number in zip(names, numbers)]


def _left_out(
    encoders: list[ChannelEncoder],
    images: list[np.ndarray],
    features: list[Any],
    whole: list[np.ndarray],
    decide: Callable[[Any], np.ndarray],
) -> list[ChannelEvidence]:
    """Find what the scores lose without each part of the image, whatever the classifier computes.

    The patches of a part are shared its evidence equally. For a channel that has one vector an
    image, the part is painted in the image's mean colour.
    """
    scores, channels = decide(rows_of(encoders, [whole]))[0], []
    for number, name in enumerate(_names(encoders)):
        encoder, image, found = encoders[number], images[number], features[number]
        variants = [
            [*whole[:number], encoder.encode(part), *whole[number + 1 :]]
            for part in _without_parts(encoder, image, found)
        ]
        lost = scores - decide(rows_of(encoders, variants))
        if isinstance(found, LocalFeatures):
            part = _parts(found.positions)
            inside = np.maximum(np.bincount(part, minlength=GRID * GRID), 1)
            positions, sizes = found.positions, sizes_of(found, image)
            lost = lost[part] / inside[part][:, None]
        else:
            column, row = np.meshgrid(np.arange(GRID), np.arange(GRID))
            positions = (np.stack([column.ravel(), row.ravel()], axis=1) + 0.5) / GRID
            sizes = np.full_like(positions, 1 / GRID)
        shares = Shares(LEAVING_OUT, lost, np.zeros((0, len(scores))), [])
        channels.append(shares.evidence(name, positions, sizes))
    return channels


def _without_parts(encoder: ChannelEncoder, image: np.ndarray, found: Any) -> list[Any]:
    """What the extractor sees of the image without each of its parts."""
    if isinstance(found, LocalFeatures):
        part = _parts(found.positions)
        arrays = found.descriptors, found.positions, found.sizes
        kept = [part != number for number in range(GRID * GRID)]
        return [LocalFeatures(*(array[k] for array in arrays)) for k in kept]
    height, width = image.shape[:2]
    mean = np.rint(image.mean(axis=(0, 1))).astype(np.uint8)
    seen = []
    for number in range(GRID * GRID):
        row, column = divmod(number, GRID)
        painted = image.copy()
        rows = slice(height * row // GRID, height * (row + 1) // GRID)
        painted[rows, width * column // GRID : width * (column + 1) // GRID] = mean
        seen.append(encoder.channel.see(painted))
    return seen


def _parts(positions: np.ndarray) -> np.ndarray:
    """The part of the image that each position is in."""
    column, row = np.clip((positions * GRID).astype(int), 0, GRID - 1).T
    return row * GRID + column


def share(
    name: str, encoder: ChannelEncoder, image: np.ndarray, found: Any, values: np.ndarray
) -> tuple[ChannelEvidence, str]:
    """Share the contributions of one channel's columns among its places.

    Parameters
    ----------
    name : str
    encoder : ChannelEncoder
    image : as passed to the channel's extractor
    found : its local features, or its vector
    values : (n_columns, n_classes) contributions to the scores

    Returns
    -------
    evidence : ChannelEvidence
        Of no places where the columns have none: the values are part of the offset.
    method : str
    """
    values = values.astype(np.float64)
    positions = sizes = np.zeros((0, 2))
    shares: Shares | None = None
    if isinstance(found, LocalFeatures):
        if shares := _of_patches(encoder, found, values):
            positions, sizes = found.positions, sizes_of(found, image)
    elif (places := encoder.channel.build().column_places(image)) is not None:
        of_names = np.zeros((len(places.names), values.shape[1]))
        np.add.at(of_names, places.name_of, values)
        of_places = places.shares @ values
        positions, sizes = places.positions, places.sizes
        shares = Shares(places.method, of_places, of_names, places.names, exact=True)
    shares = shares or Shares(NOWHERE, values[:0], values[:0], [])
    return shares.evidence(name, positions, sizes), shares.method


def sizes_of(found: LocalFeatures, image: np.ndarray) -> np.ndarray:
    """Width and height of patches in the unit square of an image."""
    return found.sizes[:, None] / np.array(image.shape[1::-1], np.float32)


def _of_patches(encoder: ChannelEncoder, found: LocalFeatures, values: np.ndarray) -> Shares | None:
    """What each patch has of a channel's values; None for an encoder without places."""
    stage, n_classes = encoder.codebook, values.shape[1]
    if isinstance(stage, BagOfWords):
        words, shares = np.zeros(0, np.int32), values[:0]
        if len(found):
            words, shares = stage.words_of(found), stage.share(found, values)
        of_words = values.reshape(-1, stage.codebook_.n_words, n_classes).sum(axis=0)
        return Shares(WORDS, shares, of_words, _numbered("word", of_words), words, True)
    if isinstance(stage, FisherVectors):
        shares, words = share_fisher(stage, encoder.prepared(found), values)
        of_words = values.reshape(-1, *stage.mixture_.means.shape, n_classes).sum(axis=(0, 2))
        return Shares(FISHER, shares, of_words, _numbered("Gaussian", of_words), words)
    if isinstance(stage, SecondOrderPooling):
        shares, of_words = share_second_order(stage, found, values)
        return Shares(SECOND_ORDER, shares, of_words, _numbered("component", of_words))
    if encoder.embedding is not None:
        return Shares(SETS, _of_points(encoder, found, values), values[:0], [])
    return None


def _numbered(name: str, values: np.ndarray) -> list[str]:
    return [f"{name} {k}" for k in range(len(values))]


def _of_points(encoder: ChannelEncoder, found: LocalFeatures, values: np.ndarray) -> np.ndarray:
    """Share the values of each bin of a pyramid match equally among the points in it.

    A bin has a column for each number of points; a set of one point has the first of every bin
    that the point is in.
    """
    embedding, shares = encoder.embedding, np.zeros((len(found), values.shape[1]))
    points = encoder.codebook.transform([found])
    if embedding is None or not len(points.points):
        return shares
    first = [branches.first_column for every in embedding.branches_ for branches in every]
    starts = np.unique(np.concatenate([[0], *first]))
    starts = starts[starts < len(values)]
    of_bins = np.add.reduceat(values, starts)
    alone = FeatureSets(points.points, np.arange(len(points.points) + 1), points.side)
    touched = embedding.transform(alone)
    bins = np.searchsorted(starts, touched.indices, side="right") - 1
    inside = np.bincount(bins, minlength=len(starts))
    each = of_bins / np.maximum(inside, 1)[:, None]
    owners = np.repeat(np.arange(len(points.points)), np.diff(touched.indptr))
    np.add.at(shares, encoder.codebook.kept(found)[owners], each[bins])
    return shares


def share_fisher(
    encoder: FisherVectors, features: LocalFeatures, values: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Share values of an image's columns among its patches.

    Parameters
    ----------
    encoder : FisherVectors
    features : LocalFeatures
        Descriptors as the encoder takes them.
    values : (n_columns, n_classes)

    Returns
    -------
    evidence : (n_patches, n_classes) float64
    gaussians : (n_patches,) int32
        The most responsible Gaussian of each patch.
    """
    x = encoder.projection_.apply(features.descriptors).astype(np.float64)
    q = responsibilities(encoder, x)
    pyramid = as_pyramid(encoder.pyramid)
    member = pyramid.membership.astype(np.float64)
    cells = pyramid.cells(features.positions)
    evidence = np.zeros((len(x), values.shape[1]))
    known = np.concatenate([x, x**2, np.ones((len(x), 1))], axis=1)
    sums = _window_sums(q, x, member[:, cells])
    for start in range(0, values.shape[1], CLASSES_AT_A_TIME):
        classes = slice(start, start + CLASSES_AT_A_TIME)
        per_window = _coefficients(encoder, *sums, values[:, classes])
        for cell in np.unique(cells):
            inside = cells == cell
            factors = np.tensordot(member[:, cell], per_window, axes=1)
            each = np.tensordot(known[inside], factors, axes=(1, 1))
            evidence[inside, classes] = np.einsum("ik,ikc->ic", q[inside], each)
    return evidence, q.argmax(axis=1).astype(np.int32)


def responsibilities(encoder: FisherVectors, x: np.ndarray) -> np.ndarray:
    """The responsibility of each Gaussian for projected descriptors, (n, k)."""
    logits = encoder.mixture_.log_probabilities(x.astype(np.float32)).astype(np.float64)
    logits -= logits.max(axis=1, keepdims=True)
    q = np.exp(logits)
    q[q < LEAST] = 0
    return q / q.sum(axis=1, keepdims=True)


def _window_sums(q: np.ndarray, x: np.ndarray, inside: np.ndarray) -> Sums:
    """Number of patches, Σ q, Σ q x and Σ q x² of every window."""
    first, second = (np.stack([(q * w[:, None]).T @ y for w in inside]) for y in (x, x**2))
    return inside.sum(axis=1), inside @ q, first, second


def _coefficients(
    encoder: FisherVectors,
    n: np.ndarray,
    zeroth: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
    values: np.ndarray,
) -> np.ndarray:
    """Factors of x, x² and 1 of a patch, (windows, k, 2 d + 1, classes)."""
    mixture = encoder.mixture_
    means, variances, root = mixture.means, mixture.variances, np.sqrt(mixture.weights)[:, None]
    of_mean, of_spread = 1 / (root * np.sqrt(variances)), 1 / (np.sqrt(2) * root * variances)
    share = 1 / np.maximum(n, 1)[:, None, None]
    mass = zeroth[:, :, None]
    g_mean = (first - mass * means) * of_mean * share
    spread = second - 2 * means * first + mass * (means**2 - variances)
    g_spread = spread * of_spread * share
    chance = share  # δ² = 1 / n
    v = values.reshape(len(n), 2, *means.shape, values.shape[1])
    a = v[:, 0] * (g_mean / (g_mean**2 + chance) * of_mean * share)[..., None]
    b = v[:, 1] * (g_spread / (g_spread**2 + chance) * of_spread * share)[..., None]
    rest = v[:, 0] * (chance / (g_mean**2 + chance))[..., None]
    rest += v[:, 1] * (chance / (g_spread**2 + chance))[..., None]
    constant = rest.sum(axis=2) / np.maximum(mass, 1e-300)
    constant += (b * (means**2 - variances)[..., None] - a * means[..., None]).sum(axis=2)
    return np.concatenate([a - 2 * b * means[..., None], b, constant[:, :, None]], axis=2)


def share_second_order(
    encoder: SecondOrderPooling, features: LocalFeatures, values: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Share values of an image's columns among its patches.

    Parameters
    ----------
    encoder : SecondOrderPooling
    features : LocalFeatures
    values : (n_columns, n_classes)

    Returns
    -------
    evidence : (n_patches, n_classes) float64
    of_components : (d, n_classes) float64
        What each principal component has in the score; pairs of them count half for both.
    """
    pyramid = as_pyramid(encoder.pyramid)
    x = encoder.whitened(features.descriptors).astype(np.float64)
    moments, n = encoder.moments(features)
    lambdas, vectors = encoder.eigen(moments.astype(np.float64))
    n_windows, d, n_classes = len(n), x.shape[1], values.shape[1]
    v = values.reshape(n_windows, -1, n_classes).astype(np.float64)
    row, column = np.triu_indices(d)
    evidence = np.zeros((len(x), n_classes))
    inside = pyramid.membership[:, pyramid.cells(features.positions)] > 0
    for window in np.flatnonzero(n):
        members = np.flatnonzero(inside[window])
        log_matrix = (vectors[window] * np.log(lambdas[window])) @ vectors[window].T
        numbers = encoder.unfold(log_matrix[None])[0]
        slopes = v[window] * (numbers / (numbers**2 + 1 / n[window]))[:, None]
        gammas = _divided_differences(lambdas[window])
        for k in range(n_classes):
            a = np.zeros((d, d))
            a[row, column] = slopes[:, k] * np.where(row == column, 1.0, np.sqrt(0.5))
            a = np.triu(a) + np.triu(a, 1).T
            turned = vectors[window].T @ a @ vectors[window]
            b = vectors[window] @ (gammas * turned) @ vectors[window].T
            parts = np.einsum("ij,ij->i", x[members] @ b, x[members]) / n[window]
            rest = v[window][:, k].sum() - parts.sum()
            evidence[members, k] += parts + rest / len(members)
    total = v.sum(axis=0)
    of_components = np.zeros((d, n_classes))
    np.add.at(of_components, row, total / 2)
    np.add.at(of_components, column, total / 2)
    return evidence, of_components


def _divided_differences(values: np.ndarray) -> np.ndarray:
    """(log a − log b) / (a − b) of all pairs of values, the derivative where a = b."""
    logs, apart = np.log(values), values[:, None] - values
    near = np.abs(apart) < 1e-9 * values.max()
    middle = (values[:, None] + values) / 2
    return np.where(near, 1 / middle, (logs[:, None] - logs) / np.where(near, 1.0, apart))
