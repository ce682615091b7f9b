"""Workers that the tests of a cluster share: starting one takes seconds."""

import pytest


@pytest.fixture(scope="session")
def client():
    """Give a client of two workers."""
    from tests.apps.cluster.dask_workers import local_workers  # skips without Dask

    with local_workers() as found:
        yield found


@pytest.fixture(scope="session")
def client_of_mortals():
    """Give a client of two workers that a test may kill: their nannies start them again."""
    from tests.apps.cluster.dask_workers import local_workers

    with local_workers() as found:
        yield found


@pytest.fixture
def mortals(client_of_mortals):
    """Give a client of two workers, of which one that was killed before is there again."""
    client_of_mortals.wait_for_workers(2, timeout=60)
    return client_of_mortals
