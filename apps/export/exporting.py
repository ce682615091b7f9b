"""A fitted image classifier as one ONNX file, compared with itself before it is written."""

import hashlib
import json
import os
from collections.abc import Sequence
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

import numpy as np

import visualwords
from visualwords.apps.pipeline.channel import Channel
from visualwords.apps.pipeline.recipe import Recipe
from visualwords.errors import RecipeError, VisualWordsError
from visualwords.files import write_atomically

if TYPE_CHECKING:
    import onnx

    from visualwords.apps.pipeline.classifier import ImageClassifier

EXTRACTORS = ("DenseSIFT", "HOG", "Centrist", "ColorHistogram", "ColorStatistics", "DenseFilters")
KINDS = ("icd", "pmsvm", "linear")  # of classifiers


class ExportError(VisualWordsError, RuntimeError):
    """A graph that does not answer as the model does, or that can't be made here."""


class Export(NamedTuple):
    """A model as ONNX, and how it compares with the model on the golden images.

    Attributes
    ----------
    model : onnx.ModelProto
    classes : list of str
    largest_difference : float
        Of probabilities; of scores where the model has no probabilities.
    n_images : int
    """

    model: "onnx.ModelProto"
    classes: list[str]
    largest_difference: float
    n_images: int


def exportable_reason(recipe: Recipe) -> str | None:
    """Why a recipe can't become an ONNX file, in a sentence; None if it can.

    Examples
    --------
    >>> from visualwords.apps.pipeline.recipes import RECIPES
    >>> exportable_reason(RECIPES["words"])
    >>> exportable_reason(RECIPES["pyramid-match"]).split(",")[0]
    'channel 1 (DenseSIFT) matches sets of patches'
    """
    for number, channel in enumerate(recipe.channels, 1):
        reason = _channel_reason(channel)
        if reason is not None:
            return f"channel {number} ({channel.extractor}) {reason}"
    kind, params = recipe.classifier.kind, recipe.classifier.params
    if kind not in KINDS:
        return f"classifier {kind} compares images with training images; use icd, pmsvm or linear"
    if params.get("table_size", 1000) is None:
        return f"classifier {kind} has no tables (table_size); give it a size, such as 1000"
    return None


def export_onnx(
    model: "ImageClassifier | str | os.PathLike[str]",
    path: str | os.PathLike[str],
    *,
    size: tuple[int, int] | None = None,
) -> None:
    """Write a fitted image classifier as one ONNX file.

    The graph has everything from an image to its label, in standard operators: programs that use
    it need an ONNX runtime and nothing else. Its input ``image`` is (1, height, width, 3) uint8,
    red, green and blue. Outputs are ``label`` (1,), ``probabilities`` and ``scores``
    (1, n_classes), in the order of the classes in the file's metadata.

    Parameters
    ----------
    model : ImageClassifier, or path of its file
    path : path-like
    size : (width, height), optional
        The only size that images have; by default any.

    Raises
    ------
    RecipeError
        A channel or classifier that has no form in ONNX operators; the sentence names one that has.
    ExportError
        If the graph gives golden images other labels than the model. Nothing is written.

    Examples
    --------
    >>> import visualwords
    >>> visualwords.export_onnx(model, "photos.onnx")  # doctest: +SKIP
    """
    found = exported(model, size=size)
    write_atomically(path, found.model.SerializeToString())


def web_page(model_name: str, classes: Sequence[str]) -> bytes:
    """A page that predicts images in the browser by an ONNX file beside it."""
    template = files("visualwords.apps.export").joinpath("page.html").read_text(encoding="utf-8")
    for mark, value in (("CLASSES", list(classes)), ("MODEL", quote(model_name))):
        text = json.dumps(value).replace("<", "\\u003c")  # a name may end the script
        template = template.replace(f"/*{mark}*/", text)
    return template.encode()


def exported(
    model: "ImageClassifier | str | os.PathLike[str]", *, size: tuple[int, int] | None = None
) -> Export:
    """Make the ONNX model that `export_onnx` writes."""
    source = None
    if isinstance(model, str | os.PathLike):
        from visualwords.apps.pipeline.classifier import ImageClassifier

        with open(model, "rb") as file:
            source = hashlib.file_digest(file, "sha256").hexdigest()
        model = ImageClassifier.load(model)
    reason = exportable_reason(model.recipe_)
    if reason is not None:
        raise RecipeError(f"the model can't become an ONNX file: {reason}")
    for name in ("onnx", "onnxruntime"):
        if find_spec(name) is None:
            raise ExportError(f"{name} is not installed: pip install onnx onnxruntime")
    from visualwords.apps.export.model_graph import model_graph

    if model.decision_.unknown is not None:
        raise RecipeError(
            "the model can't become an ONNX file: it labels strange images "
            f"{model.decision_.rejected!r}, which needs its training images; train it without "
            "unknown"
        )
    return _compared(model, model_graph(model, size, _metadata(model, source, size)), size)


def _metadata(
    model: "ImageClassifier", source: str | None, size: tuple[int, int] | None
) -> dict[str, str]:
    """What people and programs want to know of the file, as text."""
    classes: list[str] = model.classes_.tolist()
    thresholds = zip(classes, model.decision_.thresholds.tolist())
    known = {
        "classes": json.dumps(classes, ensure_ascii=False),
        "recipe": model.recipe_.name,
        "max_side": json.dumps(model.recipe_.max_side),
        "size": "any" if size is None else f"{size[0]}x{size[1]}",
        "thresholds": json.dumps({c: t for c, t in thresholds if t == t}, ensure_ascii=False),
        "visualwords": visualwords.__version__,
        "onnx": import_module("onnx").__version__,
    }
    return known if source is None else known | {"model_sha256": source}


def _compared(
    model: "ImageClassifier", proto: "onnx.ModelProto", size: tuple[int, int] | None
) -> Export:
    """Run the golden images through onnxruntime; refuse a graph whose labels are others."""
    from visualwords.apps.pipeline.model_io import golden_images

    runtime = import_module("onnxruntime")
    session = runtime.InferenceSession(
        proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    images = golden_images()
    if size is not None:
        from visualwords.features.pixels import resize_image

        images = [resize_image(image, *size) for image in images]
    labels = model.predict(images)
    scores = model.decision_function(images)
    known = scores if model.calibration_ is None else model.predict_proba(images)
    name = "scores" if model.calibration_ is None else "probabilities"
    largest = 0.0
    for image, label, numbers in zip(images, labels, known):
        given, found = session.run(["label", name], {"image": image[None]})
        difference = np.abs(found[0] - numbers) if np.ndim(numbers) else found[0][1:] - numbers
        largest = max(largest, float(np.abs(difference).max()))
        if given[0] != label:
            raise ExportError(
                f"a golden image is {label!r}, but {given[0]!r} in the ONNX graph, whose {name} "
                f"differ by up to {largest:.3g}; nothing was written"
            )
    return Export(proto, model.classes_.tolist(), largest, len(images))


def _channel_reason(channel: Channel) -> str | None:
    if channel.sets is not None:
        return (
            "matches sets of patches, which ONNX has no operators for; recipe fisher can be "
            "exported"
        )
    if channel.extractor not in EXTRACTORS:
        return "has no form in ONNX operators; DenseSIFT can be exported, as in recipe words"
    if channel.hashes is not None:
        return "hashes its rows, which ONNX has no operators for; leave hashes out"
    if channel.params.get("interpolated"):
        return "is interpolated; leave interpolated = true out"
    return None
