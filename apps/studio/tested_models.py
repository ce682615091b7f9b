"""What models predicted for images they were not shown: figures, changes, what to correct."""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from visualwords.apps.command_line.terminal import printable
from visualwords.apps.studio.workspace import Listed, shown
from visualwords.files import read_settings, write_atomically

MOST_KEPT = 12  # models
MOST_TABLE = 1 << 28  # bytes
MOST_QUESTIONS = 500  # at once
MOST_CHANGED = 400  # images whose label changed
UNSURE = 0.25  # lead of the best class below which an image is worth a look
UNKNOWN = 0.05  # share of known images that models may take for none of the classes

ROW = {"id", "truth", "guess", "confidence", "own", "margin", "novelty", "suspicious", "twin"}

Accepted = set[tuple[str, str]]  # images, and the labels that a person confirmed


@dataclass(frozen=True)
class TestedModel:
    """A model that was trained in the studio, as its table on disk describes it.

    Attributes
    ----------
    number : int
        Counts the models of a studio.
    table : dict
        As `visualwords.apps.studio.trainer` writes it. ``rows`` has a dict for every image: ``id``,
        ``truth`` and ``guess`` (its label at that time, and the most probable class),
        ``confidence`` and ``own`` (probabilities of the prediction and of the label), ``margin``
        (how far the best class is ahead of the next), ``novelty`` (0 to 1; −1 where the model can't
        tell), ``suspicious`` (whether the label looks wrong) and ``twin`` (then the most similar
        image of the predicted class).
    """

    number: int
    table: dict[str, Any]

    @property
    def kind(self) -> str:
        """Whether it is a "quick" or a "better" one."""
        return str(self.table["kind"])

    @cached_property
    def rows(self) -> dict[str, dict[str, Any]]:
        """What it predicted, by image."""
        return {row["id"]: row for row in self.table["rows"]}

    def to_json(self) -> dict[str, Any]:
        """Its figures, for the page; ``tested`` is 0 where no class had two images."""
        from scipy.stats import binomtest

        rows = self.rows.values()
        right = sum(row["guess"] == row["truth"] for row in rows)
        interval = binomtest(right, len(rows)).proportion_ci(method="wilson") if rows else None
        return {
            "number": self.number,
            "kind": self.kind,
            "recipe": printable(self.table["recipe"]),
            "images": self.table["images"],
            "right": right,
            "tested": len(rows),
            "unknown": sum(row["novelty"] > 1 - UNKNOWN for row in rows),
            "knows_unknown": self.table["unknown"],
            "interval": interval and [interval.low, interval.high],
        }


