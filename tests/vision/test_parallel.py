"""Work on joblib's workers and in threads, and its progress; see also tests/apps/cluster."""

import os
import sys
import threading
import time
from pathlib import Path

import cv2
import joblib
import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from visualwords import progress
from visualwords.parallel import (
    free_memory,
    in_threads,
    map_in_threads,
    map_on_workers,
    n_threads,
    n_workers,
    one_library_thread,
    return_freed_memory,
    with_one_library_thread,
    workers_share_memory,
)
from visualwords.progress import PartOf, Silent, StageTimes


def scaled(factor, offset, value):
    return factor * value + offset


@pytest.mark.parametrize("n_jobs", [None, 1, 2])
def test_results_come_in_the_order_of_the_pieces(n_jobs):
    pieces = ((i,) for i in range(20))
    results = list(map_on_workers(scaled, pieces, shared=[3, 1], n_jobs=n_jobs))
    assert results == [3 * i + 1 for i in range(20)]
    assert list(map_on_workers(scaled, [], shared=[3, 1], n_jobs=n_jobs)) == []
    array = np.arange(3)  # threads see the very objects that are shared
    assert set(map_on_workers(id, [(), ()], shared=[array], n_jobs=n_jobs)) == {id(array)}
    with pytest.raises(ZeroDivisionError):
        list(map_on_workers(divmod, [(0,), (1,)], shared=[1], n_jobs=n_jobs))


def test_other_processes_are_counted_as_workers_but_not_as_threads():
    assert workers_share_memory()
    assert n_workers() == 1
    with joblib.parallel_config("loky", n_jobs=2):
        assert not workers_share_memory()
        assert n_workers() == 2
        assert n_threads(None) == 1
        assert list(map_on_workers(n_threads, [(3,), (None,)])) == [1, 1]


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("n", [0, 1, 10, 11])
def test_every_step_is_done_once(n, n_jobs):
    for last_first in False, True:
        done, starts = np.zeros(n, int), []

        def do(start, end):
            assert 0 < end - start <= 5
            done[start:end] += 1  # noqa: B023
            starts.append(start)  # noqa: B023

        in_threads(do, n, 5, n_jobs, last_first=last_first)
        assert np.all(done == 1)
        if n_jobs is None:
            assert starts == sorted(starts, reverse=last_first)


def test_threads_share_the_work_and_results_keep_their_order():
    together = threading.Barrier(3, timeout=20)

    def work(number):
        if number < 3:
            together.wait()
        return number, threading.get_ident()

    results = map_in_threads(work, range(20), n_jobs=3)
    assert [number for number, _ in results] == list(range(20))
    assert len({thread for _, thread in results}) == 3


def test_a_failure_in_a_thread_is_raised_and_cancels_the_remaining_work():
    done = []

    def work(number):
        time.sleep(0.01)
        if number == 3:
            raise IndexError("no such thing")
        done.append(number)

    with pytest.raises(IndexError, match="no such thing"):
        map_in_threads(work, range(100), n_jobs=2)
    assert len(done) < 50


def blas_threads():
    np.ones((8, 8)) @ np.ones((8, 8))  # loads the library
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    # OpenCV 4.11 bundles a BLAS that never has more than one thread.
    return {pool["num_threads"] for pool in pools if pool["threading_layer"] != "disabled"}


@pytest.fixture
def _two_threads():
    before = cv2.getNumThreads()
    cv2.setNumThreads(2)
    with threadpool_limits(2, user_api="blas"):
        yield
    cv2.setNumThreads(before)


@pytest.mark.usefixtures("_two_threads")
def test_libraries_use_one_thread_inside_and_as_many_as_before_after_nested_blocks_and_errors():
    @with_one_library_thread
    def fail():
        assert (blas_threads(), cv2.getNumThreads()) == ({1}, 1)
        with one_library_thread():
            pass
        assert (blas_threads(), cv2.getNumThreads()) == ({1}, 1)
        raise ValueError

    assert (blas_threads(), cv2.getNumThreads()) == ({2}, 2)
    with pytest.raises(ValueError):
        fail()
    assert (blas_threads(), cv2.getNumThreads()) == ({2}, 2)


@pytest.mark.usefixtures("_two_threads")
def test_the_last_of_several_threads_takes_the_limit_back():
    entered, leave = threading.Event(), threading.Event()

    def stay():
        with one_library_thread():
            entered.set()
            leave.wait(10)

    other = threading.Thread(target=stay)
    other.start()
    entered.wait(10)
    with one_library_thread():
        pass
    assert blas_threads() == {1}
    leave.set()
    other.join()
    assert blas_threads() == {2}


def test_free_memory_is_part_of_what_the_machine_has():
    free = free_memory()
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        assert 0 < free <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    else:
        assert free is None


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc and malloc_trim")
def test_freed_memory_is_returned_to_the_system():
    def resident():
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return os.sysconf("SC_PAGE_SIZE") * pages

    return_freed_memory()
    pieces = [bytearray(100_000) for _ in range(1000)]  # too small to be mapped on their own
    keep = pieces[::100]
    before = resident()
    del pieces
    return_freed_memory()
    assert resident() < before - 50_000_000
    assert len(keep) == 10


class Listener(Silent):
    def __init__(self):
        self.told = []

    def start(self, stage, total):
        self.told.append((stage, total))

    def advance(self, steps=1):
        self.told.append(steps)


def test_stages_are_timed_added_up_and_passed_on(monkeypatch):
    clock = iter([0.0, 1.0, 1.0, 4.0, 4.0, 4.5])
    monkeypatch.setattr(progress, "perf_counter", lambda: next(clock))
    listener = Listener()
    times = StageTimes(listener)
    times.start("read", 3)
    PartOf(times).advance(3)
    for stage, total in ("learn", 1), ("read", 2):
        times.start(stage, total)
    for _ in range(2):
        times.stop()
    assert times.seconds == {"read": 1.5, "learn": 3.0}
    assert listener.told == [("read", 3), 3, ("learn", 1), ("read", 2)]
