"""joblib's Dask backend, extended to fail instead of waiting for ever for an idle cluster."""

import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from visualwords.errors import ClusterError
from visualwords.parallel import InFile

if TYPE_CHECKING:
    from distributed import Client

STANDSTILL = 60  # seconds without any worker at work, after which the work fails
POLL = 1.0  # seconds between two looks at the workers
LARGE = 1 << 24  # bytes of an array from which workers of this machine read it from a file
OVERRIDDEN = ("effective_n_jobs", "submit", "retrieve_result_callback")


def make_backend(client: "Client", patience: float) -> Any:
    """Return a backend that also reports work whose workers died; None if joblib has changed.

    joblib waits for ever for such work: its collector marks the future as failed but does not
    call back. And joblib would do all work in this process when a single thread is left in the
    cluster; this backend leaves it there.
    """
    base: Any = _joblibs_backend()
    if base is None:
        return None

    class Backend(base):
        def effective_n_jobs(self, n_jobs: int | None) -> int:
            return max(2, super().effective_n_jobs(n_jobs))

        def submit(self, func: Any, callback: Any = None) -> Any:
            job = super().submit(func, callback)
            # joblib gives the job a method of itself, a cycle that kept results for many messages
            vars(job).pop("get", None)
            waiting[job] = callback
            job.add_done_callback(report)
            return job

        def retrieve_result_callback(self, out: Any) -> Any:
            if isinstance(out, BaseException):
                raise out
            return super().retrieve_result_callback(out)

        @contextmanager
        def sharing(self, values: Sequence[Any]) -> Iterator[list[Any]]:
            """Yield references to values, each sent or written once; references stay as they are.

            Large arrays are written to files that workers of this machine map into memory: sent,
            they would be in memory many times, most of them in this process.
            """
            with (
                _without_size_warnings(),
                tempfile.TemporaryDirectory(prefix="visualwords-") as folder,
            ):
                paths = (Path(folder, f"{number}.npy") for number in range(len(values)))
                yield [_reference(client, value, path) for value, path in zip(values, paths)]

        def fail(self, problem: ClusterError) -> None:
            """Make all pending work fail."""
            for callback in list(waiting.values()):
                callback(problem)

    def report(job: Any) -> None:
        callback = waiting.pop(job)
        if job.exception():
            callback(job.exception())

    waiting: dict[Any, Callable[[Any], None]] = {}
    return Backend(client=client, wait_for_workers_timeout=patience)


def _reference(client: "Client", value: Any, path: Path) -> Any:
    """Return what stands for a value in what is sent to workers; what stands for one already."""
    from distributed import Future, LocalCluster

    if isinstance(value, Future | InFile):
        return value
    is_large = isinstance(value, np.ndarray) and value.nbytes >= LARGE
    if is_large and isinstance(client.cluster, LocalCluster):
        np.save(path, value)
        return InFile(path)
    return _future_of(client, value)


def _future_of(client: "Client", value: Any) -> Any:
    """Return a future of a value: a result, which is recomputed if its worker dies.

    Data that is scattered would be lost with it.
    """
    from distributed.protocol.pickle import dumps, loads

    return client.submit(loads, dumps(value), key=f"shared-{uuid4().hex}", pure=False)


def _without_size_warnings() -> Any:
    """Shared values may be large; Dask would warn of each."""
    import dask

    return dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"})


def _joblibs_backend() -> Any:
    """Return joblib's class, which is private; None where it is not as this module needs it."""
    try:
        from joblib._dask import DaskDistributedBackend
    except ImportError:
        return None
    fits = all(hasattr(DaskDistributedBackend, name) for name in OVERRIDDEN)
    return DaskDistributedBackend if fits else None


@contextmanager
def watched(client: "Client", backend: Any) -> Iterator[None]:
    """Make pending work fail once no worker has been at work for `STANDSTILL` seconds.

    Dask pauses a worker that has used four fifths of its memory. If it does not get any back, it
    stays alive and idle; so does a scheduler that has lost all its workers.
    """
    ended = threading.Event()

    def watch() -> None:
        since = time.monotonic()
        while not ended.wait(POLL):
            paused, at_work = _look_at_workers(client)
            stands = not at_work and time.monotonic() - since > STANDSTILL
            if stands:
                backend.fail(_standstill(paused))
            if at_work or stands:
                since = time.monotonic()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join(2 * POLL)  # a lost scheduler answers late


def _look_at_workers(client: "Client") -> tuple[int, bool]:
    """Return the number of paused workers, and whether any is at work or available."""
    try:
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
    except (OSError, KeyError, TimeoutError):  # the waiting code notices a lost scheduler
        return 0, True
    paused = [worker for worker in workers if worker["status"] == "paused"]
    busy = [worker for worker in paused if worker["metrics"]["task_counts"].get("executing")]
    return len(paused), len(paused) < len(workers) or bool(busy)


def _standstill(n_paused: int) -> ClusterError:
    what = (
        f"has paused all workers ({n_paused}) for lack of memory; give them more"
        if n_paused
        else "has lost all its workers; start some"
    )
    return ClusterError(
        f"the cluster {what}, then run the command again: cached results are reused"
    )
