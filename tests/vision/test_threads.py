import numpy as np
import pytest

from visualwords.threads import in_threads


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
