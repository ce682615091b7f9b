"""A recipe that has learned, and the arrays that keep it in the cache and in model files.

Table values of a classifier are rounded, once, when a model is trained, to whole multiples of a
power of two: at most 127 of them. Files have a quarter of the size, and such products are exact in
float32, so that a model and its file give the same scores bit for bit. A score is a sum of
thousands of look-ups whose rounding errors cancel out.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from visualwords.apps.pipeline.appearance import Appearance, held_out_appearance
from visualwords.apps.pipeline.channel_encoder import ChannelEncoder, make_encoders
from visualwords.apps.pipeline.contents import DIGEST_BYTES
from visualwords.apps.pipeline.novelty import Novelty, spread
from visualwords.apps.pipeline.recipe import Recipe
from visualwords.apps.pipeline.similarity import Signer
from visualwords.classifiers.calibration import SoftmaxCalibration, trust_of_folds
from visualwords.classifiers.solvers.byte_rows import RowCoefficients
from visualwords.errors import Skipped
from visualwords.model_file import State, part_of, prefixed

if TYPE_CHECKING:
    from visualwords.classifiers import ICDClassifier

HUGE = 1e30  # beyond all numbers of a trained recipe
NEVER_NEGATIVE = ("n_patches", "counts", "inertia", "n_iter")
COEFFICIENTS = "coefficients/"
CLASSIFIER, CHANNEL, SIGNER, HELD_OUT = "classifier/", "channel", "signer/", "held out"
DISTANCES = "held out distances"
VALUES, EXPONENTS = "table_values", "table_exponents"

Signed = tuple[Signer, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Trained:
    """A recipe that has learned.

    Attributes
    ----------
    recipe : Recipe
    encoders : list of ChannelEncoder
    classifier : fitted on the numbers of classes
    kept : positions of the images that it learned from
    skipped : the other images
    digests : fingerprints of the files
    held_out : scores of images by classifiers that did not learn from them, those of all folds
        for all images; None if a class is too small
    held_out_labels : the labels of these images
    held_out_again : the same scores for other divisions into folds, of a recipe that is compared
        with others on few images
    coefficients : what a classifier of bytes has learned from products, until it has weights
    signed : what makes signatures, those of the images it learned from, by which similar images
        are found, and their lengths; None of a recipe that is only compared with others
    held_out_distances : from these images (of many, from those that `novelty.spread` names) to the
        nearest one, to the classes and to the nearest direction outside of their fold, (n, 3), or
        None
    """

    recipe: Recipe
    encoders: list[ChannelEncoder]
    classifier: Any
    kept: np.ndarray
    skipped: list[Skipped]
    digests: list[bytes]
    held_out: np.ndarray | None
    held_out_labels: np.ndarray
    signed: Signed | None = None
    held_out_distances: np.ndarray | None = None
    held_out_again: tuple[np.ndarray, ...] = ()
    coefficients: RowCoefficients | None = None


def calibrate(
    trained: Trained, weights: np.ndarray | None = None, folds: np.ndarray | None = None
) -> SoftmaxCalibration | None:
    """Return what turns scores into probabilities; None if a class was too small for it.

    Parameters
    ----------
    trained : Trained
    weights : (n_classes,), optional
        What an image of each class counts.
    folds : (n,) int, optional
        In which the images were held out.
    """
    if trained.held_out is None:
        return None
    codes = np.unique(trained.held_out_labels, return_inverse=True)[1]
    return SoftmaxCalibration.fit(trained.held_out, codes, weights, folds)


def learn_novelty(
    trained: Trained,
    with_distances: bool,
    calibration: SoftmaxCalibration | None = None,
    statistics: np.ndarray | None = None,
    folds: np.ndarray | None = None,
) -> Novelty | None:
    """Return what knows strange images; None if a class was too small for held-out scores.

    Parameters
    ----------
    trained : Trained
    with_distances : bool
        Whether the model keeps the signatures of its training images.
    calibration : SoftmaxCalibration or None
    statistics : (n, n_statistics) or None
        How the images look (`visualwords.apps.pipeline.appearance`), in the order of their
        held-out scores.
    folds : (n,) int or None
        In which they were held out.
    """
    if trained.held_out is None:
        return None
    distances = trained.held_out_distances if with_distances else None
    some = spread(len(trained.held_out))
    scores, doubts = trained.held_out[some], None
    if calibration is not None:
        doubts = 1 - calibration.probabilities(scores).max(axis=1)
    if statistics is None or folds is None:
        return Novelty.fit(scores, distances, doubts=doubts)
    codes = np.unique(trained.held_out_labels, return_inverse=True)[1]
    trust = trust_of_folds(codes, folds)[some]
    looks = held_out_appearance(statistics, codes, folds, with_distances)[some]
    appearance = Appearance.fit(statistics, codes, with_distances)
    return Novelty.fit(scores, distances, looks, doubts, appearance, trust)


def state_of(trained: Trained) -> State:
    """Return what was learned in memory, from all images, but for signatures, as plain arrays."""
    if trained.skipped:
        raise ValueError("what was learned from some of the images is not kept")
    state = {
        "kept": trained.kept,
        "digests": np.frombuffer(b"".join(trained.digests), np.uint8),
    }
    if trained.coefficients is None:
        state |= prefixed(CLASSIFIER, packed_state(trained.classifier))
    else:
        state["classes"] = trained.classifier.classes_
        arrays = {k: np.asarray(v) for k, v in trained.coefficients._asdict().items()}
        state |= prefixed(COEFFICIENTS, arrays)
    if trained.held_out is not None:
        state[HELD_OUT] = trained.held_out
    for number, scores in enumerate(trained.held_out_again):
        state[f"{HELD_OUT} again {number}"] = scores
    for number, encoder in enumerate(trained.encoders):
        state |= prefixed(f"{CHANNEL}{number}/", encoder.get_state())
    return state


def trained_of(
    state: State, recipe: Recipe, labels: np.ndarray, seed: int, n_jobs: int | None
) -> Trained:
    """Return what `state_of` was given, of the same recipe, labels and seed.

    Raises
    ------
    ValueError, KeyError, …
        If its parts do not fit together: an entry of the cache is checked as a model file is.
    """
    _check(state, labels)
    classifier = recipe.build_classifier(seed, n_jobs)
    coefficients = None
    if learned := part_of(COEFFICIENTS, state):
        classifier.classes_ = state["classes"]
        numbers = float(learned["mean_square"]), int(learned["n_iter"])
        coefficients = RowCoefficients(learned["values"], *numbers)
    else:
        classifier.set_state(unpacked(part_of(CLASSIFIER, state)))
    digests = state["digests"].tobytes()
    return Trained(
        recipe,
        [
            encoder.set_state(part_of(f"{CHANNEL}{number}/", state))
            for number, encoder in enumerate(make_encoders(recipe, seed))
        ],
        classifier,
        state["kept"],
        [],
        [digests[i : i + DIGEST_BYTES] for i in range(0, len(digests), DIGEST_BYTES)],
        state.get(HELD_OUT),
        labels[state["kept"]],
        held_out_again=tuple(
            state[name] for name in sorted(state) if name.startswith(f"{HELD_OUT} again")
        ),
        coefficients=coefficients,
    )


def state_of_signatures(trained: Trained) -> State:
    """Return the signatures of the images that a recipe learned from, as plain arrays."""
    if trained.signed is None:
        raise ValueError("the recipe has no signatures")
    signer, signatures, lengths = trained.signed
    state = {
        "signatures": signatures,
        "lengths": lengths,
        **prefixed(SIGNER, signer.get_state()),
    }
    if trained.held_out_distances is not None:
        state[DISTANCES] = trained.held_out_distances
    return state


def with_signatures(trained: Trained, state: State) -> Trained:
    """Return a recipe with what `state_of_signatures` was given.

    Raises
    ------
    ValueError, KeyError, …
        If the signatures are not those of its images.
    """
    n_images = len(trained.kept)
    n_bits, n_columns = state[f"{SIGNER}directions"].shape
    _check_arrays(
        state,
        {
            "signatures": ("i1", (n_images, n_bits)),
            "lengths": ("f4", (n_images,)),
            f"{SIGNER}mean": ("f4", (n_columns,)),
            f"{SIGNER}directions": ("f2", (n_bits, n_columns)),
            DISTANCES: ("f8", (len(spread(n_images)), 3)),
        },
    )
    nearest = state[DISTANCES][:, 0] if DISTANCES in state else np.zeros(1)
    if min(state["lengths"].min(), nearest.min()) < 0:
        raise ValueError("lengths or distances are negative")
    signer = Signer().set_state(part_of(SIGNER, state))
    signed = signer, state["signatures"], state["lengths"]
    return replace(trained, signed=signed, held_out_distances=state.get(DISTANCES))


def _check(state: State, labels: np.ndarray) -> None:
    """Refuse a state that can't be one of these labels."""
    kept = state["kept"]
    if kept.ndim != 1 or kept.dtype.kind != "i" or not len(kept):
        raise ValueError("the images are not a list of positions")
    if kept.min() < 0 or (np.diff(kept) <= 0).any() or kept.max() >= len(labels):
        raise ValueError("the positions of images are not those of the labels")
    n_classes, n_images = len(np.unique(labels[kept])), len(kept)
    of_scores = (n_images, n_classes) if n_classes > 2 else (n_images,)
    scores = dict.fromkeys((n for n in state if n.startswith(HELD_OUT)), ("f8", of_scores))
    _check_arrays(state, {"digests": ("u1", (DIGEST_BYTES * n_images,)), **scores})


