"""Parallel work on a Dask cluster, through joblib's backend.

A scheduler's port runs code for whoever reaches it. Clusters started here listen on this machine
only; one that you start yourself should do so too, or use TLS.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os.path import exists
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import visualwords
from visualwords.errors import ClusterError, Skipped
from visualwords.parallel import workers_share_memory

if TYPE_CHECKING:
    from distributed import Client

LOOPBACK = "127.0.0.1"
PATIENCE = 20  # seconds to wait for a scheduler and its first worker
AGAIN = "then run the command again: cached results are reused"


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
    from joblib import parallel_config

    try:
        import distributed
    except ImportError:
        raise ClusterError("a cluster needs packages: pip install dask distributed") from None
    for name in list(logging.root.manager.loggerDict):  # errors are reported in one sentence
        if name.split(".")[0] == "distributed":
            logging.getLogger(name).setLevel(logging.CRITICAL)
    with _connected(distributed, scheduler) as client:
        _check_workers(client)
        try:
            with parallel_config(_backend(client)):
                yield client
        except distributed.scheduler.KilledWorker:
            sentence = "a task ended every worker that tried it; give them more memory"
            raise ClusterError(f"{sentence}, {AGAIN}") from None
        except (distributed.CancelledError, distributed.comm.CommClosedError) as problem:
            sentence = f"the connection to the cluster was lost ({problem}); restart it"
            raise ClusterError(f"{sentence}, {AGAIN}") from None


def _backend(client: "Client") -> Any:
    """Joblib's backend for Dask, which here also reports work that was lost.

    By itself it waits for ever for such work: its collector marks the job as failed but does not
    call back. And what it scatters is lost with the worker that holds it.
    """
    from joblib import parallel_config

    with parallel_config("dask", client=client) as settings:
        base: Any = type(settings["backend"])

    class Backend(base):
        def effective_n_jobs(self, n_jobs: int | None) -> int:
            return max(2, super().effective_n_jobs(n_jobs))  # with 1 it would do all work here

        def submit(self, func: Any, callback: Any = None) -> Any:
            job = super().submit(func, callback)
            job.add_done_callback(lambda job: job.exception() and callback(job.exception()))
            return job

        def retrieve_result_callback(self, out: Any) -> Any:
            if isinstance(out, BaseException):
                raise out
            return super().retrieve_result_callback(out)

        @contextmanager
        def sharing(self, values: Sequence[Any]) -> Iterator[list[Any]]:
            """Yield futures of values: results, which are recomputed if their worker dies."""
            import dask
            from distributed import Future
            from distributed.protocol.pickle import dumps, loads

            def sent(value: Any) -> Future:
                key = f"shared-{uuid4().hex}"
                return client.submit(loads, dumps(value), key=key, pure=False)

            with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
                yield [value if isinstance(value, Future) else sent(value) for value in values]

    return Backend(client=client, wait_for_workers_timeout=PATIENCE)


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
            cure = "put images on a file system that all workers mount under the same path"
            raise ClusterError(f"a worker lacks {result.source}; {cure}")


@contextmanager
def _connected(distributed: Any, scheduler: "str | Client") -> Iterator["Client"]:
    if not isinstance(scheduler, str):
        yield scheduler
        return
    kind, _, number = scheduler.partition(":")
    if kind == "local" and number.isdecimal() and int(number):
        address = {"host": LOOPBACK, "dashboard_address": f"{LOOPBACK}:0"}
        with (
            distributed.LocalCluster(
                int(number), threads_per_worker=1, silence_logs=logging.CRITICAL, **address
            ) as cluster,
            distributed.Client(cluster, direct_to_workers=True) as client,
        ):
            yield client
        return
    if "://" not in scheduler:
        sentence = f"{scheduler!r} is not the address of a scheduler"
        raise ClusterError(f"{sentence}; give tcp://host:port, or local:4 for four processes")
    try:
        client = distributed.Client(scheduler, timeout=PATIENCE)
    except (OSError, ValueError, TimeoutError) as problem:
        cure = "start one with 'dask scheduler' and workers with 'dask worker'"
        raise ClusterError(f"{scheduler}: no scheduler answers ({problem}); {cure}") from None
    with client:
        yield client


def _check_workers(client: "Client") -> None:
    """Wait for a worker, and check that all have this version."""
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
        found = client.run(_version)
    except TimeoutError:
        sentence = f"the scheduler has had no worker for {PATIENCE} s"
        raise ClusterError(f"{sentence}; start some with 'dask worker'") from None
    except ImportError as problem:
        raise ClusterError(f"a worker can't import visualwords ({problem}); install it") from None
    others = {version for version in found.values() if version != visualwords.__version__}
    if others:
        sentence = f"workers have visualwords {', '.join(others)}, this machine {_version()}"
        raise ClusterError(f"{sentence}; install the same version everywhere")


def _version() -> str:
    return visualwords.__version__