class Shelf:
    """The tested models of a studio, on disk, the newest last.

    Parameters
    ----------
    folder : Path
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self.models: list[TestedModel] = []
        for path in sorted(folder.glob("tested-*.json")):
            try:
                number = int(path.stem.removeprefix("tested-"))
                model = TestedModel(number, json.loads(read_settings(path, MOST_TABLE)))
                _ = model.to_json(), model.table["classes"], model.table["copies"]
                if all(row.keys() == ROW for row in model.rows.values()):
                    self.models.append(model)
            except (ValueError, TypeError, KeyError, OSError):
                continue  # a table that others wrote

    def add(self, table: dict[str, Any]) -> None:
        """Keep one more; the oldest ones go."""
        number = self.models[-1].number + 1 if self.models else 1
        write_atomically(self._path(number), json.dumps(table).encode())
        models = [*self.models, TestedModel(number, table)]
        for old in models[:-MOST_KEPT]:
            self._path(old.number).unlink(missing_ok=True)
        self.models = models[-MOST_KEPT:]

    def newest(self, kind: str) -> TestedModel | None:
        """The last model of a kind."""
        return next((model for model in reversed(self.models) if model.kind == kind), None)

    def time_of(self, model: TestedModel) -> float:
        """When the tests of a model were done."""
        return self._path(model.number).stat().st_mtime

    def _path(self, number: int) -> Path:
        return self.folder / f"tested-{number:06d}.json"


def questions(model: TestedModel, listed: Listed, accepted: Accepted) -> list[dict[str, Any]]:
    """The images to look at, the most useful first.

    First those whose label the model contradicts, the surest contradiction first; then those
    where the best class leads least, which teach a model most [1]_. Images whose label was
    confirmed are left out.

    References
    ----------
    .. [1] T. Scheffer, C. Decomain, S. Wrobel: Active hidden Markov models for information
       extraction, 2001 (margin sampling).
    """
    found = []
    for image in listed.images:
        row = model.rows.get(image.id)
        if row is None or (image.id, image.label) in accepted:
            continue
        is_wrong = row["guess"] != image.label
        if is_wrong or row["margin"] < UNSURE:
            use = (0, row["own"] - row["confidence"]) if is_wrong else (1, row["margin"])
            own = {"label": shown(image.label), "guess": shown(row["guess"]), "wrong": is_wrong}
            own["suspicious"] = is_wrong and row["suspicious"]
            is_there = own["suspicious"] and row["twin"] in listed.by_id
            found.append((use, row | own | {"twin": row["twin"] if is_there else None}))
    found.sort(key=lambda pair: pair[0])
    return [question for _, question in found[:MOST_QUESTIONS]]


def look_alikes(model: TestedModel, listed: Listed, accepted: Accepted) -> list[dict[str, Any]]:
    """Pairs of images that look the same; those in different classes come first."""
    pairs = []
    for one in model.table["copies"]:
        here = [listed.by_id[image] for image in one if image in listed.by_id]
        for other in here[1:]:
            if not {(here[0].id, here[0].label), (other.id, other.label)} <= accepted:
                apart = here[0].label != other.label
                pairs.append({"ids": [here[0].id, other.id], "apart": apart})
    return sorted(pairs, key=lambda pair: not pair["apart"])[:MOST_QUESTIONS]


def what_changed(first: TestedModel, second: TestedModel, listed: Listed) -> dict[str, Any] | None:
    """Compare two models on the images that both were tested on, by the labels of now.

    A label that was corrected between the two counts as correct for both. ``p`` is McNemar's exact
    test: how often chance alone would change as many for the better or the worse. None if the two
    have no image in common.
    """
    from scipy.stats import binomtest

    common = [one for one in listed.images if one.id in first.rows and one.id in second.rows]
    if not common:
        return None
    n_right, changed = [0, 0], []
    for image in common:
        guesses = [model.rows[image.id]["guess"] for model in (first, second)]
        right = [guess == image.label for guess in guesses]
        n_right = [n + is_right for n, is_right in zip(n_right, right)]
        if guesses[0] != guesses[1]:
            verdict = "better" if right[1] else "worse" if right[0] else "both wrong"
            labels = zip(("truth", "first", "second"), map(shown, [image.label, *guesses]))
            changed.append({"id": image.id, "verdict": verdict, **dict(labels)})
    better, worse = (sum(c["verdict"] == way for c in changed) for way in ("better", "worse"))
    order = ("worse", "better", "both wrong")
    return {
        "images": len(common),
        "first_right": n_right[0],
        "second_right": n_right[1],
        "better": better,
        "worse": worse,
        "p": binomtest(better, better + worse).pvalue if better + worse else 1.0,
        "changed": sorted(changed, key=lambda c: order.index(c["verdict"]))[:MOST_CHANGED],
    }


def images_json(listed: Listed, model: TestedModel | None) -> dict[str, Any]:
    """Classes and images; images as short rows, for there may be thousands.

    A row is the id, the position of the class, the file's name, and whether the model is right:
    1 or 0, or −1 where it was not tested.
    """
    place = {label: i for i, label in enumerate(listed.folders)}
    rows, images = {} if model is None else model.rows, []
    verdicts: list[list[int]] = [[] for _ in place]
    for image in listed.images:
        i, row = place[image.label], rows.get(image.id)
        verdicts[i].append(-1 if row is None else int(row["guess"] == image.label))
        images.append([image.id, i, printable(image.name), verdicts[i][-1]])
    classes = [
        {"name": shown(n), "images": len(v), "right": v.count(1), "tested": len(v) - v.count(-1)}
        for n, v in zip(place, verdicts)
    ]
    return {"version": listed.version, "classes": classes, "images": images}
