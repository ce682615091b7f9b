"""What the studio's page gets to show: plain values for JSON."""

import time
from typing import Any

from visualwords.apps.command_line.terminal import printable
from visualwords.apps.evaluation.paired import PairedTrials
from visualwords.apps.studio.class_folders import Listed, shown
from visualwords.apps.studio.learning import Running
from visualwords.apps.studio.tested_models import TestedModel

MOST_CHANGED = 400  # images whose label changed


def images_json(listed: Listed, model: TestedModel | None) -> dict[str, Any]:
    """Return classes and images; images as short rows, for there may be thousands.

    A row is the id, the position of the class, the file's name, and whether the model is right:
    1 or 0, or −1 where it has not been asked.
    """
    place = {label: i for i, label in enumerate(listed.folders)}
    rows = {} if model is None else model.rows
    counts = [0] * len(place)
    right = [0] * len(place)
    tested = [0] * len(place)
    images = []
    for image in listed.images:
        i = place[image.label]
        row = rows.get(image.id)
        verdict = -1 if row is None else int(row.guess == image.label)
        counts[i] += 1
        right[i] += verdict == 1
        tested[i] += verdict >= 0
        images.append([image.id, i, printable(image.place.rpartition("/")[2]), verdict])
    classes = [
        {"name": shown(label), "images": counts[i], "right": right[i], "tested": tested[i]}
        for label, i in place.items()
    ]
    return {"version": listed.version, "classes": classes, "images": images}


def running_json(running: Running) -> dict[str, Any]:
    """Return how far a training is."""
    return {
        "on": running.is_on,
        "version": running.version,
        "seconds": round(time.monotonic() - running.since, 1) if running.is_on else None,
        "stage": printable(running.stage),
        "done": running.done,
        "total": running.total,
        "status": printable(running.status),
        "notes": [printable(note) for note in running.notes],
        "failed": printable(running.failed),
        "ready_after": running.ready_after,
        "tested_after": running.tested_after,
    }


def model_json(model: TestedModel) -> dict[str, Any]:
    """Return the figures of a model."""
    table, figures = model.table, model.evaluation
    return {
        "number": model.number,
        "kind": model.kind,
        "recipe": table["recipe"],
        "time": table["time"],
        "images": table["images"],
        "classes": [shown(label) for label in model.classes],
        "folds": table["folds"],
        "tried": table["tried"],
        "skipped": [[printable(name), printable(reason)] for name, reason in table["skipped"]],
        "right": None if figures is None else figures.n_right,
        "tested": None if figures is None else figures.n_images,
        "interval": None if figures is None else list(figures.interval),
    }


def changed_json(paired: PairedTrials) -> dict[str, Any]:
    """Return which images two models label differently, and whether chance explains it."""
    first, second = paired.first.evaluation, paired.second.evaluation
    return {
        "sentence": printable(str(paired)),
        "images": len(paired.first.paths),
        "first_right": first.n_right,
        "second_right": second.n_right,
        "better": paired.n_better,
        "worse": paired.n_worse,
        "p": paired.p_value,
        "changed": [
            {
                "id": one.path,
                "truth": shown(one.truth),
                "first": shown(one.first),
                "second": shown(one.second),
                "verdict": one.verdict,
            }
            for one in paired.changed[:MOST_CHANGED]
        ],
    }
