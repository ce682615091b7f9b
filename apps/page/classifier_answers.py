"""Predictions and explanations of a classifier, as plain values for JSON."""

import math
import re
import time
from base64 import b64encode
from dataclasses import replace
from typing import Any

import numpy as np

import visualwords
from visualwords.apps.command_line.terminal import printable
from visualwords.apps.explanation.explanation import ChannelEvidence, Explanation
from visualwords.apps.page.guards import RefusedError
from visualwords.apps.page.questions import Question
from visualwords.apps.pipeline.classifier import ImageClassifier
from visualwords.apps.pipeline.decision import Decision
from visualwords.apps.pipeline.predictions import Answer
from visualwords.images import encode_image

JPEG = "data:image/jpeg;base64,"
MAP_SIDE = 64  # places along the longer side of an evidence map
N_REASONS = 9
N_PATCHES = 12
N_SIMILAR = 6
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
        """Return a description of the model."""
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
        """Return the best classes of an image."""
        start = time.perf_counter()
        answer = self.model.predict_one(data)
        names = [str(name) for name in self.model.classes_]
        scores, shares = np.array([answer.scores[name] for name in names]), None
        if answer.probabilities is not None:
            shares = np.array([answer.probabilities[name] for name in names])
        label = self._label(answer, shares, question)
        return {
            "kind": "classifier",
            "label": label,
            "unknown": label not in self.labels,
            "novelty": None if answer.novelty is None else round(answer.novelty, 6),
            "classes": _ranked(self.labels, scores, shares)[: question.top],
            "seconds": round(time.perf_counter() - start, 4),
        }

    def _label(self, answer: Answer, shares: np.ndarray | None, question: Question) -> str:
        """Return the label, by the rule of the model or by that of the request."""
        thresholds = {self._class_of(name): share for name, share in question.thresholds}
        if not (thresholds or question.unknown is not None or question.min_confidence):
            return printable(answer.label)
        if shares is None or (question.unknown is not None and answer.novelty is None):
            sentence = "the model has no probabilities or can't tell unknown images; train it again"
            raise RefusedError(409, sentence)
        rule = self.model.decision_
        asked = Decision.of(rule.classes, None, thresholds, question.unknown)
        limits = asked.thresholds if thresholds else rule.thresholds
        rule = replace(rule, unknown=asked.unknown or rule.unknown, thresholds=limits)
        novelty = None if answer.novelty is None else np.array([answer.novelty])
        label = str(rule.labels(shares[None], novelty)[0])
        confidence = dict(zip(rule.classes.tolist(), shares)).get(label, 1.0)
        return printable(label) if confidence >= question.min_confidence else rule.rejected

    def _class_of(self, label: str) -> str:
        if label not in self.labels:
            raise RefusedError(404, "the model has no such class; /api/model lists them")
        return str(self.model.classes_[self.labels.index(label)])

    def explain(self, data: bytes, top: int, label: str | None) -> dict[str, Any]:
        """Return the evidence for the best classes, or for one of them."""
        start = time.perf_counter()
        if label is not None:
            self._class_of(label)
        found = self.model.explain(data)
        ranked = _ranked(self.labels, found.scores, found.probabilities)
        wanted = [c for c in ranked if c["label"] == label] if label is not None else ranked[:top]
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


Ranked = list[dict[str, Any]]


def _ranked(labels: list[str], scores: np.ndarray, shares: np.ndarray | None) -> Ranked:
    """Return classes with scores and probabilities, the most probable first."""
    ranked: Ranked = []
    for i in np.argsort(-scores if shares is None else -shares, kind="stable"):
        share = None if shares is None else round(float(shares[i]), 6)
        score = round(float(scores[i]), 6)
        ranked.append({"label": labels[i], "score": score, "probability": share})
    return ranked


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
    """Return the centre of a bin of a colour histogram as #rrggbb; empty for other columns."""
    bins = re.fullmatch(r"red(\d+)_green(\d+)_blue(\d+)", names[number])
    if bins is None:
        return ""
    n_bins = round(len(names) ** (1 / 3))
    levels = [int(256 * (int(level) + 0.5) / n_bins) for level in bins.groups()]
    return "#" + bytes(levels).hex()


def _patches(channel: ChannelEvidence, where: np.ndarray, column: int) -> list[list[float]]:
    """Return left, top, width, height of the strongest of some patches, as shares of the image."""
    strongest = where[np.argsort(-np.abs(channel.evidence[where, column]), kind="stable")]
    strongest = strongest[:N_PATCHES]
    corners = channel.positions[strongest] - channel.sizes[strongest] / 2
    return np.round(np.hstack([corners, channel.sizes[strongest]]).astype(float), 4).tolist()
