"""The threads that process images, while the event loop keeps answering."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from starlette.requests import Request

from visualwords.apps.page.limits import Limits
from visualwords.apps.page.refusals import RefusedError
from visualwords.images import is_costly

N_WORKERS = 2


class Workers:
    """A few threads with a bounded queue, and one more for images that take seconds.

    Those are recognised by their headers. They wait for each other in a short queue of their own,
    so that all others are answered meanwhile, and the memory for pixels is that of one of them.

    Parameters
    ----------
    limits : Limits
        Requests beyond its queues are refused.
    """

    def __init__(self, limits: Limits):
        self.limits = limits
        self._common = _Lane(N_WORKERS, limits.max_waiting, "images")
        self._costly = _Lane(1, limits.max_costly, "large images")

    @property
    def n_inside(self) -> int:
        """How many images are worked on or wait."""
        return self._common.n_inside + self._costly.n_inside

    async def run(
        self, request: Request, work: Callable[..., Any], data: bytes, *arguments: Any
    ) -> Any:
        """Work on an image of a request; not started if the client has disconnected."""
        gone = asyncio.ensure_future(_disconnection(request))
        try:
            costly = await self._common.run(gone, is_costly, data, self.limits.max_pixels)
            lane = self._costly if costly else self._common
            return await lane.run(gone, work, data, *arguments)
        finally:
            gone.cancel()

    def close(self) -> None:
        """Start no more work."""
        self._common.close()
        self._costly.close()


class _Lane:
    """Threads with a queue."""

    def __init__(self, n_threads: int, max_waiting: int, what: str):
        self.most = n_threads + max_waiting
        self.what = what
        self.n_inside = 0
        self._executor = ThreadPoolExecutor(n_threads, "visualwords-page")

    async def run(
        self, gone: "asyncio.Future[None]", work: Callable[..., Any], *arguments: Any
    ) -> Any:
        if self.n_inside >= self.most:
            raise RefusedError(
                503,
                f"too many {self.what} are waiting; try again in a moment",
                {"retry-after": "1"},
            )
        self.n_inside += 1
        job = asyncio.get_running_loop().run_in_executor(self._executor, work, *arguments)
        job.add_done_callback(self._leave)
        await asyncio.wait({job, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not job.done():
            job.cancel()
            raise RefusedError(400, "the client has disconnected")
        return job.result()

    def close(self) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _leave(self, job: "asyncio.Future[Any]") -> None:
        self.n_inside -= 1


async def _disconnection(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
