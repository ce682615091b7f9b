import threading
import time

import numpy as np
import pytest

from visualwords.threads import in_threads, map_in_threads


@pytest.mark.parametrize("n_jobs", [None, 1, 2])
@pytest.mark.parametrize("last_first", [False, True])
@pytest.mark.parametrize("n", [0, 1, 10, 11])
def test_every_step_is_done_once(n, last_first, n_jobs):
    done = np.zeros(n, int)

    def do(start, end):
        assert 0 < end - start <= 5
        done[start:end] += 1

    in_threads(do, n, 5, n_jobs, last_first=last_first)
    assert np.all(done == 1)


def test_the_calling_thread_takes_part_and_results_keep_their_order():
    def work(number):
        time.sleep(0.01)
        return number, threading.get_ident()

    found = map_in_threads(work, range(20), n_jobs=3)
    assert [number for number, _ in found] == list(range(20))
    threads = {ident for _, ident in found}
    assert threading.get_ident() in threads
    assert len(threads) <= 3


@pytest.mark.parametrize("culprit", ["caller", "helper"])
def test_what_fails_in_any_thread_is_raised_and_ends_the_work(culprit):
    done = []

    def work(number):
        time.sleep(0.01)
        is_caller = threading.current_thread() is threading.main_thread()
        if is_caller == (culprit == "caller"):
            raise IndexError("no such thing")
        done.append(number)

    with pytest.raises(IndexError, match="no such thing"):
        map_in_threads(work, range(100), n_jobs=2)
    assert len(done) < 50
