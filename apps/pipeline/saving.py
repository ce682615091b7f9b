"""Image classifiers to model files and back."""

import os
import platform
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np

import visualwords
from visualwords.apps.pipeline.channel_encoder import make_encoders
from visualwords.apps.pipeline.decision import Decision
from visualwords.apps.pipeline.image_classifier import ImageClassifier
from visualwords.apps.pipeline.loading import IMAGE_CLASSIFIER, load_image_classifier
from visualwords.apps.pipeline.networks import find_networks, read_networks, with_names_only
from visualwords.apps.pipeline.novelty import Novelty
from visualwords.apps.pipeline.recipes import Recipe
from visualwords.apps.pipeline.similarity import Gallery
from visualwords.apps.pipeline.trained import packed_state, unpacked
from visualwords.classifiers.calibration import SoftmaxCalibration
from visualwords.errors import ModelFileError, RecipeError
from visualwords.features.registry import find_extractor
from visualwords.model_file import part_of, prefixed, read_model, write_model

LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn", "opencv-python-headless", "pillow")
GOLDEN_TOLERANCE = 1e-4  # other processors and libraries round differently
STATE = "classifier/"
GALLERY = "gallery/"
CALIBRATION = "calibration/"
NOVELTY = "novelty/"
DECISION = "decision/"
ENCODER = "channel"
DEFAULT_METRIC = "mean-per-class"  # older files have no other
NETWORKS = "networks/"


def save_image_classifier(
    model: ImageClassifier, path: str | os.PathLike[str], embed_network: bool = False
) -> None:
    """Write a fitted classifier with its recipe, its figures and golden pairs to check it by."""
    _check_can_be_saved(model.recipe_)
    golden = golden_images()
    arrays = prefixed(STATE, packed_state(model.classifier_))
    for number, encoder in enumerate(model.encoders_):
        arrays |= prefixed(f"{ENCODER}{number}/", encoder.get_state())
    arrays |= {
        "golden/images": np.stack(golden),
        "golden/decisions": model.decision_function(golden),
        "training/class_counts": model.class_counts_,
        "training/digests": model.training_digests_,
    }
    arrays |= prefixed(DECISION, model.decision_.get_state())
    if model.calibration_ is not None:
        arrays |= prefixed(CALIBRATION, model.calibration_.get_state())
    if model.novelty_ is not None:
        arrays |= prefixed(NOVELTY, model.novelty_.get_state())
    if model.gallery_ is not None:
        arrays |= prefixed(GALLERY, model.gallery_.get_state())
        arrays["training/codes"] = np.searchsorted(model.classes_, model.gallery_.labels)
    if embed_network:
        arrays |= prefixed(NETWORKS, read_networks(model.recipe_.channels))
    write_model(path, _manifest(model), arrays)


def _check_can_be_saved(recipe: Recipe) -> None:
    for number, channel in enumerate(recipe.channels):
        if channel.is_transformer:
            raise RecipeError(
                f"channel {number + 1} is {find_extractor(channel.extractor).describes()}, which a "
                "model file can't keep: files hold arrays and run no code. Use the model in this "
                "program, or write an extractor (docs/features.md)"
            )


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


def replay_golden(
    path: str | os.PathLike[str], network: str | os.PathLike[str] | None = None
) -> GoldenReplay:
    """Compute the scores of a model file's golden images again.

    Parameters
    ----------
    path : path-like
        A model file.
    network : path-like, optional
        The ONNX file that the model needs, or its folder.
    """
    _, arrays = read_model(path)
    model = load_image_classifier(path, network)
    try:
        images, kept = list(arrays["golden/images"]), arrays["golden/decisions"]
    except KeyError as problem:
        raise ModelFileError(f"{os.fspath(path)}: no array {problem}; train it again") from None
    now = model.decision_function(images)
    if now.shape != kept.shape:
        raise ModelFileError(f"{os.fspath(path)}: the golden scores do not fit the classes")
    return GoldenReplay(kept, now)


def golden_images() -> list[np.ndarray]:
    """Return small generated images whose scores a model file keeps, to be checked elsewhere."""
    rng = np.random.default_rng(20101)
    noise = rng.integers(0, 256, (48, 64, 3), dtype=np.uint8)
    rows, columns = np.mgrid[:48, :64]
    ramp = np.stack([rows * 5, columns * 4, (rows + columns) * 2], axis=2).astype(np.uint8)
    blocks = np.kron(rng.integers(0, 256, (6, 8, 3), dtype=np.uint8), np.ones((8, 8, 1), np.uint8))
    return [noise, ramp, blocks]


