"""Answers of models to requests, as plain values for JSON: predictions, boxes, explanations."""

import copy
import math
import re
import time
from base64 import b64encode
from dataclasses import replace
from typing import Any

import numpy as np

import visualwords
from visualwords.apps.command_line.terminal import printable
from visualwords.apps.detection.detector import PedestrianDetector
from visualwords.apps.explanation.explanation import ChannelEvidence, Explanation
from visualwords.apps.page.guards import RefusedError
from visualwords.apps.page.questions import Question
from visualwords.apps.pipeline.classifier import ImageClassifier
from visualwords.apps.pipeline.decision import Decision
from visualwords.images import encode_image, read_image, shrink

JPEG = "data:image/jpeg;base64,"
MAP_SIDE = 64  # places along the longer side of an evidence map
N_REASONS = 9
N_PATCHES = 12
N_SIMILAR = 6
MAX_SIDE = 1600  # larger images are shrunk before objects are detected: the time stays bounded
PERSON = "person"
KINDS = {  # extractor → what a person sees of it
    "DenseSIFT": "edges",
    "KeypointSIFT": "corners",
    "HOG": "outlines",
    "Centrist": "texture",
    "DenseFilters": "texture",
    "ColorHistogram": "colours",
    "ColorStatistics": "colours",
}


class ClassifierAnswers:
    """Answers of an image classifier; see `visualwords.apps.page.served_models.Answers`.

    Parameters
    ----------
    model : ImageClassifier
    name : str
    max_pixels : int
    """

    def __init__(self, model: ImageClassifier, name: str, max_pixels: int):
        self.model = model.set_params(n_jobs=1, cache_dir=None, max_pixels=max_pixels)
        self.name = name
        # Names of folders may not be valid text; the page shows them as the terminal does.
        self.labels = [printable(str(label)) for label in model.classes_]
        noise = np.random.default_rng(0).integers(0, 256, (96, 128, 3), dtype=np.uint8)
        self.explain(encode_image(noise), 1, None)  # warm up: compile and load

    def about(self) -> dict[str, Any]:
        """A description of the model."""
        model, gallery, counts = self.model, self.model.gallery_, self.model.class_counts_
        is_calibrated = model.calibration_ is not None
        how = "on held-out training images" if is_calibrated else "not: too few images"
        facts = {
            "recipe": f"{model.recipe_.name}: {model.recipe_.summary}",
            "trained on": f"{int(counts.sum()):,} images",
            "probabilities calibrated": how,
            "stored of the training images": "none" if gallery is None else gallery.kept,
            "seed": str(model.random_state),
            "visualwords": visualwords.__version__,
        }
        pairs = zip(self.labels, counts.tolist())
        return {
            "kind": "classifier",
            "name": self.name,
            "summary": f"Distinguishes {len(model.classes_)} classes of images.",
            "classes": [{"label": label, "images": count} for label, count in pairs],
            "facts": [{"name": name, "value": value} for name, value in facts.items()],
            "explains": True,
        }

    def predict(self, data: bytes, question: Question) -> dict[str, Any]:
        """The best classes of an image."""
        start = time.perf_counter()
        model = self._by_the_rule_of(question)
        answer = model.predict_one(data)
        shares = answer.probabilities or {}
        listed = [_class(name, score, shares.get(name)) for name, score in answer.scores.items()]
        is_sure = answer.probability is None or answer.probability >= question.min_confidence
        label = printable(answer.label) if is_sure else model.decision_.rejected
        return {
            "kind": "classifier",
            "label": label,
            "unknown": label not in self.labels,
            "novelty": None if answer.novelty is None else round(answer.novelty, 6),
            "classes": listed[: question.top],
            "seconds": round(time.perf_counter() - start, 4),
        }

    def _by_the_rule_of(self, question: Question) -> ImageClassifier:
        """The model, or one that decides as a request asks for."""
        thresholds = {self._class_of(name): share for name, share in question.thresholds}
        if not (thresholds or question.unknown is not None or question.min_confidence):
            return self.model
        is_blind = question.unknown is not None and self.model.novelty_ is None
        if self.model.calibration_ is None or is_blind:
            sentence = "the model has no probabilities or can't tell unknown images; train it again"
            raise RefusedError(409, sentence)
        rule = self.model.decision_
        asked = Decision.of(rule.classes, None, thresholds, question.unknown)
        limits = asked.thresholds if thresholds else rule.thresholds
        model = copy.copy(self.model)  # other threads use it, too
        model.decision_ = replace(rule, unknown=asked.unknown or rule.unknown, thresholds=limits)
        return model

    def _class_of(self, label: str) -> str:
        if label not in self.labels:
            raise RefusedError(404, "the model has no such class; /api/model lists them")
        return str(self.model.classes_[self.labels.index(label)])

    def explain(self, data: bytes, top: int, label: str | None) -> dict[str, Any]:
        """The evidence for the best classes, or for one of them."""
        start = time.perf_counter()
        if label is not None:
            self._class_of(label)
        found = self.model.explain(data)
        shares = (
            {} if found.probabilities is None else dict(zip(found.classes, found.probabilities))
        )
        columns = ((name, found.column_of(name)) for name in found.ranked)
        listed = [_class(name, found.scores[k], shares.get(name)) for name, k in columns]
        wanted = [c for c in listed if c["label"] == label] if label is not None else listed[:top]
        return {
            "label": printable(found.label),
            "novelty": None if found.novelty is None else round(found.novelty, 6),
            "exact": found.exact,
            "method": found.method,
            "classes": [one | _evidence(found, self.labels.index(one["label"])) for one in wanted],
            "similar": self._similar(data),
            "seconds": round(time.perf_counter() - start, 4),
        }

    def _similar(self, data: bytes) -> list[dict[str, Any]]:
        gallery = self.model.gallery_
        if gallery is None:
            return []
        pictures = dict(zip(gallery.names, gallery.thumbnails or []))
        return [
            {
                "name": printable(name),
                "label": printable(label),
                "similarity": round(similarity, 4),
                "thumbnail": JPEG + b64encode(pictures[name]).decode() if name in pictures else "",
            }
            for name, label, similarity in self.model.similar(data, N_SIMILAR)
        ]


