"""Tables of classifiers as bytes, so that a model and its file give the same scores bit for bit.

Table values are rounded, once, when a model is trained, to whole multiples of a power of two: at
most 127 of them. Files have a quarter of the size, and such products are exact in float32. A score
is a sum of thousands of look-ups whose rounding errors cancel out.
"""

from typing import Any

import numpy as np

from visualwords.model_file import State

VALUES, EXPONENTS = "table_values", "table_exponents"


def round_tables(classifier: Any) -> None:
    """Round the tables of a fitted classifier in place."""
    state = classifier.get_state()
    state[VALUES] = _to_floats(*_to_bytes(state[VALUES]))
    classifier.set_state(state)


def packed_state(classifier: Any) -> State:
    """The state of a classifier; rounded tables as bytes."""
    state = classifier.get_state()
    if VALUES in state:
        state[VALUES], state[EXPONENTS] = _to_bytes(state[VALUES])
    return state


def unpacked_state(state: State) -> State:
    """The state that `packed_state` was given."""
    if EXPONENTS not in state:
        return state
    values, exponents = state[VALUES], state[EXPONENTS]
    if values.ndim != 2 or exponents.shape != values.shape[1:] or values.dtype != np.int8:
        raise ValueError("the tables do not belong together; the file they came from is damaged")
    kept = {name: value for name, value in state.items() if name != EXPONENTS}
    return kept | {VALUES: _to_floats(values, exponents)}


def _to_bytes(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers −127 … 127 and the exponents of two to multiply each column with."""
    largest = np.maximum(np.abs(values).max(axis=0, initial=0), np.float32(1e-30))
    exponents = np.ceil(np.log2(largest / 127)).astype(np.int16)
    return np.rint(np.ldexp(values, -exponents)).astype(np.int8), exponents


def _to_floats(values: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    return np.ldexp(values.astype(np.float32), exponents)
