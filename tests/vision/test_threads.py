import multiprocessing
import threading
import time

import numpy as np
import pytest

from visualwords.threads import helping, in_threads, map_in_threads


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


def test_threads_that_are_helpers_may_ask_for_help():
    def inner(number):
        time.sleep(0.001)
        return number

    def outer(number):
        return sum(map_in_threads(inner, range(number), n_jobs=4))

    found = map_in_threads(outer, range(20), n_jobs=4)
    assert found == [number * (number - 1) // 2 for number in range(20)]


def test_threads_stay_for_the_next_work():
    map_in_threads(time.sleep, [0.01] * 4, n_jobs=2)
    before = set(threading.enumerate())
    map_in_threads(time.sleep, [0.01] * 4, n_jobs=2)
    assert set(threading.enumerate()) == before


def squares_in_threads(queue):
    queue.put(map_in_threads(lambda number: number**2, range(5), n_jobs=2))


@pytest.mark.posix
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own():
    map_in_threads(abs, range(5), n_jobs=2)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=squares_in_threads, args=(queue,))
    process.start()
    assert queue.get(timeout=60) == [0, 1, 4, 9, 16]
    process.join()
    assert process.exitcode == 0


def test_tasks_that_have_begun_are_waited_for():
    done = []
    with helping([lambda: (time.sleep(0.05), done.append("slow"))]):
        time.sleep(0.02)
    assert done == ["slow"]
    with (
        pytest.raises(IndexError, match="no such thing"),
        helping([lambda: time.sleep(0.02)]),
    ):
        raise IndexError("no such thing")
