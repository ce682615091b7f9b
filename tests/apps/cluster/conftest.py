"""Workers that the tests of a cluster share: starting one takes seconds."""

import pytest


@pytest.fixture(scope="session")
def client():
    """Give a client of two workers."""
    from tests.apps.cluster.dask_workers import local_workers  # skips without Dask

    with local_workers() as found:
        yield found


@pytest.fixture
def mortals():
    """Give a client of two workers of a test's own, which may kill them."""
    from tests.apps.cluster.dask_workers import local_workers

    with local_workers() as found:
        yield found