def _check_arrays(state: State, shapes: dict[str, tuple[str, tuple[int, ...]]]) -> None:
    """Refuse arrays of other types and shapes, and numbers that no training gives."""
    for name, (dtype, shape) in shapes.items():
        if name in state and (state[name].dtype != dtype or state[name].shape != shape):
            raise ValueError(f"{name} is not an array of type {dtype} and shape {shape}")
    check_numbers(state)


def check_numbers(state: State) -> None:
    """Refuse a learned state with numbers that no training gives.

    Raises
    ------
    ValueError
    """
    for name, array in state.items():
        if array.dtype.kind not in "biufU":
            raise ValueError(f"{name} has values that are not numbers")
        if array.dtype.kind == "f" and not (np.abs(array, dtype=np.float64) <= HUGE).all():
            raise ValueError(f"{name} has numbers that are not finite, or huge")
        if name.endswith("scale") and not (array.dtype == np.float64 and array > 0):
            raise ValueError(f"{name} is not a positive number")
        if name.endswith(NEVER_NEGATIVE) and array.min(initial=0) < 0:
            raise ValueError(f"{name} is negative")


def round_tables(classifier: "ICDClassifier") -> "ICDClassifier":
    """Return a classifier with the same tables, rounded."""
    state = classifier.get_state()
    values, exponents = _to_bytes(state[VALUES])
    state[VALUES] = _to_floats(values, exponents)
    return type(classifier)(**classifier.get_params()).set_state(state)


def packed_state(classifier: Any) -> dict[str, np.ndarray]:
    """Return the state of a classifier; rounded tables as bytes."""
    state = classifier.get_state()
    if VALUES in state:
        state[VALUES], state[EXPONENTS] = _to_bytes(state[VALUES])
    return state


def unpacked(state: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the state that `packed_state` was given."""
    if EXPONENTS not in state:
        return state
    values, exponents = state[VALUES], state[EXPONENTS]
    if values.ndim != 2 or exponents.shape != values.shape[1:] or values.dtype != np.int8:
        raise ValueError("the tables do not belong together; the file they came from is damaged")
    kept = {name: value for name, value in state.items() if name != EXPONENTS}
    return kept | {VALUES: _to_floats(values, exponents)}


def _to_bytes(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return whole numbers −127 … 127 and the exponents of two to multiply each column with."""
    largest = np.maximum(np.abs(values).max(axis=0, initial=0), np.float32(1e-30))
    exponents = np.ceil(np.log2(largest / 127)).astype(np.int16)
    return np.rint(np.ldexp(values, -exponents)).astype(np.int8), exponents


def _to_floats(values: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    return np.ldexp(values.astype(np.float32), exponents)
