"""Results as a file beside their page, so that every figure in the documents can be traced."""

import importlib.metadata
import json
import os
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import visualwords
from benchmarks.papers.results import Results, Row, Table
from visualwords.errors import FolderError
from visualwords.files import write_atomically

LIBRARIES = ("visualwords", "numpy", "scipy", "scikit-learn", "numba", "opencv-python-headless")


@dataclass(frozen=True)
class Record:
    """What one run of an experiment found.

    Parameters
    ----------
    experiment : str
    results : Results
        Without its drawing, once it was read from a file.
    seconds : float
        CPU seconds of the run, in one thread.
    quick : bool
        Whether it ran on small generated data.
    state : str
        What computed it: a commit, else the version of the package.
    date : str
    versions : str
    """

    experiment: str
    results: Results
    seconds: float
    quick: bool
    state: str
    date: str
    versions: str

    @classmethod
    def now(cls, experiment: str, results: Results, seconds: float, quick: bool) -> "Record":
        """Return the record of a run that has just ended."""
        date = datetime.now(UTC).date().isoformat()
        return cls(experiment, results, seconds, quick, present_state(), date, versions())

    def write(self, folder: str) -> str:
        """Write NAME.json atomically; return its path."""
        results = {
            "data": self.results.data,
            "rows": [asdict(row) | {"verdict": row.verdict} for row in self.results.rows],
            "notes": self.results.notes,
            "tables": [
                {"title": table.title, "header": list(table.header), "cells": table.texts()}
                for table in self.results.tables
            ],
        }
        own = {one.name: getattr(self, one.name) for one in fields(self)}
        plain = {**own, "results": results}
        path = path_of(folder, self.experiment)
        write_atomically(path, (json.dumps(plain, indent=1, ensure_ascii=False) + "\n").encode())
        return path

    @classmethod
    def read(cls, folder: str, experiment: str) -> "Record | None":
        """Return the record of an experiment; None if there is none."""
        path = path_of(folder, experiment)
        if not os.path.isfile(path):
            return None
        try:
            plain = json.loads(Path(path).read_text(encoding="utf-8"))
            return cls(**{**plain, "results": _results_of(plain["results"])})
        except (ValueError, TypeError, KeyError) as problem:
            raise FolderError(
                f"{path}: not a stored result ({problem}); delete it and run {experiment} again"
            ) from problem


def _results_of(plain: dict[str, Any]) -> Results:
    rows = [Row(**{k: v for k, v in row.items() if k != "verdict"}) for row in plain["rows"]]
    tables = [Table(**table) for table in plain["tables"]]
    return Results(plain["data"], rows, plain["notes"], tables)


def path_of(folder: str, experiment: str) -> str:
    """Return where the record of an experiment is."""
    return os.path.join(folder, f"{experiment}.json")


def read_all(folder: str, names: Sequence[str]) -> list[Record]:
    """Return the records of those experiments that have one."""
    found = (Record.read(folder, name) for name in names)
    return [record for record in found if record is not None]


def present_state() -> str:
    """Return the commit of a checkout, marked if files differ from it; else the version."""
    source = os.path.dirname(os.path.dirname(os.path.realpath(visualwords.__file__)))
    if os.path.exists(os.path.join(source, ".git")):
        command = ["git", "-C", source, "describe", "--always", "--dirty", "--exclude", "*"]
        try:
            done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=10)
        except (OSError, subprocess.TimeoutExpired):
            return visualwords.__version__
        if done.returncode == 0:
            return done.stdout.strip()
    return visualwords.__version__


def versions() -> str:
    """Return the versions of what the figures depend on."""
    found = [f"Python {platform.python_version()}"]
    for name in LIBRARIES:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:  # another distribution of the same library
            continue
    return ", ".join(found)
