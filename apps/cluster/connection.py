"""Parallel work on a Dask cluster, through joblib.

A scheduler's port runs code for whoever reaches it. Clusters started here listen on this machine
only; one that you start yourself should do so too, or use TLS.
"""

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os.path import exists
from typing import TYPE_CHECKING, Any

import joblib

import visualwords
from visualwords.apps.cluster.backend import make_backend, watched
from visualwords.errors import ClusterError, Skipped
from visualwords.parallel import workers_share_memory

if TYPE_CHECKING:
    from distributed import Client

LOOPBACK = "127.0.0.1"
PATIENCE = 20  # seconds to wait for a scheduler and its first worker


@contextmanager
def on_cluster(scheduler: "str | Client | None") -> Iterator["Client | None"]:
    """Run the parallel work of a block on a cluster; models are the same as on one machine.

    Parameters
    ----------
    scheduler : str, distributed.Client or None
        ``"tcp://host:port"`` (or ``tls://``) of a running scheduler, ``"local:4"`` for four
        processes of this machine that end with the block, a connected client, or None for this
        process.

    Raises
    ------
    ClusterError
        If the cluster can't be reached, does not have this version of visualwords, or is lost.

    Examples
    --------
    >>> from visualwords import ImageClassifier
    >>> with on_cluster(None):
    ...     model = ImageClassifier(n_jobs=2)  # .fit(folder)
    """
    if scheduler is None:
        yield None
        return
    distributed = _import_distributed()
    with _connected(distributed, scheduler) as client:
        _check_workers(client)
        try:
            with _parallel_on(client):
                yield client
        except distributed.scheduler.KilledWorker:
            raise ClusterError(
                "a task ended every worker that tried it, perhaps for lack of memory; give workers "
                "more memory or fewer threads, then run the command again: cached results are "
                "reused"
            ) from None
        except (distributed.CancelledError, distributed.comm.CommClosedError) as problem:
            raise ClusterError(
                f"the connection to the cluster was lost ({_first_line(problem)}); restart it and "
                "run the command again: cached results are reused"
            ) from None


@contextmanager
def _parallel_on(client: "Client") -> Iterator[None]:
    """Send joblib's work to a cluster, by our backend or, where joblib has changed, by its own."""
    backend = make_backend(client, PATIENCE)
    if backend is None:
        warnings.warn(
            f"joblib {joblib.__version__} has other internals than expected: work waits for ever "
            "if its workers die",
            stacklevel=3,
        )
        with joblib.parallel_config("dask", client=client, wait_for_workers_timeout=PATIENCE):
            yield
        return
    with joblib.parallel_config(backend), watched(client, backend):
        yield


def check_seen(results: Sequence[Any]) -> None:
    """Refuse a cluster whose workers lack a file that this machine has.

    Parameters
    ----------
    results : sequence
        Results of the workers; `Skipped` where a file is unreadable.
    """
    if workers_share_memory():
        return
    for result in results:
        if isinstance(result, Skipped) and result.kind == "missing" and exists(result.source):
            raise ClusterError(
                f"a worker lacks {result.source}; put images on a file system that all workers "
                "mount under the same path"
            )


def _import_distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise ClusterError(
            "a cluster needs packages that are not installed: pip install dask distributed"
        ) from None
    # Dask logs tracebacks; errors are reported here in one sentence.
    for name in list(logging.root.manager.loggerDict):
        if name.split(".")[0] == "distributed":
            logging.getLogger(name).setLevel(logging.CRITICAL)
    return distributed


@contextmanager
def _connected(distributed: Any, scheduler: "str | Client") -> Iterator["Client"]:
    if not isinstance(scheduler, str):
        yield scheduler
    elif scheduler.startswith("local:"):
        import dask

        with (
            dask.config.set({"distributed.worker.profile.enabled": False}),  # of workers' stacks
            distributed.LocalCluster(
                n_workers=_number_of_workers(scheduler),
                threads_per_worker=1,
                processes=True,
                host=LOOPBACK,
                dashboard_address=f"{LOOPBACK}:0",
                silence_logs=logging.CRITICAL,
            ) as cluster,
            distributed.Client(cluster, direct_to_workers=True) as client,
        ):
            yield client
    elif "://" in scheduler:
        try:
            client = distributed.Client(scheduler, timeout=PATIENCE)
        except (OSError, ValueError, TimeoutError) as problem:
            raise ClusterError(
                f"{scheduler}: no scheduler answers ({_first_line(problem)}); start one with "
                "'dask scheduler' and workers with 'dask worker'"
            ) from None
        with client:
            yield client
    else:
        raise ClusterError(
            f"{scheduler!r} is not the address of a scheduler; give tcp://host:port or local:4"
        )


def _number_of_workers(scheduler: str) -> int:
    number = scheduler.removeprefix("local:")
    if not number.isdecimal() or int(number) < 1:
        raise ClusterError(f"{scheduler!r}: not a number of processes; write local:4 for four")
    return int(number)


def _check_workers(client: "Client") -> None:
    """Wait for a worker, and check that all have this version."""
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError:
        raise ClusterError(
            f"the scheduler has had no worker for {PATIENCE} s; start some with 'dask worker'"
        ) from None
    try:
        found = client.run(_version)
    except ImportError as problem:
        raise ClusterError(f"a worker can't import visualwords ({problem}); install it") from None
    for worker, version in found.items():
        if version != visualwords.__version__:
            raise ClusterError(
                f"the worker {worker} has visualwords {version}, this machine "
                f"{visualwords.__version__}; install the same version everywhere"
            )


def _version() -> str:
    return visualwords.__version__


def _first_line(problem: BaseException) -> str:
    return (str(problem) or type(problem).__name__).splitlines()[0]
