"""Pieces of work in threads; tests/apps/cluster/test_cluster.py has the same on other processes."""

import joblib
import numpy as np
import pytest

from visualwords.threads import n_threads
from visualwords.workers import map_on_workers, n_workers, workers_share_memory


def scaled(factor, offset, value):
    return factor * value + offset


@pytest.mark.parametrize("n_jobs", [None, 1, 2])
def test_results_come_in_the_order_of_the_pieces(n_jobs):
    pieces = ((i,) for i in range(20))
    found = list(map_on_workers(scaled, pieces, shared=[3, 1], n_jobs=n_jobs))
    assert found == [3 * i + 1 for i in range(20)]


def test_nothing_to_do_is_done():
    assert list(map_on_workers(scaled, [], shared=[3, 1])) == []


def test_threads_see_the_very_objects_that_are_shared():
    array = np.arange(3)
    assert next(map_on_workers(id, [()], shared=[array])) == id(array)


def test_a_problem_of_a_piece_is_raised_here():
    with pytest.raises(ZeroDivisionError):
        list(map_on_workers(divmod, [(0,)], shared=[1], n_jobs=2))


def test_without_a_cluster_there_are_no_other_workers():
    assert workers_share_memory()
    assert n_workers() == 1


def test_other_processes_are_counted_as_workers_but_not_as_threads():
    with joblib.parallel_config("loky", n_jobs=2):
        assert not workers_share_memory()
        assert n_workers() == 2
        assert n_threads(None) == 1
        found = list(map_on_workers(n_threads, [(3,), (None,)]))
    assert found == [1, 1]