class DetectorAnswers:
    """Answers of a detector; see `visualwords.apps.page.served_models.Answers`.

    Parameters
    ----------
    model : PedestrianDetector
    name : str
    max_pixels : int
    """

    def __init__(self, model: PedestrianDetector, name: str, max_pixels: int):
        self.model = model
        self.name = name
        self.max_pixels = max_pixels
        model.detect(np.zeros((160, 120, 3), np.uint8))  # warm up: compile and load

    def about(self) -> dict[str, Any]:
        """A description of the model."""
        facts = {"images": f"shrunk to {MAX_SIDE} pixels if larger"}
        facts["visualwords"] = visualwords.__version__
        label = printable(self.model.label)
        objects = "people who stand or walk" if label == PERSON else f"objects of class {label}"
        return {
            "kind": "detector",
            "name": self.name,
            "summary": f"Detects {objects} and draws a box around each.",
            "classes": [{"label": label, "images": None}],
            "facts": [{"name": name, "value": value} for name, value in facts.items()],
            "explains": False,
        }

    def predict(self, data: bytes, question: Question) -> dict[str, Any]:
        """The boxes of an image, best first."""
        start = time.perf_counter()
        image = read_image(data, "rgb", self.max_pixels)
        small = shrink(image, MAX_SIDE)
        model = self.model
        if question.least is not None:  # of a copy: other threads use the model, too
            model = copy.copy(model).set_params(threshold=question.least)
        boxes, confidences = model.detect(small)
        zoom = image.shape[1] / small.shape[1]
        found = zip(np.round(zoom * boxes, 1).tolist(), confidences.tolist())
        listed = [{"box": box, "confidence": round(share, 4)} for box, share in found]
        return {
            "kind": "detector",
            "boxes": sorted(listed, key=lambda one: -one["confidence"]),
            "width": image.shape[1],
            "height": image.shape[0],
            "seconds": round(time.perf_counter() - start, 4),
        }

    def explain(self, data: bytes, top: int, label: str | None) -> dict[str, Any]:
        """Refuse: a detector has no evidence map."""
        raise RefusedError(404, "a detector has no evidence map; ask /api/predict for its boxes")


