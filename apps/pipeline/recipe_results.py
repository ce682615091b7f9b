"""What the recipes reached on real data, measured by ``benchmarks.accuracy.all_recipes``."""

import json
from pathlib import Path
from typing import Any

PATH = Path(__file__).with_name("recipe_results.json")


def load_results() -> dict[str, Any]:
    """Return ``{"machine": ..., "recipes": {recipe: {data set: figures}}}``.

    Examples
    --------
    >>> sorted(load_results())
    ['machine', 'recipes']
    """
    if not PATH.exists():
        return {"machine": "", "recipes": {}}
    return json.loads(PATH.read_text(encoding="utf-8"))
