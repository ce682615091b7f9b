"""The threads that process images, while the event loop keeps answering."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from starlette.requests import Request

from visualwords.apps.page.refusals import RefusedError

N_WORKERS = 2


class Workers:
    """A few threads with a bounded queue.

    Parameters
    ----------
    max_waiting : int
        Requests beyond it are refused.
    n_workers : int
    """

    def __init__(self, max_waiting: int, n_workers: int = N_WORKERS):
        self.max_waiting = max_waiting
        self.n_workers = n_workers
        self.n_inside = 0
        self._executor = ThreadPoolExecutor(n_workers, "visualwords-page")

    async def run(self, request: Request, work: Callable[..., Any], *arguments: Any) -> Any:
        """Do some work for a request; it is not started if the client has disconnected."""
        if self.n_inside >= self.max_waiting + self.n_workers:
            raise RefusedError(
                503, "too many images are waiting; try again in a moment", {"retry-after": "1"}
            )
        self.n_inside += 1
        job = asyncio.get_running_loop().run_in_executor(self._executor, work, *arguments)
        job.add_done_callback(self._leave)
        gone = asyncio.ensure_future(_disconnection(request))
        try:
            await asyncio.wait({job, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not job.done():
                job.cancel()
                raise RefusedError(400, "the client has disconnected")
            return job.result()
        finally:
            gone.cancel()

    def close(self) -> None:
        """Start no more work."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _leave(self, job: asyncio.Future[Any]) -> None:
        self.n_inside -= 1


async def _disconnection(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