def today() -> str:
    """Return the day (UTC) that model files bear: SOURCE_DATE_EPOCH's, where that is set."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = datetime.fromtimestamp(int(given), UTC) if given.isdigit() else datetime.now(UTC)
    return now.date().isoformat()


def library_versions() -> dict[str, str]:
    """Return the versions of all that has a part in the numbers."""
    return {
        "visualwords": visualwords.__version__,
        "python": platform.python_version(),
        **{name: version(name) for name in LIBRARIES},
    }


def _manifest(model: ImageClassifier) -> dict[str, Any]:
    recipe = with_names_only(model.recipe_) if model.recipe_.has_network else model.recipe_
    late = {"cut_off": model.cut_off_, "repeated_by_budget": model.repeated_by_}
    chosen = {"metric": model.metric} if model.metric != DEFAULT_METRIC else {}
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
            "recipes_tried": model.tried_,
            "cross_validated": model.cross_validated_,
            **chosen,
            **(late if model.cut_off_ else {}),
        },
        **({"about": model.about_} if model.about_ else {}),
        "versions": library_versions(),
    }


def restore_image_classifier(
    manifest: dict[str, Any], arrays: dict[str, np.ndarray], path: str, network: str | None
) -> ImageClassifier:
    """Return the classifier that a model file holds, once it has scored a small image."""
    recipe = Recipe.from_json(manifest["recipe"])
    if recipe.has_network:
        recipe = find_networks(recipe, path, network, part_of(NETWORKS, arrays))
    for channel in recipe.channels:
        channel.build()  # an extractor of a package that is not installed here is missed now
    training = manifest["training"]
    metric = training.get("metric", DEFAULT_METRIC)
    model = ImageClassifier(recipe=recipe, random_state=training["random_state"], metric=metric)
    model.about_ = {str(key): str(value) for key, value in manifest.get("about", {}).items()}
    model.recipe_ = recipe
    model.classes_ = np.array(manifest["classes"])
    model.class_counts_ = arrays["training/class_counts"]
    model.training_digests_ = arrays["training/digests"]
    model.tried_, model.tried_seconds_ = training["recipes_tried"], {}
    model.cut_off_ = training.get("cut_off", [])
    model.repeated_by_ = training.get("repeated_by_budget")
    model.cross_validated_ = training["cross_validated"]
    model.skipped_ = []
    model.encoders_ = [
        encoder.set_state(part_of(f"{ENCODER}{number}/", arrays))
        for number, encoder in enumerate(make_encoders(recipe, model.random_state))
    ]
    state = unpacked(part_of(STATE, arrays))
    model.classifier_ = recipe.build_classifier().set_state(state)
    if len(model.classes_) != len(model.classifier_.classes_):
        raise ModelFileError("the classes do not fit the tables")
    model.calibration_ = _calibration(arrays, len(model.classes_))
    _restore_decision(model, arrays)
    model.gallery_ = None
    if "training/codes" in arrays:
        labels = model.classes_[arrays["training/codes"]]
        model.gallery_ = Gallery.from_state(part_of(GALLERY, arrays), labels)
    _try_out(model)
    return model


def _try_out(model: ImageClassifier) -> None:
    """Score one small image: parts that do not fit together fail now, not later."""
    if not np.isfinite(model.decision_function(golden_images()[:1])).all():
        raise ModelFileError("its scores are not finite")


def _calibration(arrays: dict[str, np.ndarray], n_classes: int) -> SoftmaxCalibration | None:
    """Return what turns scores into probabilities."""
    state = part_of(CALIBRATION, arrays)
    if not state:
        return None
    if state["offsets"].shape != (n_classes,):
        raise ModelFileError("the calibration does not fit the classes")
    return SoftmaxCalibration.from_state(state)


def _restore_decision(model: ImageClassifier, arrays: dict[str, np.ndarray]) -> None:
    """Restore how labels are found; older files have the plain rule, and know nothing strange."""
    state, novelty = part_of(DECISION, arrays), part_of(NOVELTY, arrays)
    model.decision_ = (
        Decision.from_state(state, model.classes_) if state else Decision.of(model.classes_)
    )
    model.novelty_ = Novelty.from_state(novelty) if novelty else None
