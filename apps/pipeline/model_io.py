"""Model files: what a fitted classifier keeps, and how it is restored; nothing is executed."""

import os
import platform
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np

import visualwords
from visualwords.apps.pipeline.decision import Decision
from visualwords.apps.pipeline.encoder import ChannelEncoder
from visualwords.apps.pipeline.networks import find_networks, read_networks, with_names_only
from visualwords.apps.pipeline.novelty import Novelty
from visualwords.apps.pipeline.recipe import Recipe
from visualwords.apps.pipeline.recipe_text import Table
from visualwords.apps.pipeline.similarity import Gallery
from visualwords.apps.pipeline.table_bytes import packed_state, unpacked_state
from visualwords.classifiers.calibration import SoftmaxCalibration
from visualwords.errors import ModelFileError, RecipeError
from visualwords.model_file import (
    IMAGE_CLASSIFIER,
    OBJECT_DETECTOR,
    model_path,
    part_of,
    prefixed,
    read_model,
    restored,
    write_model,
)

LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn", "opencv-python-headless", "pillow")
GOLDEN_TOLERANCE = 1e-4  # other processors and libraries round differently
NETWORKS = "networks/"


def save(model: Any, path: str | os.PathLike[str], embed_network: bool = False) -> None:
    """Write a fitted classifier with its recipe, its figures and golden pairs to check it by."""
    for number, channel in enumerate(model.recipe_.channels, 1):
        if channel.is_transformer:
            raise RecipeError(
                f"channel {number} is {channel.build().describes()}, which a "
                "model file can't keep: files hold arrays and run no code. Use the model in this "
                "program, or write an extractor (CONTRIBUTING.md)"
            )
    golden = golden_images()
    arrays = prefixed("classifier/", packed_state(model.classifier_))
    for number, encoder in enumerate(model.encoders_):
        arrays |= prefixed(f"channel{number}/", encoder.get_state())
    arrays |= {
        "golden/images": np.stack(golden),
        "golden/decisions": model.decision_function(golden),
        "training/class_counts": model.class_counts_,
        "training/digests": model.training_digests_,
    }
    for name in ("decision", "calibration", "novelty", "gallery"):
        part = getattr(model, f"{name}_")
        if part is not None:
            arrays |= prefixed(f"{name}/", part.get_state())
    if model.gallery_ is not None:
        arrays["training/codes"] = np.searchsorted(model.classes_, model.gallery_.labels)
    if embed_network:
        arrays |= prefixed(NETWORKS, read_networks(model.recipe_.channels))
    write_model(path, _manifest(model), arrays)


def _manifest(model: Any) -> Table:
    recipe = with_names_only(model.recipe_) if model.recipe_.has_network else model.recipe_
    return {
        "kind": IMAGE_CLASSIFIER,
        "classes": model.classes_.tolist(),
        "recipe": recipe.to_json(),
        "training": {
            "images": int(model.class_counts_.sum()),
            "images_per_class": model.class_counts_.tolist(),
            "skipped": len(model.skipped_),
            "random_state": model.random_state,
            "iterations": int(np.max(model.classifier_.n_iter_)),
            "tried": model.tried_,
            "cut_off": model.cut_off_,
            "cross_validated": model.cross_validated_,
            "metric": model.metric,
        },
        "about": model.about_,
        "versions": library_versions(),
    }


def load(
    path: str | os.PathLike[str], kind: Any, network: str | os.PathLike[str] | None = None
) -> Any:
    """Read a model file that labels whole images, as a classifier of a class ``kind``.

    Raises
    ------
    ModelFileError
        If the file is not such a model. Nothing in a model file is ever executed.
    """
    path = model_path(path)
    manifest, arrays = read_model(path)
    return restored(path, lambda: restore(manifest, arrays, path, kind, network))


