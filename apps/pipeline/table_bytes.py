"""Tables of a classifier as bytes: model files of a quarter of the size, scores that stay.

Table values are rounded, once, when a model is trained, to whole multiples of a power of two: at
most 127 of them. Such products are exact in float32, so that a model and its file give the same
scores bit for bit. A score is a sum of thousands of look-ups whose rounding errors cancel out.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from visualwords.classifiers import ICDClassifier

VALUES, EXPONENTS = "table_values", "table_exponents"


def round_tables(classifier: "ICDClassifier") -> "ICDClassifier":
    """Return a classifier with the same tables, rounded."""
    state = classifier.get_state()
    values, exponents = _to_bytes(state[VALUES])
    state[VALUES] = _to_floats(values, exponents)
    return type(classifier)(**classifier.get_params()).set_state(state)


def pack(classifier: Any) -> dict[str, np.ndarray]:
    """Return the state of a classifier; rounded tables as bytes."""
    state = classifier.get_state()
    if VALUES in state:
        state[VALUES], state[EXPONENTS] = _to_bytes(state[VALUES])
    return state


def unpack(state: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the state that `pack` was given."""
    if EXPONENTS not in state:
        return state
    values, exponents = state[VALUES], state[EXPONENTS]
    if values.ndim != 2 or exponents.shape != values.shape[1:] or values.dtype != np.int8:
        raise ValueError("the tables do not belong together; the file they came from is damaged")
    kept = {name: value for name, value in state.items() if name != EXPONENTS}
    return kept | {VALUES: _to_floats(values, exponents)}


def _to_bytes(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return whole numbers −127 … 127 and the exponents of two to multiply each column with."""
    largest = np.maximum(np.abs(values).max(axis=0, initial=0), np.float32(1e-30))
    exponents = np.ceil(np.log2(largest / 127)).astype(np.int16)
    return np.rint(np.ldexp(values, -exponents)).astype(np.int8), exponents


def _to_floats(values: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    return np.ldexp(values.astype(np.float32), exponents)