def _class(name: str, score: float, share: float | None) -> dict[str, Any]:
    share = None if share is None else round(float(share), 6)
    return {"label": printable(name), "score": round(float(score), 6), "probability": share}


def _evidence(found: Explanation, column: int) -> dict[str, Any]:
    height, width = found.shape
    scale = min(1.0, MAP_SIDE / max(height, width))
    shape = max(1, round(height * scale)), max(1, round(width * scale))
    evidence = found.heat_map(str(found.classes[column]), shape)
    largest = float(np.abs(evidence).max())  # six digits of it are enough
    digits = 6 - math.ceil(math.log10(largest)) if largest > 0 else 0
    rows = np.round(evidence.astype(np.float64), digits).tolist()
    offset = float(found.offsets[column])
    return {"offset": offset, "map": rows, "words": _reasons(found, column)}


def _reasons(found: Explanation, column: int) -> list[dict[str, Any]]:
    """The strongest evidence for or against a class, in things that a person sees.

    Visual words have patches of the image, bins of a colour histogram a colour. Columns of other
    descriptors (a census of 256 bins, the angles of a HOG) are nothing to look at: they are added
    up, with the places that contribute most.
    """
    reasons = []
    for channel in found.channels:
        kind = KINDS.get(channel.name.split()[0], channel.name)
        values = channel.values[:, column]
        strongest = np.argsort(-np.abs(values), kind="stable")[:N_REASONS]
        if channel.words is not None:
            for word in strongest:
                patches = _patches(channel, np.flatnonzero(channel.words == word), column)
                reasons.append(_reason(f"{kind} like these", values[word], patches))
        elif _color(channel.names, 0):
            for bin_ in strongest:
                color = _color(channel.names, bin_)
                reasons.append(_reason("this colour", values[bin_], [], color))
        else:
            several = len(channel.positions) > 1
            where = np.arange(len(channel.positions) if several else 0)
            name = f"{kind}, most of all here" if several else f"{kind} of the whole image"
            reasons.append(_reason(name, values.sum(), _patches(channel, where, column)[:3]))
    reasons = [reason for reason in reasons if reason["evidence"]]
    return sorted(reasons, key=lambda reason: -abs(reason["evidence"]))[:N_REASONS]


def _reason(
    name: str, evidence: float, patches: list[list[float]], color: str = ""
) -> dict[str, Any]:
    return {"name": name, "color": color, "evidence": round(float(evidence), 6), "patches": patches}


def _color(names: list[str], number: int) -> str:
    """The centre of a bin of a colour histogram as #rrggbb; empty for other columns."""
    bins = re.fullmatch(r"red(\d+)_green(\d+)_blue(\d+)", names[number])
    if bins is None:
        return ""
    n_bins = round(len(names) ** (1 / 3))
    levels = [int(256 * (int(level) + 0.5) / n_bins) for level in bins.groups()]
    return "#" + bytes(levels).hex()


def _patches(channel: ChannelEvidence, where: np.ndarray, column: int) -> list[list[float]]:
    """Left, top, width, height of the strongest of some patches, as shares of the image."""
    strongest = where[np.argsort(-np.abs(channel.evidence[where, column]), kind="stable")]
    strongest = strongest[:N_PATCHES]
    corners = channel.positions[strongest] - channel.sizes[strongest] / 2
    return np.round(np.hstack([corners, channel.sizes[strongest]]).astype(float), 4).tolist()