def restore(
    manifest: Table,
    arrays: dict[str, np.ndarray],
    path: str | os.PathLike[str],
    kind: Any,
    network: str | os.PathLike[str] | None,
) -> Any:
    """The classifier that a model file holds, once it has scored a small image."""
    if manifest["kind"] == OBJECT_DETECTOR:
        raise ModelFileError("finds objects; use it with detect-pedestrians run --model")
    if manifest["kind"] != IMAGE_CLASSIFIER:
        raise ModelFileError(f"a model of kind {manifest['kind']!r}, which is not known here")
    recipe = Recipe.from_table(manifest["recipe"])
    if recipe.has_network:
        given = None if network is None else os.fspath(network)
        recipe = find_networks(recipe, os.fspath(path), given, part_of(NETWORKS, arrays))
    for channel in recipe.channels:
        channel.build()  # an extractor of a package that is not installed here is missed now
    training = manifest["training"]
    model = kind(recipe, random_state=training["random_state"], metric=training["metric"])
    model.about_ = {str(key): str(value) for key, value in manifest["about"].items()}
    model.recipe_ = recipe
    model.classes_ = classes = np.array(manifest["classes"])
    model.class_counts_ = arrays["training/class_counts"]
    model.training_digests_ = arrays["training/digests"]
    model.tried_, model.tried_seconds_ = training["tried"], {}
    model.cut_off_, model.cross_validated_ = training["cut_off"], training["cross_validated"]
    model.skipped_, model.duplicates_, model.held_out_ = [], [], None
    model.encoders_ = [
        ChannelEncoder(channel, model.random_state).set_state(part_of(f"channel{n}/", arrays))
        for n, channel in enumerate(recipe.channels)
    ]
    state = unpacked_state(part_of("classifier/", arrays))
    model.classifier_ = recipe.build_classifier().set_state(state)
    if len(classes) != len(model.classifier_.classes_):
        raise ModelFileError("the classes do not fit the tables")
    calibration, novelty = part_of("calibration/", arrays), part_of("novelty/", arrays)
    if calibration and calibration["offsets"].shape != (len(classes),):
        raise ModelFileError("the calibration does not fit the classes")
    model.calibration_ = SoftmaxCalibration.from_state(calibration) if calibration else None
    model.novelty_ = Novelty.from_state(novelty) if novelty else None
    model.decision_ = Decision.from_state(part_of("decision/", arrays), classes)
    model.gallery_ = None
    if "training/codes" in arrays:
        labels = classes[arrays["training/codes"]]
        model.gallery_ = Gallery.from_state(part_of("gallery/", arrays), labels)
    answer = model.score_images(golden_images()[:1])  # parts that do not fit together fail now
    novel = model.decide(answer).novelty
    if not np.isfinite(answer.values).all() or (novel is not None and not np.isfinite(novel).all()):
        raise ModelFileError("its scores are not finite")
    return model


@dataclass(frozen=True)
class GoldenReplay:
    """How a model's scores of the golden images compare with those kept in its file.

    Attributes
    ----------
    kept, now : (n_images, n_classes) or (n_images,) arrays
        Scores when the model was saved, and here.
    largest_difference : float
    agrees : bool
        Whether they differ by no more than ``GOLDEN_TOLERANCE``, and name the same classes.
    """

    kept: np.ndarray
    now: np.ndarray

    @property
    def largest_difference(self) -> float:
        return float(np.abs(self.kept - self.now).max(initial=0.0))

    @property
    def agrees(self) -> bool:
        return bool(np.allclose(self.kept, self.now, rtol=0, atol=GOLDEN_TOLERANCE))


def replay_golden(path: str | os.PathLike[str], model: Any) -> GoldenReplay:
    """Compute the scores of a model file's golden images again, by the model that it holds."""
    _, arrays = read_model(path)
    try:
        images, kept = list(arrays["golden/images"]), arrays["golden/decisions"]
    except KeyError as problem:
        raise ModelFileError(f"{os.fspath(path)}: no array {problem}; train it again") from None
    now = model.decision_function(images)
    if now.shape != kept.shape:
        raise ModelFileError(f"{os.fspath(path)}: the golden scores do not fit the classes")
    return GoldenReplay(kept, now)


def golden_images() -> list[np.ndarray]:
    """Small generated images whose scores a model file keeps, to be checked elsewhere."""
    rng = np.random.default_rng(20101)
    noise = rng.integers(0, 256, (48, 64, 3), dtype=np.uint8)
    rows, columns = np.mgrid[:48, :64]
    ramp = np.stack([rows * 5, columns * 4, (rows + columns) * 2], axis=2).astype(np.uint8)
    blocks = np.kron(rng.integers(0, 256, (6, 8, 3), dtype=np.uint8), np.ones((8, 8, 1), np.uint8))
    return [noise, ramp, blocks]


def today() -> str:
    """The day (UTC) that model files bear: SOURCE_DATE_EPOCH's, where that is set."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = datetime.fromtimestamp(int(given), UTC) if given.isdigit() else datetime.now(UTC)
    return now.date().isoformat()


def library_versions() -> dict[str, str]:
    """The versions of all that has a part in the numbers."""
    return {
        "visualwords": visualwords.__version__,
        "python": platform.python_version(),
        **{name: version(name) for name in LIBRARIES},
    }
