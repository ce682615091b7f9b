"""The linear bound of a cascade that loses nothing."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from visualwords.apps.detection.detector_training import with_stages
from visualwords.apps.detection.window_model import WindowModel, make_bound
from visualwords.apps.detection.window_tables import RaggedTables

HIGHEST = 12


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.lists(st.floats(-2, 2, width=32), min_size=1, max_size=HIGHEST + 1),
        min_size=1,
        max_size=5,
    ),
    st.integers(0, HIGHEST - 1).map(lambda level: level + 0.5),
)
def test_the_bound_is_never_below_the_tables_and_touches_their_hull(tables, mean):
    starts = np.concatenate([[0], np.cumsum([len(t) for t in tables])])
    ragged = RaggedTables(starts, np.concatenate(tables).astype(np.float32))
    slopes, height = make_bound(ragged, np.full(len(tables), mean), HIGHEST)
    full = ragged.full(HIGHEST + 1).astype(float)
    heights = [(t - s * np.arange(HIGHEST + 1)).max() for t, s in zip(full, slopes)]
    assert height >= sum(heights) - 1e-9
    for table, slope in zip(full, slopes):  # no line above the table is lower at the mean
        other = np.linspace(-5, 5, 201)
        level = np.arange(HIGHEST + 1)
        lowest = ((table - other[:, None] * level).max(axis=1) + other * mean).min()
        own = (table - slope * level).max() + slope * mean
        assert own <= lowest + 1e-4


def test_stages_keep_their_share_of_what_is_found_in_the_end():
    nothing = WindowModel({}, -np.inf, -np.inf)
    tables = np.array([np.linspace(-2, 2, 401), np.zeros(401)])  # 150 of them below -1/2
    linear = tables * 3
    model = with_stages(nothing, linear, tables, 0.99)
    found = tables[0] >= -0.5
    for threshold, scores in ((model.linear_threshold, linear), (model.first_threshold, tables)):
        assert 0.985 <= (scores[0][found] >= threshold).mean() <= 0.995
    # where nothing is found, all count
    assert with_stages(nothing, linear - 9, tables - 9, 0.5).first_threshold == -9
