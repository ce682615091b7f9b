"""Feature vectors of images for other programs: a matrix, the names of its columns, and labels."""

import csv
import io
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from visualwords.apps.command_line.csv_cells import csv_cells
from visualwords.apps.pipeline.costs import check_features
from visualwords.apps.pipeline.dataset import Dataset
from visualwords.apps.pipeline.encoder import Rows, names_of_columns
from visualwords.apps.pipeline.recipe import Recipe
from visualwords.apps.pipeline.stages import Environment, encode, learn
from visualwords.errors import FolderError, RecipeError, Skipped
from visualwords.files import write_atomically

__all__ = ["FeatureMatrix", "check_format", "feature_matrix", "write_features"]

FORMATS = (".npz", ".csv", ".parquet")


@dataclass(frozen=True)
class FeatureMatrix:
    """Feature vectors of images.

    Attributes
    ----------
    rows : (n, d) array or CSR matrix
    names : (d,) array of str
        Of the columns.
    paths, labels, groups, splits : (n,) arrays of str
        Empty texts where an image has no group or split.
    skipped : list of Skipped
        Images that were left out.
    """

    rows: Rows
    names: np.ndarray
    paths: np.ndarray
    labels: np.ndarray
    groups: np.ndarray
    splits: np.ndarray
    skipped: list[Skipped]


def feature_matrix(recipe: Recipe, data: Dataset, env: Environment, seed: int = 0) -> FeatureMatrix:
    """The rows of all images; what is learned, is from the training part if there is one.

    Parameters
    ----------
    recipe : Recipe
    data : Dataset
    env : Environment
    seed : int
    """
    check_features(recipe, data)
    is_training = np.array([split in (None, "train") for split in data.splits], bool)
    if not is_training.any():
        is_training[:] = True
    part = data.part(np.flatnonzero(is_training))
    encoders = learn(recipe.channels, part, recipe.view, env, seed)
    found = encode(replace(recipe, views=()), encoders, data, env, learn_from=is_training)
    if not len(found.kept):
        raise FolderError(f"{data.origin}: none of the {len(data)} images can be read")
    kept = data.part(found.kept)
    return FeatureMatrix(
        found.rows,
        names_of_columns(encoders),
        np.array(kept.names, dtype=str),
        kept.labels,
        np.array([group or "" for group in kept.groups], dtype=str),
        np.array([split or "" for split in kept.splits], dtype=str),
        found.skipped,
    )


def check_format(path: "str | os.PathLike[str]") -> str:
    """How the file's name ends; raise `RecipeError` if that is no format."""
    ending = Path(path).suffix.lower()
    if ending not in FORMATS:
        raise RecipeError(f"{os.fspath(path)}: the name must end in {', '.join(FORMATS)}")
    if ending == ".parquet":
        _pyarrow()
    return ending


def write_features(
    path: "str | os.PathLike[str]", matrix: FeatureMatrix, *, raw: bool = False
) -> None:
    """Write feature vectors as .npz, .csv or .parquet, by the file's name.

    Texts of a CSV file are safe to open in a spreadsheet, unless they are ``raw``.
    """
    ending = check_format(path)
    makers: dict[str, Callable[[FeatureMatrix], bytes]] = {
        ".npz": _as_npz,
        ".csv": partial(_as_csv, raw=raw),
        ".parquet": _as_parquet,
    }
    write_atomically(path, makers[ending](matrix))


def _as_npz(matrix: FeatureMatrix) -> bytes:
    rows: dict[str, Any] = {"X": matrix.rows}
    if sparse.issparse(matrix.rows):
        csr = sparse.csr_matrix(matrix.rows)
        rows = {
            "data": csr.data,
            "indices": csr.indices,
            "indptr": csr.indptr,
            "shape": np.array(csr.shape),
        }
    buffer = io.BytesIO()
    arrays: dict[str, Any] = {"names": matrix.names, **rows, **_texts(matrix)}
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def _as_csv(matrix: FeatureMatrix, raw: bool) -> bytes:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    texts = _texts(matrix)
    header = [*(name.removesuffix("s") for name in texts), *matrix.names]
    writer.writerow(csv_cells(header, raw))
    for i in range(matrix.rows.shape[0]):
        row = matrix.rows[[i]].toarray()[0] if sparse.issparse(matrix.rows) else matrix.rows[i]
        described = csv_cells([values[i] for values in texts.values()], raw)
        writer.writerow([*described, *row.tolist()])
    return buffer.getvalue().encode()


def _as_parquet(matrix: FeatureMatrix) -> bytes:
    arrow = _pyarrow()
    rows = matrix.rows.toarray() if sparse.issparse(matrix.rows) else matrix.rows
    columns = {name.removesuffix("s"): list(values) for name, values in _texts(matrix).items()}
    columns |= {str(name): rows[:, i] for i, name in enumerate(matrix.names)}
    buffer = io.BytesIO()
    arrow.parquet.write_table(arrow.table(columns), buffer)
    return buffer.getvalue()


def _texts(matrix: FeatureMatrix) -> dict[str, np.ndarray]:
    return {name: getattr(matrix, name) for name in ("paths", "labels", "groups", "splits")}


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise RecipeError(
            "parquet files need pyarrow: pip install pyarrow, or write .npz"
        ) from None
    return pyarrow
