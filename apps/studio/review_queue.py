"""Which images to look at first: mistakes, then the least certain, then pairs that look wrong."""

from collections.abc import Iterable
from typing import Any

from visualwords.apps.studio.class_folders import Listed
from visualwords.apps.studio.tested_models import Row, TestedModel

MOST = 500  # questions at once
UNSURE = 0.25  # lead of the best class below which an image is worth a look


def questions(
    model: TestedModel, listed: Listed, accepted: set[tuple[str, str]]
) -> list[dict[str, Any]]:
    """Return the images to look at, the most useful first.

    First those whose label the model contradicts, the surest contradiction first; then those
    where the best class leads least, which teach a model most [1]_. Images whose label was
    confirmed are left out.

    References
    ----------
    .. [1] T. Scheffer, C. Decomain, S. Wrobel: Active hidden Markov models for information
       extraction, 2001 (margin sampling).
    """
    rows = model.rows
    doubts = {doubt["id"]: doubt for doubt in model.table["doubts"]}
    wrong: list[tuple[float, dict[str, Any]]] = []
    unsure: list[tuple[float, dict[str, Any]]] = []
    for image in listed.images:
        row = rows.get(image.id)
        if row is None or (image.id, image.label) in accepted:
            continue
        question = _question(row, image.label)
        if row.guess != image.label:
            doubt = doubts.get(image.id)
            if doubt is not None and doubt["label"] != image.label:
                question |= {"suspicious": True, "twin": _known(doubt["twin"], listed)}
            wrong.append((row.own - row.confidence, question))
        elif row.margin < UNSURE:
            unsure.append((row.margin, question))
    ordered = [*sorted(wrong, key=_first), *sorted(unsure, key=_first)]
    return [question for _, question in ordered][:MOST]


def _question(row: Row, label: str) -> dict[str, Any]:
    return {
        "id": row.id,
        "label": label,
        "guess": row.guess,
        "confidence": row.confidence,
        "novelty": row.novelty,
        "wrong": row.guess != label,
        "suspicious": False,
        "twin": None,
    }


def near_copies(
    model: TestedModel, listed: Listed, accepted: set[tuple[str, str]]
) -> list[dict[str, Any]]:
    """Return pairs of images that look the same; those in different classes come first."""
    pairs = []
    for one in model.table["copies"]:
        here = [listed.by_id[image] for image in one if image in listed.by_id]
        for other in here[1:]:
            both = {(here[0].id, here[0].label), (other.id, other.label)}
            if not both <= accepted:
                apart = here[0].label != other.label
                pairs.append({"ids": [here[0].id, other.id], "apart": apart})
    return sorted(pairs, key=lambda pair: not pair["apart"])[:MOST]


def n_left(found: Iterable[dict[str, Any]]) -> dict[str, int]:
    """Return how many questions there are of each kind."""
    wrong = [question["wrong"] for question in found]
    return {"wrong": sum(wrong), "unsure": len(wrong) - sum(wrong)}


def _known(image: str | None, listed: Listed) -> str | None:
    return image if image in listed.by_id else None


def _first(pair: tuple[float, dict[str, Any]]) -> float:
    return pair[0]
