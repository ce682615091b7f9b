"""The libraries below us use one thread while our own code runs, and their own number after."""

import threading

import cv2
import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from visualwords.threads import one_library_thread, with_one_library_thread


def blas_threads():
    np.ones((8, 8)) @ np.ones((8, 8))  # loads the library
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    # OpenCV 4.11 bundles a BLAS that never has more than one thread.
    return {pool["num_threads"] for pool in pools if pool["threading_layer"] != "disabled"}


@pytest.fixture
def two_threads():
    before = cv2.getNumThreads()
    cv2.setNumThreads(2)
    with threadpool_limits(2, user_api="blas"):
        yield
    cv2.setNumThreads(before)


def test_inside_there_is_one_thread_and_outside_what_was_before(two_threads):
    assert (blas_threads(), cv2.getNumThreads()) == ({2}, 2)
    with one_library_thread():
        assert (blas_threads(), cv2.getNumThreads()) == ({1}, 1)
        with one_library_thread():
            pass
        assert (blas_threads(), cv2.getNumThreads()) == ({1}, 1)
    assert (blas_threads(), cv2.getNumThreads()) == ({2}, 2)


def test_an_exception_takes_the_limit_back(two_threads):
    @with_one_library_thread
    def fail():
        assert blas_threads() == {1}
        raise ValueError

    with pytest.raises(ValueError):
        fail()
    assert (blas_threads(), cv2.getNumThreads()) == ({2}, 2)


def test_the_last_of_several_threads_takes_the_limit_back(two_threads):
    first, second = threading.Event(), threading.Event()

    def stay():
        with one_library_thread():
            first.set()
            second.wait(10)

    other = threading.Thread(target=stay)
    other.start()
    first.wait(10)
    with one_library_thread():
        pass
    assert blas_threads() == {1}
    second.set()
    other.join()
    assert blas_threads() == {2}
